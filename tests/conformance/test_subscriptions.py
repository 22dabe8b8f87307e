"""Durable subscriptions: at least once, in order, none skipped, whatever dies (I4)."""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sealing import Clock, seal

from tribunal.errors import Conflict, ContractError, NotFound, StoreUnavailable
from tribunal.ledger import Ledger, subscriptions
from tribunal.ledger.subscriptions import (
    ATTEMPTS,
    LEASE_MS,
    DurableSubscription,
    list_dead_letters,
    list_subscriptions,
    remove_dead_letter,
    remove_subscription,
    rewind,
    tail,
)
from tribunal.model import Verdict
from tribunal.topic import Topic, matches


class Seen:
    """A handler that notes the numbers it gets and stops the subscription after so many."""

    def __init__(self, until: int) -> None:
        self.numbers: list[int] = []
        self.stop = threading.Event()
        self._until = until

    def __call__(self, verdict: Verdict) -> None:
        self.numbers.append(verdict.seq or 0)
        if len(self.numbers) >= self._until:
            self.stop.set()


def _run(subscription: DurableSubscription, until: int) -> list[int]:
    seen = Seen(until)
    subscription.run(seen, seen.stop)
    return seen.numbers


def _cursor(ledger: Ledger, name: str = "mail") -> int:
    return {state.name: state.cursor for state in list_subscriptions(ledger)}[name]


@pytest.fixture
def three(ledger: Ledger) -> Ledger:
    """A ledger with three verdicts: 1 pass, 2 veto, 3 pass."""
    for number, outcome in enumerate(["pass", "veto", "pass"], start=1):
        seal(ledger, f"case-{number}", outcome=outcome)
    return ledger


def test_it_is_born_at_the_logs_head_and_handles_what_comes(three: Ledger) -> None:
    subscription = DurableSubscription(three, "mail", "#")
    seal(three, "case-4")
    seal(three, "case-5")

    assert _run(subscription, 2) == [4, 5]
    assert _cursor(three) == 5


@pytest.mark.parametrize(("since", "expected"), [(0, [1, 2, 3]), (1, [1, 2, 3]), (2, [2, 3]), (3, [3])])
def test_it_replays_from_any_number(three: Ledger, since: int, expected: list[int]) -> None:
    assert _run(DurableSubscription(three, "mail", "#", since=since), len(expected)) == expected


def test_it_may_begin_at_a_number_that_is_not_given_yet(three: Ledger) -> None:
    subscription = DurableSubscription(three, "mail", "#", since=5)
    for number in (4, 5, 6):
        seal(three, f"case-{number}")

    assert _run(subscription, 2) == [5, 6]


def test_it_goes_on_where_it_was_whatever_since_says(three: Ledger) -> None:
    assert _run(DurableSubscription(three, "mail", "#", since=1), 2) == [1, 2]

    assert _run(DurableSubscription(three, "mail", "#", since=1), 1) == [3]


def test_only_verdicts_that_fit_the_pattern_are_handled_and_the_others_passed_over(three: Ledger) -> None:
    subscription = DurableSubscription(three, "mail", "*.veto", since=1)
    for number in range(4, 8):
        seal(three, f"case-{number}")
    seal(three, "case-8", outcome="veto")

    assert _run(subscription, 2) == [2, 8]
    assert _cursor(three) == 8


def test_rows_that_do_not_fit_move_the_cursor_too(three: Ledger) -> None:
    subscription = DurableSubscription(three, "mail", "#.escalate", since=1)
    stop = threading.Event()

    def nudge(seconds: float) -> bool:
        stop.set()  # it has nothing more to do
        return False

    subscription.run(lambda verdict: pytest.fail("nothing fits"), stop, nudge)

    assert _cursor(three) == 3


def test_the_iterator_moves_the_cursor_when_the_next_one_is_asked_for(three: Ledger) -> None:
    with closing(DurableSubscription(three, "mail", "#", since=1).verdicts()) as rows:
        assert next(rows).seq == 1
        assert _cursor(three) == 0
        assert next(rows).seq == 2
        assert _cursor(three) == 1

    assert next(iter(DurableSubscription(three, "mail", "#"))).seq == 2


def test_i4_a_consumer_that_dies_before_its_cursor_moved_leaves_the_row_to_the_next(three: Ledger) -> None:
    handled: list[int] = []

    def die_at_2(verdict: Verdict) -> None:
        handled.append(verdict.seq or 0)
        if verdict.seq == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DurableSubscription(three, "mail", "#", since=1).run(die_at_2, threading.Event())

    assert handled == [1, 2]
    assert _run(DurableSubscription(three, "mail", "#"), 2) == [2, 3]


