"""How many words a text has, as writers count: words between spaces, and every Chinese or Japanese character."""

from __future__ import annotations

import re

_SINGLE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def count_words(text: str) -> int:
    """Count the words of a text."""
    if text.isascii():
        return len(text.split())
    rest, singles = _SINGLE.subn(" ", text)
    return singles + sum(any(map(str.isalnum, word)) for word in rest.split())
