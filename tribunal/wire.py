"""Names of tasks, queues, keys and the exchange: what the parts agree on beside the models."""

from dataclasses import dataclass
from uuid import uuid4

JUDGE_TASK = "tribunal.judge"
"""Arguments: case id, stage, seat. Runs on the judge's own queue."""

AGGREGATE_TASK = "tribunal.aggregate"
"""Arguments: case id, and the stage of a hint or None. Runs on the queue of :attr:`Names.aggregation`."""

SEND_HEADER = "tribunal_send"
"""Message header: the id of each sending of a seat's task, see :func:`send_id`."""

SEPARATOR = ":"


@dataclass(frozen=True)
class Names:
    """The names of one installation. All begin with its namespace, so that two can share a Redis or a broker."""

    namespace: str

    @property
    def aggregation(self) -> str:
        """The queue of the aggregators."""
        return f"{self.namespace}.aggregation"

    @property
    def exchange(self) -> str:
        """The topic exchange that verdicts are published on."""
        return f"{self.namespace}.verdicts"

    def queue(self, judge: str) -> str:
        """The queue that a judge consumes."""
        return f"{self.namespace}.judge.{judge}"

    def key(self, kind: str, *parts: str) -> str:
        """A Redis key, e.g. ``tribunal:case:<id>``."""
        return SEPARATOR.join((self.namespace, kind, *parts))


def send_id(sent: int) -> str:
    """A fresh id for one sending of a seat's task: when it was sent, in milliseconds, and chance.

    With the worker's name it is the lease's token.
    """
    return f"{sent}-{uuid4().hex}"


def sent_at(send: str) -> int:
    """When that sending was, in milliseconds since the epoch; 0 of one that is not ours."""
    time = send.partition("-")[0]
    return int(time) if time.isdecimal() else 0


def task_id(case_id: str, stage: int, seat: str) -> str:
    """The task id of a seat: the same however often it is sent."""
    return f"{case_id}{SEPARATOR}{stage}{SEPARATOR}{seat}"


def parse_task_id(value: str) -> tuple[str, int, str] | None:
    """Case id, stage and seat of a task id; None for ids that are not a seat's."""
    parts = value.rsplit(SEPARATOR, 2)
    if len(parts) != 3 or not parts[1].isdigit():
        return None
    return parts[0], int(parts[1]), parts[2]
