"""expertise-asymmetry finds the draft's domain, how well the reader knows it, and what the draft then lacks."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from judge_packets import drafts, packet, write

from tribunal.judging import Abstain
from tribunal.procedures.opinions import Opinion, read_opinion
from workers.judges.expertise_asymmetry import LEVELS, domain_of, expertise_asymmetry, read_domains

LIST = """# What I know

- Kubernetes: blind (argo, istio)
- Python: high
- SQL databases: medium
- Derecho: ciego (contrato, licencia)
- **Terraform** — low
- Cooking
"""
TABLE = "| Domain | Level | Keywords |\n|---|---|---|\n| Kubernetes | blind | argo |\n| Python | high | celery |\n"
HEADER = "---\ndomains:\n  kubernetes: blind\n  python: {level: high, keywords: [celery]}\n---\n"

BARE = "Run `kubectl rollout restart deployment/api` now."
EXPLAINED = (
    "Restart the pods, because the config map is only read at start. I considered a rolling update instead of it and "
    "rejected that as slower. To check it, run `kubectl get pods`: you should see new ages."
)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return write(tmp_path, {"expertise.md": LIST})


def judged(draft: str, **context: Any) -> dict[str, Any]:
    answer = expertise_asymmetry(packet(draft, **context))
    assert isinstance(answer, dict), answer
    assert isinstance(read_opinion(answer), Opinion), read_opinion(answer)
    return answer


@pytest.mark.parametrize(
    ("draft", "domain", "level"),
    [
        (BARE, "Kubernetes", "blind"),
        ("Reinicia los pods con kubectl.", "Kubernetes", "blind"),
        ("Sync the app with argo.", "Kubernetes", "blind"),
        ("Usa pytest para probar la función en Python.", "Python", "high"),
        ("Add an asyncio task to the Flask view.", "Python", "high"),
        ("Add an index to the table so that the query is fast in PostgreSQL.", "SQL databases", "medium"),
        ("Añade un índice y repite la consulta.", "SQL databases", "medium"),
        ("Firma el contrato con esa licencia.", "Derecho", "blind"),
        ("Run terraform plan on the tfstate.", "Terraform", "low"),
    ],
)
def test_the_drafts_domain_and_level_are_found(memory: Path, draft: str, domain: str, level: str) -> None:
    answer = judged(draft, memory=memory)

    assert (answer["domain"], answer["audit_level"]) == (domain, level)
    assert answer["mode"] == ("rewrite-blind" if level == "blind" else "normal")
    assert answer["veto"] is False


@pytest.mark.parametrize("text", [LIST, TABLE, HEADER])
def test_lists_tables_and_front_matter_are_read(tmp_path: Path, text: str) -> None:
    expertise = write(tmp_path, {"mine.md": text}) / "mine.md"
    assert judged(BARE, expertise=expertise)["audit_level"] == "blind"
    assert judged("Use pytest in python.", expertise=expertise)["audit_level"] == "high"


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("- Docker: none", "blind"),
        ("- Docker: basic", "low"),
        ("- Docker: intermedio", "medium"),
        ("- Docker = expert", "high"),
        ("Docker: low", "low"),
        ("## Docker: blind", "blind"),
        ("1. Docker — bajo", "low"),
    ],
)
def test_levels_are_understood_in_both_languages(line: str, level: str) -> None:
    assert [domain.level for domain in read_domains(line)] == [level]


def test_a_blind_reader_gets_a_template_for_what_is_missing(memory: Path) -> None:
    answer = judged(BARE, memory=memory)

    assert answer["score"] == 25
    assert answer["missing_sections"] == ["Why", "Alternatives rejected", "How to verify"]
    assert [line for line in answer["rewrite_template"].splitlines() if line.startswith("##")] == [
        "## Why",
        "## Alternatives rejected",
        "## How to verify",
    ]
    assert "Kubernetes" in answer["rewrite_template"]


def test_the_template_speaks_the_drafts_language(memory: Path) -> None:
    draft = "Reinicia los pods con kubectl y mira en los registros si el error se ha ido, que es lo que hay que ver."
    assert "## Por qué" in judged(draft, memory=memory)["rewrite_template"]


def test_a_draft_that_explains_itself_scores_full(memory: Path) -> None:
    answer = judged(EXPLAINED, memory=memory)
    assert (answer["score"], answer["missing_sections"]) == (100, [])
    assert answer["mode"] == "rewrite-blind"


def test_a_level_that_suffices_asks_for_nothing(memory: Path) -> None:
    answer = judged("Use pytest in Python.", memory=memory)
    assert answer["score"] == 100
    assert "rewrite_template" not in answer


EVERYDAY = "- networking: blind\n- go: blind\n- legal: blind\n- rust: blind\n- git: blind\n- Ventas: blind (red)\n"


@pytest.mark.parametrize(
    "draft",
    [
        "Look at the red lines in the coverage report and write a test for each of them.",
        "Go to the settings page, then go to Billing and press Cancel.",
        "Let's go. Go on with it: Go first.",
        "Usa una lista; ve a la página roja de la red de amigos.",
        "The contract of the function stays the same.",
        "Sign it.\n\nRust on the door is no problem.",
    ],
)
def test_an_everyday_word_alone_is_no_domain(tmp_path: Path, draft: str) -> None:
    answer = judged(draft, memory=write(tmp_path, {"expertise.md": EVERYDAY}))
    assert (answer["domain"], answer["mode"]) == (None, "normal")


@pytest.mark.parametrize(
    ("draft", "domain"),
    [
        ("Write the service in Go, it is faster.", "go"),
        ("```go\nfunc main() {}\n```", "go"),
        ("Run `go test ./...` first.", "go"),
        ("Start a goroutine and go on.", "go"),
        ("Port it to Rust.", "rust"),
        ("Divide la red en una subred más pequeña.", "networking"),
        ("The routing of the network is wrong.", "networking"),
        ("The contract comes with a license.", "legal"),
    ],
)
def test_an_everyday_word_counts_as_a_name_or_beside_another(tmp_path: Path, draft: str, domain: str) -> None:
    assert judged(draft, memory=write(tmp_path, {"expertise.md": EVERYDAY}))["domain"] == domain


def test_of_two_domains_alike_the_weaker_decides(memory: Path) -> None:
    assert judged("Call kubectl from Python.", memory=memory)["domain"] == "Kubernetes"
    mostly_python = "Use pytest, asyncio, flask, django and pydantic in Python; it may run in a pod."
    assert judged(mostly_python, memory=memory)["domain"] == "Python"


def test_without_an_expertise_file_the_level_is_medium_and_said_so(tmp_path: Path) -> None:
    for answer in (judged(BARE), judged(BARE, memory=tmp_path)):
        assert (answer["score"], answer["audit_level"], answer["mode"]) == (None, "medium", "normal")
        assert "no expertise.md" in answer["reason"]


def test_a_draft_of_no_listed_domain_has_no_score(memory: Path) -> None:
    answer = judged("The weather is fine.", memory=memory)
    assert (answer["score"], answer["domain"], answer["audit_level"]) == (None, None, "medium")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\xff\xfe", "not UTF-8"), (b"# Nothing here", "names no domain"), (b"---\na: [\n---\n", "no YAML")],
)
def test_a_file_that_says_nothing_is_an_abstention(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "expertise.md").write_bytes(content)
    answer = expertise_asymmetry(packet(BARE, memory=tmp_path))
    assert isinstance(answer, Abstain)
    assert reason in answer.reason


def test_a_named_file_that_is_missing_or_leaves_memory_is_an_abstention(tmp_path: Path) -> None:
    memory = write(tmp_path / "memory", {"x.md": ""})
    write(tmp_path, {"outside.md": LIST})
    (memory / "expertise.md").symlink_to(tmp_path / "outside.md")

    for answer in (
        expertise_asymmetry(packet(BARE, expertise=tmp_path / "missing.md")),
        expertise_asymmetry(packet(BARE, memory=memory)),
        expertise_asymmetry(packet(BARE, memory=tmp_path / "missing")),
    ):
        assert isinstance(answer, Abstain)


@given(drafts, drafts)
def test_any_file_without_a_header_is_read_and_any_draft_placed(text: str, draft: str) -> None:
    domains = read_domains(f"\n{text}")
    found = domain_of(draft, domains)

    assert all(domain.level in LEVELS for domain in domains)
    assert found is None or found in domains


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["- a", "a b ", "# ", "| ", "a: ", "pod "])
def test_hostile_text_of_a_mebibyte_is_read_to_its_end(piece: str) -> None:
    text = piece * (1024 * 1024 // len(piece))
    domains = read_domains(f"\n{text[: 256 * 1024]}\n- Kubernetes: blind\n")
    assert domains[-1].name == "Kubernetes"
    found = domain_of(f"{text} kubectl", domains[-1:])
    assert found is not None
