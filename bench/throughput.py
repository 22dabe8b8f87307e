"""No-op cases through the whole way, beside a plain default Celery chord, in one run on one Valkey.

``python -m bench.throughput [--cases N] [--rounds N] [--json FILE]``: the two take turns, so that what else the
machine does falls on both. Also checked: one verdict a case, none lost, the client's memory, the keys left in Redis.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import redis

from bench.noop import SEATS, config, plain_app, plain_case
from tribunal.client import Client
from tribunal.errors import StoreUnavailable
from tribunal.local.up import Ensemble
from tribunal.settings import load_settings
from tribunal.topic import kombu_url

WINDOW = 64
"""Cases under way at once, on either side."""
WARM = 500
"""Cases of each side before the first figure."""


def resident_kb() -> int:
    """This process's memory, in kB (Linux)."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def timed(
    pool: ThreadPoolExecutor, threads: int, cases: int, one: Callable[[str], None], prefix: str
) -> "array[float]":
    """Run the cases, as many at once as there are threads; the whole time in seconds, then each case's latency."""
    numbers = iter(range(cases))  # taken from one by one: a future a case would be the benchmark's own memory
    latencies = array("d")

    def run() -> None:
        for number in numbers:
            started = time.perf_counter()
            one(f"{prefix}-{number}")
            latencies.append(time.perf_counter() - started)

    started = time.perf_counter()
    for future in [pool.submit(run) for _ in range(threads)]:
        future.result()
    latencies.insert(0, time.perf_counter() - started)
    return latencies


def submitted(client: Client, case_id: str) -> None:
    """Submit a no-op case. A slow disk may not acknowledge it in time: the same id again is the same case."""
    while True:
        try:
            client.submit("noop", "force push it", {"risk": "high"}, case_id=case_id)
            return
        except StoreUnavailable:
            continue


def figures(cases: int, runs: "list[array[float]]") -> dict[str, float]:
    """Cases a second, and the latency's quantiles in milliseconds."""
    total = sum(run[0] for run in runs)
    latencies = sorted(1000 * latency for run in runs for latency in run[1:])
    cuts = statistics.quantiles(latencies, n=100)
    return {
        "cases_per_s": round(cases / total, 1),
        "p50_ms": round(cuts[49], 1),
        "p95_ms": round(cuts[94], 1),
        "p99_ms": round(cuts[98], 1),
    }


def main() -> int:
    """Measure, print and check."""
    parser = argparse.ArgumentParser(prog="python -m bench.throughput", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="cases of each side (2000)")
    parser.add_argument("--rounds", type=int, default=4, help="turns that they take (4)")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    arguments = parser.parse_args()
    each = arguments.cases // arguments.rounds
    with tempfile.TemporaryDirectory(prefix="bench") as name:
        folder = Path(name)
        (folder / "tribunal.toml").write_text(config(), encoding="utf-8")
        settings = load_settings(folder / "tribunal.toml", log_level="warning")
        with Ensemble(settings, folder / "state", dict.fromkeys(SEATS, 1), lambda _: None) as ensemble:
            ensemble.await_usable(threading.Event())
            result = measure(ensemble.settings, each, arguments.rounds)
    print(json.dumps(result, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0 if result["lost"] == 0 and not result["keys_left"] else 1


def measure(settings: Any, each: int, rounds: int) -> dict[str, Any]:
    """Let the two sides take turns."""
    url = kombu_url(f"{settings.redis_url}?db=1")
    app = plain_app(url)
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "bench.plain_worker", "worker", "-l", "ERROR"],
        env={**os.environ, "BENCH_URL": url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ours: list[array[float]] = []
    plain: list[array[float]] = []
    try:
        with Client(settings) as client, ThreadPoolExecutor(WINDOW) as pool:

            def tribunal_case(case_id: str) -> None:
                submitted(client, case_id)
                assert client.wait(case_id, timeout=60).decision.outcome == "pass"

            def chord_case(case_id: str) -> None:
                result: Any = plain_case(app, case_id)
                result.get(timeout=60)
                result.forget()

            # Every thread has its connections and its memory before anything is measured.
            timed(pool, WINDOW, WARM, tribunal_case, "warm")
            timed(pool, WINDOW, WARM, chord_case, "warm")
            before, grown = resident_kb(), 0
            for turn in range(rounds):
                start = resident_kb()
                ours.append(timed(pool, WINDOW, each, tribunal_case, f"t{turn}"))
                grown += resident_kb() - start
                plain.append(timed(pool, WINDOW, each, chord_case, f"c{turn}"))
            cases = each * rounds
            sealed = client.ledger.head() - WARM
            left = keys_left(client)
    finally:
        worker.terminate()
        worker.wait()
    mine, theirs = figures(cases, ours), figures(cases, plain)
    return {
        "cases": cases,
        "tribunal": mine,
        "default_chord": theirs,
        "ratio": round(mine["cases_per_s"] / theirs["cases_per_s"], 2),
        "lost": cases - sealed,
        "client_growth_kb": grown,
        "client_kb": before,
        "keys_left": left,
    }


def keys_left(client: Client) -> dict[str, int]:
    """Keys that retention does not name. Cases and their events expire in ten minutes, a few more are of fixed size."""
    fixed = {"panels", "begun", "alive", "subscribers", "lineage_of"}
    found: dict[str, int] = {}
    ours: Any = redis.Redis.from_url(client.docket.url, decode_responses=True)
    for key in ours.scan_iter(f"{client.settings.namespace}:*", count=1000):
        kind = key.split(":")[1]
        expires = ours.ttl(key) > 0
        if kind not in fixed and not (kind in ("case", "events") and expires):
            found[kind] = found.get(kind, 0) + 1
    ours.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