def _die_at_2(url: str, file: Path) -> None:
    def handler(verdict: Verdict) -> None:
        with file.open("a") as out:
            out.write(f"{verdict.seq}\n")
        if verdict.seq == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    DurableSubscription(Ledger(url), "mail", "#", since=1).run(handler, threading.Event())


@pytest.mark.slow
def test_i4_a_killed_process_is_taken_over_when_its_lease_ends_and_none_is_skipped(
    three: Ledger, ledger_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "handled"
    process = multiprocessing.get_context("spawn").Process(target=_die_at_2, args=(ledger_url, file))
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    assert file.read_text().split() == ["1", "2"]

    late = int(time.time() * 1000) + LEASE_MS + 1_000
    heir = Ledger(ledger_url, lambda: late)

    assert _run(DurableSubscription(heir, "mail", "#"), 2) == [2, 3]
    heir.close()


def test_one_holds_a_name_and_the_others_stand_by(three: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "STANDBY_SECONDS", 0.001)
    first = DurableSubscription(three, "mail", "#", since=1, holder="first")
    second = DurableSubscription(three, "mail", "#", holder="second")

    with closing(first.verdicts()) as rows:
        assert next(rows).seq == 1
        assert [state.holder for state in list_subscriptions(three)] == ["first"]
        waiting = threading.Event()
        seen = Seen(3)
        thread = threading.Thread(target=second.run, args=(seen, seen.stop))
        thread.start()
        clock.advance(LEASE_MS - 1)
        waiting.wait(0.05)
        assert seen.numbers == []  # it holds back while the lease runs

        clock.advance(1)  # the first one is stopped, and does not renew
        thread.join(10)
        assert seen.numbers == [1, 2, 3]
        assert [state.holder for state in list_subscriptions(three)] == [None]  # given back at its stop


def test_a_holder_that_lost_its_lease_cannot_move_the_cursor(
    three: Ledger, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    stop = threading.Event()
    first = DurableSubscription(three, "mail", "#", since=1).verdicts(stop)
    assert next(first).seq == 1
    clock.advance(LEASE_MS + 1)
    with closing(DurableSubscription(three, "mail", "#").verdicts()) as second:
        assert [next(second).seq, next(second).seq, next(second).seq] == [1, 2, 3]
        assert _cursor(three) == 2

        stop.set()
        with caplog.at_level(logging.WARNING):
            assert list(first) == []

        assert "not ours any more" in caplog.text
        assert _cursor(three) == 2


def test_a_cursor_moved_by_somebody_else_is_not_moved_back(three: Ledger) -> None:
    with closing(DurableSubscription(three, "mail", "#", since=1).verdicts()) as rows:
        assert next(rows).seq == 1
        with three.store.writing() as connection:
            connection.exec_driver_sql("UPDATE subscriptions SET cursor = 2")

        assert next(rows).seq == 3


def test_a_holder_that_lost_its_lease_stands_by_and_goes_on_from_the_others_cursor(three: Ledger, clock: Clock) -> None:
    first = DurableSubscription(three, "mail", "#", since=1).verdicts()
    assert next(first).seq == 1
    clock.advance(LEASE_MS + 1)
    with closing(DurableSubscription(three, "mail", "#").verdicts()) as second:
        assert [next(second).seq, next(second).seq] == [1, 2]

    assert next(first).seq == 2
    first.close()


def test_a_slow_handler_keeps_its_lease(three: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "RENEW_SECONDS", 0.005)
    standby = DurableSubscription(three, "mail", "#", since=1)

    with closing(DurableSubscription(three, "mail", "#").verdicts()) as rows:
        next(rows)
        for _ in range(3):
            clock.advance(LEASE_MS - 1)
            _until(lambda: _lease_end(three) > clock.now + 1)
        stop = threading.Event()
        monkeypatch.setattr(subscriptions, "STANDBY_SECONDS", 0.001)
        thread = threading.Thread(target=standby.run, args=(lambda verdict: pytest.fail("not its turn"), stop))
        thread.start()
        thread.join(0.05)
        stop.set()
        thread.join(10)
        assert next(rows).seq == 2


def _lease_end(ledger: Ledger) -> int:
    with ledger.store.reading() as connection:
        return connection.exec_driver_sql("SELECT lease_until FROM subscriptions").scalar_one()


def _until(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10
    while not true():
        assert time.monotonic() < limit, "it did not happen within 10 s"


def test_a_clock_set_back_locks_nobody_out(three: Ledger, clock: Clock) -> None:
    abandoned = DurableSubscription(three, "mail", "#", since=1).verdicts()
    assert next(abandoned).seq == 1
    clock.advance(-3_600_000)

    assert _run(DurableSubscription(three, "mail", "#"), 1) == [1]
    abandoned.close()


def test_a_handler_that_fails_five_times_parks_the_row_and_goes_on(three: Ledger, clock: Clock) -> None:
    calls: list[int] = []
    stop = threading.Event()

    def handler(verdict: Verdict) -> None:
        calls.append(verdict.seq or 0)
        if verdict.seq == 2:
            raise RuntimeError("no such\x00 room")
        if verdict.seq == 3:
            stop.set()

    DurableSubscription(three, "mail", "#", since=1, retry_seconds=0).run(handler, stop)

    assert calls == [1] + [2] * ATTEMPTS + [3]
    assert _cursor(three) == 3
    (letter,) = list_dead_letters(three, "mail")
    assert (letter.seq, letter.error, letter.at) == (2, "RuntimeError: no such room", clock.now)
    remove_dead_letter(three, "mail", 2)
    assert list_dead_letters(three, "mail") == []
    with pytest.raises(NotFound, match="no dead letter 2"):
        remove_dead_letter(three, "mail", 2)


def test_a_handler_that_succeeds_in_the_end_parks_nothing(three: Ledger) -> None:
    seen = Seen(3)
    failures = iter([True] * (ATTEMPTS - 1))

    def handler(verdict: Verdict) -> None:
        if verdict.seq == 1 and next(failures, False):
            raise RuntimeError("not yet")
        seen(verdict)

    DurableSubscription(three, "mail", "#", since=1, retry_seconds=0).run(handler, seen.stop)

    assert seen.numbers == [1, 2, 3]
    assert list_dead_letters(three, "mail") == []


def test_a_stop_between_two_attempts_leaves_the_row_for_the_next_start(three: Ledger) -> None:
    stop = threading.Event()

    def handler(verdict: Verdict) -> None:
        stop.set()
        raise RuntimeError("stopped at the first attempt")

    DurableSubscription(three, "mail", "#", since=1, retry_seconds=3600).run(handler, stop)

    assert list_dead_letters(three, "mail") == []
    assert _run(DurableSubscription(three, "mail", "#"), 3) == [1, 2, 3]


def test_the_ledgers_absence_is_waited_out(
    three: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(subscriptions, "STORE_RETRY_SECONDS", 0)
    subscription = DurableSubscription(three, "mail", "#", since=1)
    answers, entries = iter([False, True, False, False]), three.entries

    def flaky(after: int, limit: int) -> list[Verdict]:
        if not next(answers, True):
            raise StoreUnavailable("the ledger is away; call again")
        return entries(after, limit)

    monkeypatch.setattr(three, "entries", flaky)

    assert _run(subscription, 3) == [1, 2, 3]
    assert caplog.text.count("the ledger is away") == 3


def test_a_name_has_one_pattern(three: Ledger) -> None:
    DurableSubscription(three, "mail", "*.veto")

    with pytest.raises(Conflict, match=r'mail has the pattern "\*\.veto", not "#"'):
        DurableSubscription(three, "mail", "#")


@pytest.mark.parametrize(
    ("name", "pattern", "since", "expected"),
    [
        ("no name", "#", None, "name is letters"),
        ("mail", "Not.A.Pattern", None, "a pattern is"),
        ("mail", "#", -1, "0 or more; -1 came"),
    ],
)
def test_what_is_no_subscription_is_refused(
    three: Ledger, name: str, pattern: str, since: int | None, expected: str
) -> None:
    with pytest.raises(ContractError, match=expected):
        DurableSubscription(three, name, pattern, since=since)

    assert list_subscriptions(three) == []


def test_they_are_listed_with_how_far_they_are(three: Ledger) -> None:
    DurableSubscription(three, "b", "#")
    DurableSubscription(three, "a", "*.veto", since=2)

    states = list_subscriptions(three)

    assert [(s.name, s.pattern, s.cursor, s.behind, s.holder) for s in states] == [
        ("a", "*.veto", 1, 2, None),
        ("b", "#", 3, 0, None),
    ]


def test_a_removed_one_stops_whoever_holds_it(three: Ledger) -> None:
    subscription = DurableSubscription(three, "mail", "#", since=1)
    handled: list[int] = []

    def handler(verdict: Verdict) -> None:
        handled.append(verdict.seq or 0)
        remove_subscription(three, "mail")

    with pytest.raises(NotFound, match='no subscription "mail"'):
        subscription.run(handler, threading.Event())
    assert handled == [1]
    with pytest.raises(NotFound, match='no subscription "mail"'):
        remove_subscription(three, "mail")


def test_a_holder_of_a_removed_one_is_no_holder_of_its_namesake(three: Ledger) -> None:
    stop = threading.Event()
    old = DurableSubscription(three, "mail", "#", since=1).verdicts(stop)
    assert next(old).seq == 1
    remove_subscription(three, "mail")
    with closing(DurableSubscription(three, "mail", "#", since=1).verdicts()) as new:
        assert next(new).seq == 1

        stop.set()
        assert list(old) == []

        assert _cursor(three) == 0


def test_a_rewound_one_handles_again_from_there(three: Ledger) -> None:
    subscription = DurableSubscription(three, "mail", "#", since=1)
    seen = Seen(5)

    def handler(verdict: Verdict) -> None:
        seen(verdict)
        if seen.numbers == [1, 2, 3]:
            rewind(three, "mail", since=2)

    subscription.run(handler, seen.stop)

    assert seen.numbers == [1, 2, 3, 2, 3]
    with pytest.raises(NotFound, match="did you mean"):
        rewind(three, "mial", since=2)
    with pytest.raises(ContractError, match="-3 came"):
        rewind(three, "mail", since=-3)


def test_a_tail_shows_what_fits_from_a_number_on_and_keeps_nothing(three: Ledger) -> None:
    stop = threading.Event()

    def nudge(seconds: float) -> bool:
        if three.head() == 4:
            stop.set()
            return False
        seal(three, "case-4")
        return True

    assert [verdict.seq for verdict in tail(three, "*.pass", 2, stop, nudge)] == [3, 4]
    assert list_subscriptions(three) == []
    with pytest.raises(ContractError, match="-1 came"):
        next(tail(three, "#", -1, stop))


def test_a_nudge_from_the_topic_is_enough_to_look(three: Ledger, topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "LOOK_SECONDS", 3600.0)
    subscription = DurableSubscription(three, "mail", "*.veto")
    waits = threading.Event()
    seen = Seen(1)

    with topic.listen("*.veto") as listener:

        def nudge(seconds: float) -> bool:
            waits.set()
            return listener.nudge(seconds)

        thread = threading.Thread(target=subscription.run, args=(seen, seen.stop, nudge))
        thread.start()
        assert waits.wait(10)
        topic.publish(seal(three, "case-4", outcome="veto").verdict)
        thread.join(10)

    assert seen.numbers == [4]


@pytest.fixture(scope="module")
def property_ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Ledger]]:
    opened: list[Ledger] = []

    def make() -> Ledger:
        ledger = Ledger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}")
        ledger.migrate()
        opened.append(ledger)
        return ledger

    yield make
    for ledger in opened:
        ledger.close()


@given(
    outcomes=st.lists(st.sampled_from(["pass", "warn", "veto"]), max_size=8),
    pattern=st.sampled_from(["#", "*.veto", "recommendation.#", "*.warn.#", "*.escalate"]),
    deaths=st.lists(st.integers(0, 4), max_size=4),
)
@settings(max_examples=20, deadline=None)
def test_i4_wherever_it_dies_every_fitting_number_is_handled_in_order(
    property_ledgers: Callable[[], Ledger], outcomes: list[str], pattern: str, deaths: list[int]
) -> None:
    ledger = property_ledgers()
    subscription = DurableSubscription(ledger, "mail", pattern, since=1)
    for number, outcome in enumerate(outcomes, start=1):
        seal(ledger, f"case-{number}", outcome=outcome)
    handled: list[int] = []

    for after in [*deaths, 1_000]:
        stop = threading.Event()

        def nudge(seconds: float, stop: threading.Event = stop) -> bool:
            stop.set()
            return False

        with closing(subscription.verdicts(stop, nudge)) as rows:
            for count, verdict in enumerate(rows):
                handled.append(verdict.seq or 0)
                if count == after:
                    break  # dies after the handler, before the cursor moved

    expected = [n for n, outcome in enumerate(outcomes, start=1) if matches(pattern, f"recommendation.{outcome}")]
    assert sorted(set(handled)) == expected
    assert list(dict.fromkeys(handled)) == expected
    assert len(handled) <= len(expected) + len(deaths)
