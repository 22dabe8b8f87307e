"""A case's whole way through real processes: what judges may do, and what comes of it."""

import asyncio
import json
import threading
import time
from pathlib import Path

import pytest
from court import Court, statuses

from tribunal import AsyncClient, Conflict, ContractError, NotFound, StillOpen
from tribunal.docket import Ballot
from tribunal.model import Grade, Trigger, Verdict, Vote, VoteStatus

HIGH = {"risk": "high"}


def diff_of(*lines: str) -> str:
    """A diff that adds those lines to a file; the ``reviewer`` judges vote as they say."""
    added = "".join(f"+{line}\n" for line in lines)
    return f"--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1,{len(lines)} @@\n{added}"


def test_all_vote_and_the_verdict_is_sealed_published_and_written(shared_court: Court) -> None:
    client = shared_court.client
    got: list[Verdict] = []
    stop = threading.Event()

    def listen() -> None:
        for verdict in subscription:
            got.append(verdict)
            stop.set()

    subscription = client.subscribe("quick.#", stop=stop)
    listener = threading.Thread(target=listen)
    listener.start()
    verdict = client.judge("quick", "force push it", HIGH)
    listener.join(10)
    assert verdict.final
    assert verdict.decision.outcome == "pass"
    assert verdict.trigger is Trigger.COMPLETE
    assert statuses(verdict) == {"one": "voted", "two": "voted"}
    assert verdict.seq is not None
    assert [published.case_id for published in got] == [verdict.case_id]
    assert client.ledger.get(verdict.case_id) == verdict
    assert verdict.audit_path is not None
    path = shared_court.settings.output_dir / verdict.audit_path
    shared_court.until(path.exists, 5)
    assert json.loads(path.read_text()) == verdict.output
    assert path.stat().st_mode & 0o777 == 0o600


def test_events_tell_the_steps_in_order(shared_court: Court) -> None:
    case_id = shared_court.client.submit("quick", "force push it", HIGH)
    kinds = [event.kind for event in shared_court.client.follow(case_id)]
    assert kinds[0] == "opened"
    assert sorted(kinds[1:5]) == ["began", "began", "voted", "voted"]
    assert kinds[5:] == ["deciding", "verdict"]


def test_a_low_risk_draft_is_passed_without_a_judge(shared_court: Court) -> None:
    verdict = shared_court.client.judge("quick", "Hello there.", {"risk": "low"})
    assert verdict.decision.outcome == "pass"
    assert verdict.trigger is Trigger.SKIPPED
    assert verdict.history == ()
    assert verdict.output["skipped"] is True


@pytest.mark.parametrize(
    ("deed", "status", "attempt", "reason"),
    [
        ("raises", "error", 1, "ValueError: no idea"),
        ("retries", "voted", 2, None),
        ("retries-for-ever", "error", 2, "come again"),
        ("rubbish", "error", 1, "score"),
        ("nothing", "error", 1, "returned nothing"),
        ("unserialisable", "error", 1, "TypeError"),
        ("exits", "error", 2, "exit code 3"),
        ("sys-exits", "error", 2, "exit code 3"),
        ("forks", "voted", 1, None),
        ("prints", "voted", 1, None),
        ("hangs", "timeout", 1, "no answer in 1."),
        ("abstains", "abstained", 1, "not my kind"),
    ],
)
def test_a_misbehaving_judge_costs_its_own_vote_only(
    shared_court: Court, deed: str, status: str, attempt: int, reason: str | None
) -> None:
    """I6 and I8."""
    verdict = shared_court.client.judge("misbehaving", f"force push it: {deed}", HIGH)
    assert verdict.final
    votes = verdict.history[0].by_seat()
    assert votes["one"].status == "voted"
    assert (votes["bad"].status.value, votes["bad"].attempt) == (status, attempt)
    if reason:
        assert reason in str(votes["bad"].reason)
    assert verdict.decision.outcome == ("pass" if status == "voted" else "warn")


def test_a_waiting_judge_that_exits_costs_its_own_vote_only(shared_court: Court) -> None:
    """I6: its worker's event loop lives on."""
    votes = shared_court.client.judge("quick", "force push it: two leaves", HIGH).history[0].by_seat()
    assert (votes["two"].status.value, votes["two"].reason) == ("error", "SystemExit: 3")
    assert shared_court.client.judge("quick", "force push it", HIGH).decision.outcome == "pass"


