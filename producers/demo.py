"""The demo: the drafts in ``examples/`` before a real court, and again with one of its judges dead.

Everything is as in earnest: a Valkey, a worker process a judge, an aggregator, the ledger. It all lives in a temporary
folder, and no configuration of this machine reaches it.
"""

import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.markdown import Markdown
from rich.padding import Padding
from rich.panel import Panel as Frame
from rich.rule import Rule
from rich.text import Text

from producers.batch import Judged, printed, summary_line, verdict_word
from producers.drafts import Draft, read_drafts
from tribunal.cli.faults import printable
from tribunal.cli.output import milliseconds, show, words
from tribunal.client import Client
from tribunal.config import load_catalogue
from tribunal.errors import ConfigurationError, StoreUnavailable
from tribunal.local.up import Ensemble
from tribunal.logs import configure_logging
from tribunal.model import Verdict
from tribunal.procedures.hearing import EXPERTISE
from tribunal.redaction import redact
from tribunal.settings import ENV_PREFIX, Settings, load_settings

EXAMPLES: Final = Path(__file__).resolve().parent.parent / "examples"
PANEL: Final = "recommendation"
KILLED: Final = "hallucination-fast"
"""The judge whose worker is killed: the one that has something to say about a draft full of paths."""
AGAIN: Final = "02-refund-retry.en.md"
"""The draft that is judged once more then."""
WIDTH: Final = 100
"""Columns, at most."""
DEAD_S: Final = 5.0
"""Seconds that a killed process may take to be gone."""
WRITTEN_S: Final = 5.0
"""Seconds after the last verdict within which its audit file must be there."""
_FENCE: Final = re.compile("> `{3,}")


@dataclass(frozen=True)
class Shown:
    """A draft, its verdict, and how long its producer waited for it, in milliseconds."""

    judged: Judged
    waited_ms: float

    @property
    def verdict(self) -> Verdict | None:
        """The verdict."""
        return self.judged.verdict


def run_demo(output: Path) -> int:
    """Run it; 0 if all was as it should be, else 1. Audit files go below ``output``.

    Raises:
        ConfigurationError: the examples are not here, or the services do not start.
        ContractError: an example is wrong.
    """
    if not EXAMPLES.is_dir():
        raise ConfigurationError(f"{EXAMPLES}: the folder of the examples expected; run the demo from the checkout")
    configure_logging("error", role="demo")
    started = time.monotonic()
    with _private(output.absolute()) as settings:
        drafts = read_drafts(EXAMPLES / "drafts", settings.subject_limit)
        seats = load_catalogue(settings.config_path).panels[PANEL].seats
        _say(f"Starting a Valkey, an aggregator and a worker for each of {len(seats)} judges …")
        judges = {seat.judge: 1 for seat in seats}
        with Ensemble(settings, settings.state_dir, judges, lambda _: None) as court:
            court.await_usable(threading.Event())
            _say(f"Usable after {time.monotonic() - started:.1f} s. {len(drafts)} drafts of examples/drafts follow.")
            with Client(court.settings) as client:
                faults = _hearing(court, client, drafts, settings)
    for fault in faults:
        show(Text(f"✗ {printable(fault)}", "bold red", no_wrap=True))
    if not faults:
        show(words("✓ every verdict is what its draft deserves, and a missing judge never led to PASS", "bold green"))
    show(words(f"All stopped; {time.monotonic() - started:.1f} s in all.", "dim"))
    return 1 if faults else 0


def _hearing(court: Ensemble, client: Client, drafts: list[Draft], settings: Settings) -> list[str]:
    """Judge all drafts, then one again without a judge; returns what was not as it should be."""
    shown: list[Shown] = []
    for number, draft in enumerate(drafts, 1):
        shown.append(_judge(client, draft))
        show(_rule(f"{number} of {len(drafts)} · {draft.file}"), _view(shown[-1]))
    faults = [
        f"{one.draft.file}: {printed(one.draft.expect or 'an expectation')} expected, {one.outcome} came"
        for one in (each.judged for each in shown)
        if not one.as_expected
    ]
    again = replace(next(draft for draft in drafts if draft.file == AGAIN), expect="warn")
    pid = _kill(court)
    show(_rule(f"{again.file}, once more", "bold red"))
    _say(f"The worker of {KILLED} (pid {pid}) was killed, and nobody starts it again.")
    after = _judge(client, again)
    show(_view(after))
    if not _warns_of_the_missing(after.verdict):
        faults.append(f"{again.file} without {KILLED}: WARN that names it expected, {after.judged.outcome} came")
    show(_rule(), summary_line([one.judged for one in shown]))
    faults += _look_at_the_record([*shown, after], settings)
    return faults


def _judge(client: Client, draft: Draft) -> Shown:
    began = time.monotonic()
    verdict = client.judge(PANEL, draft.subject, draft.context)
    return Shown(Judged(draft, verdict.case_id, verdict), 1000 * (time.monotonic() - began))


