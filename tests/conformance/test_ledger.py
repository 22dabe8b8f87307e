"""The ledger's contract, on SQLite and PostgreSQL alike."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from multiprocessing import get_context

import pytest
from sealing import PANEL, Clock, record_of, seal, seal_many, verdict_of, vote_of
from sqlalchemy import exc as sa_exc
from sqlalchemy import select, text

from tribunal.errors import ContractError, NotFound
from tribunal.ledger import REOPENED, Ledger
from tribunal.ledger.schema import log
from tribunal.model import Answered, Authority, Context, Decision, Grade, Stage, VoteStatus, canonical, sha256

WRITERS = 8


def test_a_sealed_verdict_comes_back_as_it_was_with_its_number(ledger: Ledger) -> None:
    verdict = verdict_of(
        "case-1",
        outcome="warn",
        facts={"round": 1, "matched": ["ñ", 0.1, None]},
        answered=Answered(outcome="warn", reason="timeout"),
    )

    sealed = ledger.seal(record_of("case-1"), lambda path: verdict)

    assert sealed.won
    assert sealed.verdict == verdict.with_seq(1)
    assert ledger.get("case-1") == sealed.verdict
    assert ledger.entries(0, 10) == [sealed.verdict]
    assert ledger.head() == 1


def test_an_unknown_case_has_nothing(ledger: Ledger) -> None:
    assert ledger.get("nobody") is None
    assert ledger.record("nobody") is None
    assert ledger.votes("nobody") == []
    assert ledger.head() == 0


def test_i4_the_second_seal_gets_the_first_verdict_and_takes_no_number(ledger: Ledger) -> None:
    first = seal(ledger, "case-1", outcome="pass")

    second = seal(ledger, "case-1", outcome="veto")

    assert not second.won
    assert second.verdict == first.verdict
    assert seal(ledger, "case-2").verdict.seq == 2


def test_i3_of_eight_that_seal_one_case_at_once_one_wins(ledger: Ledger) -> None:
    start = threading.Barrier(WRITERS)

    def race(writer: int) -> bool:
        start.wait()
        return seal(ledger, "case-1", outcome=f"by_{'abcdefgh'[writer]}").won

    with ThreadPoolExecutor(WRITERS) as pool:
        won = list(pool.map(race, range(WRITERS)))

    assert won.count(True) == 1
    verdict = ledger.get("case-1")
    assert verdict is not None
    assert verdict.decision.outcome == f"by_{'abcdefgh'[won.index(True)]}"
    assert ledger.head() == 1


def test_i4_a_seal_that_fails_leaves_no_trace_and_no_gap(ledger: Ledger) -> None:
    seal(ledger, "case-1")
    twice = (Stage(stage=1, votes=(vote_of("tone"), vote_of("tone"))),)

    def build(path: str | None) -> object:
        raise RuntimeError("rendering failed")

    with pytest.raises(RuntimeError, match="rendering failed"):
        ledger.seal(record_of("case-2", paths=("a.json", "b.json")), build)  # pyright: ignore[reportArgumentType]
    with pytest.raises(sa_exc.IntegrityError):
        seal(ledger, "case-3", history=twice)  # fails half way, after the verdict's row

    assert ledger.get("case-2") is None
    assert ledger.get("case-3") is None
    assert seal(ledger, "case-4").verdict.seq == 2
    paths: list[str | None] = []
    ledger.seal(
        record_of("case-5", paths=("a.json", "b.json")), lambda path: paths.append(path) or verdict_of("case-5")
    )
    assert paths == ["a.json"]


def _tail(ledger: Ledger, writers: Sequence[Future[list[int]]]) -> list[int]:
    """What a reader sees that only ever asks for what comes after the last it saw, until the writers are done."""
    seen: list[int] = []
    while True:
        over = not wait(writers, timeout=0.002).not_done
        fresh = [verdict.seq or 0 for verdict in ledger.entries(seen[-1] if seen else 0, 7)]
        if over and not fresh:
            return seen
        seen += fresh


def _seal_on(ledger: Ledger, writer: int, cases: int) -> list[int]:
    return [seal(ledger, f"w{writer}-{case}").verdict.seq or 0 for case in range(cases)]


def _check_order(ledger: Ledger, writers: Sequence[Future[list[int]]], cases: int) -> None:
    seen = _tail(ledger, writers)
    given = [seq for writer in writers for seq in writer.result()]
    assert sorted(given) == list(range(1, WRITERS * cases + 1))
    assert seen == list(range(1, WRITERS * cases + 1))
    assert ledger.head() == WRITERS * cases


def test_i4_eight_threads_leave_no_gap_and_a_tailing_reader_skips_none(ledger: Ledger) -> None:
    cases = 25

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(_seal_on, ledger, writer, cases) for writer in range(WRITERS)]
        _check_order(ledger, writers, cases)


@pytest.mark.slow
def test_i4_eight_processes_leave_no_gap_and_a_tailing_reader_skips_none(ledger: Ledger, ledger_url: str) -> None:
    cases = 25

    with ProcessPoolExecutor(WRITERS, mp_context=get_context("spawn")) as pool:
        writers = [pool.submit(seal_many, ledger_url, writer, cases) for writer in range(WRITERS)]
        _check_order(ledger, writers, cases)


def test_the_first_free_path_is_claimed_and_no_path_is_given_twice(ledger: Ledger) -> None:
    given: dict[str, str | None] = {}

    def seal_at(case_id: str, *paths: str) -> None:
        def build(path: str | None) -> object:
            given[case_id] = path
            return verdict_of(case_id, output={"audit_path": path})

        ledger.seal(record_of(case_id, paths=paths or None), build)  # pyright: ignore[reportArgumentType]

    seal_at("case-1", "day/hash.json", "day/hash.case-1.json")
    seal_at("case-2", "day/hash.json", "day/hash.case-2.json")
    seal_at("case-3", "day/hash.json", "day/hash.case-2.json")
    seal_at("case-4")

    assert given == {"case-1": "day/hash.json", "case-2": "day/hash.case-2.json", "case-3": None, "case-4": None}
    kept = [ledger.record(case_id) for case_id in given]
    assert [record.path for record in kept if record] == list(given.values())


def test_cases_that_want_one_path_at_once_get_different_ones(ledger: Ledger) -> None:
    start = threading.Barrier(WRITERS)
    given: list[str | None] = []

    def race(writer: int) -> None:
        case_id = f"case-{writer}"
        start.wait()
        ledger.seal(
            record_of(case_id, paths=("hash.json", f"hash.{case_id}.json")),
            lambda path: given.append(path) or verdict_of(case_id),
        )

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(race, range(WRITERS)))

    assert given.count("hash.json") == 1
    assert len(set(given)) == WRITERS
    assert None not in given


def test_a_seal_that_comes_second_keeps_no_path(ledger: Ledger) -> None:
    seal(ledger, "case-1")
    given: list[str | None] = []

    for case_id in ("case-1", "case-2"):
        ledger.seal(
            record_of(case_id, paths=("a.json", f"a.{case_id}.json")),
            lambda path, case_id=case_id: given.append(path) or verdict_of(case_id),
        )

    assert given == ["a.json", "a.json"]


@pytest.mark.parametrize("table", ["verdicts", "votes", "log"])
@pytest.mark.parametrize("change", ["UPDATE {} SET case_id = 'case-2'", "DELETE FROM {}"])
def test_i2_the_database_itself_refuses_to_change_what_is_sealed(ledger: Ledger, table: str, change: str) -> None:
    before = seal(ledger, "case-1").verdict

    with pytest.raises(sa_exc.IntegrityError, match="insert-only"), ledger.store.writing() as connection:
        connection.execute(text(change.format(table)))

    assert ledger.get("case-1") == before


def test_i7_only_a_final_verdict_of_the_case_is_sealed(ledger: Ledger) -> None:
    for wrong in (
        verdict_of("case-2"),
        verdict_of("case-1", final=False, reason="timeout"),
        verdict_of("case-1").with_seq(7),
    ):
        with pytest.raises(ContractError, match="final verdict of case case-1"):
            ledger.seal(record_of("case-1"), lambda path, wrong=wrong: wrong)

    assert ledger.head() == 0


def test_a_verdict_that_is_no_json_is_refused(ledger: Ledger) -> None:
    lone = (Stage(stage=1, votes=(vote_of(answer={"reason": "\ud800"}),)),)

    with pytest.raises(ContractError, match="case-1 is no JSON"):
        seal(ledger, "case-1", history=lone)

    assert ledger.get("case-1") is None


def test_i2_a_late_vote_is_recorded_once_and_the_verdict_stays(ledger: Ledger) -> None:
    before = seal(ledger, "case-1").verdict
    late = vote_of("tone", status=VoteStatus.LATE, answer={"veto": True}, attempt=1)

    ledger.add_late("case-1", 1, late)
    ledger.add_late("case-1", 1, late)

    assert ledger.get("case-1") == before
    votes = ledger.votes("case-1")
    assert [(vote.vote.seat, vote.late) for vote in votes] == [("safety", False), ("tone", False), ("tone", True)]
    assert votes[2].vote == late


def test_a_late_vote_of_a_case_that_is_not_sealed_is_refused(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match="case nobody has no sealed verdict"):
        ledger.add_late("nobody", 1, vote_of())


def test_what_is_not_marked_comes_back_after_its_time(ledger: Ledger, clock: Clock) -> None:
    one, two = seal(ledger, "case-1").verdict, seal(ledger, "case-2").verdict
    assert ledger.unmarked("published", older_than_ms=2_000, limit=10) == []

    clock.advance(2_000)
    assert ledger.unmarked("published", older_than_ms=2_000, limit=10) == [one, two]
    assert ledger.unmarked("published", older_than_ms=2_000, limit=1) == [one]

    ledger.mark("case-1", "published")
    ledger.mark("case-1", "published")
    assert ledger.unmarked("published", older_than_ms=2_000, limit=10) == [two]
    assert ledger.unmarked("exported", older_than_ms=0, limit=10) == [one, two]

    ledger.mark("case-2", "published", "exported")
    assert ledger.unmarked("published", older_than_ms=0, limit=10) == []
    assert ledger.unmarked("exported", older_than_ms=0, limit=10) == [one]


def test_a_case_that_is_not_sealed_cannot_be_marked(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match="nobody"):
        ledger.mark("nobody", "published")


def test_the_list_shows_the_newest_first_and_filters(ledger: Ledger) -> None:
    for number, (panel, outcome) in enumerate([("a", "pass"), ("b", "pass"), ("a", "warn"), ("a", "pass")], start=1):
        seal(ledger, f"case-{number}", panel=panel, outcome=outcome)

    def numbers(**given: object) -> list[int | None]:
        return [verdict.seq for verdict in ledger.list(**given)]  # pyright: ignore[reportArgumentType]

    assert numbers() == [4, 3, 2, 1]
    assert numbers(limit=2) == [4, 3]
    assert numbers(limit=2, before_seq=3) == [2, 1]
    assert numbers(panel="a") == [4, 3, 1]
    assert numbers(panel="a", outcome="pass") == [4, 1]
    assert numbers(outcome="veto") == []


def test_the_record_keeps_what_the_case_was_judged_by(ledger: Ledger) -> None:
    context = Context(ref="pr/7", touches=("auth",), routine="nightly", policy="only docs")
    record = record_of("case-1", context=context, subject_bytes=12, preview="añ…", kept=b"\x00\xff", lineage="l/7")
    ledger.seal(record, lambda path: verdict_of("case-1"))

    assert ledger.record("case-1") == record


def test_the_latest_case_of_each_lineage_is_its_state(ledger: Ledger) -> None:
    seal(ledger, "a1", lineage="a", outcome="needs_revision", facts={"round": 1})
    seal(ledger, "b1", lineage="b", outcome="escalate", facts={"round": 1})
    seal(ledger, "c1")
    seal(ledger, "a2", lineage="a", outcome="approved", facts={"round": 2})

    states = {state.lineage: state for state in ledger.lineages()}

    assert sorted(states) == ["a", "b"]
    assert (states["a"].case_id, states["a"].outcome, states["a"].facts) == ("a2", "approved", {"round": 2})
    assert (states["b"].case_id, states["b"].reopened) == ("b1", False)


def test_a_person_reopens_a_lineage_until_its_next_case(ledger: Ledger, clock: Clock) -> None:
    before = seal(ledger, "b1", lineage="b", outcome="escalate").verdict

    noted = ledger.follow_up("b1", "merged", "ana", "by hand")
    assert not ledger.lineages()[0].reopened
    reopened = ledger.follow_up("b1", REOPENED, "ana", "try again")
    assert ledger.lineages()[0].reopened

    assert ledger.follow_ups("b1") == [noted, reopened]
    assert reopened.at == clock.now
    assert ledger.get("b1") == before
    seal(ledger, "b2", lineage="b", outcome="escalate")
    assert [(state.case_id, state.reopened) for state in ledger.lineages()] == [("b2", False)]


@pytest.mark.parametrize(
    ("kind", "by", "note", "named"),
    [("", "ana", "x", "kind"), ("k" * 65, "ana", "x", "kind"), ("k", " ", "x", "by"), ("k", "ana", "a\x00b", "note")],
)
def test_a_follow_up_says_what_who_and_why(ledger: Ledger, kind: str, by: str, note: str, named: str) -> None:
    seal(ledger, "case-1")

    with pytest.raises(ContractError, match=f"follow-up's {named} is"):
        ledger.follow_up("case-1", kind, by, note)

    assert ledger.follow_ups("case-1") == []


def test_a_follow_up_needs_a_sealed_case(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match="nobody"):
        ledger.follow_up("nobody", REOPENED, "ana", "why not")


def test_the_log_holds_the_hash_of_what_was_sealed(ledger: Ledger) -> None:
    for number in (1, 2, 3):
        seal(ledger, f"case-{number}")
    with ledger.store.reading() as connection:
        digest = connection.execute(select(log.c.sha256).where(log.c.seq == 2)).scalar_one()
    assert digest == sha256(canonical(verdict_of("case-2").model_dump(mode="json", exclude={"seq"})))


def test_decisions_with_an_authority_keep_their_routing_key(ledger: Ledger) -> None:
    decision = Decision(outcome="approved", grade=Grade.PERMISSIVE, authority=Authority.AUTO)
    seal(ledger, "case-1", panel="routine-review", decision=decision)

    with ledger.store.reading() as connection:
        assert connection.execute(select(log.c.routing_key)).scalar_one() == "routine-review.approved.auto"


def test_the_panel_snapshot_gives_the_version_that_the_verdict_names(ledger: Ledger) -> None:
    seal(ledger, "case-1")

    record, verdict = ledger.record("case-1"), ledger.get("case-1")

    assert record is not None
    assert verdict is not None
    assert record.panel == PANEL
    assert record.panel.version == verdict.panel_version
