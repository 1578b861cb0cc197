"""Normalise line ends and convert offsets between clients, stored text and edited text (ctx-2).

Inside Fabula a text has `\\n` line ends and offsets count code points. Clients written in JavaScript count UTF-16
units and may send `\\r\\n`. Both are converted once, when a request comes in.
"""

from __future__ import annotations

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import is_encodable
from fabula.core.messages import message
from fabula.text.diff import find_edits, map_offset


def normalise(text: str) -> str:
    """A text with `\\n` line ends and with lone surrogates replaced, so that it can be encoded."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not is_encodable(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def check_cursor(cursor: object, length: int) -> int:
    """The cursor, if it lies in a text of that length; CURSOR_INVALID otherwise."""
    if isinstance(cursor, bool) or not isinstance(cursor, int) or not 0 <= cursor <= length:
        raise FabulaError(
            Code.CURSOR_INVALID,
            message(
                "The cursor is at {cursor!r}, but this document runs from 0 to {length}. "
                "Ask again with a cursor inside it; a program may send text along that is not saved yet.",
                cursor=cursor,
                length=length,
            ),
        )
    return cursor


def utf16_to_code_points(text: str, units: int) -> int:
    """The code point offset of a UTF-16 offset; CURSOR_INVALID for one inside a surrogate pair."""
    if text.isascii() or _is_all_single_units(text[: max(units, 0)]):
        return check_cursor(units, len(text))
    data = text.encode("utf-16-le", "surrogatepass")
    size = 2 * check_cursor(units, len(data) // 2)
    if units and 0xD8 <= data[size - 1] <= 0xDB and size < len(data) and 0xDC <= data[size + 1] <= 0xDF:
        raise FabulaError(
            Code.CURSOR_INVALID,
            message("The cursor at UTF-16 unit {units} is inside one character. Move it before or after.", units=units),
        )
    return len(data[:size].decode("utf-16-le", "surrogatepass"))


def _is_all_single_units(text: str) -> bool:
    """Whether each character of a text is one UTF-16 unit."""
    try:
        return len(text.encode("utf-16-le")) == 2 * len(text)
    except UnicodeEncodeError:  # a lone surrogate
        return False


def map_to_normalised(text: str, cursor: int) -> int:
    """An offset into a text as it was sent, as an offset into the normalised text."""
    return cursor - text.count("\r\n", 0, cursor)


def map_to_stored_text(stored: str, edited: str, cursor: int) -> int:
    """A cursor in an edited text, as an offset into the stored text.

    Positions in the story are offsets into stored text. Words typed or deleted further up must not move the cursor
    past a revelation or back before it. A cursor inside the edit maps to where the edit begins. Words typed right
    before the cursor are no matter of comparison: letters of theirs may also occur in the word they part.
    """
    start = len(stored) - (len(edited) - cursor)
    if 0 <= start <= cursor and stored[start:] == edited[cursor:] and stored[:start] == edited[:start]:
        return start
    return map_offset(find_edits(edited, stored), cursor, forward=False)