def _kill(court: Ensemble) -> int:
    """SIGKILL the worker's process, and wait until it is dead. Restarting would take a call of ``court.look()``."""
    worker = next(service for service in court.services() if service.name == f"judge {KILLED}")
    pid = worker.pid
    if pid is None:
        raise StoreUnavailable(f"the worker of {KILLED} is not alive before its turn:\n{worker.tail()}")
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + DEAD_S
    while not worker.died():
        if time.monotonic() > until:
            raise StoreUnavailable(f"the worker of {KILLED}, pid {pid}, still lives {DEAD_S:g} s after SIGKILL")
        time.sleep(0.01)
    return pid


def _warns_of_the_missing(verdict: Verdict | None) -> bool:
    if verdict is None or verdict.decision.outcome != "warn":
        return False
    missing = verdict.decision.details.get("missing")
    return isinstance(missing, dict) and set(missing) == {KILLED}


def _look_at_the_record(shown: list[Shown], settings: Settings) -> list[str]:
    """Say where the audit files are; returns what is missing in the record."""
    verdicts = [one.verdict for one in shown if one.verdict is not None]
    numbers = [verdict.seq for verdict in verdicts]
    faults: list[str] = []
    if numbers == list(range(1, len(shown) + 1)):
        _say(f"The ledger sealed them as numbers 1 to {len(numbers)}, without a gap.")
    else:
        faults.append(f"the ledger's numbers 1 to {len(shown)} expected, without a gap; {numbers} came")
    files = [settings.output_dir / verdict.audit_path for verdict in verdicts if verdict.audit_path]
    until = time.monotonic() + WRITTEN_S
    # The aggregator exports a verdict after it has answered.
    while (missing := [path for path in files if not path.is_file()]) and time.monotonic() < until:
        time.sleep(0.01)
    faults += [f"{path}: this audit file is missing" for path in missing]
    for folder in sorted({path.parent for path in files}):
        number = sum(path.parent == folder for path in files)
        _say(f"{number} audit files are in {_short(folder)}")
    return faults


def _rule(title: str = "", style: str = "dim") -> RenderableType:
    return Constrain(Rule(title, align="left", style=style), WIDTH)


def _view(shown: Shown) -> RenderableType:
    """What the user sees of one draft."""
    lines = redact(shown.judged.draft.subject).strip().splitlines()
    told = Text("“", style="italic").append(printable(lines[0])).append(" …”" if len(lines) > 1 else "”")
    told.truncate(WIDTH - 2, overflow="ellipsis")
    parts: list[RenderableType] = [told, _headline(shown)]
    verdict = shown.verdict
    banner = verdict.output.get("banner") if verdict else None
    if verdict and isinstance(banner, str) and banner:
        parts.append(_banner(banner))
    elif verdict and verdict.decision.details.get("mode") == "rewrite-blind":
        parts.append(words(f"{EXPERTISE} asks for a rewrite: {_said_by(EXPERTISE, verdict)}", "cyan"))
    return Constrain(Padding(Group(*parts), (0, 0, 1, 2)), WIDTH)


def _headline(shown: Shown) -> Text:
    line = Text().append(verdict_word(shown.judged)).append(f"  {milliseconds(shown.waited_ms)}", style="bold")
    verdict = shown.verdict
    if verdict is None:
        return line
    details = verdict.decision.details
    if details.get("skipped") is True:
        return line.append(f"  {verdict.decision.reasons[0]}")
    line.append(f"  risk {details.get('risk_class')}, consensus score {details.get('consensus_score')}")
    return line


def _said_by(seat: str, verdict: Verdict) -> str:
    answer = verdict.history[0].by_seat()[seat].answer or {}
    return printable(str(answer.get("reason", "")))


def _banner(banner: str) -> RenderableType:
    """The block before or in place of the draft, without the draft that is quoted in it."""
    lines = printable(banner).splitlines()
    shown = list(takewhile(lambda line: not _FENCE.match(line), lines))
    parts: list[RenderableType] = [Markdown("\n".join(shown), hyperlinks=False)]
    if len(shown) < len(lines):
        parts.append(words(f"  … quoted in {len(lines) - len(shown) - 2} lines", "dim"))
    return Frame(Group(*parts), title="what the user sees", title_align="left")


def _short(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _say(line: str) -> None:
    show(words(line))


@contextmanager
def _private(output: Path) -> Generator[Settings]:
    """Settings that nothing outside of the demo has a part in, with a state folder that goes at the end."""
    for name in [name for name in os.environ if name.startswith(ENV_PREFIX)]:
        del os.environ[name]
    kept = signal.signal(signal.SIGTERM, _end)  # it would leave the folder behind
    try:
        with tempfile.TemporaryDirectory(prefix="tribunal-demo-") as state:
            yield load_settings(EXAMPLES / "tribunal.toml", state_dir=Path(state), output_dir=output)
    finally:
        signal.signal(signal.SIGTERM, kept)


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)
