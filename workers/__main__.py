"""``python -m workers JUDGE [--concurrency N]``: one worker; the settings come from the environment.

`tribunal worker` is the same with flags and help.
"""

import argparse
import sys

from tribunal.errors import TribunalError
from tribunal.logs import configure_logging
from tribunal.settings import load_settings
from workers.worker import run_worker


def main() -> int:
    """Run a worker; a fault of configuration ends it with exit code 2."""
    parser = argparse.ArgumentParser(prog="python -m workers", description="Consume one judge's queue.")
    parser.add_argument("judge", help="the judge's name, as in tribunal.toml")
    parser.add_argument("--concurrency", type=int, help="cases at once, for an async judge (8)")
    arguments = parser.parse_args()
    try:
        settings = load_settings()
        configure_logging(settings.log_level, role="worker", judge=arguments.judge)
        return run_worker(settings, arguments.judge, concurrency=arguments.concurrency)
    except TribunalError as error:
        print(f"worker {arguments.judge}: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
