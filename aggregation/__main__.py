"""``python -m aggregation``: one aggregator; the settings come from the environment. See `tribunal aggregator`."""

import sys

from aggregation.aggregator import run_aggregator
from tribunal.errors import TribunalError
from tribunal.logs import configure_logging
from tribunal.settings import load_settings


def main() -> int:
    """Run an aggregator; a fault of configuration ends it with exit code 2."""
    try:
        settings = load_settings()
        configure_logging(settings.log_level, role="aggregator")
        return run_aggregator(settings)
    except TribunalError as error:
        print(f"aggregator: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
