"""The work that both sides of the benchmark do: nothing, four times a case."""

from celery import Celery, chord

from tribunal import Packet, judge
from tribunal.model import Answer

SEATS = ("one", "two", "three", "four")


def config() -> str:
    """A ``tribunal.toml`` with a panel of four no-op judges, a worker of its own each."""
    judges = "".join(f'[judges.{seat}]\nfunction = "bench.noop:noop"\n' for seat in SEATS)
    seats = ",".join(f'{{ name = "{seat}", judge = "{seat}", timeout = 30 }}' for seat in SEATS)
    panel = f'[panels.noop]\nprocedure = "recommendation"\nanswer_within = 60\nseats = [{seats}]\n'
    return judges + panel


@judge
def noop(packet: Packet) -> Answer:  # noqa: ARG001  # a no-op
    """Agrees."""
    return {"score": 100, "veto": False, "confidence": 1.0}


def plain_app(url: str) -> Celery:
    """A Celery app as its documentation begins: broker and result backend on one Redis, nothing else set."""
    app = Celery("plain", broker=url, backend=url)

    @app.task(name="plain.judge")
    def plain_judge(case: str, seat: str) -> dict[str, object]:  # noqa: ARG001  # a no-op
        return {"score": 100, "veto": False, "confidence": 1.0}

    @app.task(name="plain.join")
    def plain_join(votes: list[dict[str, object]], case: str) -> dict[str, object]:
        return {"case": case, "outcome": "pass", "votes": len(votes)}

    return app


def plain_case(app: Celery, case: str) -> object:
    """Send a case as a plain chord; its result is the verdict."""
    header = [app.signature("plain.judge", args=(case, seat)) for seat in SEATS]
    return chord(header, app=app)(app.signature("plain.join", args=(case,)))
