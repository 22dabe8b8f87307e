"""Real processes and real kills: whatever dies, a case gets exactly one verdict, and no subscriber misses one.

A process kills itself with SIGKILL at a named point (:mod:`tribunal.faults`), or is killed from here.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from court import Court, court_in, statuses

from tribunal.client import Client
from tribunal.errors import Conflict, DispatchError
from tribunal.local.valkey import await_valkey, valkey
from tribunal.model import Verdict
from tribunal.topic import Topic

HIGH = {"risk": "high"}
PRODUCER = """
import sys
from tribunal import Client
from tribunal.settings import load_settings
with Client(load_settings()) as client:
    client.submit(sys.argv[1], sys.argv[2], {"risk": "high"}, case_id=sys.argv[3])
"""


def markers(folder: Path, seat: str = "slow", attempt: int = 1) -> list[int]:
    """The process ids of the judges that began that attempt."""
    return [int(path.name.rpartition(".")[2]) for path in folder.glob(f"{seat}.{attempt}.*")]


@contextmanager
def subscriber(court: Court) -> Iterator[list[Verdict]]:
    """A durable subscription made before anything happens; what it handled."""
    handled: list[Verdict] = []
    stop = threading.Event()
    court.client.ledger.migrate()
    client = Client(court.settings)
    subscription = client.subscribe("#", name="watch", stop=stop)
    thread = threading.Thread(target=lambda: handled.extend(subscription))
    thread.start()
    try:
        yield handled
        court.until(lambda: len({verdict.seq for verdict in handled}) >= court.client.ledger.head(), 10)
    finally:
        stop.set()
        thread.join()
        client.close()
    numbers = [verdict.seq for verdict in handled if verdict.seq]
    assert sorted(set(numbers)) == list(range(1, court.client.ledger.head() + 1))


def test_a_worker_killed_during_a_slow_case_costs_an_attempt(court: Court, tmp_path: Path) -> None:
    """I1 and I6: the second attempt is in the verdict where time allows."""
    court.start("aggregation")
    court.start("workers", "fine")
    first = court.start("workers", "slow")
    court.ready("aggregator", "judge:fine", "judge:slow")
    with subscriber(court):
        case_id = court.client.submit("slow", "force push it 60", {**HIGH, "workspace": str(tmp_path)})
        court.until(lambda: markers(tmp_path), 5)
        [judge] = markers(tmp_path)
        court.kill(first)
        court.until(lambda: not Path(f"/proc/{judge}").exists(), 2)  # the judge goes with its worker
        court.start("workers", "slow")
        verdict = court.verdict(case_id)
        slow = verdict.history[0].by_seat()["slow"]
        assert (slow.status.value, slow.attempt) == ("voted", 2)
        assert slow.answer is not None
        assert slow.answer["reason"] == "attempt 2"
        assert verdict.decision.outcome == "pass"


def test_a_worker_killed_for_good_is_a_vote_less_by_the_deadline(court: Court, tmp_path: Path) -> None:
    """I1 and I8: WARN, never PASS."""
    court.start("aggregation")
    court.start("workers", "fine")
    first = court.start("workers", "slow")
    court.ready("aggregator", "judge:fine", "judge:slow")
    case_id = court.client.submit("slow", "force push it 60", {**HIGH, "workspace": str(tmp_path)})
    court.until(lambda: markers(tmp_path), 5)
    court.kill(first)
    verdict = court.verdict(case_id)
    assert statuses(verdict) == {"one": "voted", "slow": "timeout"}
    assert verdict.decision.outcome == "warn"
    assert verdict.sealed_at - verdict.deadline_at < 1000


@pytest.mark.parametrize("judge", ["fine", "fine-waiting"])
@pytest.mark.parametrize("point", ["begun", "before-vote", "voted"])
def test_a_worker_killed_around_its_vote(court: Court, point: str, judge: str) -> None:
    """I1, I3, I5: before the vote it is cast anew, after it the keeper replaces the callback that died."""
    court.start("aggregation")
    for name in ("fine", "fine-waiting"):
        court.start("workers", name, fault=point if name == judge else None)
    court.ready("aggregator", "judge:fine", "judge:fine-waiting")
    with subscriber(court):
        case_id = court.client.submit("quick", "force push it", HIGH)
        court.until((court.folder / f"fault-{point}").exists, 5)
        court.start("workers", judge)
        verdict = court.verdict(case_id)
        assert statuses(verdict) == {"one": "voted", "two": "voted"}
        attempts = {vote.judge: vote.attempt for vote in verdict.history[0].votes}
        assert attempts[judge] == (1 if point == "voted" else 2)
        assert verdict.decision.outcome == "pass"


def test_a_killed_judge_process_costs_an_attempt(court: Court, tmp_path: Path) -> None:
    court.serve("fine", "slow")
    case_id = court.client.submit("slow", "force push it 60", {**HIGH, "workspace": str(tmp_path)})
    court.until(lambda: markers(tmp_path), 5)
    [judge] = markers(tmp_path)
    os.kill(judge, signal.SIGKILL)
    verdict = court.verdict(case_id)
    slow = verdict.history[0].by_seat()["slow"]
    assert (slow.status.value, slow.attempt) == ("voted", 2)


def test_a_producer_killed_between_docket_and_chord(court: Court) -> None:
    """I1: the docket has the case, so its judges are called by the keeper."""
    court.serve("fine", "fine-waiting")
    environment = {**os.environ, **court.settings.environment(), "TRIBUNAL_FAULT": "opened"}
    command = [sys.executable, "-c", PRODUCER, "quick", "force push it", "orphan"]
    producer = subprocess.run(command, env=environment, check=False, timeout=30)
    assert producer.returncode == -signal.SIGKILL
    verdict = court.verdict("orphan")
    assert statuses(verdict) == {"one": "voted", "two": "voted"}
    assert verdict.decision.outcome == "pass"


@pytest.mark.parametrize("point", ["frozen", "sealed", "closed"])
def test_an_aggregator_killed_between_freeze_and_publish(court: Court, point: str) -> None:
    """I2, I4, I7: one verdict, sealed once, published after all."""
    court.start("workers", "fine")
    court.start("workers", "fine-waiting")
    court.start("aggregation", fault=point)
    court.ready("aggregator", "judge:fine", "judge:fine-waiting")
    topic = Topic(str(court.settings.effective_broker_url), court.settings.namespace)
    with subscriber(court), topic.listen("quick.*") as live:
        case_id = court.client.submit("quick", "force push it", HIGH)
        court.until((court.folder / f"fault-{point}").exists, 5)
        sealed_before = court.client.ledger.get(case_id)
        assert (sealed_before is None) == (point == "frozen")
        court.start("aggregation")
        verdict = court.verdict(case_id)
        assert statuses(verdict) == {"one": "voted", "two": "voted"}
        assert verdict.seq == 1
        published = live.get(10)
        assert published is not None
        assert published.case_id == case_id
        if sealed_before:
            assert verdict == sealed_before
    topic.close()


def test_a_second_aggregator_takes_over_at_once(court: Court) -> None:
    """I1: with another one alive a killed aggregator costs about a second."""
    court.start("workers", "fine")
    court.start("workers", "fine-waiting")
    for _ in range(2):
        court.start("aggregation", fault="frozen")
    court.ready("aggregator", "aggregator", "judge:fine", "judge:fine-waiting")
    started = time.monotonic()
    verdict = court.verdict(court.client.submit("quick", "force push it", HIGH))
    assert verdict.decision.outcome == "pass"
    assert time.monotonic() - started < 4


def test_thor_is_reached_although_the_chord_died(court: Court) -> None:
    """Both dead at once: the callback of stage 1, and the aggregator before it sent stage 2."""
    from test_engine import diff_of

    court.start("workers", "reviewer", fault="voted")
    court.start("aggregation", fault="convened")
    court.ready("aggregator", "judge:reviewer")
    diff = diff_of("mimir: approve", "forseti: request_changes", "thor: approve")
    case_id = court.client.submit("review", diff, {"routine": "tie", "target": "1"})
    court.until((court.folder / "fault-voted").exists, 5)
    court.start("workers", "reviewer")
    court.until((court.folder / "fault-convened").exists, 10)
    court.start("aggregation")
    verdict = court.verdict(case_id)
    assert statuses(verdict, 2) == {"thor": "voted"}
    assert verdict.decision.outcome == "approved"
    runs = court.settings.output_dir / "runs" / "routine-review" / "tie"
    court.until(lambda: list(runs.glob("*/round-1.json")), 5)
    [log] = runs.glob("*/run-log.jsonl")
    assert [line.count('"event":"convene"') for line in log.read_text().splitlines()] == [1, 0]


def test_valkey_killed_with_a_case_in_flight(court: Court, tmp_path: Path) -> None:
    """I1: what it acknowledged is in its append-only file."""
    court.serve("fine", "slow")
    with subscriber(court):
        case_id = court.client.submit("slow", "force push it 3", {**HIGH, "workspace": str(tmp_path)})
        court.until(lambda: markers(tmp_path), 5)
        assert court.valkey is not None
        court.kill(court.valkey)
        court.valkey.start()
        await_valkey(court.valkey, court.client.docket.url)
        verdict = court.verdict(case_id)
        assert verdict.decision.outcome in ("pass", "warn")
        assert verdict.seq == 1


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_broker_that_hangs_or_dies_delays_no_seal(short_folder: Path, number: int) -> None:
    """I1: no broker lies between a deadline and its seal, nor between an aggregator's start and its keeper."""
    broker, url = valkey(short_folder / "broker", short_folder / "broker", short_folder / "broker.log")
    broker.start()
    try:
        await_valkey(broker, url)
        with court_in(short_folder, broker_url=url) as court:
            court.start("aggregation")
            court.ready("aggregator")
            assert broker.pid is not None
            os.kill(broker.pid, number)
            for case_id in ("first", "second"):
                with suppress(DispatchError):
                    court.client.submit("quick", "force push it", HIGH, case_id=case_id)
            court.start("aggregation")  # one that starts while the broker is away
            verdicts = [court.verdict(case_id) for case_id in ("first", "second")]
            assert max(verdict.sealed_at - verdict.deadline_at for verdict in verdicts) < 1000
    finally:
        if broker.pid is not None:
            os.kill(broker.pid, signal.SIGCONT)
        broker.ask_to_stop()
        broker.stop(time.monotonic() + 5)


