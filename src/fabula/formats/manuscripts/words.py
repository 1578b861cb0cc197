"""Load the word lists of the manuscript readers (`words.toml`)."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def load_words(reader: str, name: str) -> frozenset[str]:
    """Return one word list of a reader."""
    words: list[str] | str = _load_lists()[reader][name]
    return frozenset(words.split() if isinstance(words, str) else words)


@cache
def _load_lists() -> dict[str, dict[str, list[str] | str]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
