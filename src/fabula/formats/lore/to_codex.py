"""A lorebook as codex entries.

Keys become the name and its aliases, the text becomes the description, what was always on is always sent
and what was switched off never. A book can do more than an entry: everything an entry has no place for is
said, once for each kind of thing.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from fabula.codex.model import Entry, Level
from fabula.codex.validation import LONGEST_NAME
from fabula.core.story import Position
from fabula.formats.lore.read_write import parse
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.keys import read_key
from fabula.lorebook.model import About, LoreEntry, Story
from fabula.text.names.matcher import Case, Rules

_LOST: tuple[tuple[str, Callable[[LoreEntry], bool]], ...] = (
    ("keys that are patterns", lambda entry: any(not _plain(key) for key in entry.key or ())),
    ("secondary keys", lambda entry: bool(entry.selective and entry.keysecondary)),
    ("a chance", lambda entry: bool(entry.use_probability and entry.probability != 100)),
    ("groups", lambda entry: bool(entry.group)),
    ("sticky, cooldown or delay", lambda entry: bool(entry.sticky or entry.cooldown or entry.delay)),
    ("waiting for other entries", lambda entry: bool(entry.delay_until_recursion)),
    ("a place at a depth or an outlet", lambda entry: (entry.position or 0) > 1),
    ("a filter by character or trigger", lambda entry: bool(entry.character_filter or entry.triggers)),
    ("an end in the story", lambda entry: entry.story is not None and entry.story.until is not None),
    ("{{user}}, {{char}} and the like", lambda entry: "{{" in (entry.content or "")),
)


def codex_entries(book: Lorebook) -> list[Entry]:
    """An entry for each entry of the book that has a text, and of a card one for its character."""
    prefix, read = book.id or sha256(book.name.encode()).hexdigest()[:12], parse(book)
    made = [_entry(entry, f"{prefix}.{entry.uid}", book.name) for entry in read.book.entries if _text(entry)]
    return made if read.about is None else [_character(read.about, f"{prefix}.character"), *made]


def lost_as_entries(book: Lorebook) -> list[str]:
    """What the book says and codex entries cannot."""
    read = parse(book)
    entries = [entry for entry in read.book.entries if _text(entry)]
    told = list(read.warnings)
    empty = len(read.book.entries) - len(entries)
    if empty:
        told.append(f"Entries without a text were left out ({empty}).")
    for feature, uses in _LOST:
        number = sum(uses(entry) for entry in entries)
        if number:
            told.append(f"Codex entries have no place for {feature} ({number} of {len(entries)} entries).")
    return told


def _character(about: About, ident: str) -> Entry:
    """The character of a card; what its maker noted is for the writer only."""
    details = {"personality": about.personality.strip(), "scenario": about.scenario.strip()}
    return Entry(
        id=ident,
        type="character",
        name=" ".join(about.name.split())[:LONGEST_NAME],
        description=about.description.strip(),
        details={name: text for name, text in details.items() if text},
        tags=tuple(dict.fromkeys(tag for tag in (" ".join(tag.split()) for tag in about.tags) if tag)),
        notes=about.creator_notes.strip(),
    )


def _entry(entry: LoreEntry, ident: str, book: str) -> Entry:
    title = " ".join((entry.comment or "").split())
    plain = list(dict.fromkeys(" ".join(key.split()) for key in entry.key or () if _plain(key)))
    known = next((key for key in plain if key.casefold() == title.casefold()), None)
    name = title if known is not None else next(iter(plain), title) or f"{book} {entry.uid}"
    aliases = tuple(key for key in plain if key not in (known, name))
    story = entry.story or Story()
    return Entry(
        id=ident,
        type="lore",
        name=name,
        aliases=aliases,
        level=_level(entry, found=bool(plain)),
        rules=Rules(case=Case.EXACT) if entry.case_sensitive else Rules(),
        description=_text(entry),
        tags=(book,),
        notes=f"{book}: {title}" if title and title != name else "",
        since=Position(story.since) if story.since else None,
        known_to=None if story.known_to is None else frozenset(story.known_to),
    )


def _level(entry: LoreEntry, *, found: bool) -> Level:
    if entry.disable:
        return Level.NEVER
    if entry.constant:
        return Level.ALWAYS
    return Level.WHEN_DETECTED if found else Level.MANUAL


def _plain(key: str) -> bool:
    read = read_key(key.strip())
    return bool(read.text) and read.pattern is None


def _text(entry: LoreEntry) -> str:
    """The text without the decorators at its head."""
    text = entry.content or ""
    while text.startswith("@@"):
        text = text.partition("\n")[2]
    return text.strip()
