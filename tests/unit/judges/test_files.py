"""Files of others are read bounded, regular, as UTF-8 and inside their folder, or not at all."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.judges.files import (
    FILE_LIMIT,
    FRONT_MATTER_LIMIT,
    UnreadableError,
    read_file,
    real_folder,
    split_front_matter,
)


def test_a_file_is_read_also_through_a_link_that_stays_inside(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("\ufeffhola", encoding="utf-8")
    (tmp_path / "link.md").symlink_to(tmp_path / "real.md")

    assert read_file(tmp_path / "link.md", tmp_path) == "hola"


def test_what_is_no_plain_readable_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.write_text("secret")
    (inside / "leaves").symlink_to(outside)
    (inside / "loop").symlink_to(inside / "loop")
    (inside / "latin1").write_bytes("contraseña".encode("latin-1"))
    (inside / "huge").write_bytes(b"x" * (FILE_LIMIT + 1))
    (inside / "folder").mkdir()
    os.mkfifo(inside / "pipe")

    for name, reason in {
        "leaves": "leads out",
        "loop": "cannot be read",
        "latin1": "not UTF-8",
        "huge": "larger than",
        "folder": "no regular file",
        "pipe": "no regular file",
        "missing": "No such file",
    }.items():
        with pytest.raises(UnreadableError, match=reason):
            read_file(inside / name, inside)


def test_a_refused_file_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(20):
        with pytest.raises(UnreadableError):
            read_file(tmp_path)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(UnreadableError, match="cannot be read"):
            real_folder(str(path))


def test_front_matter_is_parted_from_the_body() -> None:
    document = split_front_matter("---\nname: n\ndescription: d\n---\nbody\n")
    assert (document.header, document.body) == ({"name": "n", "description": "d"}, "body\n")
    assert split_front_matter("no header").body == "no header"
    assert split_front_matter("---\nnever closed").header == {}


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("a: [", "no YAML"),
        ("- a\n- b", "no YAML mapping"),
        ("a: 2024-99-99", "no YAML"),
        ("a: !!python/object:os.system x", "no YAML"),
        ("[" * 4000, "no YAML"),
        ("a: " + "x" * FRONT_MATTER_LIMIT, "longer than"),
    ],
)
def test_front_matter_that_is_none_is_refused(header: str, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        split_front_matter(f"---\n{header}\n---\nbody")


@given(st.text(max_size=200))
def test_any_front_matter_is_a_mapping_or_refused(header: str) -> None:
    try:
        document = split_front_matter(f"---\n{header}\n---\nbody")
    except UnreadableError:
        return
    assert isinstance(document.header, dict)
    assert document.body.endswith("body")
