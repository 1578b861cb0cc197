"""Make the query of a request from the text at the cursor, the instruction or question, and the conversation.

Of the text before the cursor the nearest weighs most. An instruction says what is about to be written. A question in a
chat is what search is for; the rest then only says what it is about. What somebody does or states in a chat is no
question: it is the nearest text of a scene that goes on, and needs the details that a page needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabula.context.request import SourceRequest
from fabula.search.index.passages import PASSAGE_CHARACTERS, UNSPACED_PASSAGE_CHARACTERS, iterate_paragraphs_back
from fabula.search.model import Query

NEAR = ((500, 1.0), (1500, 0.7), (3000, 0.4))  # the distance at which a paragraph ends before the cursor, its weight
BEFORE_SCENE = 0.1  # factor for text before the current scene
AFTER = 0.3  # the text after the cursor
SELECTED = 1.0
MESSAGES = (0.6, 0.4, 0.3, 0.2)  # of the conversation, the latest first
INSTRUCTION = 1.5
QUESTION = 4.0
PART_END_CHARACTERS = 2000  # of one part that are used, from its beginning and from its end
PARAGRAPH_REACH = 1000  # characters by which the last paragraph may begin further back
QUESTION_SKILLS = frozenset({"", "chat"})  # skills that only answer
_SENTENCE_END = re.compile(r"[.!…。！～—*)）\]\"'”’」』]$")  # of a sentence or an action; a few words are looked up
_ASKS = re.compile(
    r"[?？]|^\W*(?:(?:please|now|could you|can you)\W+)*"
    r"(?:tell\s+(?:me|us)|remind|describe|explain|list|name|recall|recap|summari[sz]e)\b"
    r"|^\W*(?:请|你?再?)?(?:告诉|提醒|描述|介绍|解释|列出|列举|回忆|回顾|总结|概括|说说|讲讲|讲述)",
    re.IGNORECASE,
)
_SAMPLE = 200  # characters that decide the script: an unspaced character says as much as several others
_UNSPACED_CHARACTER = re.compile("[\u2e80-\U0010ffff]")


def make_query(source_request: SourceRequest, names: Sequence[str] = (), now: str = "") -> Query:
    """The query of a request; `now` is its date."""
    request, window, nearby = source_request.request, source_request.text_before_cursor, source_request.nearby
    question = request.additional_input.strip()
    is_answered = request.skill_id in QUESTION_SKILLS
    is_question = bool(question) and is_answered and not is_statement(question)
    parts: list[tuple[str, float]] = []
    if question:
        weight = NEAR[0][1] if is_answered and window is None else INSTRUCTION
        parts.append((shorten_query_part(question), QUESTION if is_question else weight))
    if window is not None:
        parts.extend(weigh_text_before(window.paragraphs.text, window.begin, window.text_end))
    else:
        parts.extend((near.before, NEAR[0][1]) for near in nearby if near.cursor)
    messages = [near.text for near in nearby if near.cursor is None]
    if question and messages and messages[-1] == request.additional_input:
        messages.pop()
    if request.selection is not None and messages:
        parts.append((shorten_query_part(messages.pop(0)), SELECTED))
    parts.extend((shorten_query_part(text), weight) for text, weight in zip(reversed(messages), MESSAGES, strict=False))
    parts.extend((near.after, AFTER) for near in nearby if near.cursor is not None)
    return Query(
        parts=tuple((text, weight) for text, weight in parts if text.strip()),
        names=tuple(names),
        now=now,
        is_page=not is_question,
    )


def is_statement(text: str) -> bool:
    """Whether a text only says what somebody does or thinks: whole sentences, none of which asks for something."""
    return _SENTENCE_END.search(text) is not None and _ASKS.search(text) is None


def weigh_text_before(text: str, begin: int, end: int) -> list[tuple[str, float]]:
    """The paragraphs between `begin` and `end` with their weights, the nearest to `end` first."""
    scale = UNSPACED_PASSAGE_CHARACTERS / PASSAGE_CHARACTERS if is_unspaced(text, begin, end) else 1.0
    reach = max(begin, end - int(NEAR[-1][0] * scale))
    begin = max(begin, reach - PARAGRAPH_REACH, text.rfind("\n", begin, reach) + 1)  # the last paragraph is read whole
    parts: list[tuple[str, float]] = []
    factor = 1.0
    for paragraph, distance, begins_scene in iterate_paragraphs_back(text, begin, end):
        weight = next((weight for limit, weight in NEAR if distance <= limit * scale), 0.0)
        parts.append((paragraph, factor * weight))
        if begins_scene:
            factor = BEFORE_SCENE
    return parts


def is_unspaced(text: str, begin: int, end: int) -> bool:
    """Whether the text right before `end` is in a script without spaces between words."""
    sample = text[max(end - _SAMPLE, begin) : end]
    return 3 * len(_UNSPACED_CHARACTER.findall(sample)) > len(sample)


def shorten_query_part(text: str) -> str:
    """The beginning and the end of a text that is too long for a query."""
    end = PART_END_CHARACTERS
    return text if len(text) <= 2 * end else f"{text[:end]}\n{text[-end:]}"