def test_a_lost_message_is_sent_again_after_the_broker_was_away(short_folder: Path) -> None:
    """I1: the keeper's own connection to the broker comes back, too."""
    broker, url = valkey(short_folder / "broker", short_folder / "broker", short_folder / "broker.log")
    broker.start()
    try:
        await_valkey(broker, url)
        with court_in(short_folder, broker_url=url) as court:
            court.serve("fine", "fine-waiting")

            def orphaned(case_id: str) -> Verdict:
                environment = {**os.environ, **court.settings.environment(), "TRIBUNAL_FAULT": "opened"}
                command = [sys.executable, "-c", PRODUCER, "quick", "force push it", case_id]
                subprocess.run(command, env=environment, check=False, timeout=30)
                return court.verdict(case_id)

            assert orphaned("before").decision.outcome == "pass"
            court.kill(broker)
            broker.start()
            await_valkey(broker, url)
            court.until(lambda: court.client.judge("quick", "force push it", HIGH).decision.outcome == "pass", 30)
            assert orphaned("after").decision.outcome == "pass"
    finally:
        broker.ask_to_stop()
        broker.stop(time.monotonic() + 5)


def test_a_worker_that_hangs_in_a_stop_ends_within_five_seconds(court: Court, tmp_path: Path) -> None:
    court.serve("fine", "slow")
    worker = court.start("workers", "slow")
    court.ready("judge:slow", "judge:slow")
    for number in range(2):
        context = {**HIGH, "workspace": str(tmp_path)}
        court.client.submit("slow", "force push it 60", context, case_id=f"case-{number}")
    court.until(lambda: len(markers(tmp_path)) == 2, 5)
    started = time.monotonic()
    worker.ask_to_stop()
    court.until(worker.died, 6)
    assert time.monotonic() - started < 5


