"""Keys with wildcards, as Agnai has them: matched as patterns, shown as they were written (inj-7)."""

from __future__ import annotations

import re

_WORD = r"[\p{L}\p{N}_]"
_WILDCARDS = {"*": f"{_WORD}*", "?": _WORD}
_WORD_START, _WORD_END = r"/(?:^|[^\p{L}\p{N}_])", r"(?:$|[^\p{L}\p{N}_])/iu"


def convert_wildcards(key: str) -> str:
    """Write a key with wildcards as a pattern: `*` is any letters of a word, and `?` is one."""
    if "*" not in key and "?" not in key:
        return key
    body = "".join(_WILDCARDS.get(char) or re.sub(r"([\\/.+^$|(){}\[\]])", r"\\\1", char) for char in key)
    return f"{_WORD_START}{body}{_WORD_END}"


def show_key(key: str) -> str:
    """Return a key as people read it: with wildcards where it was written with them."""
    if not (key.startswith(_WORD_START) and key.endswith(_WORD_END)):
        return key
    body = key.removeprefix(_WORD_START).removesuffix(_WORD_END)
    return re.sub(r"\\(.)", r"\1", body.replace(_WILDCARDS["*"], "*").replace(_WORD, "?"))
