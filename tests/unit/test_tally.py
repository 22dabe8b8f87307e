"""``tribunal tally`` without the command: the seeds' JSON in and out, flags, fail-safes, receipts, the self-test."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tribunal import receipts
from tribunal.config import builtin_catalogue
from tribunal.errors import ConfigurationError, ContractError
from tribunal.model import sha256
from tribunal.panels import JudgeConfig
from tribunal.procedures.selftest import SELF_TEST, Check, Example
from tribunal.strict_json import read_object
from tribunal.tally import (
    TallyParams,
    TallyResult,
    Trail,
    bad_input,
    panels_output,
    recorded,
    self_test,
    tally,
    tally_lines,
)

PANELS = builtin_catalogue().panels
REVIEW, CONSENSUS, RECOMMENDATION = (PANELS[name] for name in ("routine-review", "consensus", "recommendation"))
NOW = TallyParams(now=1_768_039_872_345)
RUN = "20260110T101112345Z"
YES: dict[str, Any] = {"verdict": "approve", "confidence": 0.9, "status": "voted"}
NO: dict[str, Any] = {"verdict": "request_changes", "confidence": 0.9, "status": "voted"}
FAIL_SAFES = {"recommendation": "WARN", "consensus": "CONDITIONAL", "routine-review": "escalate"}


def verdict_of(panel: str, result: TallyResult) -> Any:
    output: Any = result.output
    return output["summary"]["final_verdict"] if panel == "consensus" else output["verdict"]


def review(params: TallyParams = NOW, **given_: Any) -> Any:
    result = tally(REVIEW, json.dumps(given_), params)
    assert (result.exit_code, result.error) == (0, None)
    return result.output


@pytest.mark.parametrize("check", SELF_TEST, ids=lambda check: check.name)
def test_the_twelve_checks_of_the_seed(check: Check) -> None:
    (checked,) = self_test(REVIEW, [check])
    assert checked.faults == ()


def test_there_are_twelve_and_each_can_fail() -> None:
    assert len(SELF_TEST) == 12
    for check in SELF_TEST:
        assert check.examples
        wrong = [Example(one.given, {**one.expected, "verdict": "other"}, ("outcome",)) for one in check.examples]
        (checked,) = self_test(REVIEW, [Check(check.name, tuple(wrong))])
        assert len(checked.faults) == 2 * len(wrong)


def test_a_drop_in_for_the_seeds_tally() -> None:
    output = review(mimir=YES, forseti=NO, thor=None)
    assert (output["outcome"], output["round"]) == ("needs_tiebreak", 1)
    assert list(output["peers"]) == ["mimir", "forseti"]
    output = review(mimir=YES, forseti=NO, thor=YES)
    assert (output["outcome"], output["verdict"], output["merge_authority"]) == ("resolved", "approved", "auto")


def test_seats_left_out_are_not_answered() -> None:
    assert review(mimir=YES)["outcome"] == "needs_tiebreak"
    assert review()["verdict"] == "escalate"
    assert review(mimir=YES, forseti=NO, thor={"status": "timeout"})["verdict"] == "escalate"


def test_a_vote_that_is_rubbish_costs_its_own_seat_only() -> None:
    output = review(mimir=YES, forseti="fine by me")
    assert output["outcome"] == "needs_tiebreak"
    assert output["seats"]["forseti"]["status"] == "error"


def test_the_case_says_round_threshold_and_ceiling_and_flags_win() -> None:
    assert review(mimir=NO, forseti=NO, case={"round": 2})["verdict"] == "escalate"
    assert review(mimir=NO, forseti=NO, case={"round": 2, "max_rounds": 3})["verdict"] == "needs_revision"
    assert review(TallyParams(now=0, round=1), mimir=NO, forseti=NO, case={"round": 2})["verdict"] == "needs_revision"
    assert review(TallyParams(now=0, max_rounds=1), mimir=NO, forseti=NO)["verdict"] == "escalate"
    assert review(mimir=YES, forseti=YES, case={"threshold": 0.95})["outcome"] == "needs_tiebreak"
    assert review(TallyParams(now=0, threshold=0.5), mimir=YES, forseti=YES, case={"threshold": 1})["round"] == 1
    assert review(mimir=YES, forseti=YES, case=None)["verdict"] == "approved"


def test_a_diff_given_as_the_draft_is_read_for_protected_paths() -> None:
    diff = "--- a/.ci/run\n+++ b/.ci/run\n@@ -1 +1 @@\n-a\n+b\n"
    assert review(mimir=YES, forseti=YES, case={"draft": diff})["merge_authority"] == "human"
    assert review(mimir=YES, forseti=YES, case={"draft": " "})["merge_authority"] == "auto"


def test_consensus_takes_the_short_names_and_prints_the_full_ones() -> None:
    given_ = {
        "reflection": {"verdict": "VALIDATED"},
        "code": {"verdict": "CAMBIOS_MENORES"},
        "business": {"verdict": "VÁLIDO"},
        "performance-auditor": {"verdict": "DEGRADED"},
        "case": {"type": "pr", "ref": "#12"},
    }
    output: Any = tally(CONSENSUS, json.dumps(given_), NOW).output
    assert output["input"] == {"type": "pr", "ref": "#12", "timestamp": "2026-01-10T10:11:12Z"}
    assert output["summary"]["final_verdict"] == "APPROVED"
    assert [judge["name"] for judge in output["judges"]] == [seat.name for seat in CONSENSUS.seats]


def test_consensus_by_another_profile() -> None:
    votes = {"reflection": {"verdict": "VALIDATED"}, "code": {"verdict": "RECHAZADO"}}
    votes |= {"business": {"verdict": "VALID"}, "performance": {"verdict": "OPTIMAL"}}
    for text, params in (
        (json.dumps({**votes, "case": {"profile": "security"}}), NOW),
        (json.dumps({**votes, "case": {"profile": "business"}}), TallyParams(now=0, profile="security")),
    ):
        output: Any = tally(CONSENSUS, text, params).output
        assert output["summary"]["weighted_score"] == 0.5


def test_recommendation_shows_its_score_and_who_vetoed() -> None:
    votes = {seat.name: {"score": 90, "veto": False} for seat in RECOMMENDATION.seats}
    output: Any = tally(RECOMMENDATION, json.dumps({**votes, "case": {"draft": "hello"}}), NOW).output
    assert (output["verdict"], output["consensus_score"], output["veto_judges"]) == ("PASS", 90, [])
    votes["rule-violation"] = {"score": 0, "veto": True, "confidence": 0.9}
    output = tally(RECOMMENDATION, json.dumps(votes), NOW).output
    assert (output["verdict"], output["veto_judges"]) == ("VETO", ["rule-violation"])


@pytest.mark.parametrize("panel", list(PANELS))
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "JSON object"),
        ("null", "NoneType"),
        ("[]", "list"),
        ("{", "JSON object"),
        ('{"x": 1} {"y": 2}', "JSON object"),
        ('{"nobody": null}', "unknown seat"),
        ('{"case": 5}', "case"),
        ('{"case": {"rounds": 1}}', "rounds"),
        ('{"case": {"round": 0}}', "round"),
        ('{"case": {"threshold": NaN}}', "NaN"),
        ('{"case": {"draft": 1e999}}', "1e999"),
        ('{"case": {}, "case": {}}', "twice"),
        ('{"case": {"draft": "\\ud800"}}', "surrogate"),
        ('{"case": ' + "[" * 150 + "]" * 150 + "}", "nesting"),
        ("[" * 100_000, "nesting"),
        ('{"case": ' + "9" * 5000 + "}", "JSON object"),
        ("\x00", "JSON object"),
    ],
)
def test_bad_input_gives_the_fail_safe_with_the_reason(panel: str, text: str, complaint: str) -> None:
    result = tally(PANELS[panel], text, NOW)
    assert result.exit_code == 2
    assert verdict_of(panel, result) == FAIL_SAFES[panel]
    assert complaint in (result.error or "")
    assert result.output["error"] == result.error
    assert json.dumps(result.output, allow_nan=False).encode()


def test_bad_input_is_not_blamed_on_the_judges() -> None:
    output: Any = tally(RECOMMENDATION, "junk", NOW).output

    assert (output["draft_hash"], output["judges"], output["reason"]) == (None, {}, "bad input")
    assert "bad input: one JSON object expected" in output["banner"]
    assert "timeout" not in json.dumps(output)
    assert "bad input" in str(tally(CONSENSUS, "junk", NOW).output["summary"])
    assert "bad input" in str(tally(REVIEW, "junk", NOW).output["reasoning"])


def test_without_a_draft_no_hash_is_printed() -> None:
    votes = {seat.name: {"score": 90} for seat in RECOMMENDATION.seats}
    assert tally(RECOMMENDATION, json.dumps(votes), NOW).output["draft_hash"] is None
    draft = json.dumps({**votes, "case": {"draft": "hello"}})
    assert tally(RECOMMENDATION, draft, NOW).output["draft_hash"] == f"sha256:{sha256('hello')}"


@pytest.mark.parametrize("panel", list(PANELS))
def test_what_cannot_be_read_is_bad_input_whatever_its_name(panel: str) -> None:
    result = bad_input(PANELS[panel], "/nope\udcff: no such file", NOW)
    assert (result.exit_code, verdict_of(panel, result)) == (2, FAIL_SAFES[panel])
    assert json.dumps(result.output, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("panel", "text", "complaint"),
    [
        ("consensus", '{"code": null, "code-reviewer": null}', "came twice"),
        ("consensus", '{"cod": null}', 'did you mean "code-reviewer"|unknown seat'),
        ("consensus", '{"case": {"profile": "secuirty"}}', 'did you mean "security"'),
        ("consensus", '{"case": {"threshold": 0.5}}', "reads no threshold"),
        ("consensus", '{"case": {"round": 1}}', "reads no round"),
        ("routine-review", '{"case": {"profile": "default"}}', "reads no profile"),
        ("routine-review", '{"mimr": null}', 'did you mean "mimir"'),
        ("recommendation", '{"case": {"max_rounds": 1}}', "reads no max_rounds"),
    ],
)
def test_what_the_panel_does_not_know_is_bad_input(panel: str, text: str, complaint: str) -> None:
    result = tally(PANELS[panel], text, NOW)
    assert result.exit_code == 2
    assert any(part in (result.error or "") for part in complaint.split("|"))


def test_flags_are_checked_like_the_case() -> None:
    for params in (
        TallyParams(now=0, threshold=float("nan")),
        TallyParams(now=0, round=0),
        TallyParams(now=0, threshold=1.5),
        TallyParams(now=0, max_rounds=1000),
    ):
        result = tally(REVIEW, "{}", params)
        assert (result.exit_code, result.output["verdict"]) == (2, "escalate")


def test_lines_give_one_result_each_in_order() -> None:
    texts = [json.dumps({"mimir": YES, "forseti": YES}), "rubbish", "", json.dumps({"mimir": NO, "forseti": NO})]
    results = list(tally_lines(REVIEW, texts, NOW))
    assert [result.output["verdict"] for result in results] == ["approved", "escalate", "escalate", "needs_revision"]
    assert [result.exit_code for result in results] == [0, 2, 2, 0]


@given(
    st.text() | st.dictionaries(st.sampled_from(["mimir", "thor", "case", "x"]), st.text() | st.none()).map(json.dumps)
)
def test_any_text_gives_an_output_and_never_an_approval(text: str) -> None:
    result = tally(REVIEW, text, NOW)
    assert result.exit_code in (0, 2)
    assert result.output["verdict"] in ("escalate", None)


def test_json_within_the_limits_is_read() -> None:
    assert read_object('{"a": [1, 2.5, "é", null, {"a": 1}]}') == {"a": [1, 2.5, "é", None, {"a": 1}]}
    with pytest.raises(ContractError, match="twice"):
        read_object('{"a": [{"b": 1, "b": 1}]}')


def kept(root: Path, params: TallyParams = NOW, run: str | None = None, **given_: Any) -> TallyResult:
    return recorded(REVIEW, tally(REVIEW, json.dumps(given_), params), params, Trail(root, "discovery", run))


def log(root: Path, run: str = RUN) -> list[Any]:
    text = (receipts.run_folder(root, "discovery", run) / receipts.LOG).read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_the_receipts_of_a_round_with_a_tie_break(tmp_path: Path) -> None:
    tie = kept(tmp_path, mimir=YES, forseti=NO, thor=None)
    folder = receipts.run_folder(tmp_path, "discovery", RUN)
    assert tie.output["run_dir"] == str(folder)
    assert not (folder / "round-1.json").exists()

    resolved = kept(tmp_path, mimir=YES, forseti=NO, thor=NO)
    assert resolved.output["run_dir"] == str(folder)
    first, second = log(tmp_path)
    assert first["output"]["outcome"] == "needs_tiebreak"
    assert (second["event"], second["at"]) == ("tally", "2026-01-10T10:11:12.345Z")
    assert second["votes"] == {"mimir": YES, "forseti": NO, "thor": NO}
    snapshot = json.loads((folder / "round-1.json").read_text())
    assert snapshot["output"]["verdict"] == "needs_revision"

    kept(tmp_path, TallyParams(now=NOW.now + 60_000, round=2), mimir=YES, forseti=YES)
    assert json.loads((folder / "round-2.json").read_text())["output"]["verdict"] == "approved"


def test_a_repeated_tally_appends_a_receipt_and_changes_nothing(tmp_path: Path) -> None:
    kept(tmp_path, mimir=YES, forseti=NO, thor=YES)
    folder = receipts.run_folder(tmp_path, "discovery", RUN)
    before = (folder / "round-1.json").read_bytes()
    kept(tmp_path, mimir=YES, forseti=NO, thor=NO)
    assert (folder / "round-1.json").read_bytes() == before
    assert len(log(tmp_path)) == 2


def test_round_one_without_thor_opens_a_run_and_run_dir_names_one(tmp_path: Path) -> None:
    kept(tmp_path, mimir=YES, forseti=YES)
    second = str(kept(tmp_path, mimir=YES, forseti=YES).output["run_dir"])
    assert second.endswith("20260110T101112346Z")
    again = kept(tmp_path, run=RUN, mimir=YES, forseti=YES)
    assert str(again.output["run_dir"]).endswith(RUN)
    assert kept(tmp_path, run=second, mimir=YES, forseti=YES).output["run_dir"] == second
    assert (len(log(tmp_path)), len(log(tmp_path, "20260110T101112346Z"))) == (2, 2)


def test_bad_input_leaves_a_receipt_too_but_no_round(tmp_path: Path) -> None:
    result = recorded(REVIEW, tally(REVIEW, "rubbish", NOW), NOW, Trail(tmp_path, "discovery"))
    assert (result.exit_code, result.output["verdict"]) == (2, "escalate")
    assert log(tmp_path)[0]["error"] == result.error
    assert not (receipts.run_folder(tmp_path, "discovery", RUN) / "round-1.json").exists()


@pytest.mark.parametrize(
    ("slug", "run"),
    [("../x", None), ("discovery", "elsewhere"), ("discovery", f"/tmp/{RUN}"), ("discovery", f"../{RUN}")],
)
def test_a_trail_that_leads_elsewhere_is_bad_input(tmp_path: Path, slug: str, run: str | None) -> None:
    text = json.dumps({"mimir": YES, "forseti": YES})
    result = recorded(REVIEW, tally(REVIEW, text, NOW), NOW, Trail(tmp_path, slug, run))
    assert (result.exit_code, result.output["verdict"]) == (2, "escalate")
    assert list(tmp_path.iterdir()) == []


def test_only_routine_review_keeps_receipts(tmp_path: Path) -> None:
    result = recorded(CONSENSUS, tally(CONSENSUS, "{}", NOW), NOW, Trail(tmp_path, "discovery"))
    assert result.exit_code == 2
    assert "only routine-review" in (result.error or "")


def test_a_verdict_whose_receipt_cannot_be_written_is_not_given(tmp_path: Path) -> None:
    (tmp_path / "output").write_text("a file in the way")
    with pytest.raises(ConfigurationError, match="output"):
        kept(tmp_path / "output", mimir=YES, forseti=YES)


def test_panels_are_shown_as_the_seed_does() -> None:
    def judge(name: str, **options: Any) -> JudgeConfig:
        return JudgeConfig(name=name, function="judges:judge", options=options)

    judges = {"mimir": judge("mimir", model="opus", brief="briefs/mimir.md"), "thor": judge("thor", model="gpt")}
    assert panels_output(REVIEW, judges) == {
        "panels": {"mimir": {"agent": "mimir", "model": "opus"}, "forseti": {"agent": "forseti", "model": None}},
        "tiebreak": {"seat": "thor", "agent": "thor", "model": "gpt"},
        "briefs": {"mimir": "briefs/mimir.md", "forseti": None, "thor": None},
    }
    assert panels_output(CONSENSUS, {})["tiebreak"] is None
