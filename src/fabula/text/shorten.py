"""A text in one short line, for a title or a quotation."""

from __future__ import annotations


def short(text: str, most: int) -> str:
    """A text without its line breaks, cut where it is longer than this; the cut is shown."""
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
