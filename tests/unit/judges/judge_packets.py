"""Packets for the judges of ``recommendation``, and text that is made to trip readers."""

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tribunal.judging import Packet
from tribunal.model import Context

WORDS = (
    "never",
    "no",
    "use",
    "git push --force origin main",
    "`src/app.py`",
    "`load()`",
    "```bash\n",
    "```\n",
    "> ",
    '"',
    "npm",
    "instead of",
    "password = ",
    "ghp_",
    "-----BEGIN RSA PRIVATE KEY-----",
    "://a:b@",
    "\n\n",
    "- ",
    ":",
    "| a | b |",
    "sin spec",
    "¡Excelente pregunta!",
    "\u200b",
    "`",
    "--",
    "../../",
    "(",
)
drafts = st.one_of(
    st.text(max_size=400),
    st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join),
    st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)), max_size=30).map("".join),
)
"""Any text, and text of the pieces that the judges look for."""


def packet(subject: str, *, options: dict[str, Any] | None = None, seconds: float = 3.0, **context: Any) -> Packet:
    """A packet with that draft; paths in the context may be given as paths."""
    given: dict[str, Any] = {name: str(value) if isinstance(value, Path) else value for name, value in context.items()}
    return Packet(
        case_id="case",
        panel="recommendation",
        seat="seat",
        stage=1,
        subject=subject,
        context=Context(**given),
        seconds=seconds,
        options=options or {},
    )


def write(folder: Path, files: dict[str, str]) -> Path:
    """The folder with those files in it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
