"""Line ends and offsets.

Inside the house a text has `\\n` line ends and offsets count code points. Clients written in
JavaScript count UTF-16 units, and may send `\\r\\n`: both are translated once, at the door.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import whole


def normalise(text: str) -> str:
    """One kind of line end; half characters replaced, so that the text can be sent at all."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not whole(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def check_cursor(cursor: object, length: int) -> int:
    """The cursor, if it is a place in a text of that length."""
    if isinstance(cursor, bool) or not isinstance(cursor, int) or not 0 <= cursor <= length:
        raise FabulaError(
            Code.CURSOR_INVALID,
            f"The cursor stands at {cursor!r}, but this document runs from 0 to {length}. "
            "Send the text you are editing along, or ask again with a cursor inside it.",
        )
    return cursor


def from_utf16(text: str, units: int) -> int:
    """The code point offset of a UTF-16 offset; half-way through a character is refused."""
    if isinstance(units, bool) or not isinstance(units, int) or units < 0:
        raise FabulaError(
            Code.CURSOR_INVALID, f"{units!r} is not a place in a text. Give the cursor as a whole number from 0 up."
        )
    if text.isascii():
        return check_cursor(units, len(text))
    data = text.encode("utf-16-le", "surrogatepass")
    if 2 * units > len(data):
        raise FabulaError(
            Code.CURSOR_INVALID,
            f"The cursor stands at unit {units}, but this document has only {len(data) // 2}. "
            "Send the text you are editing along.",
        )
    head = data[: 2 * units]
    if units and 0xD8 <= head[-1] <= 0xDB and 2 * units < len(data) and 0xDC <= data[2 * units + 1] <= 0xDF:
        raise FabulaError(
            Code.CURSOR_INVALID,
            f"The cursor at UTF-16 unit {units} stands inside one character. Move it to either side of it.",
        )
    return len(head.decode("utf-16-le", "surrogatepass"))


def through_line_ends(text: str, cursor: int) -> int:
    """Where an offset into a text as sent falls once its line ends are normalised."""
    return cursor - text.count("\r\n", 0, cursor)


def carried_back(stored: str, edited: str, cursor: int) -> int:
    """Where a cursor in an edited text stands in the text as stored.

    Positions in the story are places in stored text. Words typed or deleted further up must not move
    us past a revelation or back before it; a cursor inside the edit stands where the edit begins.
    """
    edit = difference(stored, edited)
    if cursor <= edit.start:
        return cursor
    return cursor - edit.growth if cursor >= edit.new_end else edit.start


class Edit(NamedTuple):
    """One change of a text: what stood from `start` to `old_end` became what stands from `start` to `new_end`."""

    start: int
    old_end: int
    new_end: int

    @property
    def growth(self) -> int:
        """By how much everything behind it moved."""
        return self.new_end - self.old_end

    def carried(self, offset: int, *, inside: int) -> int:
        """Where an offset of the old text stands in the new one; one inside the change goes to `inside`."""
        if offset <= self.start:
            return offset
        return offset + self.growth if offset >= self.old_end else inside


def difference(old: str, new: str) -> Edit:
    """The smallest stretch outside which two texts are alike."""
    shortest = min(len(old), len(new))
    head = _alike(shortest, lambda size: old[:size] == new[:size])
    tail = _alike(shortest - head, lambda size: old[len(old) - size :] == new[len(new) - size :])
    return Edit(head, len(old) - tail, len(new) - tail)


def _alike(most: int, same: Callable[[int], bool]) -> int:
    """The largest size up to `most` for which `same` holds (it holds for every smaller one)."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if same(middle):
            low = middle
        else:
            high = middle - 1
    return low
