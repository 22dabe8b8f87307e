"""memory-conflict finds what goes against the user's feedback, cites both sides, and lets agreement pass."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_packets import drafts, packet, write

from tribunal.judging import Abstain
from tribunal.procedures.opinions import Opinion, read_opinion
from workers.judges.budget import Budget
from workers.judges.directives import directives
from workers.judges.files import FILE_LIMIT
from workers.judges.memory_conflict import Rule, compare, memory_conflict, read_memory

MEMORY = {
    "feedback_npm.md": (
        "---\nname: pnpm\ndescription: Never use npm; always use pnpm.\ntype: feedback\n---\n"
        "**Why:** npm broke the lock file.\n\n**How to apply:** use pnpm for every install.\n"
    ),
    "feedback_root_cause.md": (
        "---\nname: root cause\ndescription: Always fix the root cause, never patch symptoms\ntype: feedback\n---\n"
    ),
    "feedback_commits.md": (
        "---\nname: commits\ntype: feedback\n---\nNunca hagas commit directamente a main.\n\n"
        "Siempre ejecuta los tests antes de hacer commit.\n"
    ),
    "feedback_fridays.md": "Don't deploy to production on Fridays.\n",
    "feedback_mocks.md": "- Do not mock the database in integration tests.\n- Prefer pytest over unittest.\n",
    "feedback_emoji.md": "No emojis in answers.\n",
    "feedback_tabs.md": "Usa espacios, no tabuladores.\n",
    "feedback_dates.md": "Use date-fns instead of moment.\n",
    "feedback_print.md": "Avoid print statements except in scripts.\n",
    "user_style.md": "The user prefers a concise answer and likes to see a diagram.\n",
    "user_role.md": "---\ntype: user\n---\nThe user is a backend engineer at Acme and has used npm for ten years.\n",
    "MEMORY.md": (
        "# Index\n- [pnpm](feedback_npm.md) — pnpm, never npm\n- [force](feedback_force.md) — never force push\n"
        "- [db](project_db.md) — never use PostgreSQL\n"
    ),
}


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return write(tmp_path / "memory", MEMORY)


def judged(draft: str, memory: Path | None) -> dict[str, Any]:
    answer = memory_conflict(packet(draft, memory=memory, seconds=60.0))
    assert isinstance(answer, dict), answer
    assert isinstance(read_opinion(answer), Opinion), read_opinion(answer)
    return answer


@pytest.mark.parametrize(
    ("file", "draft"),
    [
        ("feedback_npm.md", "To add it, use npm."),
        ("feedback_npm.md", "```bash\nnpm install lodash\n```"),
        ("feedback_npm.md", "Ejecuta `npm install` para añadirlo."),
        ("feedback_npm.md", "Replace pnpm with npm."),
        ("feedback_npm.md", "Don't use pnpm here."),
        ("feedback_root_cause.md", "Let's patch the symptoms for now."),
        ("feedback_commits.md", "I recommend to commit to main and be done."),
        ("feedback_commits.md", "Haz commit en main."),
        ("feedback_commits.md", "Skip the tests and commit."),
        ("feedback_commits.md", "Commit without running the tests."),
        ("feedback_commits.md", "Omite las pruebas esta vez."),
        ("feedback_commits.md", "No ejecutes los tests, tarda mucho."),
        ("feedback_fridays.md", "Deploy to production on Friday night."),
        ("feedback_fridays.md", "Despliega a producción el viernes."),
        ("feedback_mocks.md", "Mock the database in the integration tests."),
        ("feedback_mocks.md", "You can use unittest for this."),
        ("feedback_mocks.md", "Use unittest instead of pytest."),
        ("feedback_emoji.md", "Great news ✅ it works."),
        ("feedback_tabs.md", "Usa tabuladores en este fichero."),
        ("feedback_tabs.md", "Use tabs instead of spaces."),
        ("feedback_dates.md", "Use moment to format the dates."),
        ("feedback_print.md", "Add print statements to the service."),
        ("feedback_force.md", "You should force push the branch."),
    ],
)
def test_a_conflict_is_found_and_both_sides_are_cited(memory: Path, file: str, draft: str) -> None:
    answer = judged(draft, memory)

    (evidence,) = answer["evidence"]
    assert evidence["memory_file"] == file
    assert evidence["memory_excerpt"].strip(".") in "".join(MEMORY.values())
    assert evidence["draft_match"] in draft
    assert (answer["veto"], answer["score"]) == (True, 0)
    assert answer["confidence"] >= 0.8


@pytest.mark.parametrize(
    "draft",
    [
        "Use pnpm, never npm.",
        "Run `pnpm install`.",
        "Never use npm here.",
        "npm is a package manager for Node.",
        "You said never to use npm, so I used pnpm.",
        "Should we use npm?",
        "> use npm\n\nsays the old guide.",
        "Never run this:\n\n```bash\nnpm install\n```",
        "```bash\n# npm install is not needed\npnpm install\n```",
        "Replace npm with pnpm.",
        "Fix the root cause first.",
        "Commit to your branch and open a pull request against main.",
        "Run the tests, then commit.",
        "Ejecuta los tests antes de hacer commit.",
        "Evita hacer commit en main; abre una rama.",
        "Deploy to staging on Friday.",
        "Deploy to production on Monday.",
        "Do not mock the database in the integration tests.",
        "Remove the database mocks from the integration tests.",
        "Use pytest, not unittest.",
        "Usa espacios en lugar de tabuladores.",
        "Use date-fns to format the dates.",
        "Add print statements to the scripts.",
        "The tests pass and the lock file is clean.",
        "Use PostgreSQL for it.",
        "No tests failed.",
        "The tests are not flaky.",
        "Give a concise answer with a test in it.",
        "Change the spaces setting to 4.",
        "Los mocks no están en la base de datos.",
    ],
)
def test_agreement_and_mere_mention_are_no_conflict(memory: Path, draft: str) -> None:
    answer = judged(draft, memory)

    assert answer["evidence"] == []
    assert answer["veto"] is False
    assert answer["score"] in (100, None)


SENSE = {
    "feedback_commits.md": "Never commit to main; use a branch and open a pull request.\n",
    "feedback_paquetes.md": "Usa siempre uv para instalar paquetes. Nunca uses pip install.\n\nNunca pip.\n",
    "feedback_mocks.md": "Never mock the database in a test.\n",
    "feedback_time.md": "Use UTC in the database; never local time.\n",
    "feedback_tests.md": "Do not skip tests.\n",
    "feedback_warnings.md": "In the parser, never print warnings.\n",
    "feedback_secrets.md": "Never commit secrets to the main branch.\n",
    "user_tools.md": "I never want Docker in development.\n",
}


@pytest.mark.parametrize(
    "draft",
    [
        "Commit the change to `main.py` on your branch.",
        "Edit `src/main/app.py` and commit it on your branch.",
        "You should compare with the last commit on main before you open the pull request.",
        "Cherry-pick the commit from main onto your branch.",
        "The value is in commit 3f2a on main.",
        "Commit it to a feature branch with a pull request to main.",
        "Check with `pip show httpx` which version is installed; then `uv add httpx`.",
        "```bash\npip list\n```",
        "Store the time in UTC and show it in local time in the browser.",
        "In local time it is eleven.",
        "Mock the gateway in the test of the database layer.",
        "In production, start everything with docker compose up.",
        "Do not forget to run the tests.",
        "Never skip the tests.",
        "Print the warnings of the linter.",
        "In the parser, print the tree.",
        "Keep the secrets of the main branch in the vault.",
    ],
)
def test_the_words_of_a_rule_in_another_sense_are_no_conflict(tmp_path: Path, draft: str) -> None:
    assert judged(draft, write(tmp_path, SENSE))["evidence"] == []


@pytest.mark.parametrize(
    ("file", "draft"),
    [
        ("feedback_commits.md", "Commit the fix for the login bug to main."),
        ("feedback_commits.md", "Make a quick commit to main."),
        ("feedback_commits.md", "Push the commit to main."),
        ("feedback_commits.md", "On main, commit the fix."),
        ("feedback_commits.md", "Haz commit del arreglo en la rama principal."),
        ("feedback_paquetes.md", "Puedes instalarlo con pip."),
        ("feedback_paquetes.md", "```bash\npip3 install -r requirements.txt\n```"),
        ("feedback_mocks.md", "Te recomiendo mockear la base de datos en los tests."),
        ("feedback_mocks.md", "En la prueba, simula la base de datos con un MagicMock."),
        ("feedback_mocks.md", "Haz un mock de la base de datos en el test."),
        ("feedback_mocks.md", "Write the test with a mocked database."),
        ("feedback_mocks.md", "Mock the database in `tests/test_orders.py`."),
        ("feedback_time.md", "Save the local time in the database, it is easier to read."),
        ("feedback_time.md", "Guarda la hora local en la base de datos."),
        ("feedback_tests.md", "You can skip the tests for this change, it is tiny."),
        ("feedback_tests.md", "Omite las pruebas esta vez."),
        ("feedback_warnings.md", "In the parser, print the warnings."),
        ("user_tools.md", "For development, start everything with docker compose up."),
        ("feedback_secrets.md", "Commit the secrets to the branch."),
        ("user_tools.md", "En desarrollo, arranca todo con Docker."),
    ],
)
def test_the_act_of_a_rule_is_found_in_other_words(tmp_path: Path, file: str, draft: str) -> None:
    (evidence,) = judged(draft, write(tmp_path, SENSE))["evidence"]
    assert evidence["memory_file"] == file


@pytest.mark.parametrize(
    "line",
    [
        "She has never run Kubernetes or Terraform.",
        "Ana never used Docker.",
        "Ana has no experience with Docker.",
        "Ana no sabe nada de Docker.",
        "Ana writes the shop's backend in Python and knows SQL well.",
        "Backend developer of the shop",
        "Reads English and Spanish.",
        "Trabaja en la tienda con Docker.",
        "Answers may be in English or in Spanish, whatever she asked in.",
    ],
)
def test_a_description_of_a_person_lays_nothing_down(tmp_path: Path, line: str) -> None:
    memory = write(tmp_path, {"user_ana.md": f"{line}\n", "MEMORY.md": f"- [Ana](user_ana.md) — {line}\n"})
    assert read_memory(memory).rules == []


@pytest.mark.parametrize(
    "line", ["She wants plain SQL.", "Answer in Spanish.", "Ana hates ORMs.", "Keep it short.", "No quiere Docker."]
)
def test_what_a_person_wants_is_laid_down(tmp_path: Path, line: str) -> None:
    assert len(read_memory(write(tmp_path, {"user_ana.md": f"{line}\n"})).rules) == 1


def test_a_draft_that_memory_does_not_concern_has_no_score(memory: Path) -> None:
    answer = judged("The weather is fine today.", memory)
    assert answer["score"] is None
    assert "concerns this draft" in answer["reason"]


def test_the_language_of_the_draft_is_held_against_memory(tmp_path: Path) -> None:
    memory = write(tmp_path, {"user_language.md": "Responder siempre en español.\n"})
    english = "You should look at the log of the service and then restart it, because it is the cause of this."
    spanish = "Mira los registros del servicio y luego reinícialo, que es la causa de lo que pasa con la cola."

    assert judged(english, memory)["evidence"][0]["memory_file"] == "user_language.md"
    assert judged(spanish, memory)["evidence"] == []


def test_without_memory_there_is_nothing_to_go_against(tmp_path: Path) -> None:
    assert judged("Use npm.", None)["score"] is None
    assert judged("Use npm.", write(tmp_path, {"notes.md": "Never use npm."}))["score"] is None


def test_memory_that_cannot_be_read_is_no_consent(tmp_path: Path) -> None:
    missing = memory_conflict(packet("Use npm.", memory=tmp_path / "missing"))
    assert isinstance(missing, Abstain)
    assert "cannot be read" in missing.reason

    (tmp_path / "feedback_a.md").write_bytes(b"\xff\xfe never use npm")
    unreadable = memory_conflict(packet("Use npm.", memory=tmp_path))
    assert isinstance(unreadable, Abstain)
    assert "not UTF-8" in unreadable.reason


def test_a_file_that_cannot_be_read_is_noted_and_the_others_count(memory: Path, tmp_path: Path) -> None:
    (memory / "feedback_huge.md").write_bytes(b"x" * (FILE_LIMIT + 1))
    (memory / "feedback_broken.md").write_text("---\na: [\n---\nx")
    outside = write(tmp_path / "elsewhere", {"secret.md": "Never use pnpm."})
    (memory / "feedback_leaves.md").symlink_to(outside / "secret.md")

    agreed = judged("Use pnpm.", memory)
    assert agreed["evidence"] == []
    for name in ("feedback_huge.md", "feedback_broken.md", "feedback_leaves.md"):
        assert name in agreed["reason"]
    assert judged("Use npm.", memory)["veto"] is True


def test_no_credential_is_cited(tmp_path: Path) -> None:
    token = "ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"
    memory = write(tmp_path, {"feedback_npm.md": f"Never use npm (token {token}).\n"})

    answer = judged(f"Use npm with {token}.", memory)

    assert answer["veto"] is True
    assert token not in str(answer)


def test_reasons_and_facts_of_memory_lay_nothing_down(memory: Path) -> None:
    rules = read_memory(memory).rules
    assert not [rule for rule in rules if rule.file == "user_role.md"]
    assert not [rule for rule in rules if "lock" in rule.directive.tokens]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Never use npm, use pnpm.", [("avoid", {"npm"}), ("do", {"pnpm"})]),
        ("Use tabs instead of spaces", [("do", {"tab"}), ("avoid", {"spac"})]),
        ("Prefiere pnpm antes que npm", [("do", {"pnpm"}), ("avoid", {"npm"})]),
        ("Never commit or push to main", [("avoid", {"commit", "main"}), ("avoid", {"push", "main"})]),
        ("Never push without asking", [("do", {"ask"})]),
        ("Los mocks están prohibidos", [("avoid", {"mock"})]),
        ("npm is not used here", [("avoid", {"npm"})]),
        ("The user prefers a concise answer", [("do", {"concis"})]),
        ("Replace moment with date-fns", [("do", {"dat", "fns"}), ("avoid", {"moment"})]),
        ("Switch from npm to pnpm", [("do", {"pnpm"}), ("avoid", {"npm"})]),
        ("Do not skip tests", [("do", {"test"})]),
        ("No te saltes los tests", [("do", {"test"})]),
        ("Avoid skipping tests", [("do", {"test"})]),
    ],
)
def test_directives_have_a_sense_and_an_act(sentence: str, expected: list[tuple[str, set[str]]]) -> None:
    found = [(one.polarity, set(one.tokens)) for one in directives(sentence, stated=True)]
    assert found == expected


def rules_of(*sentences: str) -> list[Rule]:
    stated = [(sentence, one) for sentence in sentences for one in directives(sentence, stated=True)]
    return [Rule("feedback_x.md", sentence, one) for sentence, one in stated]


@given(st.sampled_from(["npm", "webpack", "jquery", "sudo", "eval", "kubectl"]), st.booleans())
def test_the_same_sense_never_conflicts_and_the_opposed_one_does(thing: str, forbidden: bool) -> None:
    rule, opposed = (
        (f"Never use {thing}.", f"Use {thing}.") if forbidden else (f"Always use {thing}.", f"Avoid {thing}.")
    )

    assert compare(rule, rules_of(rule), Budget(9))[1] == []
    assert len(compare(opposed, rules_of(rule), Budget(9))[1]) == 1


@given(drafts, drafts)
def test_any_memory_and_any_draft_are_compared(memory: str, draft: str) -> None:
    rules = rules_of(memory[:400])
    related, conflicts = compare(draft, rules, Budget(60))

    assert 0 <= related <= len(rules)
    assert all(conflict.rule in rules for conflict in conflicts)


def test_a_draft_too_long_for_the_time_is_not_waved_through(memory: Path) -> None:
    answer = memory_conflict(packet("Nothing of note here. " * 20_000, memory=memory, seconds=0.01))
    assert isinstance(answer, Abstain)
    assert "too long" in answer.reason


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["never ", "prefer a over b ", "a or b ", "please just ", "replace a with b ", "aaaaaaaa"]
)
def test_hostile_text_of_a_mebibyte_is_read_to_its_end(piece: str) -> None:
    draft = piece * (1024 * 1024 // len(piece)) + "\n\nUse npm.\n"
    assert len(compare(draft, rules_of("Never use npm."), Budget(600))[1]) == 1
