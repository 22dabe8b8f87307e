"""hallucination-fast tells what exists from what does not, and never calls fabricated what it could not look up."""

import os
import select
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from judge_packets import drafts, packet, write

from tribunal.errors import ConfigurationError
from tribunal.judging import Abstain
from tribunal.procedures.opinions import Opinion, read_opinion
from workers.judges import tool_help
from workers.judges.budget import Budget
from workers.judges.commands import Flag, documented, flags
from workers.judges.entities import entities
from workers.judges.hallucination_fast import examine, hallucination_fast
from workers.judges.tool_help import help_text
from workers.judges.workspace import Found, Workspace

FILES = {
    "src/app.py": "def parse_config(path):\n    pass\n\n\nclass UserService:\n    def save_user(self):\n        pass\n",
    "src/deep/er/loader.py": "def load_all():\n    pass\n",
    "tests/test_app.py": "from src.app import parse_config\n",
    "config/settings.yaml": "debug: true\n",
    "README.md": "# A project\n",
    "Makefile": "all:\n\techo\n",
    ".git/config": "[core]\n",
}
HELP = """usage: tool
    -v, --verbose         be more verbose
    -a, --all             all of it
    --[no-]verify         run the hooks
    --force-with-lease    only if nobody else pushed
    -m, --message <text>
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write(tmp_path / "workspace", FILES)


@pytest.fixture(autouse=True)
def known_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tool's help is the text above, so that the verdict does not hang on this machine's tools."""
    monkeypatch.setattr("workers.judges.hallucination_fast.help_text", lambda command, seconds, avoid: HELP)


def judged(draft: str, workspace: Path | None, **options: Any) -> dict[str, Any]:
    answer = hallucination_fast(packet(draft, workspace=workspace, options=options, seconds=60.0))
    assert isinstance(answer, dict), answer
    assert isinstance(read_opinion(answer), Opinion), read_opinion(answer)
    return answer


@pytest.mark.parametrize(
    ("draft", "entity", "certain"),
    [
        ("Edit `src/config/loader.py`: it reads the settings.", "src/config/loader.py", True),
        ("Open src/application.py and look at line 3.", "src/application.py", True),
        ("Abre `src/aplicacion.py` y cambia la línea 3.", "src/aplicacion.py", True),
        ("Crea el archivo `src/nuevo.py` y luego edita `src/ap.py`.", "src/ap.py", True),
        ("```bash\ngrep -v TODO src/missing.py\n```", "src/missing.py", True),
        ("Look at `tests/unit/test_login.py:42`.", "tests/unit/test_login.py", True),
        ("The copies of a refund are made in `src/copies.py`.", "src/copies.py", True),
        ("The value is called in `src/values.py`, on line 3.", "src/values.py", True),
        ("I could not find the error in `src/errors.py`.", "src/errors.py", True),
        ("In this repository `src/here.py` does it.", "src/here.py", True),
        ("It is set in `loader.yaml`.", "loader.yaml", False),
        ("All of it is in `src/handlers/`.", "src/handlers/", False),
        ("The file lies in `src/gone`.", "src/gone", False),
        ("Call `load_settings()` first.", "load_settings", False),
        ("La función `guardar_usuario()` lo hace.", "guardar_usuario", False),
        ("The class `OrderService` handles it.", "OrderService", False),
        ("Use `UserService.delete_user()` for that.", "UserService.delete_user", False),
        ("Run `git push --overwrite-remote`.", "git push --overwrite-remote", False),
        ("```\n$ git commit --amend-all -m x\n```", "git commit --amend-all", False),
        ("Ejecuta `tar -z archivo.tar`.", "tar -z", False),
    ],
)
def test_what_does_not_exist_is_fabricated(workspace: Path, draft: str, entity: str, certain: bool) -> None:
    answer = judged(draft, workspace)

    assert [found["entity"] for found in answer["fabricated"]] == [entity]
    assert answer["score"] <= 50
    assert answer["veto"] is True
    # Below 0.8 the panel takes the veto as a doubt and warns.
    assert (answer["confidence"] >= 0.8) is certain
    assert (answer["fabricated"][0]["confidence"] >= 0.9) is certain