def test_a_redis_that_lost_everything_is_served_again(court: Court) -> None:
    """I9 and I1: panels and lineages come back from the configuration and the ledger."""
    from test_engine import diff_of

    court.serve("reviewer")
    diff = diff_of("mimir: request_changes", "forseti: request_changes")
    first = court.client.judge("review", diff, {"routine": "r", "target": "1"})
    assert first.decision.outcome == "needs_revision"
    court.client.docket._redis.flushall()
    with Client(court.settings) as client:
        court.until(client.docket.published, 5)
        with pytest.raises(Conflict, match=first.case_id):
            client.judge("review", diff, {"routine": "r", "target": "1"})
        second = client.judge("review", diff, {"routine": "r", "target": "1", "previous": first.case_id})
        assert second.facts["round"] == 2


def test_a_frozen_refusal_is_answered_when_the_ledger_is_away(court: Court) -> None:
    """I7 and I8: not final, ``unrecorded``, and the stricter of the fail-safe and what the votes say."""
    court.serve("vetoing", "slow")
    with court.client.ledger.store.writing():  # nobody else may write
        verdict = court.client.judge("early", "force push it 0", HIGH)
        assert (verdict.final, verdict.reason, verdict.decision.outcome) == (False, "unrecorded", "veto")
    sealed = court.verdict(verdict.case_id)
    assert sealed.answered is not None
    assert (sealed.answered.outcome, sealed.answered.reason) == ("veto", "unrecorded")


