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
PARAGRAPH = 3000  # a longer paragraph is looked at no further than this
TALK = 4  # messages of the conversation


def nearby(request: Request, desk: Sequence[Fragment]) -> tuple[Nearby, ...]:
    """What is near, from what the desk offers."""
    before = after = ""
    found: list[Nearby] = []
    talk: list[str] = []
    for fragment in desk:
        if fragment.layer is not Layer.IMMEDIATE:
            continue
        if isinstance(fragment, Stretch):
            text, end = fragment.paragraphs.text, fragment.end
            start = min(end - REACH, max(fragment.tail_start(), end - PARAGRAPH))
            before = text[max(start, fragment.begin) : end]
        elif fragment.part is Part.WINDOW:
            before = fragment.text[-REACH:]
        elif fragment.part is Part.AFTER:
            after = fragment.text[:REACH]
        elif fragment.part is Part.HISTORY:
            talk.append(fragment.text)
        elif fragment.source == "editor:selection":
            found.append(Nearby(fragment.text))
    if before or after:
        found.insert(0, Nearby(before + after, len(before)))
    found.extend(Nearby(text) for text in talk[-TALK:])
    if request.additional_input:
        found.append(Nearby(request.additional_input))
    return tuple(found)
