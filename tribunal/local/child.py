"""A process that `tribunal up` keeps: started, watched, restarted, and never left behind."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tribunal.local.tied import die_with

BACKOFF_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Pauses before the restarts of a process that keeps dying; the last one repeats."""
STEADY_S: Final = 30.0
"""A process that ran so long starts again without a pause."""


class Child:
    """One kept process. Its output goes to a file."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self._command = list(command)
        self._environment = dict(environment)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._deaths = 0
        self._again_at: float | None = None

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> None:
        """Start the process. From the main thread: the kernel ends it when the thread that started it dies."""
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,  # Ctrl-C is for the supervisor, which stops all in order
                preexec_fn=partial(die_with, os.getpid()),  # no library covers a supervisor's own death
            )
        finally:
            os.close(descriptor)
        self._started = time.monotonic()
        self._again_at = None

    def look(self) -> str | None:
        """Restart the process if it died and its pause is over; what happened, in a line, or None."""
        now = time.monotonic()
        if self._process is not None and self._process.poll() is not None:
            code, self._process = self._process.returncode, None
            self._deaths = 1 if now - self._started > STEADY_S else self._deaths + 1
            pause = BACKOFF_S[min(self._deaths, len(BACKOFF_S)) - 1]
            self._again_at = now + pause
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            return f"{self.name} ended ({how}); starting it again in {pause:g} s, see {self._log}"
        if self._again_at is not None and now >= self._again_at:
            self.start()
            return f"{self.name} started again (pid {self.pid})"
        return None

    def died(self) -> bool:
        """Whether it was started and does not run."""
        return self._process is not None and self._process.poll() is not None

    def tail(self, lines: int = 5) -> str:
        """The end of its log."""
        try:
            return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
        except OSError as error:
            return f"({self._log} cannot be read: {error.strerror})"

    def ask_to_stop(self) -> None:
        """Send SIGTERM."""
        if self.pid is not None and self._process is not None:
            self._process.terminate()

    def stop(self, until: float) -> None:
        """Wait for the end until that time (monotonic), then kill it with all that it started."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None