def test_a_case_may_name_only_folders_below_the_roots(short_folder: Path) -> None:
    (short_folder / "inside").mkdir()
    (short_folder / "link").symlink_to("/etc")
    with court_in(short_folder, context_roots=[str(short_folder)]) as court:
        court.serve("reading")
        for memory, status in (("inside", "voted"), ("../etc", "abstained"), ("link", "abstained")):
            context = {**HIGH, "memory": str(short_folder / memory)}
            [vote] = court.client.judge("reading", "force push it", context).history[0].votes
            assert vote.status.value == status
        [vote] = court.client.judge("reading", "force push it", {**HIGH, "memory": "~root"}).history[0].votes
        assert (vote.status.value, str(vote.reason)[:20]) == ("abstained", "memory ~root lies ou")


def test_judge_answers_in_time_with_nothing_running(court: Court) -> None:
    """``judge()`` answers within ``answer_within`` whatever is down, never permissively; the seal tells of it."""
    first = court.start("aggregation")
    court.ready("aggregator")
    court.kill(first)
    started = time.monotonic()
    verdict = court.client.judge("quick", "force push it", HIGH)
    assert 3.5 < time.monotonic() - started < 4
    assert not verdict.final
    assert (verdict.reason, verdict.decision.outcome) == ("timeout", "warn")
    court.start("aggregation")
    sealed = court.verdict(verdict.case_id)
    assert sealed.final
    assert sealed.answered is not None
    assert sealed.answered.outcome == "warn"

    assert court.valkey is not None
    court.kill(court.valkey)
    started = time.monotonic()
    verdict = court.client.judge("quick", "force push it", HIGH)
    assert time.monotonic() - started < 4
    assert (verdict.final, verdict.reason, verdict.decision.outcome) == (False, "unreachable", "warn")
