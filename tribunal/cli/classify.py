"""``tribunal classify``: the risk class of a draft, without any service."""

from tribunal.cli.options import AsJson, ConfigFile, SubjectFile
from tribunal.cli.output import print_json, show, words
from tribunal.cli.reading import read_subject
from tribunal.procedures.classifier import classify
from tribunal.settings import load_settings


def classify_command(file: SubjectFile = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Tell a draft's risk class and what led to it.

    A draft of class low passes the recommendation panel without a judge.
    """
    found = classify(read_subject(file, load_settings(config).subject_limit))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        matched = f": {', '.join(found.matched)}" if found.matched else ""
        show(words(f"{found.risk.value}{matched}"))
