"""How much of a text is spoken: a scene of talk, or one that is told."""

from __future__ import annotations

import re

TALK = 0.3  # from here on a text is a scene of talk
_SPOKEN = re.compile(r"“[^”\n]*(?:”|$)|「[^」\n]*(?:」|$)|『[^』\n]*(?:』|$)|\"[^\"\n]*(?:\"|$)", re.MULTILINE)


def told(text: str) -> str:
    """What stands outside quotation marks; a mark that is never closed ends with its paragraph."""
    return _SPOKEN.sub(" ", text)


def spoken(text: str) -> float:
    """The share of a text that is spoken."""
    return 1 - len(told(text).replace(" ", "")) / max(len(text.replace(" ", "")), 1)
