"""How ``tribunal subscribe`` writes: a cursor moves only behind a written line (I4)."""

import json
import os
import sys
import threading
from collections.abc import Generator

import pytest

from tests.unit.cli.judged_case import VERDICT
from tribunal.cli.subscribe import print_verdicts
from tribunal.model import Verdict


class Log:
    """A durable subscription as ``print_verdicts`` sees one: ``cursor`` moves when the next verdict is asked for."""

    def __init__(self, stop: threading.Event, *, heeds_stop: bool = True) -> None:
        self.cursor = 0
        self._stop = stop
        self._heeds_stop = heeds_stop

    def verdicts(self) -> Generator[Verdict]:
        for number in range(1, 6):
            if self._heeds_stop and self._stop.is_set():
                return
            yield VERDICT.with_seq(number)
            self.cursor = number


def numbers(printed: str) -> list[int]:
    return [json.loads(line)["seq"] for line in printed.splitlines()]


def test_the_cursor_moves_behind_the_last_line_of_a_limit(capsys: pytest.CaptureFixture[str]):
    stop = threading.Event()
    log = Log(stop)
    print_verdicts(log.verdicts(), stop, limit=2)
    assert numbers(capsys.readouterr().out) == [1, 2]
    assert log.cursor == 2


def test_a_source_that_hands_out_more_than_the_limit_is_not_printed_beyond_it(capsys: pytest.CaptureFixture[str]):
    stop = threading.Event()
    print_verdicts(Log(stop, heeds_stop=False).verdicts(), stop, limit=2)
    assert numbers(capsys.readouterr().out) == [1, 2]


def test_without_a_limit_all_is_printed(capsys: pytest.CaptureFixture[str]):
    log = Log(threading.Event())
    print_verdicts(log.verdicts(), threading.Event())
    assert numbers(capsys.readouterr().out) == [1, 2, 3, 4, 5]
    assert log.cursor == 5


def test_a_closed_pipe_ends_it_before_the_cursor_moves(monkeypatch: pytest.MonkeyPatch):
    # Given: a pipe whose reader goes away.
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        stop = threading.Event()
        log = Log(stop)
        os.close(reading)

        # When: the first line is written. Then: no fault, and the line is still due.
        print_verdicts(log.verdicts(), stop)

        assert log.cursor == 0
        monkeypatch.undo()
