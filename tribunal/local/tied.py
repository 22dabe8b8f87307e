"""A process tied to its parent: it ends when that does, however that ends."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None)


def die_with(parent: int) -> None:
    """End this process by SIGKILL when the parent's thread that started it ends (Linux; nothing elsewhere).

    Called in the child; where the parent is gone already, the child ends here.
    """
    if sys.platform == "linux":
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
