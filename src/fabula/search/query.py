"""The query: what is looked for, from where the writer stands and what is asked.

The text before the cursor says most where it is nearest. An instruction says what is about to be written; a
question in a chat is what search is for, and the rest only tells what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabula.context.request import Ask
from fabula.search.index.passages import SIZE, WIDE, paragraphs_back
from fabula.search.model import Query

NEAR = ((500, 1.0), (1500, 0.7), (3000, 0.4))  # how far before the cursor a paragraph ends, and what it weighs
BEFORE = 0.1  # of its weight keeps what stands before the scene
AFTER = 0.3  # what follows the cursor
SELECTED = 1.0
TALK = (0.6, 0.4, 0.3, 0.2)  # messages of the conversation, the latest first
INSTRUCTION = 1.5
QUESTION = 4.0
LONGEST = 2000  # characters of one part, from its beginning and from its end
WHOLE = 1000  # characters further back a paragraph may begin that is reached
_LOOK = 200  # characters by which the writing is judged: a wide character says as much as several narrow ones
_WIDE_CHARACTER = re.compile("[\u2e80-\U0010ffff]")
ASKING = frozenset({"", "chat"})  # skills that do nothing but answer


def query_of(ask: Ask, names: Sequence[str] = (), now: str = "") -> Query:
    """What to look for, for one request."""
    request = ask.request
    question = request.additional_input.strip()
    asking = bool(question) and request.skill_id in ASKING
    parts: list[tuple[str, float]] = []
    if question:
        parts.append((bounded(question), QUESTION if asking else INSTRUCTION))
    if ask.text is not None:
        parts.extend(before(ask.text.paragraphs.text, ask.text.begin, ask.text.edge))
    else:
        parts.extend((near.before, NEAR[0][1]) for near in ask.near if near.cursor)
    talk = [near.text for near in ask.near if near.cursor is None]
    if question and talk and talk[-1] == request.additional_input:
        talk.pop()
    if request.selection is not None and talk:
        parts.append((bounded(talk.pop(0)), SELECTED))
    parts.extend((bounded(said), weight) for said, weight in zip(reversed(talk), TALK, strict=False))
    parts.extend((near.after, AFTER) for near in ask.near if near.cursor is not None)
    return Query(
        parts=tuple((text, weight) for text, weight in parts if text.strip()),
        names=tuple(names),
        now=now,
        page=not asking,
    )


def before(text: str, begin: int, end: int) -> list[tuple[str, float]]:
    """The text before a place, paragraph by paragraph, the nearest first; another scene says little."""
    look = text[max(end - _LOOK, begin) : end]
    scale = WIDE / SIZE if 3 * len(_WIDE_CHARACTER.findall(look)) > len(look) else 1.0
    reach = max(begin, end - int(NEAR[-1][0] * scale))
    begin = max(begin, reach - WHOLE, text.rfind("\n", begin, reach) + 1)  # the last paragraph is read whole
    found: list[tuple[str, float]] = []
    share = 1.0
    for paragraph, away, begins_scene in paragraphs_back(text, begin, end):
        weight = next((weight for size, weight in NEAR if away <= size * scale), 0.0)
        found.append((paragraph, share * weight))
        if begins_scene:
            share = BEFORE
    return found


def bounded(text: str) -> str:
    """A text no longer than makes sense to look for."""
    return text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]}\n{text[-LONGEST:]}"
