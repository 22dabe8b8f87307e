"""The time that a judge gives itself."""

import time
from collections.abc import Callable


class Budget:
    """A span of time, by a clock of one's own."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._end - self._clock())

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self._clock() >= self._end
