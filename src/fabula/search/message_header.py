"""Parse the header of a message: the time and the speaker with which its text begins.

Chat logs and scripts begin a line with `Name:`, often with a time in brackets before it.
"""

from __future__ import annotations

import re

from msgspec import Struct

from fabula.search.dates import parse_day
from fabula.search.model import Passage

_STAMP = r"(?:\[(?P<stamp>[^\]\n]{1,60})\]\s*)?"
_SPEAKER = r"(?:(?P<speaker>[^\W\d_a-z][\w.'’·-]{0,30}(?: [^\W\d_a-z][\w.'’·-]{0,30}){0,3})\s?[:：]\s?(?=\S))?"
_HEADER = re.compile(_STAMP + _SPEAKER)
_QUESTION_END = re.compile(r"[?？][\s\"'”’」』)\]）]*$")


class MessageHeader(Struct, frozen=True, gc=False):
    """The day and speaker of a passage, and its text without the time stamp."""

    day: int  # as a number; 0 for none
    speaker: str
    text: str
    ends_with_question: bool
    embedding_text: str  # the text with its speaker, as it is embedded


def parse_message_header(passage: Passage) -> MessageHeader:
    """The header of a passage; its own fields outrank what its text says."""
    text, speaker, day = passage.text, passage.speaker, 0
    match = _HEADER.match(text)
    if match is not None and match.end():
        day = parse_day(match["stamp"]) if match["stamp"] else 0
        speaker = speaker or match["speaker"] or ""
        if day:
            text = text[match.end("stamp") + 1 :].lstrip()
    if passage.at:
        day = parse_day(passage.at) or day
    embedding_text = f"{passage.speaker}: {text}" if passage.speaker else text
    return MessageHeader(day, speaker, text, _QUESTION_END.search(text[-12:]) is not None, embedding_text)
