"""Continuity checks by program: flags dialogue by dead characters and names that are not in the codex.

These checks go beyond the constraints. They compare a text with what the codex says at this position of the story, from
the author's perspective: a death after the cursor has not happened yet.

Whether an entry says that its character is dead is decided by plain statements about that character: "Ben died", "she
was killed", "Drowned in the storm". The death of somebody else ("his mother died"), one that is feared, dreamt or only
believed, and one in the future do not count. The last statement wins.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from fabula.codex import Codex, Entry
from fabula.core.messages import Sentence, message
from fabula.core.story import Position, Timeline
from fabula.core.view import Language, View
from fabula.skills.model import JudgeFinding
from fabula.text.names.unknown import find_unknown_names


class _Patterns(Struct, frozen=True):
    """Parts of regular expressions for one language, as `continuity.toml` has them."""

    speech: str
    clause_end: str
    doubt: str
    alive: str
    dead: str
    adverbs: str = ""
    circumstance: str = ""
    pronouns: str = ""
    relatives: str = ""
    opening: str = ""


@lru_cache(maxsize=1)
def _load_patterns() -> dict[Language, _Patterns]:
    text = Path(__file__).with_name("continuity.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[Language, _Patterns])


def find_continuity_problems(
    text: str, view: View, position: Position | None, known_texts: Sequence[str] = ()
) -> list[JudgeFinding]:
    """Find possible contradictions in a text for a position; names that occur in `known_texts` are not flagged."""
    codex = view.snapshot(Codex)
    if codex is None or not text.strip():
        return []
    language = view.project.language
    findings = [
        *_find_dead_speakers(text, codex, view.timeline, position, language),
        *_find_unknown_names(text, codex, language, known_texts),
    ]
    return sorted(findings, key=lambda finding: (finding.start or 0, finding.is_hint))


def is_dead_at(entry: Entry, timeline: Timeline, position: Position | None, language: Language) -> bool:
    """Whether an entry says that its character is dead at this position; the last statement wins."""
    dead = states_death(entry.description, entry.names, language, was_dead=False, is_narration=False)
    for progression in entry.progressions:
        if position is None or timeline.has_reached(progression.since, position):
            dead = states_death(progression.text, entry.names, language, was_dead=dead)
    status = next((value for key, value in entry.details.items() if key.lower() in ("status", "状态")), "")
    return states_death(status, entry.names, language, was_dead=dead)


def states_death(
    text: str, names: Iterable[str], language: Language, *, was_dead: bool, is_narration: bool = True
) -> bool:
    """Whether a person is dead after a text about them; the present tense counts only if the text is narration."""
    dead, pattern = was_dead, _death_pattern(tuple(names), language, is_narration)
    parts = _load_patterns()[language]
    for clause in re.split(parts.clause_end, text):
        if pattern.search(clause) and not re.search(parts.doubt, clause, re.IGNORECASE):
            dead = True
        elif re.search(parts.alive, clause, re.IGNORECASE):
            dead = False
    return dead


def _find_dead_speakers(
    text: str, codex: Codex, timeline: Timeline, position: Position | None, language: Language
) -> Iterator[JudgeFinding]:
    speech = _load_patterns()[language].speech
    verb_after = re.compile(speech if language == "zh" else rf"\s+(?:{speech})\b")
    verb_before = re.compile(rf"\b(?:{speech})\s+$") if language == "en" else None
    for hit in codex.name_matcher.find(text):
        entry = codex.by_id[hit.owner]
        if entry.type != "character":
            continue
        speaks = verb_after.match(text, hit.end) is not None or (
            verb_before is not None and verb_before.search(text, max(0, hit.start - 20), hit.start) is not None
        )
        if speaks and is_dead_at(entry, timeline, position, language):
            sentence = message("{name} speaks here, but is dead at this point of the story.", name=entry.name)
            yield _make_finding(sentence, hit.start, hit.end, text, language)


def _find_unknown_names(
    text: str, codex: Codex, language: Language, known_texts: Sequence[str]
) -> Iterator[JudgeFinding]:
    mentions = [(hit.start, hit.end) for hit in codex.name_matcher.find(text)]
    for start, end in find_unknown_names(text, language, mentions, known_texts):
        sentence = message("The codex has no entry named “{name}”.", name=text[start:end])
        yield _make_finding(sentence, start, end, text, language, is_hint=True)


def _make_finding(
    sentence: Sentence, start: int, end: int, text: str, language: Language, *, is_hint: bool = False
) -> JudgeFinding:
    return JudgeFinding(
        rule_id="continuity",
        start=start,
        end=end,
        quote=text[start:end],
        reason=sentence.render(language),
        checked_by="program",
        is_hint=is_hint,
    )


@lru_cache(maxsize=512)
def _death_pattern(names: tuple[str, ...], language: Language, is_narration: bool) -> re.Pattern[str]:
    """The pattern of a clause that says that a person of these names is dead."""
    name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name.strip()) or r"(?!)"
    parts = _load_patterns()[language]
    if language == "zh":
        relatives, opening = parts.relatives, parts.opening.format(relatives=parts.relatives)
        person = rf"[^{relatives}]{{0,20}}?(?:{name}|{parts.pronouns})[^{relatives}]{{0,10}}?"
        return re.compile(rf"^(?:\s*{opening}|{person})(?:{parts.dead})")
    person = rf"(?:^\W*|\b(?:{name}|he|she|they)\b,?\s+|^\W*(?:an?|the)\s+(?:(?!of\b)[\w-]+\s+){{1,4}}who\s+)"
    dies = rf"died\b|perished\b|drowned\b{parts.circumstance}"
    if is_narration:
        dies += rf"|dies\b|perishes\b|drowns\b{parts.circumstance}"
    is_dead = rf"(?:is|was|were|are|been|lies|lay|gets|got)\s+{parts.adverbs}(?:found\s+)?(?:{parts.dead})\b"
    return re.compile(
        rf"{person}{parts.adverbs}(?:{dies}|{is_dead})|^\W*(?:found\s+)?(?:{parts.dead})\b", re.IGNORECASE
    )
