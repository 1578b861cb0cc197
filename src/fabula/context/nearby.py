"""Near: the text around the cursor, the selection, the input and the latest talk.

Sources that notice things (names, subjects) look here and nowhere else, so that all of them mean
the same by "near".
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.context.request import Nearby, Request
from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.windows import Stretch

REACH = 500  # characters each side of the cursor
MARGIN = 24  # more characters, so that a word at the edge is seen whole
PARAGRAPH = 3000  # a longer paragraph is looked at no further than this
TALK = 4  # messages of the conversation
_ASIDE = frozenset({Part.SCENE, Part.CLOSING, Part.DESK})  # of the desk, but not near the cursor


def nearby(request: Request, desk: Sequence[Fragment]) -> tuple[tuple[Nearby, ...], Stretch | None]:
    """What is near, from what the desk offers, and the text in which the cursor stands."""
    here: Stretch | None = None
    before = after = ""
    found: list[Nearby] = []
    talk: list[str] = []
    for fragment in desk:
        part = fragment.part
        if part in _ASIDE or fragment.layer is not Layer.IMMEDIATE:
            continue
        if part is Part.WINDOW:
            if isinstance(fragment, Stretch):
                here = here or fragment
            else:
                before = fragment.text
        elif part is Part.AFTER:
            after = after or fragment.text
        elif part is Part.HISTORY:
            talk.append(fragment.text)
        elif fragment.source == "editor:selection":
            found.append(Nearby(fragment.text))
    if here is not None and (here.paragraphs.text or after):
        found.insert(0, _around(here, after))
    elif before or after:
        found.insert(0, _between(before, after))
    if talk:
        found += map(Nearby, talk[-TALK:])
    if request.additional_input:
        found.append(Nearby(request.additional_input))
    return tuple(found), here


def _around(here: Stretch, after: str) -> Nearby:
    """Around a place in a text. What is said to follow counts only where the text is over."""
    text, cursor = here.paragraphs.text, here.end
    size = len(text)
    first = max(min(cursor - REACH, max(here.tail_start(), cursor - PARAGRAPH)), here.begin)
    begin = max(first - MARGIN, 0)
    if after and cursor >= size:
        return _between(text[begin:], after, cursor - first)
    last = min(cursor + REACH, size)
    end = min(last + MARGIN, size)
    return Nearby(text, cursor, first, last, begin, end, here.paragraphs.readings)


def _between(before: str, after: str, reach: int = REACH) -> Nearby:
    """Around the place between two texts, of which the first is near for so many characters."""
    before, after = before[-reach - MARGIN :], after[: REACH + MARGIN]
    cursor = len(before)
    return Nearby(before + after, cursor, max(cursor - reach, 0), cursor + min(len(after), REACH))
