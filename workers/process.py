"""The worker's side of a function judge's process."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from tribunal.errors import ConfigurationError, RetryableJudgeError
from tribunal.judging import Packet

START_S = 30.0
"""How long a judge may take to be imported."""
REPLY_LIMIT = 4 * 1024 * 1024
"""Largest reply of a judge's process, in bytes; what a judge answers is bounded below that already."""
MESSAGE_S = 2
"""Seconds that a message may stop half way, either way."""


class JudgeLost(RetryableJudgeError):
    """The judge's process died before it answered."""


class JudgeTimeout(Exception):
    """The judge did not answer in time; it was stopped."""


class JudgeStopped(Exception):
    """The docket needs no vote of this attempt any more; the judge was stopped."""


class JudgeProcess:
    """One kept child process that runs one judge, a call at a time."""

    def __init__(self, reference: str, folder: str | None = None) -> None:
        self._reference = reference
        self._folder = [folder] if folder else []
        self.asynchronous = False
        """Whether the judge is an ``async`` function; known once it was started."""
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._loading = False

    def start(self) -> None:
        """Start the process and wait until it has imported the judge.

        Raises:
            ConfigurationError: the judge cannot be imported or is none.
            JudgeLost, JudgeTimeout: the process died or hung while it started.
        """
        self._spawn()
        self._load(time.monotonic() + START_S, every=START_S, keep_going=lambda: True)

    def ask(self, packet: Packet, *, every: float, keep_going: Callable[[], bool]) -> dict[str, Any]:
        """Let the judge answer a packet within its ``seconds``. ``keep_going`` is asked each ``every`` seconds.

        A process that is killed is replaced at once, and one that is still importing its judge is left to finish, so
        that a slow import costs no more cases than it must.

        Raises:
            JudgeLost: the process died, or did not speak as agreed.
            JudgeTimeout: no answer in time.
            JudgeStopped: ``keep_going`` said no.
        """
        until = time.monotonic() + packet.seconds
        if self._process is None or self._process.poll() is not None:
            self._spawn()
        if self._loading:
            self._load(until, every=every, keep_going=keep_going)
        try:
            with self._lost():
                self._connection.send_bytes(packet.model_dump_json().encode())
                self._await(until, every, keep_going)
                return json.loads(self._connection.recv_bytes(REPLY_LIMIT))
        except BaseException:
            # Whatever it was: an answer that is still to come must not be taken for the next packet's.
            self._spawn()
            raise

    def _spawn(self) -> None:
        """Start a process in the place of what there is; it imports the judge meanwhile."""
        self.kill()
        ours, theirs = socket.socketpair()
        # Half a message must not hold the worker past the limit.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", MESSAGE_S, 0))
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
        self._loading = True

    def _load(self, until: float, *, every: float, keep_going: Callable[[], bool]) -> None:
        with self._lost():
            self._await(until, every, keep_going)
            reply = json.loads(self._connection.recv_bytes(REPLY_LIMIT))
        if "error" in reply:
            self.kill()
            raise ConfigurationError(f"judge {self._reference} cannot be used: {reply['error']}")
        self._loading = False
        self.asynchronous = reply["asynchronous"]

    @property
    def _connection(self) -> Connection:
        if self._pipe is None:
            raise JudgeLost("the judge's process does not run")
        return self._pipe

    def _await(self, until: float, every: float, keep_going: Callable[[], bool]) -> None:
        """Wait until the process says something."""
        while not self._connection.poll(max(0.0, min(every, until - time.monotonic()))):
            if self._process is not None and self._process.poll() is not None and not self._connection.poll():
                raise EOFError  # a process that it started still holds the pipe open
            if time.monotonic() >= until:
                raise JudgeTimeout
            if not keep_going():
                raise JudgeStopped

    @contextmanager
    def _lost(self) -> Generator[None]:
        try:
            yield
        except (EOFError, OSError, ValueError) as error:
            if self._process is not None:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.2)
            raise JudgeLost(f"the judge's process died ({self.kill()})") from error

    def kill(self) -> str:
        """Kill the process with all that it started; says how it ended."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        process, self._process = self._process, None
        if process is None:
            return "not started"
        died = process.poll()
        # The group, not the process alone: a judge may have forked.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if died is None:
            return "killed"
        return f"signal {-died}" if died < 0 else f"exit code {died}"
