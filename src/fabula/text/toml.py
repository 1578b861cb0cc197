"""TOML that somebody else wrote: what keeps its reader busy for minutes is seen before it is read."""

from __future__ import annotations

import re

# `a.a.a…`: the time to read a name grows with the square of its parts.
_DEEP = re.compile(r"""(?:\.\s*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')\s*){40}""")


def too_deep(text: str) -> int | None:
    """The line on which a name with too many parts begins, if there is one."""
    deep = _DEEP.search(text)
    return None if deep is None else text.count("\n", 0, deep.start()) + 1
