"""The receipt trail: appended durably, written once, confined to its root."""

import fcntl
import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tribunal import receipts
from tribunal.errors import ConfigurationError, ContractError, StoreUnavailable

RUN = "20260110T101112345Z"
NOW = 1_768_039_872_345
SLUG = "plugin-discovery"


def lines(root: Path, run: str = RUN) -> list[dict[str, object]]:
    text = (receipts.run_folder(root, SLUG, run) / receipts.LOG).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_is_appended_at_each_call(tmp_path: Path) -> None:
    assert receipts.append(tmp_path, SLUG, RUN, {"event": "convene", "why": "disagreement"})
    assert receipts.append(tmp_path, SLUG, RUN, {"event": "tally"})
    assert lines(tmp_path) == [{"event": "convene", "why": "disagreement"}, {"event": "tally"}]
    assert (tmp_path / "runs/routine-review" / SLUG / RUN / "run-log.jsonl").is_file()


def test_a_line_whose_key_is_there_is_not_appended_again(tmp_path: Path) -> None:
    assert receipts.append(tmp_path, SLUG, RUN, {"n": 1}, "case:1")
    assert not receipts.append(tmp_path, SLUG, RUN, {"n": 2}, "case:1")
    assert receipts.append(tmp_path, SLUG, RUN, {"n": 3}, "case:2")
    assert lines(tmp_path) == [{"key": "case:1", "n": 1}, {"key": "case:2", "n": 3}]


def test_a_line_cut_short_by_a_crash_is_removed(tmp_path: Path) -> None:
    receipts.append(tmp_path, SLUG, RUN, {"n": 1}, "a")
    log = receipts.run_folder(tmp_path, SLUG, RUN) / receipts.LOG
    with log.open("ab") as file:
        file.write(b'{"key":"b","why":"' + b"x" * 99)
    assert receipts.append(tmp_path, SLUG, RUN, {"n": 2}, "b")
    assert lines(tmp_path) == [{"key": "a", "n": 1}, {"key": "b", "n": 2}]


def test_a_line_that_somebody_spoiled_stays_and_hinders_nothing(tmp_path: Path) -> None:
    receipts.append(tmp_path, SLUG, RUN, {"n": 1}, "a")
    log = receipts.run_folder(tmp_path, SLUG, RUN) / receipts.LOG
    with log.open("ab") as file:
        file.write(b"spoiled\n[1]\n")
    assert receipts.append(tmp_path, SLUG, RUN, {"n": 2}, "b")
    assert not receipts.append(tmp_path, SLUG, RUN, {"n": 3}, "a")
    assert len(log.read_bytes().splitlines()) == 4


def test_writers_at_once_lose_and_mix_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        wrote = list(pool.map(lambda n: receipts.append(tmp_path, SLUG, RUN, {"n": n}, f"k{n % 8}"), range(32)))
    assert sum(wrote) == 8
    assert sorted(str(line["key"]) for line in lines(tmp_path)) == [f"k{n}" for n in range(8)]


def test_a_writer_waits_for_the_one_before(tmp_path: Path) -> None:
    receipts.append(tmp_path, SLUG, RUN, {"n": 1})
    log = receipts.run_folder(tmp_path, SLUG, RUN) / receipts.LOG
    with ThreadPoolExecutor(1) as pool:
        with log.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            second = pool.submit(receipts.append, tmp_path, SLUG, RUN, {"n": 2})
            with pytest.raises(TimeoutError):
                second.result(timeout=0.2)
        assert second.result(timeout=10)
    assert lines(tmp_path) == [{"n": 1}, {"n": 2}]


def test_a_round_is_written_once(tmp_path: Path) -> None:
    assert receipts.write_round(tmp_path, SLUG, RUN, 1, {"verdict": "approved"})
    assert not receipts.write_round(tmp_path, SLUG, RUN, 1, {"verdict": "escalate"})
    assert receipts.write_round(tmp_path, SLUG, RUN, 2, {"verdict": "escalate"})
    folder = receipts.run_folder(tmp_path, SLUG, RUN)
    assert json.loads((folder / "round-1.json").read_text()) == {"verdict": "approved"}
    assert sorted(path.name for path in folder.iterdir()) == ["round-1.json", "round-2.json"]


def test_a_lone_surrogate_is_escaped(tmp_path: Path) -> None:
    receipts.append(tmp_path, SLUG, RUN, {"said": "\ud800 é"})
    receipts.write_round(tmp_path, SLUG, RUN, 1, {"said": "\ud800 é"})
    assert lines(tmp_path) == [{"said": "\ud800 é"}]


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    receipts.append(tmp_path, SLUG, RUN, {})
    receipts.write_round(tmp_path, SLUG, RUN, 1, {})
    folder = receipts.run_folder(tmp_path, SLUG, RUN)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}
    assert modes == {RUN: 0o700, "run-log.jsonl": 0o600, "round-1.json": 0o600}


