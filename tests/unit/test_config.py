"""``tribunal.toml``: checked as a whole, and every fault named with what was expected, what came, what is near."""

from pathlib import Path

import pytest

from tribunal.config import builtin_catalogue, load_catalogue
from tribunal.errors import ConfigurationError
from tribunal.panels import Catalogue


def load(folder: Path, text: str) -> Catalogue:
    path = folder / "tribunal.toml"
    path.write_text(text, encoding="utf-8")
    return load_catalogue(path)


def test_the_three_panels_come_built_in() -> None:
    panels = builtin_catalogue().panels
    assert sorted(panels) == ["consensus", "recommendation", "routine-review"]
    assert panels["recommendation"].answer_within == 3
    assert panels["recommendation"].margin == 0.4
    assert panels["recommendation"].unseated == ()
    assert panels["consensus"].answer_within == 120
    assert panels["consensus"].margin == 2.0
    assert panels["consensus"].unseated == (
        "business-analyst",
        "code-reviewer",
        "performance-auditor",
        "reflection-validator",
    )
    assert panels["routine-review"].stage_share == 400
    assert [seat.name for seat in panels["routine-review"].seats_of(2)] == ["thor"]


def test_a_panel_and_a_judge_of_ones_own(tmp_path: Path) -> None:
    catalogue = load(
        tmp_path,
        """
        [judges.tone]
        function = "mine:tone"
        options = { words = ["stupid"] }

        [panels.mail]
        procedure = "recommendation"
        answer_within = 10
        seats = [{ name = "tone", timeout = 5, weight = 0.5 }]
        """,
    )
    [seat] = catalogue.panels["mail"].seats
    assert (seat.judge, seat.weight) == ("tone", "0.5")
    assert catalogue.judges["tone"].options == {"words": ["stupid"]}
    assert "tone" in catalogue.judge_names()
    assert "recommendation" in catalogue.panels


def test_a_built_in_panel_is_changed_by_what_is_given(tmp_path: Path) -> None:
    catalogue = load(
        tmp_path,
        """
        [judges.mimir]
        function = "mine:mimir"
        [panels.recommendation]
        answer_within = 5
        options = { pass_score = 90 }
        """,
    )
    panel = catalogue.panels["recommendation"]
    assert (panel.answer_within, panel.options, len(panel.seats)) == (5, {"pass_score": 90}, 4)
    assert catalogue.panels["routine-review"].unseated == ("forseti", "thor")


def test_the_version_changes_with_the_panel(tmp_path: Path) -> None:
    one = load(tmp_path, "[panels.recommendation]\nanswer_within = 5").panels["recommendation"]
    two = load(tmp_path, "[panels.recommendation]\nanswer_within = 6").panels["recommendation"]
    assert one.version != two.version
    assert one.model_copy(update={"answer_within": 6.0}).version == two.version


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[panles.x]", 'unknown table "panles"; did you mean "panels"?'),
        ("[panels.x]\nanswer_within = 3", "needs procedure, one of consensus, recommendation, routine-review"),
        ('[panels.x]\nprocedure = "consensu"', 'unknown procedure "consensu"; did you mean "consensus"?'),
        ("[panels.recommendation]\nanswer_witin = 3", 'unknown key "answer_witin"; did you mean "answer_within"?'),
        ("[panels.recommendation]\nanswer_within = 0.1", "panels.recommendation.answer_within"),
        ("[panels.recommendation]\nanswer_within = nan", "nan and inf are no values here"),
        ('[panels.recommendation]\nanswer_within = "3"', "panels.recommendation.answer_within"),
        ("[panels.recommendation]\nseats = 3", "a list of tables"),
        ("[panels.recommendation]\nseats = [3]", "a table expected; int came"),
        (
            '[panels.recommendation]\nseats = [{ name = "rule-violatoin", timeout = 1 }]',
            'unknown judge "rule-violatoin"; did you mean "rule-violation"?',
        ),
        (
            '[panels.recommendation]\nseats = [{ name = "a", judge = "rule-violation", timeuot = 1 }]',
            'unknown key "timeuot"; did you mean "timeout"?',
        ),
        (
            '[panels.recommendation]\nseats = [{ name = "a", judge = "rule-violation", timeout = 2.7 }]',
            "has a timeout of 2.7 s, but the panel decides after 2.6 s",
        ),
        (
            '[panels.recommendation]\nseats = [{name="a",judge="rule-violation",timeout=1},'
            '{name="a",judge="rule-violation",timeout=1}]',
            'seat "a" stands twice',
        ),
        ("[panels.recommendation]\noptions = { pass_scor = 1 }", 'did you mean "pass_score"?'),
        ("[panels.recommendation]\noptions = { pass_score = 101 }", "panels.recommendation.options.pass_score"),
        ("[panels.Bad_Name]\nprocedure = 'consensus'", "panels.Bad_Name.name"),
        ("[judges.x]", "judges.x.function"),
        ('[judges.x]\nfunction = "os.system"', "judges.x.function"),
        ("[judges]\nx = 1", "[judges.x] must be a table; int came"),
        ("judges = 1", "[judges] must be a table of tables; int came"),
        ("[judges.x]\nfunction = 'a:b'\nfucntion = 'a:b'", 'did you mean "function"?'),
        ("[judges.x]\nfunction = 'a:b'\noptions = { day = 2020-01-01 }", "dates, nan and inf are no values here"),
        ("[panels.x\n", "not valid TOML"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as fault:
        load(tmp_path, text)
    assert message in str(fault.value)
    assert fault.value.exit_code == 2


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as fault:
        load(tmp_path, "[panles.x]\n[judges.y]\n[panels.recommendation]\nanswer_within = 0")
    assert str(fault.value).count("\n") == 3


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_catalogue(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(ConfigurationError, match="not valid TOML"):
        load_catalogue(tmp_path / "latin.toml")
