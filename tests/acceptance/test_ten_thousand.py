"""Ten thousand no-op cases: one verdict each, none lost, nothing left behind, and a client that does not grow."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench.noop import SEATS, config
from bench.throughput import keys_left, resident_kb, submitted, timed
from tribunal.client import Client
from tribunal.local.up import Ensemble
from tribunal.settings import load_settings

CASES = 10_000
WARM = 2_000
THREADS = 8


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_ten_thousand_cases_leave_ten_thousand_verdicts_and_nothing_else() -> None:
    with TemporaryDirectory(prefix="tenk") as name:
        folder = Path(name)
        (folder / "tribunal.toml").write_text(config(), encoding="utf-8")
        settings = load_settings(folder / "tribunal.toml", log_level="warning")
        with (
            Ensemble(settings, folder / "state", dict.fromkeys(SEATS, 1), lambda _: None) as ensemble,
            Client(ensemble.settings) as client,
            ThreadPoolExecutor(THREADS) as pool,
        ):
            ensemble.await_usable(threading.Event())
            times = bytearray(WARM + CASES + 1)  # how often each number was given; of fixed size, unlike a dictionary

            def one(case_id: str) -> None:
                submitted(client, case_id)
                verdict = client.wait(case_id, timeout=60)
                assert verdict.case_id == case_id
                assert verdict.seq is not None
                times[verdict.seq] += 1

            timed(pool, THREADS, WARM, one, "warm")
            before = resident_kb()
            seconds, *_ = timed(pool, THREADS, CASES, one, "x")
            grown = resident_kb() - before

            assert list(times) == [0] + [1] * (WARM + CASES)
            assert client.ledger.head() == WARM + CASES
            assert client.docket.open_cases() == []
            assert keys_left(client) == {}
            assert grown < 2048, f"the client grew by {grown} kB over {CASES} cases"
            print(f"{CASES / seconds:.0f} cases/s, the client grew by {grown} kB")