def test_a_waiting_judge_is_cancelled_at_its_limit(shared_court: Court, tmp_path: Path) -> None:
    verdict = shared_court.client.judge("waiting", "force push it 60", {**HIGH, "workspace": str(tmp_path)})
    assert statuses(verdict) == {"one": "voted", "slow": "timeout"}
    assert verdict.decision.outcome == "warn"
    shared_court.until((tmp_path / "cancelled").exists, 3)


def test_a_decisive_veto_ends_the_case_early(shared_court: Court, tmp_path: Path) -> None:
    started = time.monotonic()
    verdict = shared_court.client.judge("early", "force push it 30", {**HIGH, "workspace": str(tmp_path)})
    assert time.monotonic() - started < 10
    assert verdict.decision.outcome == "veto"
    assert verdict.trigger is Trigger.EARLY
    assert statuses(verdict) == {"no": "voted", "slow": "cut"}
    # The judge that is not awaited is stopped: its process goes with its lease.
    [marker] = tmp_path.glob("slow.1.*")
    pid = int(marker.name.rpartition(".")[2])
    shared_court.until(lambda: not Path(f"/proc/{pid}").exists(), 10)


def test_an_agreed_review_is_approved(shared_court: Court) -> None:
    diff = diff_of("mimir: approve", "forseti: approve")
    verdict = shared_court.client.judge("review", diff, {"routine": "agreed", "target": "pr-1"})
    assert verdict.decision.outcome == "approved"
    assert verdict.output["merge_authority"] == "auto"
    assert [past.stage for past in verdict.history] == [1]


def test_disagreement_convenes_thor_who_sees_the_votes(shared_court: Court) -> None:
    diff = diff_of("mimir: approve", "forseti: request_changes", "thor: request_changes")
    context = {"routine": "tie", "target": "pr-1"}
    client = shared_court.client
    verdict = client.judge("review", diff, context)
    assert verdict.decision.outcome == "needs_revision"
    assert statuses(verdict, 2) == {"thor": "voted"}
    thor = verdict.history[1].votes[0].answer
    assert thor is not None
    assert thor["reasoning"] == "thor saw 2 peers"

    # The next round names the case that it answers, once; the ceiling escalates.
    with pytest.raises(Conflict, match=verdict.case_id):
        client.submit("review", diff, context)
    second = client.judge("review", diff, {**context, "previous": verdict.case_id})
    assert second.facts["round"] == 2
    assert second.decision.outcome == "escalate"
    with pytest.raises(Conflict, match="a person must reopen"):
        client.submit("review", diff, {**context, "previous": second.case_id})

    runs = shared_court.settings.output_dir / "runs" / "routine-review" / "tie"
    shared_court.until(lambda: list(runs.glob("*/round-2.json")), 5)
    [run] = runs.iterdir()
    events = [json.loads(line)["event"] for line in (run / "run-log.jsonl").read_text().splitlines()]
    assert events == ["convene", "tally", "convene", "tally"]
    assert sorted(path.name for path in run.iterdir()) == ["round-1.json", "round-2.json", "run-log.jsonl"]


def test_a_panel_without_judges_says_so(shared_court: Court) -> None:
    client = shared_court.client
    verdict = client.judge("consensus", "a spec", {"type": "spec", "risk_score": 80})
    assert verdict.decision.outcome == "conditional"
    assert set(statuses(verdict).values()) == {"abstained"}
    assert 'no judge "code-reviewer" is configured here' in str(verdict.output)
    review = client.judge("routine-review", "--- a\n+++ b\n", {"routine": "demo"})
    assert review.decision.outcome == "escalate"


def test_a_skipped_consensus_is_no_approval(shared_court: Court) -> None:
    verdict = shared_court.client.judge("consensus", "a spec", {"type": "spec", "change_kind": "cosmetic"})
    assert verdict.decision.grade is Grade.SKIPPED
    assert verdict.routing_key == "consensus.skipped"
    assert verdict.exit_code == 12