def test_what_a_build_would_make_costs_score_only_where_something_was_built(workspace: Path) -> None:
    for draft in ("It is in `dist/bundle.js`.", "Open `htmlcov/index.html`.", "The report is in `reports/junit.xml`."):
        answer = judged(draft, workspace)
        assert (answer["score"], answer["veto"]) == (None, False)

    write(workspace, {"dist/other.js": ""})
    answer = judged("It is in `dist/bundle.js`.", workspace)
    assert (answer["score"], answer["veto"]) == (0, False)


def test_a_path_whose_first_folder_is_not_the_workspaces_is_a_doubt(workspace: Path) -> None:
    (found,) = judged("Read `bank/ledger/rates.csv`.", workspace)["fabricated"]
    assert 0.7 <= found["confidence"] < 0.8


def test_a_librarys_name_in_a_place_that_the_workspace_has_too_is_a_doubt(workspace: Path) -> None:
    (found,) = judged("In the FastAPI repository, `src/routing.py` explains it.", workspace)["fabricated"]
    assert 0.7 <= found["confidence"] < 0.8


@pytest.mark.parametrize(
    "draft",
    [
        "Edit `src/app.py` and run `tests/test_app.py`.",
        "Mira `deep/er/loader.py` y `settings.yaml`.",
        "The function `parse_config()` is in src/app.py.",
        "`UserService.save_user()` and `load_all()` do it.",
        "The configuration is in `.git/config` and `./Makefile`.",
        "Run `git push --force-with-lease` or `git commit --no-verify -m x`.",
        "Move `src/app.py` to `src/core/app.py`.",
        "The folder `src/deep/` holds it.",
        "See @src/app.py and the module `src/app`.",
        "The diff shows `a/src/app.py` against `b/src/app.py`.",
        "`src/app.py` should be called `src/core.py`.",
    ],
)
def test_what_exists_is_verified(workspace: Path, draft: str) -> None:
    answer = judged(draft, workspace)

    assert answer["fabricated"] == []
    assert (answer["score"], answer["veto"]) == (100, False)


@pytest.mark.parametrize(
    "draft",
    [
        "Hello, the weather is fine.",
        "Create `src/new.py` with:\n```python\ndef new_helper():\n    pass\n```\nthen call `new_helper()`.",
        "Crea `src/nuevo.py` con la función `nueva_funcion()`.",
        "Add a function `retry_all()`.",
        "```python title=src/fresh.py\nx = 1\n```",
        "```python\n# src/fresh.py\nx = 1\n```",
        "echo x > notes.txt writes `out/notes.txt`; save it to `src/notes.txt`.",
        "See https://github.com/acme/widget/blob/main/src/x.py and user@host.example:/srv/x.py.",
        "`src/old.py` does not exist any more.",
        "`src/viejo.py` ya no existe.",
        "For example, `src/whatever.py` could hold it.",
        "The branch `origin/main`, the type `application/json`, and the image `acme/web`.",
        "Use `json.dumps()`, `np.linspace(0, 1)` and `print()`.",
        "Rename the file(s) and/or option(s), 24/7.",
        "Edit `/etc/hosts` and `~/.bashrc` and `../../etc/passwd`.",
        "Use Node.js and `Vue.js`.",
        "Put it in `path/to/your/file.py`.",
        "Set `max_connections` to 20 with `kubectl --context x`.",
        "1/2 of it was done on 2026/01/02.",
        "It goes to `output/YYYYMMDD-HHmmss-{type}.json` and `runs/review/<slug>/log.jsonl`.",
        "```\nDo not open/merge/loop here\n```",
        "Call `.get` or `.auto` on it.",
        "The traceback points to `lib/python3.11/site-packages/httpx/_client.py`.",
        "In the FastAPI repository, `docs/en/docs/tutorial/body.md` explains this.",
        "En el repositorio de FastAPI lo explica `docs/en/docs/tutorial/body.md`.",
        "Upload the report to `exports/2026/summary.csv` in the bucket.",
        "Open `htmlcov/index.html` after the run.",
        "Conviene separar la pasarela en `src/gateway.py`.",
        "The gateway should live in `src/gateway.py`.",
        "Debería llamarse `src/backoff.py`.",
        "I could not find `src/legacy.py`. Without `src/legacy.py` the import fails.",
        "No encuentro `src/legacy.py`; mira en la otra rama.",
        "No he podido encontrar el fichero `src/legacy.py`.",
        "Run `sed 's/a/b/' *.txt` and `perl -pe 's/x\\/y/z/g'`.",
        "```python\nimport httpx\nfrom fastapi.routing import magic_router\nfrom . import x\nmagic_router(x)\n```",
    ],
)
def test_what_nobody_claims_to_exist_is_not_looked_up(workspace: Path, draft: str) -> None:
    answer = judged(draft, workspace)

    assert answer["fabricated"] == []
    assert answer["score"] is None


