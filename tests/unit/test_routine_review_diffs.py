"""Protected paths: found in every form that a diff has, and not to be hidden by a malformed one."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tribunal.procedures.diffs import UNREADABLE, protected_paths
from tribunal.procedures.routine_review import PROTECTED

CI = ".github/workflows/ci.yml"


def hunk(old: str, new: str) -> str:
    return f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n"


HARMLESS = "diff --git a/src/x.py b/src/x.py\nindex 1..2 100644\n" + hunk("a/src/x.py", "b/src/x.py")


@pytest.mark.parametrize(
    "diff",
    [
        hunk(f"a/{CI}", f"b/{CI}"),
        hunk(CI, CI),
        hunk("/dev/null", f"b/{CI}"),
        hunk(f"a/{CI}", "/dev/null"),
        hunk(f"a/{CI}\t2026-01-01", f"b/{CI}\t2026-01-01"),
        hunk(f"w/{CI}", f"i/{CI}"),
        hunk(f"./{CI}", f"./{CI}"),
        hunk(f"a/src/../{CI}", "b/src/x.py"),
        hunk(f"a/{CI.upper()}", "b/src/x.py"),
        hunk(f"a/{CI} 2026-01-01 10:00", "b/src/x.py"),
        hunk(f"a/{CI}", f"b/{CI}").replace("\n", "\r\n"),
        hunk(f'"a/{CI}"', f'"b/{CI}"'),
        hunk('"a/\\056github/workflows/ci.yml"', '"b/src/x.py"'),
        f"diff --git a/{CI} b/{CI}\nold mode 100644\nnew mode 100755\n",
        f"diff --git a/{CI} b/{CI}\nnew file mode 100644\nindex 0000000..e69de29\n",
        f'diff --git "a/{CI}" "b/{CI}"\nold mode 100644\nnew mode 100755\n',
        f"diff --git a/src/x.yml b/{CI}\nsimilarity index 100%\n",
        f"diff --git a/x b/x\nsimilarity index 100%\nrename from x\nrename to {CI}\n",
        f"diff --git a/x b/x\nrename from {CI}\nrename to x\n",
        f"diff --git a/x b/x\ncopy from x\ncopy to {CI}\n",
        f"diff --cc {CI}\nindex 1,2..3\n",
        f"diff --combined {CI}\nindex 1,2..3\n",
        f"Index: {CI}\n===\n",
        f"Binary files a/{CI} and b/{CI} differ\n",
        "diff --git a/old name b/.github/new name\n",
        HARMLESS + hunk(f"a/{CI}", f"b/{CI}"),
        HARMLESS.replace("@@ -1 +1 @@", "@@ -1 +1") + hunk(f"a/{CI}", f"b/{CI}"),
        HARMLESS.replace("@@ -1 +1 @@", "@@ -1,9 +1,9 @@") + hunk(f"a/{CI}", f"b/{CI}"),
        "@@ -1 +1 @@\n" + hunk(f"a/{CI}", f"b/{CI}"),
        f"diff --git a/src/x.py b/src/x.py\n--- a/{CI}\n+++ b/src/x.py\n@@ -1 +1 @@\n-a\n+b\n",
        f"+++ b/{CI}\n",
        hunk(f"a/{CI}", f"b/{CI}") + "@@ -" + "9" * 5000 + " +1 @@\n",
        hunk(f"old/repo/{CI}\t2026-01-01", f"new/repo/{CI}\t2026-01-01"),
        f"diff -ru old/repo/{CI} new/repo/{CI}\n" + hunk("x", "x"),
        f"diff --git x/y/{CI} x/z/{CI}\nold mode 100644\nnew mode 100755\n",
        hunk(f"/home/u/repo/{CI}", f"/home/u/repo/{CI}"),
        hunk("/home/u/repo/tribunal.toml", "/dev/null"),
        hunk(f"../../repo/{CI}", "x"),
        hunk("x", "x").replace("--- x", f"---\t{CI}"),
        f"*** old/{CI}\t2026\n--- new/x\t2026\n***************\n",
        f"Index:{CI}\n",
        "diff --git a/.github b/.github\nnew file mode 120000\n",
        "Submodule .github 1..2:\n",
        HARMLESS + "".join(f"  {line}\n" for line in hunk(f"a/{CI}", f"b/{CI}").splitlines()),
        HARMLESS + f"\tdiff --git a/{CI} b/{CI}\n",
        HARMLESS + f"X diff --git a/{CI} b/{CI}\n",
        HARMLESS + f"- --- a/{CI}\n",
        HARMLESS + f"  *** a/{CI}\n",
        hunk("/".join("x" * 70), "x"),
    ],
)
def test_a_protected_path_is_found(diff: str) -> None:
    assert protected_paths(diff, PROTECTED)


@pytest.mark.parametrize(
    "path",
    [
        "tribunal.toml",
        "services/a/tribunal.toml",
        "briefs/mimir.md",
        "docs/briefs/deep/mimir.md",
        ".github/CODEOWNERS",
        ".gitlab-ci.yml",
        ".ci/run",
        "Jenkinsfile",
        "CODEOWNERS",
    ],
)
def test_the_built_in_globs_name_the_path(path: str) -> None:
    assert protected_paths(hunk(f"a/{path}", f"b/{path}"), PROTECTED) == [path]


@pytest.mark.parametrize(
    "path", ["src/tribunal.toml.md", "src/briefs.py", "src/github/x", "CODEOWNERS.txt", "my.ci/run", "debriefs/x"]
)
def test_other_paths_are_not_protected(path: str) -> None:
    assert protected_paths(hunk(f"a/{path}", f"b/{path}"), PROTECTED) == []
    assert protected_paths(f"diff --git a/{path} b/{path}\nold mode 100644\n", PROTECTED) == []


@pytest.mark.parametrize(
    ("header", "named"),
    [
        (f"diff --git a/{CI} b/{CI}", CI),
        (f"diff -ru old/repo/{CI} new/repo/{CI}", CI),
        (f"--- /home/u/repo/{CI}", CI),
        ("--- services/deep/down/tribunal.toml", "deep/down/tribunal.toml"),
        ("diff --git a/tribunal.toml b/tribunal.toml", "tribunal.toml"),
    ],
)
def test_a_path_is_named_as_plainly_as_it_can_be(header: str, named: str) -> None:
    assert protected_paths(f"{header}\n", PROTECTED) == [named]


@pytest.mark.parametrize("start", ["  ", " - ", "+", "-"])
def test_a_hunks_line_that_holds_a_diff_is_content(start: str) -> None:
    inner = f"{start}diff --git a/{CI} b/{CI}\n{start}--- a/{CI}\n"
    old, new = (0 if start == "+" else 2), (0 if start == "-" else 2)
    counts = f"@@ -1,{old} +1,{new} @@"
    assert protected_paths(f"--- a/doc.md\n+++ b/doc.md\n{counts}\n{inner}", PROTECTED) == []


def test_a_removed_line_that_looks_like_a_header_is_content() -> None:
    diff = f"--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1 @@\n--- {CI}\n-x\n+y\n"
    assert protected_paths(diff, PROTECTED) == []


def test_where_the_diff_does_not_parse_each_such_line_is_a_header() -> None:
    diff = f"--- a/q.sql\n+++ b/q.sql\n@@ -1,5 +1 @@\n--- {CI}\n-x\n+y\n"
    assert protected_paths(diff, PROTECTED) == [CI]


@pytest.mark.parametrize("text", ["", "please merge this", "    --- a/x\n", "@@ -1 +1 @@\n-a\n+b\n"])
def test_a_text_that_names_no_file_is_not_known_to_be_harmless(text: str) -> None:
    assert protected_paths(text, PROTECTED) == [UNREADABLE]


def test_a_name_too_long_to_read_is_not_known_to_be_harmless() -> None:
    assert protected_paths(HARMLESS + "+++ b/" + "x" * 9000, PROTECTED) == [UNREADABLE]
    assert protected_paths(HARMLESS + "diff --git " + " ".join(map(str, range(100))), PROTECTED) == [UNREADABLE]


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.toml", "x.toml", True),
        ("*.toml", "a/x.toml", True),
        ("*.toml", "x.toml/a", False),
        ("**/lib/**", "a/lib/b", True),
        ("lib/**", "lib", True),
        ("lib/*", "lib", False),
        ("src/**/x", "a/b/src/c/d/x", True),
        ("**/x", "a/b/x", True),
        ("lib/**", "lib/b/c", True),
        ("lib/**", "lib2/c", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("[x]", "[x]", True),
    ],
)
def test_globs(glob: str, path: str, matches: bool) -> None:
    assert bool(protected_paths(hunk(f"a/{path}", f"b/{path}"), [glob])) is matches


LINES = st.lists(
    st.sampled_from(
        [
            "--- ",
            "+++ ",
            "diff --git ",
            "@@ -1 +1 @@",
            "@@ -0,0 +1,2 @@",
            "+a",
            "-b",
            " c",
            "\\ No newline at end of file",
        ]
    )
    | st.text(max_size=12),
    max_size=12,
).map("\n".join)


@given(st.text() | LINES)
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(protected_paths(text, PROTECTED), list)


@given(LINES, LINES)
def test_nothing_around_it_hides_a_git_header(before: str, after: str) -> None:
    assert CI in protected_paths(f"{before}\ndiff --git a/{CI} b/{CI}\n{after}", PROTECTED)


@pytest.mark.parametrize(
    "text",
    [
        hunk(f"a/{CI}", f"b/{CI}") + "Binary files " + " and " * 200_000,
        ("Binary files " + " and " * 1_000 + "\n") * 150 + hunk(f"a/{CI}", f"b/{CI}"),
        ('--- "' + '\\"' * 4_000 + "\n") * 100,
        hunk(f"a/{CI}", f"b/{CI}") * 20_000,
        ("diff -r " + " ".join(["src/" * 40] * 50) + "\n") * 120,
    ],
    ids=["one long line", "many long lines", "quotes", "many files", "many folders"],
)
def test_a_megabyte_made_to_be_slow_is_read_in_seconds(text: str) -> None:
    begun = time.process_time()
    protected_paths(text, (*PROTECTED, "src/**/x"))
    assert time.process_time() - begun < 10
