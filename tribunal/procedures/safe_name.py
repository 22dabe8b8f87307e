"""File names made of what a producer says."""

import re
import unicodedata


def safe_name(text: str) -> str:
    """One path segment: ASCII letters, digits, ``.``, ``_`` and ``-``, at most 80, never a step up or a hidden file.

    Different texts may give the same name, so the caller has a second one for a collision.
    """
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", ascii_text)
    return re.sub(r"\.{2,}", ".", words).strip(".-")[:80].rstrip(".-") or "unnamed"