def test_a_fabricated_path_comes_with_the_closest_one(workspace: Path) -> None:
    (found,) = judged("Edit `src/ap.py`.", workspace)["fabricated"]

    assert found == {
        "entity": "src/ap.py",
        "class": "path",
        "verification": f"looked up in the workspace ({len(Workspace(workspace, Budget(9)).files)} entries)",
        "result": "absent",
        "closest_match": "src/app.py",
        "confidence": 0.97,
    }
    assert judged("Call `parse_confg()`.", workspace)["fabricated"][0]["closest_match"] == "parse_config"
    assert judged("`git push --forced-with-lease`", workspace)["fabricated"][0]["closest_match"] == "--force-with-lease"


PACKAGE = {
    "src/shop/__init__.py": "",
    "src/shop/orders.py": "def place_order():\n    pass\n",
    "src/app/__init__.py": "",
    "src/app/views.py": "",
}


@pytest.mark.parametrize(
    ("draft", "entities"),
    [
        ("```python\nfrom shop.orders import magic_refund\nmagic_refund(order)\n```", ["shop.orders.magic_refund"]),
        ("```\n>>> from shop.orders import place_order as p, magic_refund as m\n```", ["shop.orders.magic_refund"]),
        ("```python\nimport os; import shop.billing\n```", ["shop.billing"]),
        ("```py\nshop.orders.magic_refund(order)\n```", ["shop.orders.magic_refund"]),
        ("Replace it with `from shop.billing import place_order`.", ["shop.billing"]),
        ("Change `shop.billing.round_total()` so that it rounds once.", ["shop.billing.round_total"]),
        ("Call `shop.magic_refund()` there.", ["shop.magic_refund"]),
    ],
)
def test_what_a_package_of_the_workspace_does_not_have_is_a_doubt(
    tmp_path: Path, draft: str, entities: list[str]
) -> None:
    answer = judged(draft, write(tmp_path, PACKAGE))

    assert [found["entity"] for found in answer["fabricated"]] == entities
    assert answer["veto"] is True
    assert answer["confidence"] < 0.8


@pytest.mark.parametrize(
    "draft",
    [
        "```python\nfrom shop import orders\nfrom shop.orders import place_order, Order\nimport shop.orders\n```"
        "\nwith `class Order` beside it.",
        "Create `src/shop/billing.py`, then use it: `from shop.billing import round_total`.",
        "```python\n# src/shop/billing.py\nTAX = 1\n```\n```python\nfrom shop.billing import TAX\n```",
        "Call `app.state.load_cache()` and `shop.orders.place_order()`.",
        "```python\nfrom httpx.client import magic_get\nnp.random.magic_rand(3)\n```",
    ],
)
def test_what_a_package_has_or_will_have_is_not_doubted(tmp_path: Path, draft: str) -> None:
    assert judged(draft, write(tmp_path, PACKAGE))["fabricated"] == []


def test_code_that_imports_a_library_is_nothing_to_look_up_without_a_workspace() -> None:
    assert judged("```python\nfrom httpx import Client\n```", None)["score"] is None


