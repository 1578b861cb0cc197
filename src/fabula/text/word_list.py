"""Word lists: language data in the text files of `words/`, read once where a module needs them.

A file holds lists of the form `name: words`, with spaces between the words; a list may go on over several lines. `#`
begins a comment.
"""

from __future__ import annotations

import re
from pathlib import Path

_FOLDER = Path(__file__).with_name("words")


def load_word_lists(file: str) -> dict[str, frozenset[str]]:
    """The word lists in a file, by name."""
    text = re.sub("#.*", "", (_FOLDER / f"{file}.txt").read_text("utf-8"))
    parts = re.split(r"^(\w+):", text, flags=re.MULTILINE)
    return {name: frozenset(words.split()) for name, words in zip(parts[1::2], parts[2::2], strict=True)}
