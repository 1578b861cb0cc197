"""Convert a lorebook to codex entries.

Keys become the name and its aliases, the text becomes the description. A constant entry is always
sent, a disabled one never. A lorebook has features that codex entries lack; `list_lost_features`
names each of them once.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from fabula.codex import Entry, Level
from fabula.codex.validation import MAX_NAME_LENGTH
from fabula.core.messages import Sentence, message, plural
from fabula.core.story import Position
from fabula.formats.lore.editing import parse_lorebook
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.keys import parse_key
from fabula.lorebook.model import CardCharacter, LoreEntry, StoryLimits
from fabula.text.names.matcher import CaseMatching, NameRules

_LOST_FEATURES: tuple[tuple[Sentence, Callable[[LoreEntry], bool]], ...] = (
    (
        message("patterns (regular expressions) as keys"),
        lambda entry: any(not _is_plain(key) for key in entry.key or ()),
    ),
    (message("secondary keys"), lambda entry: bool(entry.selective and entry.keysecondary)),
    (message("a probability"), lambda entry: bool(entry.use_probability and entry.probability != 100)),
    (message("groups"), lambda entry: bool(entry.group)),
    (message("sticky, cooldown or delay"), lambda entry: bool(entry.sticky or entry.cooldown or entry.delay)),
    (message("a delay until other entries are active"), lambda entry: bool(entry.delay_until_recursion)),
    (message("a place at a depth or an outlet"), lambda entry: (entry.position or 0) > 1),
    (message("a filter by character or trigger"), lambda entry: bool(entry.character_filter or entry.triggers)),
    (message("an end in the story"), lambda entry: entry.story is not None and entry.story.until is not None),
    (message("placeholders such as {example}", example="{{user}}"), lambda entry: "{{" in (entry.content or "")),
)


def convert_to_codex(book: Lorebook) -> list[Entry]:
    """Make a codex entry of each entry that has a text, and of a card one for its character."""
    prefix = book.id or sha256(book.name.encode()).hexdigest()[:12]
    contents = parse_lorebook(book)
    entries = [_convert_entry(e, f"{prefix}.{e.uid}", book.name) for e in contents.book.entries if _strip_text(e)]
    if contents.card_character is not None:
        entries.insert(0, _convert_character(contents.card_character, f"{prefix}.character"))
    return entries


def list_lost_features(book: Lorebook) -> list[Sentence]:
    """Warnings about everything in a book that codex entries cannot express."""
    contents = parse_lorebook(book)
    entries = [entry for entry in contents.book.entries if _strip_text(entry)]
    warnings = list(contents.warnings)
    without_text = len(contents.book.entries) - len(entries)
    if without_text:
        warnings.append(
            plural(without_text, "One entry without text was left out.", "{count} entries without text were left out.")
        )
    for feature, is_used in _LOST_FEATURES:
        count = sum(is_used(entry) for entry in entries)
        if count:
            sentence = message(
                "Codex entries cannot have {feature} ({count} of {all} entries).",
                feature=feature,
                count=count,
                all=len(entries),
            )
            warnings.append(sentence)
    return warnings


def _convert_character(character: CardCharacter, entry_id: str) -> Entry:
    """The character of a card; the notes of its creator are for the writer only."""
    details = {"personality": character.personality.strip(), "scenario": character.scenario.strip()}
    return Entry(
        id=entry_id,
        type="character",
        name=_collapse(character.name)[:MAX_NAME_LENGTH],
        description=character.description.strip(),
        details={name: text for name, text in details.items() if text},
        tags=tuple(dict.fromkeys(tag for tag in map(_collapse, character.tags) if tag)),
        notes=character.creator_notes.strip(),
    )


def _convert_entry(entry: LoreEntry, entry_id: str, book_name: str) -> Entry:
    title = _collapse(entry.comment or "")
    names = list(dict.fromkeys(_collapse(key) for key in entry.key or () if _is_plain(key)))
    titled_key = next((key for key in names if key.casefold() == title.casefold()), None)
    name = title if titled_key is not None else next(iter(names), title) or f"{book_name} {entry.uid}"
    story = entry.story or StoryLimits()
    return Entry(
        id=entry_id,
        type="lore",
        name=name,
        aliases=tuple(key for key in names if key not in (titled_key, name)),
        level=_find_level(entry, has_names=bool(names)),
        rules=NameRules(case=CaseMatching.EXACT) if entry.case_sensitive else NameRules(),
        description=_strip_text(entry),
        tags=(book_name,),
        notes=f"{book_name}: {title}" if title and title != name else "",
        since=Position(story.since) if story.since else None,
        known_to=None if story.known_to is None else frozenset(story.known_to),
    )


def _find_level(entry: LoreEntry, *, has_names: bool) -> Level:
    if entry.disable:
        return Level.NEVER
    if entry.constant:
        return Level.ALWAYS
    return Level.WHEN_DETECTED if has_names else Level.MANUAL


def _is_plain(key: str) -> bool:
    parsed = parse_key(key.strip())
    return bool(parsed.text) and parsed.pattern is None


def _collapse(text: str) -> str:
    """White space as single blanks."""
    return " ".join(text.split())


def _strip_text(entry: LoreEntry) -> str:
    """The text of an entry without the decorators at its beginning."""
    text = entry.content or ""
    while text.startswith("@@"):
        text = text.partition("\n")[2]
    return text.strip()
