"""The words of recaps: what a digest is given to read, and whether its answer can be kept.

An answer that is empty, or that only says again what it was given, is refused: what was said is kept as messages,
and a recap that repeats it would fill prompts twice. One that is too long is cut where a sentence ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from fabula.conversation.participants import base_id
from fabula.conversation.recaps.model import Line
from fabula.conversation.recaps.rounds import Round
from fabula.conversation.tables import messages, participants
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.view import Language
from fabula.store.transaction import Reading
from fabula.text.offsets import normalise
from fabula.text.sentences import sentence_starts

MOST = 12_000  # characters that a digest is given to read
_LEAST = 120  # of one message, where there are many
_AT_ONCE = 500  # messages read in one query
_BREAK = re.compile(r"[\s,;:，；：、—。！？…]")
_FILLING = re.compile(r"[\W_]+")
_ROLES: dict[Language, dict[Role, str]] = {
    "en": {"user": "User", "assistant": "Assistant", "system": "System"},
    "zh": {"user": "用户", "assistant": "助手", "system": "系统"},
}


def lines_of(reading: Reading, rounds: Iterable[Round], language: Language) -> tuple[Line, ...] | None:
    """What was said to everybody in these rounds, by the names of those who said it; None if it reads otherwise now."""
    said = [one for each in rounds for one in each.said if one.public]
    hashes = {one.id: one.content_hash for one in said}
    words: dict[str, str] = {}
    for start in range(0, len(said), _AT_ONCE):
        wanted = [one.id for one in said[start : start + _AT_ONCE]]
        rows = reading.rows(messages, messages.c.id.in_(wanted), only=("id", "content", "content_hash"))
        words |= {row.id: row.content.strip() for row in rows if row.content_hash == hashes[row.id]}
    if len(words) < len(said):
        return None
    names = {row.id: row.name for row in reading.rows(participants, only=("id", "name"))}
    return tuple(
        [
            Line(called(one.speaker, names) or _ROLES[language].get(one.role, ""), words[one.id])
            for one in said
            if words[one.id]
        ]
    )


def called(speaker: str, names: dict[str, str]) -> str:
    """By which name somebody is known: the last one, or what the id itself says."""
    try:
        ident = base_id(speaker)
    except FabulaError:
        return speaker.strip()
    return names.get(ident) or ident.partition(":")[2]


def bounded(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The same in no more than can be read at once: of too many messages, and of long ones, beginning and end."""
    if sum(len(str(line)) for line in lines) <= MOST:
        return tuple(lines)
    many = MOST // _LEAST
    some = lines if len(lines) <= many else (*lines[: many // 2], *lines[-(many // 2) :])
    return tuple([Line(line.speaker, _ends(line.text, MOST // len(some))) for line in some])


def kept_words(answer: object, longest: int, *, given: Sequence[str]) -> str:
    """An answer as it is kept; refused where there is nothing of its own in it. `given` is what it must not repeat."""
    text = normalise(answer).strip() if isinstance(answer, str) else ""
    if not _plain(text):
        raise FabulaError(Code.LLM_ANSWER_INVALID, "Nothing came back.")
    if "\x00" in text:
        raise FabulaError(Code.LLM_ANSWER_INVALID, "What came back is no text.")
    known = _plain("".join(given))
    if all(_plain(sentence) in known for sentence in _sentences(text)):
        raise FabulaError(Code.LLM_ANSWER_INVALID, "What came back only repeats what was said.")
    return cut(text, longest)


def cut(text: str, longest: int) -> str:
    """The text up to the last end of a sentence within a bound; where there is none, up to a gap, and shown as cut."""
    if len(text) <= longest:
        return text
    ends = [kept for start in sentence_starts(text) if 0 < len(kept := text[:start].rstrip()) <= longest]
    if ends:
        return ends[-1]
    room = longest - 1
    gaps = [found.start() for found in _BREAK.finditer(text, 1, room + 1)]
    return text[: gaps[-1] if gaps else room].rstrip() + "…"


def _sentences(text: str) -> list[str]:
    starts = [*sentence_starts(text), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


def _plain(text: str) -> str:
    """Letters and digits alone: marks and spaces make no difference between two texts."""
    return _FILLING.sub("", text).casefold()


def _ends(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    half = (room - 3) // 2
    return f"{text[:half].rstrip()} … {text[-half:].lstrip()}"
