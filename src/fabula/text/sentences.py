"""Find where sentences begin, in English and in languages without spaces."""

from __future__ import annotations

import re

# Either a stop with optional closing quotes, then space and something that can begin a sentence, or a full-width stop
# with its closing quotes, which needs no space. The full-width stop ． is also a decimal point and a list number, so
# after a digit it ends nothing.
_BREAK = re.compile(
    r"""(?<=[.!?…])["'”’)\]]*+\s++(?=["'“‘(\[]*+[^\sa-z])|(?:[。！？…]|(?<!\d)．)++["'”’」』）]*+\s*+(?=\S)"""
)
# The same for a text without `…` and full-width stops. It begins with the stop, so the places to try are found quickly.
_SPACED_BREAK = re.compile(r"""[.!?]["'”’)\]]*+\s++(?=["'“‘(\[]*+[^\sa-z])""")
_OTHER_STOPS = "…。！？．"


def find_sentence_starts(text: str) -> list[int]:
    """Offsets at which a sentence begins, 0 first."""
    if text.isascii() or not any(map(text.__contains__, _OTHER_STOPS)):
        return [0, *[match.end() for match in _SPACED_BREAK.finditer(text)]]
    starts = [0]
    for match in _BREAK.finditer(text):
        if match.end() > starts[-1]:
            starts.append(match.end())
    return starts
