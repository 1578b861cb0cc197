"""Joining: two stretches of prose that are put together have a space between them where their script has spaces."""

from __future__ import annotations

_SPACED = 0x2E80  # from here on scripts have none between words and sentences
_OPENS = "([{“‘«—–-/"
_CLOSES = ".,;:!?…)]}”’»—–-/%"


def space_between(before: str, after: str) -> str:
    """What must stand between two texts: a space, or nothing."""
    if not before or not after or max(ord(before[-1]), ord(after[0])) >= _SPACED:
        return ""
    ends, begins = before[-1], after[0]
    if ends.isspace() or begins.isspace() or ends in _OPENS or begins in _CLOSES:
        return ""
    if ends in "\"'" and (len(before) == 1 or before[-2].isspace()):  # a straight quotation mark that opens
        return ""
    return " "
