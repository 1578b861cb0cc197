"""What a program can see of continuity: the dead do not speak, and nobody is called what nobody is called.

These are hints beyond the constraints. They speak of what the codex says is so at this point of the story,
from the author's side: a death that lies ahead of the cursor is none yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from fabula.codex.model import Codex, Entry
from fabula.core.story import Position, Timeline
from fabula.core.view import Language, View
from fabula.skills.deaths import says_dead
from fabula.text.names.unknown import strangers

_SPEECH_EN = (
    r"says?|said|asks?|asked|answers?|answered|replie[sd]|whispers?|whispered|shouts?|shouted|cries|cried|murmurs?|"
    r"murmured|calls?|called|adds?|added|begins?|began|mutters?|muttered|laughs?|laughed"
)
_SPEECH_ZH = (
    r"(?:低声|轻声|高声|大声|冷冷地|笑着|忽然|又|便|也|接着)?"
    r"(?:说道|问道|答道|喊道|叫道|笑道|说(?![服法明])|道(?![理路德具歉士观教家别])|问(?![题候世号])|答(?![案卷])|喊)"
)


class Hint(Struct, frozen=True, kw_only=True):
    """Something that may not fit: what kind of thing, about whom, where, and why."""

    kind: str  # `dead_speaks` or `unknown_name`
    about: str
    start: int
    end: int
    words: str
    sentence: str


_SAYS: dict[Language, dict[str, str]] = {
    "en": {
        "dead_speaks": "{name} speaks here, and is dead at this point of the story.",
        "unknown_name": "“{name}” is named here, and no entry of the codex goes by that name.",
    },
    "zh": {
        "dead_speaks": "{name}在此说话，而故事此刻其人已死。",
        "unknown_name": "此处出现“{name}”，而设定集中没有叫这个名字的条目。",
    },
}


def hints(text: str, view: View, here: Position | None, known: str = "") -> list[Hint]:
    """What may not fit in a text written for this place; `known` is text in which new names are old news."""
    codex = view.room(Codex)
    if codex is None or not text.strip():
        return []
    language = view.project.language
    found = [*_dead_speak(text, codex, view.timeline, here, language), *_unknown(text, codex, language, known)]
    return sorted(found, key=lambda hint: (hint.start, hint.kind))


def dead_at(entry: Entry, timeline: Timeline, here: Position | None, language: Language) -> bool:
    """Does the entry say, by this point of the story, that its person is dead? What is said last counts."""
    dead = says_dead(entry.description, entry.names, language, before=False, tells=False)
    for step in entry.progressions:
        if here is None or timeline.reached(step.since, here):
            dead = says_dead(step.text, entry.names, language, before=dead)
    status = next((value for key, value in entry.details.items() if key.lower() in ("status", "状态")), "")
    return says_dead(status, entry.names, language, before=dead)


def _dead_speak(
    text: str, codex: Codex, timeline: Timeline, here: Position | None, language: Language
) -> Iterator[Hint]:
    spoken = re.compile(_SPEECH_ZH if language == "zh" else rf"\s+(?:{_SPEECH_EN})\b")
    asked = re.compile(rf"\b(?:{_SPEECH_EN})\s+$") if language == "en" else None
    for hit in codex.names.find(text):
        entry = codex.by_id[hit.owner]
        if entry.type != "character":
            continue
        speaks = spoken.match(text, hit.end) is not None
        speaks = speaks or (asked is not None and asked.search(text, max(0, hit.start - 20), hit.start) is not None)
        if speaks and dead_at(entry, timeline, here, language):
            yield _hint("dead_speaks", entry.name, hit.start, hit.end, text, language)


def _unknown(text: str, codex: Codex, language: Language, known: str) -> Iterator[Hint]:
    taken = [(hit.start, hit.end) for hit in codex.names.find(text)]
    for start, end in strangers(text, language, taken, known):
        yield _hint("unknown_name", text[start:end], start, end, text, language)


def _hint(kind: str, name: str, start: int, end: int, text: str, language: Language) -> Hint:
    sentence = _SAYS[language][kind].format(name=name)
    return Hint(kind=kind, about=name, start=start, end=end, words=text[start:end], sentence=sentence)