def test_submitting_again_opens_nothing_and_other_content_is_a_conflict(shared_court: Court) -> None:
    client = shared_court.client
    case_id = client.submit("quick", "force push it", HIGH)
    assert client.submit("quick", "force push it", HIGH, case_id=case_id) == case_id
    first = client.wait(case_id, timeout=10)
    assert client.submit("quick", "force push it", HIGH, case_id=case_id) == case_id
    assert client.wait(case_id, timeout=10) == first
    with pytest.raises(Conflict):
        client.submit("quick", "something else", HIGH, case_id=case_id)


def test_bad_input_opens_nothing(shared_court: Court) -> None:
    client = shared_court.client
    before = client.ledger.head()
    for panel, subject, context, message in [
        ("quikc", "x", {}, 'did you mean "quick"'),
        ("quick", " ", {}, "subject: some text"),
        ("quick", "a\x00b", {}, "NUL character"),
        ("quick", "\ud800", {}, "surrogate"),
        ("quick", "x" * (1024 * 1024 + 1), {}, "at most 1,048,576 bytes"),
        ("quick", "x", {"risk": "huge"}, "risk"),
        ("quick", "x", {"rsik": "high"}, 'did you mean "risk"'),
        ("quick", "x", {"previous": "abc"}, "has no rounds"),
        ("review", "x", {}, "--routine"),
        ("review", "x", {"routine": "../etc"}, "routine"),
    ]:
        with pytest.raises(ContractError, match=message):
            client.judge(panel, subject, context)
    assert client.ledger.head() == before


def test_waiting_for_what_is_not_there(shared_court: Court) -> None:
    with pytest.raises(NotFound):
        shared_court.client.wait("nobody")
    case_id = shared_court.client.submit("slow", "force push it 2", HIGH)
    with pytest.raises(StillOpen):
        shared_court.client.wait(case_id, timeout=0.2)
    assert shared_court.client.wait(case_id, timeout=15).decision.outcome == "pass"


def test_the_async_client_does_the_same(shared_court: Court) -> None:
    async def story() -> None:
        async with AsyncClient(shared_court.settings) as client:
            ids = [await client.submit("quick", f"force push it {number}", HIGH) for number in range(5)]
            verdicts = await asyncio.gather(*(client.wait(case_id, timeout=10) for case_id in ids))
            assert [verdict.case_id for verdict in verdicts] == ids
            events = [event.kind async for event in client.follow(ids[0])]
            assert events[-1] == "verdict"
            seen: list[str] = []
            judged = await client.judge("quick", "force push it", HIGH, on_event=lambda event: seen.append(event.kind))
            assert judged.decision.outcome == "pass"
            assert "opened" in seen
            async for verdict in client.subscribe("quick.#", since=verdicts[0].seq):
                assert verdict.case_id == ids[0]
                break
            with pytest.raises(NotFound):
                await client.wait("nobody")

            async def read_on() -> None:
                async for _ in client.subscribe("nothing.#"):
                    raise AssertionError("nothing is published there")

            waiting = asyncio.create_task(read_on())
            await asyncio.sleep(0.2)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(waiting, 5)
            # More at once than a small machine's default pool has threads.
            many = await asyncio.gather(*(client.judge("quick", f"force push it {n}", HIGH) for n in range(12)))
            assert {verdict.decision.outcome for verdict in many} == {"pass"}

    asyncio.run(story())


def test_late_votes_are_recorded_beside_the_verdict(shared_court: Court, tmp_path: Path) -> None:
    """I2: a vote that comes after the freeze counts for nothing."""
    client = shared_court.client
    verdict = client.judge("early", "force push it 30", {**HIGH, "workspace": str(tmp_path)})
    late = Vote(seat="slow", judge="slow", status=VoteStatus.VOTED, answer={"score": 100}, attempt=1)
    assert client.docket.vote(verdict.case_id, 1, "nobody", Ballot(vote=late)) == "late"
    shared_court.until(lambda: [row for row in client.ledger.votes(verdict.case_id) if row.late], 5)
    [row] = [row for row in client.ledger.votes(verdict.case_id) if row.late]
    assert row.vote == late.model_copy(update={"status": VoteStatus.LATE})
    assert client.ledger.get(verdict.case_id) == verdict
