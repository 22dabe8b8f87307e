"""The worker's side of a function judge's process."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from tribunal.errors import ConfigurationError, RetryableJudgeError
from tribunal.judging import Packet

START_S = 30.0
"""How long a judge may take to be imported."""
REPLY_LIMIT = 4 * 1024 * 1024
"""Largest reply of a judge, in bytes."""


class JudgeLost(RetryableJudgeError):
    """The judge's process died before it answered."""


class JudgeTimeout(Exception):
    """The judge did not answer in time; its process was killed."""


class JudgeStopped(Exception):
    """The docket needs no vote of this attempt any more; the judge's process was killed."""


class JudgeProcess:
    """One kept child process that runs one judge, a call at a time."""

    def __init__(self, reference: str, folder: str | None = None) -> None:
        self._reference = reference
        self._folder = [folder] if folder else []
        self.asynchronous = False
        """Whether the judge is an ``async`` function; known once it was started."""
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def start(self) -> None:
        """Start the process and import the judge in it, if it does not run already.

        Raises:
            ConfigurationError: the judge cannot be imported or is none.
            JudgeLost: the process died or hung while it started.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self.kill()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", "workers.child", str(theirs.fileno()), str(os.getpid())]
            self._process = subprocess.Popen(
                [*command, self._reference, *self._folder],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
                start_new_session=True,
            )
        self._pipe = Connection(ours.detach())
        reply = self._receive(time.monotonic() + START_S, every=START_S, keep_going=lambda: True)
        if "error" in reply:
            self.kill()
            raise ConfigurationError(f"judge {self._reference} cannot be used: {reply['error']}")
        self.asynchronous = reply["asynchronous"]

    def ask(self, packet: Packet, *, every: float, keep_going: Callable[[], bool]) -> dict[str, Any]:
        """Let the judge answer a packet within its ``seconds``. ``keep_going`` is asked each ``every`` seconds.

        Raises:
            JudgeLost: the process died.
            JudgeTimeout: no answer in time.
            JudgeStopped: ``keep_going`` said no.
        """
        self.start()
        until = time.monotonic() + packet.seconds
        try:
            self._connection.send_bytes(packet.model_dump_json().encode())
        except OSError as error:
            self.kill()
            raise JudgeLost("the judge's process died") from error
        return self._receive(until, every=every, keep_going=keep_going)

    @property
    def _connection(self) -> Connection:
        if self._pipe is None:
            raise JudgeLost("the judge's process does not run")
        return self._pipe

    def _receive(self, until: float, *, every: float, keep_going: Callable[[], bool]) -> dict[str, Any]:
        try:
            while not self._connection.poll(max(0.0, min(every, until - time.monotonic()))):
                if self._process is not None and self._process.poll() is not None and not self._connection.poll():
                    raise EOFError  # a process that it started still holds the pipe open
                if time.monotonic() >= until:
                    self.kill()
                    raise JudgeTimeout
                if not keep_going():
                    self.kill()
                    raise JudgeStopped
            return json.loads(self._connection.recv_bytes(REPLY_LIMIT))
        except (EOFError, OSError) as error:
            if self._process is not None:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.2)
            code = self.kill()
            raise JudgeLost(f"the judge's process died ({code})") from error

    def kill(self) -> str:
        """Kill the process with all that it started; says how it ended."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        process, self._process = self._process, None
        if process is None:
            return "not started"
        died = process.poll()
        # The group, not the process alone: a judge may have forked. The leader is reaped only after this.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if died is None:
            return "killed"
        return f"signal {-died}" if died < 0 else f"exit code {died}"
