"""The docket's promises, on every server that it runs on: fakeredis, the embedded Valkey, Redis 7."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from pydantic import JsonValue
from sealing import verdict_of

from tribunal.docket import Ballot, Dispatch, Docket, Opened, Plan
from tribunal.errors import Conflict, ContractError, StoreUnavailable
from tribunal.lineage import lineage_of
from tribunal.model import Answered, Case, Context, Trigger, Vote, VoteStatus
from tribunal.panels import Panel, Seat
from tribunal.testing import memory_docket

SENT = 0
"""When a message was sent: long before any seat, so that it tells nothing of other messages."""
QUICK = Panel(
    name="quick",
    procedure="recommendation",
    answer_within=3.0,
    seats=(Seat(name="a", judge="ja", timeout=2.0), Seat(name="b", judge="jb", timeout=2.0)),
)
REVIEW = Panel(
    name="review",
    procedure="routine-review",
    answer_within=60.0,
    stage_share=20.0,
    seats=(
        Seat(name="mimir", judge="m", timeout=20.0),
        Seat(name="forseti", judge="f", timeout=20.0),
        Seat(name="thor", judge="t", timeout=30.0, stage=2),
    ),
)


@pytest.fixture(params=["memory", "valkey", "redis"])
def docket(request: pytest.FixtureRequest, require_service: Callable[[str], None]) -> Iterator[Docket]:
    namespace = f"test{uuid4().hex[:12]}"
    if request.param == "memory":
        made = memory_docket(namespace)
    elif request.param == "valkey":
        made = Docket(request.getfixturevalue("valkey"), namespace=namespace)
    else:
        require_service("redis")
        made = Docket("redis://127.0.0.1:6379/0", namespace=namespace, wait_aof_ms=0)
    made.publish_panels([QUICK, REVIEW])
    yield made
    for key in made._redis.scan_iter(f"{namespace}:*"):
        made._redis.delete(key)
    made.close()


def opened(docket: Docket, panel: Panel = QUICK, **context: object) -> Opened:
    case = Case(panel=panel.name, subject="a draft", context=Context.model_validate(context))
    answer = docket.open(case, docket.plan(panel.name), {}, lineage_of(case, panel.procedure))
    assert isinstance(answer, Opened)
    return answer


def ballot(seat: str, status: VoteStatus = VoteStatus.VOTED, **answer: JsonValue) -> Ballot:
    return Ballot(vote=Vote(seat=seat, judge="j", status=status, answer=answer or {"score": 100}, attempt=1))


def after(docket: Docket, milliseconds: int) -> None:
    """Let time pass for the docket: every due time and every lease and end of a case moves that far back."""
    redis, ns = docket._redis, docket.names.namespace
    for member, score in redis.zrange(f"{ns}:due", 0, -1, withscores=True):
        redis.zadd(f"{ns}:due", {member: score - milliseconds})
    for key in redis.scan_iter(f"{ns}:case:*"):
        for name, value in redis.hgetall(key).items():
            if name in ("opened", "deadline") or name.rpartition(":")[2] in ("end", "lease", "sent", "begun"):
                redis.hset(key, name, int(float(value)) - milliseconds)


def test_opening_twice_opens_once(docket: Docket) -> None:
    case = Case(panel="quick", subject="a draft")
    first = docket.open(case, docket.plan("quick"), {}, "")
    again = docket.open(case, docket.plan("quick"), {}, "")
    assert isinstance(first, Opened)
    assert isinstance(again, Opened)
    assert first.dispatch.seats == (("a", "ja"), ("b", "jb"))
    assert not first.existed
    assert again.existed
    assert again.dispatch == first.dispatch  # nobody began them: the producer may have died before it sent them
    docket.begin(case.case_id, 1, "a", "w|1", SENT)
    third = docket.open(case, docket.plan("quick"), {}, "")
    assert isinstance(third, Opened)
    assert third.dispatch.seats == (("b", "jb"),)
    assert again.deadline_at == first.deadline_at == first.opened_at + 2600


def test_the_same_id_with_other_content_is_a_conflict(docket: Docket) -> None:
    case = Case(panel="quick", subject="a draft")
    docket.open(case, docket.plan("quick"), {}, "")
    with pytest.raises(Conflict, match="other content"):
        docket.open(case.model_copy(update={"subject": "another"}), docket.plan("quick"), {}, "")


def test_a_stale_plan_is_answered_with_the_newer_one(docket: Docket) -> None:
    old = docket.plan("quick")
    docket.publish_panels([QUICK.model_copy(update={"answer_within": 9.0})])
    answer = docket.open(Case(panel="quick", subject="a draft"), old, {}, "")
    assert isinstance(answer, Plan)
    assert answer.panel.answer_within == 9.0
    assert docket.open_cases() == []


def test_an_unknown_panel_names_the_nearest(docket: Docket) -> None:
    with pytest.raises(ContractError, match='did you mean "quick"'):
        docket.plan("quik")


def test_a_redis_without_any_panel_is_no_mistake_of_the_users(docket: Docket) -> None:
    plan = docket.plan("quick")
    assert docket.published()
    docket._redis.delete(docket.names.key("panels"))
    assert not docket.published()
    with pytest.raises(StoreUnavailable, match="no panels are published"):
        docket.plan("quick")
    with pytest.raises(StoreUnavailable, match="no panels are published"):
        docket.open(Case(panel="quick", subject="a draft"), plan, {}, "")


def test_a_seat_without_a_judge_abstains_at_once(docket: Docket) -> None:
    docket.publish_panels([QUICK.model_copy(update={"unseated": ("ja", "jb")})])
    case = opened(docket)
    assert case.dispatch.seats == ()
    frozen = docket.freeze(case.case_id)
    assert frozen is not None
    assert frozen.trigger is Trigger.COMPLETE
    assert {vote.status for vote in frozen.history[0].votes} == {VoteStatus.ABSTAINED}
    assert frozen.history[0].votes[0].reason == 'no judge "ja" is configured here'


def test_the_last_vote_completes_and_the_first_of_a_seat_stands(docket: Docket) -> None:
    """I5."""
    case_id = opened(docket).case_id
    assert docket.begin(case_id, 1, "a", "w|1", SENT) is not None
    assert docket.vote(case_id, 1, "w|1", ballot("a", score=1)) == "recorded"
    assert docket.vote(case_id, 1, "w|1", ballot("a", score=2)) == "repeat"
    assert docket.freeze(case_id) is None
    assert docket.vote(case_id, 1, "x|1", ballot("b", score=3)) == "complete"
    frozen = docket.freeze(case_id)
    assert frozen is not None
    assert [vote.answer for vote in frozen.history[0].votes] == [{"score": 1}, {"score": 3}]


def test_a_live_lease_keeps_others_out_and_its_holder_may_ask_again(docket: Docket) -> None:
    case_id = opened(docket).case_id
    began = docket.begin(case_id, 1, "a", "w|1", SENT)
    assert began is not None
    assert (began.attempt, began.judge, began.procedure, began.subject) == (1, "ja", "recommendation", "a draft")
    assert began.lease_ms == 1200
    assert docket.begin(case_id, 1, "a", "x|2", SENT) is None
    repeated = docket.begin(case_id, 1, "a", "w|1", SENT)
    assert repeated is not None
    assert repeated.attempt == 1


def test_an_expired_lease_is_sent_again_once_and_then_is_an_error(docket: Docket) -> None:
    """I6: a lost worker costs an attempt, the second one the vote."""
    case_id = opened(docket, REVIEW, routine="r", target="1").case_id
    assert docket.begin(case_id, 1, "mimir", "w|1", SENT)
    after(docket, 11_000)
    assert docket.seat_due(case_id, 1, "mimir").action == "resend"
    assert docket.seat_due(case_id, 1, "mimir").action == "waiting"
    assert not docket.renew(case_id, 1, "mimir", "w|1")
    began = docket.begin(case_id, 1, "mimir", "w|2", SENT)
    assert began is not None
    assert began.attempt == 2
    # A stale attempt may not fail the seat, but a real vote of it would count.
    assert docket.vote(case_id, 1, "w|1", ballot("mimir", VoteStatus.TIMEOUT)) == "stale"
    assert docket.fail(case_id, 1, "mimir", "w|1", "boom") == "stale"
    redis, case = docket._redis, docket.names.key("case", case_id)
    redis.hset(case, "1:mimir:lease", 1)
    assert docket.seat_due(case_id, 1, "mimir").action == "recorded"
    copy = docket.peek(case_id)
    assert copy is not None
    vote = copy.history[0].by_seat()["mimir"]
    assert (vote.status, vote.attempt, vote.reason) == (VoteStatus.ERROR, 2, "the judge was lost 2 times")


def test_a_stale_attempts_real_vote_counts(docket: Docket) -> None:
    case_id = opened(docket, REVIEW, routine="r", target="1").case_id
    docket.begin(case_id, 1, "mimir", "w|1", SENT)
    after(docket, 11_000)
    docket.seat_due(case_id, 1, "mimir")
    docket.begin(case_id, 1, "mimir", "w|2", SENT)
    assert docket.vote(case_id, 1, "w|1", ballot("mimir")) == "recorded"
    assert docket.vote(case_id, 1, "w|2", ballot("mimir")) == "repeat"


def test_a_failed_attempt_is_due_at_once_and_the_second_is_an_error(docket: Docket) -> None:
    case_id = opened(docket).case_id
    docket.begin(case_id, 1, "a", "w|1", SENT)
    assert docket.fail(case_id, 1, "a", "", "no token") == "stale"
    assert docket.fail(case_id, 1, "a", "w|1", "boom") == "retry"
    assert docket.fail(case_id, 1, "a", "w|1", "boom") == "stale"
    assert docket.take_due() == [f"{case_id}:1:a"]
    assert docket.seat_due(case_id, 1, "a").action == "resend"
    docket.begin(case_id, 1, "a", "w|2", SENT)
    assert docket.fail(case_id, 1, "a", "w|2", "boom again") == "recorded"
    assert docket.begin(case_id, 1, "a", "w|3", SENT) is None


def test_a_seat_never_begun_is_sent_again_only_if_its_message_is_lost(docket: Docket) -> None:
    first, second = opened(docket).case_id, opened(docket).case_id
    after(docket, 1_500)
    assert docket.seat_due(first, 1, "a").action == "look"
    assert docket.seat_due(first, 1, "a", queue_empty=False).action == "waiting"
    assert docket.seat_due(first, 1, "a", queue_empty=True).action == "resend"
    assert docket.seat_due(first, 1, "a", queue_empty=True).action == "waiting"
    # The second case's seat is handed out though it was sent later than the first case's other seat.
    sent = int(docket._redis.hget(docket.names.key("case", first), "1:b:sent"))
    docket.begin(second, 1, "b", "w|1", sent + 1)
    assert docket.seat_due(first, 1, "b").action == "resend"


def test_a_seats_end_is_a_timeout(docket: Docket) -> None:
    case_id = opened(docket).case_id
    docket.begin(case_id, 1, "a", "w|1", SENT)
    after(docket, 2_100)
    assert docket.seat_due(case_id, 1, "a").action == "recorded"
    assert docket.seat_due(case_id, 1, "b").action == "complete"
    frozen = docket.freeze(case_id)
    assert frozen is not None
    votes = frozen.history[0].by_seat()
    assert votes["a"].reason == "no answer in time"
    assert votes["b"].reason == "no worker began it in time"
    assert {vote.status for vote in votes.values()} == {VoteStatus.TIMEOUT}


def test_what_a_judge_says_after_its_seats_end_is_late_once(docket: Docket) -> None:
    """I2: after the keeper's timeout, and also where the keeper has not come yet."""
    case_id = opened(docket).case_id
    for seat in ("a", "b"):
        docket.begin(case_id, 1, seat, f"w|{seat}", SENT)
    after(docket, 2_100)
    assert docket.seat_due(case_id, 1, "a").action == "recorded"
    assert docket.vote(case_id, 1, "w|a", ballot("a")) == "late"
    assert docket.vote(case_id, 1, "w|a", ballot("a")) == "repeat"
    assert docket.vote(case_id, 1, "w|b", ballot("b")) == "late"
    assert docket.vote(case_id, 1, "w|b", ballot("b")) == "repeat"
    assert [(stage, vote.seat) for _, _, stage, vote in docket.late()] == [(1, "a"), (1, "b")]
    frozen = docket.freeze(case_id)
    assert frozen is not None
    assert {vote.status for vote in frozen.history[0].votes} == {VoteStatus.TIMEOUT}