def test_a_run_is_named_by_its_time() -> None:
    assert receipts.run_name(NOW) == RUN
    assert receipts.run_name(0) == "19700101T000000000Z"


def test_new_runs_sort_after_older_ones_even_if_the_clock_stands_or_goes_back(tmp_path: Path) -> None:
    assert receipts.newest_run(tmp_path, SLUG) is None
    runs = [receipts.new_run(tmp_path, SLUG, now) for now in (NOW, NOW, NOW - 5000, NOW + 5000)]
    assert runs == [RUN, "20260110T101112346Z", "20260110T101112347Z", "20260110T101117345Z"]
    assert receipts.newest_run(tmp_path, SLUG) == runs[-1]
    (tmp_path / "runs/routine-review" / SLUG / "99999999T999999999Z").mkdir()
    assert receipts.newest_run(tmp_path, SLUG) == runs[-1]


def test_new_runs_at_once_are_different(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: receipts.new_run(tmp_path, SLUG, NOW), range(16)))
    assert len(set(runs)) == 16


@pytest.mark.parametrize("slug", ["", "..", "a/b", "a..b", "/etc", ".git", "a\x00b", "ü", "x" * 129, "a\n"])
def test_a_slug_is_one_safe_name(tmp_path: Path, slug: str) -> None:
    for use in (
        lambda: receipts.append(tmp_path, slug, RUN, {}),
        lambda: receipts.write_round(tmp_path, slug, RUN, 1, {}),
        lambda: receipts.new_run(tmp_path, slug, NOW),
        lambda: receipts.newest_run(tmp_path, slug),
    ):
        with pytest.raises(ContractError, match="slug"):
            use()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("run", ["", "..", "20260110", "20261310T101112345Z", "20260110T101112345Z/..", f"{RUN}\n"])
def test_a_run_is_a_timestamp(tmp_path: Path, run: str) -> None:
    with pytest.raises(ContractError, match="timestamp"):
        receipts.append(tmp_path, SLUG, run, {})
    assert list(tmp_path.iterdir()) == []


def test_a_round_is_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="1 or more"):
        receipts.write_round(tmp_path, SLUG, RUN, 0, {})


@pytest.mark.parametrize(
    "place", ["runs", "runs/routine-review", f"runs/routine-review/{SLUG}", f"runs/routine-review/{SLUG}/{RUN}"]
)
def test_no_folder_on_the_way_may_be_a_link(tmp_path: Path, place: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    link = root / place
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(ConfigurationError, match="symbolic link"):
        receipts.append(root, SLUG, RUN, {})
    with pytest.raises(ConfigurationError, match="symbolic link"):
        receipts.write_round(root, SLUG, RUN, 1, {})
    assert not [path for path in outside.rglob("*") if path.is_file()]


def test_the_files_may_be_no_links(tmp_path: Path) -> None:
    receipts.append(tmp_path, SLUG, RUN, {"n": 1})
    folder, secret = receipts.run_folder(tmp_path, SLUG, RUN), tmp_path / "secret"
    secret.write_text("mine")
    (folder / receipts.LOG).unlink()
    (folder / receipts.LOG).symlink_to(secret)
    (folder / "round-1.json").symlink_to(secret)
    with pytest.raises(ConfigurationError, match="symbolic link"):
        receipts.append(tmp_path, SLUG, RUN, {"n": 2})
    assert not receipts.write_round(tmp_path, SLUG, RUN, 1, {})
    assert secret.read_text() == "mine"


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "output").symlink_to(tmp_path / "disk")
    assert receipts.append(tmp_path / "output", SLUG, RUN, {"n": 1})
    assert lines(tmp_path / "disk") == [{"n": 1}]


def test_a_file_in_the_way_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "output").write_text("")
    with pytest.raises(ConfigurationError, match="output"):
        receipts.append(tmp_path / "output", SLUG, RUN, {})


@pytest.mark.parametrize(
    "use",
    [
        lambda root: receipts.append(root, SLUG, RUN, {"n": 2}, "b"),
        lambda root: receipts.write_round(root, SLUG, RUN, 1, {"n": 2}),
    ],
)
def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], bool]
) -> None:
    receipts.append(tmp_path, SLUG, RUN, {"n": 1}, "a")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(StoreUnavailable, match="No space left") as failure:
            use(tmp_path)
    assert failure.value.retryable
    use(tmp_path)
    assert lines(tmp_path)[0] == {"key": "a", "n": 1}
    folder = receipts.run_folder(tmp_path, SLUG, RUN)
    assert {path.name for path in folder.iterdir()} <= {"run-log.jsonl", "round-1.json"}
