"""The one seam of the reliability tests: a process that kills itself with SIGKILL at a named point.

``TRIBUNAL_FAULT=<point>`` arms it. With ``TRIBUNAL_FAULT_ONCE=<path>`` the first process that comes there creates the
file and dies, those after it pass.
"""

import os
import signal
from pathlib import Path


def fault_point(name: str) -> None:
    """Die here if the environment says so."""
    if os.environ.get("TRIBUNAL_FAULT") != name:
        return
    once = os.environ.get("TRIBUNAL_FAULT_ONCE")
    if once:
        try:
            Path(once).touch(exist_ok=False)
        except FileExistsError:
            return
    os.kill(os.getpid(), signal.SIGKILL)