def test_a_case_whose_id_was_sealed_for_other_content_leaves_its_lineage_as_it_was(docket: Docket) -> None:
    """I9: an approved id used again answers nothing."""
    first = opened(docket, REVIEW, routine="r", target="pr-1").case_id
    docket.close_case(verdict_of(first, panel="review", outcome="needs_revision"))
    second = opened(docket, REVIEW, routine="r", target="pr-1", previous=first).case_id
    docket.close_conflict(second, verdict_of(second, panel="review", outcome="approved").with_seq(7))
    events = list(docket.events(second, timeout=1))
    assert (events[-1].kind, events[-1].fields["seq"], events[-1].verdict) == ("conflict", "7", None)
    third = opened(docket, REVIEW, routine="r", target="pr-1", previous=first).case_id
    copy = docket.peek(third)
    assert copy is not None
    assert copy.facts["round"] == 2


def test_previous_of_another_routine_is_not_taken(docket: Docket) -> None:
    """I9."""
    first = opened(docket, REVIEW, routine="strict").case_id
    docket.close_case(verdict_of(first, panel="review", outcome="needs_revision"))
    with pytest.raises(Conflict, match="is no case that asked for a revision"):
        opened(docket, REVIEW, routine="other", previous=first)


def test_the_deadline_freezes_and_a_later_vote_is_late(docket: Docket) -> None:
    """I2."""
    case_id = opened(docket).case_id
    docket.begin(case_id, 1, "a", "w|1", SENT)
    docket.vote(case_id, 1, "w|1", ballot("a"))
    docket.begin(case_id, 1, "b", "w|2", SENT)
    after(docket, 2_600)
    frozen = docket.freeze(case_id)
    assert frozen is not None
    assert frozen.trigger is Trigger.DEADLINE
    assert docket.vote(case_id, 1, "w|2", ballot("b")) == "late"
    assert docket.vote(case_id, 1, "w|2", ballot("b")) == "repeat"
    again = docket.freeze(case_id)
    assert again is not None
    assert again.history == frozen.history
    [(raw, late_case, stage, vote)] = docket.late()
    assert (late_case, stage, vote.seat) == (case_id, 1, "b")
    docket.forget_late(raw)
    assert docket.late() == []


