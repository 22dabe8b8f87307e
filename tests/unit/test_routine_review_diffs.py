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
        ("*.toml", "a/x.toml", False),
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
    ],
    ids=["one long line", "many long lines", "quotes", "many files"],
)
def test_a_megabyte_made_to_be_slow_is_read_in_seconds(text: str) -> None:
    begun = time.process_time()
    protected_paths(text, PROTECTED)
    assert time.process_time() - begun < 10
