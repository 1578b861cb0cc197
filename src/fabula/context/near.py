"""Near: the text around the cursor, the selection, the input and the latest talk.

Sources that notice things (names, subjects) look here and nowhere else, so that all of them mean
the same by "near".
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.context.request import Nearby, Request
from fabula.core.fragments import Fragment, Layer, Part
from fabula.text.windows import Stretch

REACH = 500  # characters each side of the cursor
MARGIN = 24  # more characters, so that a word at the edge is seen whole
PARAGRAPH = 3000  # a longer paragraph is looked at no further than this
TALK = 4  # messages of the conversation
_ASIDE = frozenset({Part.SCENE, Part.CLOSING, Part.DESK})  # of the desk, but not near the cursor


def nearby(request: Request, desk: Sequence[Fragment]) -> tuple[Nearby, ...]:
    """What is near, from what the desk offers."""
    before = after = ""
    stretch: Stretch | None = None
    first, last = 0, 0
    found: list[Nearby] = []
    talk: list[str] = []
    for fragment in desk:
        part = fragment.part
        if fragment.layer is not Layer.IMMEDIATE or part in _ASIDE:
            continue
        if isinstance(fragment, Stretch):
            text, end = fragment.paragraphs.text, fragment.end
            start = max(min(end - REACH, max(fragment.tail_start(), end - PARAGRAPH)), fragment.begin)
            before = text[max(start - MARGIN, 0) : end]
            first = len(before) - (end - start)
            after = text[end : end + REACH + MARGIN]
            last = min(len(after), REACH)
            stretch = fragment
        elif part is Part.WINDOW:
            before = fragment.text[-REACH - MARGIN :]
            first = max(len(before) - REACH, 0)
        elif part is Part.AFTER and not after:
            after = fragment.text[: REACH + MARGIN]
            last = min(len(after), REACH)
        elif part is Part.HISTORY:
            talk.append(fragment.text)
        elif fragment.source == "editor:selection":
            found.append(Nearby(fragment.text))
    if before or after:
        found.insert(0, Nearby(before + after, len(before), first, len(before) + last, stretch))
    found.extend(Nearby(text) for text in talk[-TALK:])
    if request.additional_input:
        found.append(Nearby(request.additional_input))
    return tuple(found)
