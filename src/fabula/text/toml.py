"""Check TOML from strangers for keys that would keep the parser busy for minutes."""

from __future__ import annotations

import re

# `a.a.a…`: the time to parse a key grows with the square of its parts.
_DEEP_KEY = re.compile(r"""(?:\.\s*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')\s*){40}""")


def find_deep_key(text: str) -> int | None:
    """The number of the line on which a key with too many parts begins, if there is one."""
    match = _DEEP_KEY.search(text)
    return None if match is None else text.count("\n", 0, match.start()) + 1
