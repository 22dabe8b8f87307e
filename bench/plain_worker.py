"""The worker of the plain chord: ``celery -A bench.plain_worker worker``, with Celery's defaults."""

import os

from bench.noop import plain_app

app = plain_app(os.environ["BENCH_URL"])