def test_a_hint_freezes_only_its_own_stage_and_cuts_the_open_seats(docket: Docket) -> None:
    case_id = opened(docket).case_id
    docket.begin(case_id, 1, "a", "w|1", SENT)
    assert docket.vote(case_id, 1, "w|1", ballot("a").model_copy(update={"decisive": True})) == "decisive"
    copy = docket.peek(case_id)
    assert copy is not None
    assert copy.history[0].by_seat()["b"].status is VoteStatus.OPEN
    assert docket.freeze(case_id, hint=2) is None
    frozen = docket.freeze(case_id, hint=1)
    assert frozen is not None
    assert frozen.trigger is Trigger.EARLY
    assert frozen.history[0].by_seat()["b"].status is VoteStatus.CUT
    assert not docket.renew(case_id, 1, "b", "w|1")


def test_convene_opens_a_stage_once_on_its_freeze(docket: Docket) -> None:
    case_id = opened(docket, REVIEW, routine="r", target="1").case_id
    docket.vote(case_id, 1, "", ballot("mimir"))
    docket.vote(case_id, 1, "", ballot("forseti"))
    frozen = docket.freeze(case_id)
    assert frozen is not None
    dispatch = docket.convene(frozen, 2)
    assert isinstance(dispatch, Dispatch)
    assert dispatch.seats == (("thor", "t"),)
    assert docket.convene(frozen, 2) == "already"
    assert docket.begin(case_id, 1, "mimir", "w|1", SENT) is None
    began = docket.begin(case_id, 2, "thor", "w|1", SENT)
    assert began is not None
    assert [vote.seat for vote in began.peers] == ["mimir", "forseti"]
    assert docket.vote(case_id, 2, "w|1", ballot("thor")) == "complete"
    last = docket.freeze(case_id)
    assert last is not None
    assert [stage.stage for stage in last.history] == [1, 2]
    assert last.freeze == 2


