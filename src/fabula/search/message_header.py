"""The lead of something said: when, and by whom, where the text itself begins with that.

Chat logs and scripts begin a line with `Name:`, often with a time in brackets before it.
"""

from __future__ import annotations

import re

from msgspec import Struct

from fabula.search.dates import day_of
from fabula.search.model import Passage

_STAMP = r"(?:\[(?P<stamp>[^\]\n]{1,60})\]\s*)?"
_SPEAKER = r"(?:(?P<speaker>[^\W\d_a-z][\w.'’·-]{0,30}(?: [^\W\d_a-z][\w.'’·-]{0,30}){0,3})\s?[:：]\s?(?=\S))?"
_LEAD = re.compile(_STAMP + _SPEAKER)
_ASKS = re.compile(r"[?？][\s\"'”’」』)\]）]*$")


class Lead(Struct, frozen=True, gc=False):
    """How a passage begins and ends: its day and speaker, the text without its stamp, and whether it ends asking."""

    day: int  # as a number; 0 for none
    speaker: str
    text: str
    asks: bool
    said: str  # the text and who said it: what is compared by meaning


def lead(passage: Passage) -> Lead:
    """Read a passage's lead; what the passage says of itself goes first."""
    text, speaker, day = passage.text, passage.speaker, 0
    found = _LEAD.match(text)
    if found is not None and found.end():
        day = day_of(found["stamp"]) if found["stamp"] else 0
        speaker = speaker or found["speaker"] or ""
        if day:
            text = text[found.end("stamp") + 1 :].lstrip()
    if passage.at:
        day = day_of(passage.at) or day
    said = f"{passage.speaker}: {text}" if passage.speaker else text
    return Lead(day, speaker, text, _ASKS.search(text[-12:]) is not None, said)
