"""The wire format: strict, frozen, and the same after a round trip."""

import json

import pytest
from pydantic import ValidationError

from tribunal.client import contract_error, parse_context
from tribunal.errors import ContractError
from tribunal.lineage import lineage_of
from tribunal.model import Authority, Case, Context, Decision, Grade, Verdict, Vote, VoteStatus
from tribunal.wire import Names, parse_task_id, task_id


def verdict(outcome: str, grade: Grade, authority: Authority | None = None) -> Verdict:
    return Verdict(
        verdict_id=Verdict.id_of("c"),
        case_id="c",
        panel="routine-review",
        panel_version="1",
        decision=Decision(outcome=outcome, grade=grade, authority=authority),
        history=(),
        subject_sha256="0",
        opened_at=1,
        deadline_at=2,
        sealed_at=3,
    )


@pytest.mark.parametrize(
    ("made", "key", "code"),
    [
        (verdict("pass", Grade.PERMISSIVE), "routine-review.pass", 0),
        (verdict("approved", Grade.PERMISSIVE, Authority.AUTO), "routine-review.approved.auto", 0),
        (verdict("approved", Grade.PERMISSIVE, Authority.HUMAN), "routine-review.approved.human", 11),
        (verdict("needs_revision", Grade.MIDDLE), "routine-review.needs_revision", 10),
        (verdict("escalate", Grade.REFUSING), "routine-review.escalate", 20),
        (verdict("skipped", Grade.SKIPPED), "routine-review.skipped", 12),
    ],
)
def test_keys_and_exit_codes(made: Verdict, key: str, code: int) -> None:
    assert (made.routing_key, made.exit_code) == (key, code)
    assert Verdict.model_validate_json(made.model_dump_json()) == made


def test_types_are_strict() -> None:
    for text in (
        '{"seat": "a", "judge": "b", "status": "voted", "attempt": "1"}',
        '{"seat": "a", "judge": "b", "status": "voted", "elapsed_ms": 1.5}',
        '{"seat": "A", "judge": "b", "status": "voted"}',
        '{"seat": "a", "judge": "b", "status": "maybe"}',
        '{"seat": "a", "judge": "b", "status": "voted", "extra": 1}',
    ):
        with pytest.raises(ValidationError):
            Vote.model_validate_json(text)
    vote = Vote(seat="a", judge="b", status=VoteStatus.VOTED)
    with pytest.raises(ValidationError):
        vote.seat = "c"  # type: ignore[misc]  # that it is refused is the test


def test_the_digest_tells_content_not_identity() -> None:
    one, two = Case(panel="p", subject="x"), Case(panel="p", subject="x")
    assert one.case_id != two.case_id
    assert one.digest == two.digest
    assert one.digest != Case(panel="p", subject="y").digest
    assert one.digest != Case(panel="p", subject="x", context=Context(ref="1")).digest


def test_a_contract_error_names_field_limit_and_value() -> None:
    with pytest.raises(ValidationError) as fault:
        parse_context({"risk_score": 101, "rsik": "high"})
    message = str(contract_error(fault.value))
    assert "risk_score: Input should be less than or equal to 100; 101 came" in message
    assert 'unknown field "rsik"; did you mean "risk"?' in message


def test_task_ids_come_apart_again() -> None:
    assert parse_task_id(task_id("case-1", 2, "rule-violation")) == ("case-1", 2, "rule-violation")
    for other in ("case-1", "case-1:2", "a:b:c", "5f0c-uuid"):
        assert parse_task_id(other) is None


def test_names_begin_with_the_namespace() -> None:
    names = Names("mine")
    assert (names.aggregation, names.exchange) == ("mine.aggregation", "mine.verdicts")
    assert (names.queue("tone"), names.key("case", "1")) == ("mine.judge.tone", "mine:case:1")


def test_lineages() -> None:
    def lineage(**context: str) -> str:
        return lineage_of(Case(panel="review", subject="x", context=Context(**context)), "routine-review")  # type: ignore[arg-type]

    assert lineage(routine="r", target="1") == lineage(routine="r", ref="1") != lineage(routine="r", target="2")
    assert lineage(routine="r") != lineage(routine="r")
    assert lineage(routine="r", previous="old") == ""
    with pytest.raises(ContractError, match="--routine"):
        lineage(target="1")
    with pytest.raises(ContractError, match="leave previous out"):
        lineage_of(Case(panel="p", subject="x", context=Context(previous="c")), "recommendation")
    assert json.loads(Case(panel="p", subject="x").model_dump_json())["schema_version"] == 1
