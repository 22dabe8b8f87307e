"""``tribunal submit``, ``wait`` and ``follow``: a case's way, one step each."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from tribunal.cli.context import with_context
from tribunal.cli.faults import warn
from tribunal.cli.options import AsJson, CaseName, ConfigFile, PanelName, SubjectFile, client_settings
from tribunal.cli.output import print_json, print_verdict, show, words
from tribunal.cli.reading import read_subject
from tribunal.client import Client
from tribunal.docket import Event
from tribunal.errors import DispatchError
from tribunal.model import Context

_NUMBERS = ("stage", "attempt", "deadline")


@with_context
def submit_command(
    panel: PanelName,
    file: SubjectFile = None,
    *,
    case_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The case's id, so that submitting can be repeated.")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
    context: Context,
) -> None:
    """Open a case and print its id, without waiting.

    With --id, the same again opens nothing; with other content it is refused. Needs `tribunal up`, or the services
    that the configuration names.
    """
    settings = client_settings(config)
    subject = read_subject(file, settings.subject_limit)
    with Client(settings) as client:
        case = client.case(panel, subject, context, case_id)
        told: dict[str, Any] = {"case_id": case.case_id, "panel": case.panel}
        try:
            opened = client.submit_case(case)
            told |= {"deadline_at": opened.deadline_at, "existed": opened.existed, "dispatched": True}
        except DispatchError as error:
            # The case is open all the same, and the docket gives it a verdict: its id is worth more than a fault.
            warn(str(error))
            told |= {"dispatched": False}
    if as_json:
        print_json(told)
    else:
        print(case.case_id)


def wait_command(
    case: CaseName,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, metavar="S", help="Seconds to wait; without it, for ever.")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Wait for a case's verdict.

    Prints it and exits like tribunal judge. When the time has passed it exits with 1; the case goes on.
    """
    settings = client_settings(config)
    with Client(settings) as client:
        verdict = client.wait(case, timeout=timeout)
    print_verdict(verdict, settings, as_json=as_json)
    raise typer.Exit(verdict.exit_code)


def follow_command(case: CaseName, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show what happens to a case, as it happens.

    Begins with the first event and ends with the verdict. With --json each event is a line.
    """
    with Client(client_settings(config)) as client:
        for event in client.follow(case):
            if as_json:
                print_json(event_json(event))
            else:
                show(_line(event))


def event_json(event: Event) -> dict[str, Any]:
    """An event as plain JSON values; the verdict in it as an object."""
    fields: dict[str, Any] = {
        name: int(value) if name in _NUMBERS else json.loads(value) if name == "verdict" else value
        for name, value in event.fields.items()
    }
    return {"event": event.kind, "at": event.at, **fields}


def _line(event: Event) -> Any:
    time = datetime.fromtimestamp(event.at / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    verdict = event.verdict
    if verdict:
        rest = [verdict.decision.outcome, *verdict.decision.reasons]
    else:
        rest = [f"{name} {value}" if name in _NUMBERS else value for name, value in event.fields.items()]
    return words(f"{time}  {event.kind:<9} {', '.join(rest)}")
