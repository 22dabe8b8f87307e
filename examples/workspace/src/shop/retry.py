"""Calling something again that may work the second time."""

import time
from collections.abc import Callable

ATTEMPTS = 3
PAUSE_S = 0.2


def with_retries(call: Callable[[], None], fault: type[Exception], attempts: int = ATTEMPTS) -> None:
    """Call until it works, with a longer pause each time; the last fault is raised."""
    for attempt in range(1, attempts + 1):
        try:
            call()
            return
        except fault:
            if attempt == attempts:
                raise
            time.sleep(PAUSE_S * 2**attempt)
