"""The services beside the package, started by name: workers and aggregation."""

import importlib.util
import sys

from tribunal.errors import ConfigurationError


def sibling_command(name: str, *arguments: str) -> list[str]:
    """The command that runs a service of this checkout: ``python -P -m <name> …``.

    ``-P``: a user's own folder of that name in the working folder is not taken.

    Raises:
        ConfigurationError: the service is not here, as where only the wheel is installed.
    """
    if importlib.util.find_spec(name) is None:
        raise ConfigurationError(
            f"the folder {name}/ is not here: the wheel holds the package tribunal alone; run this from the checkout "
            "or the image"
        )
    return [sys.executable, "-P", "-m", name, *arguments]