def test_convene_says_when_there_is_no_time(docket: Docket) -> None:
    case_id = opened(docket, REVIEW, routine="r", target="1").case_id
    after(docket, 58_000)
    frozen = docket.freeze(case_id)
    assert frozen is not None
    assert docket.convene(frozen, 2) == "no time"


def test_what_is_taken_stays_due_until_the_case_is_closed(docket: Docket) -> None:
    case_id = opened(docket).case_id
    after(docket, 2_600)
    assert case_id in docket.take_due()
    assert case_id not in docket.take_due()
    after(docket, 1_000)
    assert case_id in docket.take_due()


def test_lineages_count_rounds_and_take_previous_once(docket: Docket) -> None:
    """I9: rounds are the server's."""

    def close(case_id: str, outcome: str) -> None:
        docket.close_case(verdict_of(case_id, panel="review", outcome=outcome))

    def facts(case_id: str) -> dict[str, object]:
        copy = docket.peek(case_id)
        assert copy is not None
        return dict(copy.facts)

    first = opened(docket, REVIEW, routine="r", target="pr-1").case_id
    assert facts(first)["round"] == 1
    with pytest.raises(Conflict, match="still open"):
        opened(docket, REVIEW, routine="r", target="pr-1")
    close(first, "needs_revision")
    with pytest.raises(Conflict, match=f"previous = {first}"):
        opened(docket, REVIEW, routine="r", target="pr-1")
    second = opened(docket, REVIEW, routine="r", target="pr-1", previous=first).case_id
    assert facts(second)["round"] == 2
    close(second, "escalate")
    with pytest.raises(Conflict, match="a person must reopen"):
        opened(docket, REVIEW, routine="r", target="pr-1", previous=second)
    other = opened(docket, REVIEW, routine="r", target="pr-2").case_id
    close(other, "approved")
    with pytest.raises(Conflict, match="of no open lineage"):
        opened(docket, REVIEW, routine="r", target="pr-2", previous=other)
    assert facts(opened(docket, REVIEW, routine="r", target="pr-2").case_id)["round"] == 1


