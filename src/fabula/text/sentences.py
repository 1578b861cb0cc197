"""Find where sentences begin, in English and in languages without spaces."""

from __future__ import annotations

import re

# Either a stop with optional closing quotes, then space and something that can begin a sentence, or a full-width stop
# with its closing quotes, which needs no space. The full-width stop ． is also a decimal point and a list number, so
# after a digit it ends nothing.
_BREAK = re.compile(
    r"""(?<=[.!?…])["'”’)\]]*+\s++(?=["'“‘(\[]*+[^\sa-z])|(?:[。！？…]|(?<!\d)．)++["'”’」』）]*+\s*+(?=\S)"""
)


def find_sentence_starts(text: str) -> list[int]:
    """Offsets at which a sentence begins, 0 first."""
    starts = [0]
    for match in _BREAK.finditer(text):
        if match.end() > starts[-1]:
            starts.append(match.end())
    return starts