def test_without_a_workspace_paths_are_unverified_not_fabricated() -> None:
    answer = hallucination_fast(packet("Edit `src/app.py`."))
    assert answer == Abstain(reason="nothing could be looked up: src/app.py (no workspace was given)")

    partly = judged("Edit `src/app.py`, then `git push --all`.", None)
    assert (partly["score"], partly["fabricated"]) == (100, [])
    assert "unverified: src/app.py" in partly["reason"]


def test_a_workspace_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    answer = hallucination_fast(packet("Edit `src/app.py`.", workspace=tmp_path / "missing"))
    assert isinstance(answer, Abstain)
    assert "cannot be read" in answer.reason


def counting_clock(step: float) -> Callable[[], float]:
    """A clock that goes on by ``step`` seconds whenever it is looked at."""
    now = [0.0]

    def clock() -> float:
        now[0] += step
        return now[0]

    return clock


def test_out_of_budget_nothing_is_called_fabricated(workspace: Path) -> None:
    draft = "Edit `src/missing.py`, call `missing_thing()`, run `git push --missing`."
    said: set[str] = set()
    for looks in range(1, 60):
        answer = examine(packet(draft, workspace=workspace, seconds=60.0), counting_clock(0.8 / looks))
        if isinstance(answer, Abstain):
            assert "budget" in answer.reason or "within 800 ms" in answer.reason or "not listed" in answer.reason
            said.add("abstained")
        else:
            names = [found["entity"] for found in answer["fabricated"]]  # type: ignore[index, union-attr]
            said.add(f"{len(names)} fabricated")
            assert "budget" not in str(answer["reason"]) or len(names) < 3
    assert "abstained" in said
    assert "3 fabricated" in said


def test_a_draft_too_long_for_the_budget_is_not_begun(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = "It is in `src/missing.py`. " + "Nothing of note here. " * 20_000
    monkeypatch.setattr("workers.judges.hallucination_fast.redact", lambda text: pytest.fail("it was begun"))

    answer = examine(packet(draft, workspace=workspace, seconds=60.0))
    assert isinstance(answer, Abstain)
    assert "only 128000 characters can be read" in answer.reason

    monkeypatch.undo()
    assert judged(draft, workspace, budget_ms=60_000)["fabricated"][0]["entity"] == "src/missing.py"


@pytest.mark.parametrize("options", [{"budget_ms": 0}, {"budget_ms": True}, {"budget_ms": "800"}, {"budget": 800}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="budget_ms"):
        judged("anything", None, **options)


def test_the_workspace_is_never_left(tmp_path: Path) -> None:
    root = write(tmp_path / "root", {"a/real.py": "inside = 1\n"})
    write(tmp_path / "outside", {"secret.py": "def hidden_function(): pass\n"})
    (root / "door").symlink_to(tmp_path / "outside")
    (root / "leak.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "loop").symlink_to(root)
    looked = Workspace(root.resolve(), Budget(9))

    assert looked.find_path("../outside/secret.py") is Found.OUTSIDE
    assert looked.find_path("door/secret.py") is Found.OUTSIDE
    assert looked.find_path("loop/a/real.py") is Found.PRESENT
    assert looked.find_words(["hidden_function"])["hidden_function"] is not Found.PRESENT
    assert not any("secret" in path or path.startswith("loop/") for path in looked.files)


def test_a_folder_that_cannot_be_listed_makes_absence_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path, {"a/x.py": "", "b/y.py": ""})
    scandir = os.scandir

    def refusing(path: Path) -> Any:
        if Path(path).name == "b":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("workers.judges.workspace.os.scandir", refusing)
    looked = Workspace(root.resolve(), Budget(9))

    assert looked.find_path("a/x.py") is Found.PRESENT
    assert looked.find_path("c/z.py") is Found.UNKNOWN


def test_a_pipe_in_the_workspace_is_not_waited_for(workspace: Path) -> None:
    os.mkfifo(workspace / "src" / "pipe.py")

    answer = hallucination_fast(packet("Call `load_settings()`.", workspace=workspace))

    assert isinstance(answer, Abstain)
    assert "not read whole" in answer.reason


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git -C /x -c a=b push --force origin", ["git push --force"]),
        ("sudo FOO=1 git push -f && ls -la | grep --color x", ["git push -f", "ls -la", "grep --color"]),
        ("python3 -u script.py --its-own", ["python3 -u"]),
        ("python3 -m pytest --cov", ["python3 -m"]),
        ("docker run --rm -it alpine ls --zzz", ["docker run --rm", "docker run -it"]),
        ("git log --oneline", []),
        ("kubectl get --all", []),
        ("git commit -m 'a -- b --c' -- --file", ["git commit -m"]),
        ("git commit -m 'open --x", []),
        ("# git push --force", []),
        ("git evil-alias --x", []),
    ],
)
def test_flags_are_read_from_a_command_line(line: str, expected: list[str]) -> None:
    assert [f"{' '.join(flag.command)} {flag.name}" for flag in flags(line)] == expected