def test_a_person_reopens_only_what_is_escalated_still(docket: Docket) -> None:
    first = opened(docket, REVIEW, routine="r", target="pr-1").case_id
    docket.close_case(verdict_of(first, panel="review", outcome="escalate"))
    lineage = lineage_of(
        Case(panel="review", subject="x", context=Context(routine="r", target="pr-1")), "routine-review"
    )
    docket.reopen_lineage(lineage, "another case")
    with pytest.raises(Conflict, match="a person must reopen"):
        opened(docket, REVIEW, routine="r", target="pr-1")
    docket.reopen_lineage(lineage, first)
    live = opened(docket, REVIEW, routine="r", target="pr-1").case_id
    docket.reopen_lineage(lineage, first)
    assert [case[0] for case in docket.open_cases()] == [live]
    with pytest.raises(Conflict, match="still open"):
        opened(docket, REVIEW, routine="r", target="pr-1")


def test_without_a_target_previous_finds_the_lineage(docket: Docket) -> None:
    first = opened(docket, REVIEW, routine="r").case_id
    docket.close_case(verdict_of(first, panel="review", outcome="needs_revision"))
    second = opened(docket, REVIEW, routine="r", previous=first).case_id
    copy = docket.peek(second)
    assert copy is not None
    assert copy.facts["round"] == 2
    with pytest.raises(Conflict, match="answered already"):
        opened(docket, REVIEW, routine="r", previous=first)


def test_lost_lineages_are_restored_and_live_ones_kept(docket: Docket) -> None:
    case = Case(panel="review", subject="x", context=Context(routine="r", target="pr-1"))
    lineage = lineage_of(case, "routine-review")
    docket.restore_lineage(lineage, "old", "needs_revision", 1, 123, "review/r")
    with pytest.raises(Conflict, match="previous = old"):
        docket.open(case, docket.plan("review"), {}, lineage)
    live = opened(docket, REVIEW, routine="r", target="pr-1", previous="old").case_id
    docket.restore_lineage(lineage, "old", "needs_revision", 1, 123, "review/r")
    copy = docket.peek(live)
    assert copy is not None
    assert (copy.facts["round"], copy.facts["run"]) == (2, 123)
    with pytest.raises(Conflict, match="still open"):
        docket.open(case, docket.plan("review"), {}, lineage)


def test_closing_keeps_only_what_retention_names(docket: Docket) -> None:
    case_id = opened(docket).case_id
    docket.close_case(verdict_of(case_id, panel="quick", outcome="pass"))
    redis, names = docket._redis, docket.names
    assert docket.take_due() == []
    assert docket.open_cases() == []
    assert not redis.exists(names.key("subject", case_id))
    assert 0 < redis.ttl(names.key("case", case_id)) <= 600
    assert 0 < redis.ttl(names.key("events", case_id)) <= 600
    events = list(docket.events(case_id, timeout=1))
    assert [event.kind for event in events] == ["opened", "verdict"]
    assert events[-1].verdict is not None
    assert docket.answer(case_id, Answered(outcome="warn", reason="timeout")) == "closed"


def test_what_was_answered_before_the_seal_is_kept_once(docket: Docket) -> None:
    case_id = opened(docket).case_id
    assert docket.answer(case_id, Answered(outcome="warn", reason="timeout")) == "noted"
    assert docket.answer(case_id, Answered(outcome="veto", reason="timeout")) == "noted"
    after(docket, 2_600)
    assert docket.freeze(case_id) is not None
    assert docket.answered(case_id) == Answered(outcome="warn", reason="timeout")


def test_alive_forgets_what_went_silent(docket: Docket) -> None:
    docket.announce("judge:a:1")
    docket.announce("aggregator:2")
    assert docket.alive() == ["aggregator:2", "judge:a:1"]
    docket._redis.zadd(docket.names.key("alive"), {"judge:a:1": docket.now_ms() - 10_001})
    docket.withdraw("aggregator:2")
    assert docket.alive() == []
