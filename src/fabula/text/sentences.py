"""Where sentences begin, in English and in the languages without spaces."""

from __future__ import annotations

import re

# A stop, perhaps with closing quotes, then space and something that can begin a sentence;
# or a full-width stop with its closing quotes, which needs no space. The stop ． of older typesetting is also the
# point of a number and of a list, so behind a digit it ends nothing.
_BREAK = re.compile(
    r"""(?<=[.!?…])["'”’)\]]*+\s++(?=["'“‘(\[]*+[^\sa-z])|(?:[。！？…]|(?<!\d)．)++["'”’」』）]*+\s*+(?=\S)"""
)


def sentence_starts(text: str) -> list[int]:
    """Offsets at which a sentence begins, 0 first."""
    starts = [0]
    for found in _BREAK.finditer(text):
        if found.end() > starts[-1]:
            starts.append(found.end())
    return starts