def test_a_flag_is_documented_by_itself_its_opposite_or_an_abbreviation() -> None:
    def known(name: str, tool: str = "git") -> bool:
        return documented(Flag((tool,), name), HELP)

    assert all(known(name) for name in ("--all", "--no-verify", "--verify", "--no-all", "-v", "-am", "--force-with"))
    assert not any(known(name) for name in ("--al-l", "--everything", "-z", "--no-hooks"))
    assert not known("--force-with", tool="curl")


def test_help_is_asked_of_a_real_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_help, "HELP_SECONDS", 30.0)
    text = help_text(("ls",), 30.0)
    if text is None:
        pytest.skip("this machine's ls has no long options")
    assert documented(Flag(("ls",), "--all"), text)
    assert not documented(Flag(("ls",), "--fabricated"), text)


def fake_tool(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_only_listed_tools_outside_the_workspace_are_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "started"
    inside = tmp_path / "workspace" / "bin"
    for name in ("git", "evil"):
        fake_tool(inside, name, f"touch {mark}")
    monkeypatch.setenv("PATH", f"{inside}:relative:.")

    assert help_text(("git", "push"), 1.0, avoid=(tmp_path / "workspace").resolve()) is None
    assert help_text(("evil",), 1.0) is None
    assert help_text(("git", "push; touch x"), 1.0) is None
    assert not mark.exists()


def test_a_tool_gets_no_shell_no_input_and_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_help, "HELP_SECONDS", 30.0)
    fake_tool(tmp_path, "git", 'read x; echo "$# $1 $2 [$x] $HOME [$SECRET] --a --b --c"')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SECRET", "s3cret")

    text = help_text(("git", "push"), 30.0)

    assert text == "2 push -h [] /nonexistent [] --a --b --c\n"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the child is watched by its pidfd, on Linux only")
def test_a_tool_that_hangs_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_help, "HELP_SECONDS", 1.5)
    fake_tool(tmp_path, "make", f"sleep 60 & echo $! > {tmp_path}/child; wait")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert help_text(("make",), 9.0) is None

    try:
        child = os.pidfd_open(int((tmp_path / "child").read_text()))
    except ProcessLookupError:
        return
    ended, _, _ = select.select([child], [], [], 10)
    os.close(child)
    assert ended


def test_a_tool_that_prints_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tool(tmp_path, "tar", "while :; do echo --aaa --bbb --ccc; done")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(tool_help, "HELP_LIMIT", 4096)

    assert help_text(("tar",), 9.0) is None


@given(drafts)
def test_any_text_is_judged(text: str) -> None:
    answer = examine(packet(text))

    assert isinstance(answer, Abstain) or answer["fabricated"] == [] or answer["score"] is not None


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["a/", "`a`", "foo_x(", "create ", "a.", "public static ", "git push --a "])
def test_hostile_text_of_a_mebibyte_is_read_to_its_end(piece: str) -> None:
    last = "\n\nIt is in `src/last.py`."
    assert "src/last.py" in {entity.name for entity in entities(piece * (1024 * 1024 // len(piece)) + last)}
