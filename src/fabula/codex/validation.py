"""What an entry must be before it is kept.

A name is one line of up to two hundred characters, taken as it stands: what looks like a pattern is looked
for literally. A name of a single character is kept and told, and found in running text only where that is
safe: a capital that is no word (K, Q), a Chinese character with no other beside it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from msgspec.structs import replace

from fabula.codex.model import Entry, Level, Progression
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import whole
from fabula.core.ids import sound_id
from fabula.core.story import Position

LONGEST_NAME = 200
MOST_NAMES = 1_000  # of one entry, in all of the story


def refused(sentence: str) -> FabulaError:
    """A refusal of this room."""
    return FabulaError(Code.CODEX_INVALID, f"{sentence} Nothing was changed.")


def checked(entry: Entry) -> Entry:
    """An entry that can be kept: its names without white space around them, each once."""
    if not sound_id(entry.id) or "#" in entry.id:
        raise refused(f"{entry.id[:80]!r} cannot be the id of an entry: leave out spaces, slashes, `|` and `#`.")
    name = entry.name.strip()
    if not name:
        raise refused(f"The entry {entry.id!r} needs a name, on one line.")
    kind, aliases, tags = entry.type.strip(), _each_once(entry.aliases), _each_once(entry.tags)
    if not kind:
        raise refused(f"The entry {_short(name)} needs a type, such as character, location, item or other.")
    for text in (name, kind, *aliases, *tags):
        check_name(text)
    if entry.level not in tuple(Level):
        raise refused(f"The entry {_short(name)} has the level {entry.level!r}. There are: {', '.join(Level)}.")
    if any(not relation.to for relation in entry.relations):
        raise refused(f"The entry {_short(name)} has a relation to nobody: name another entry.")
    check_since(entry.since)
    steps = tuple(checked_step(step) for step in entry.progressions)
    if len(aliases) + sum(len(step.aliases) for step in steps) > MOST_NAMES:
        raise refused(f"The entry {_short(name)} has more than {MOST_NAMES} aliases. Leave some out.")
    _check_whole((*entry.details, *entry.details.values(), *(entry.known_to or ()), *entry.rules.without))
    return replace(
        entry,
        type=kind,
        name=name,
        aliases=aliases,
        tags=tags,
        relations=tuple(dict.fromkeys(entry.relations)),
        progressions=steps,
    )


def checked_step(step: Progression) -> Progression:
    """A progression that can be kept: it says something, or a name, and since when."""
    aliases = _each_once(step.aliases)
    if not step.text.strip() and not aliases:
        raise refused("A progression needs a few words, or a name: what is true from there on?")
    if len(aliases) > MOST_NAMES:
        raise refused(f"A progression may bring {MOST_NAMES} names at most.")
    for alias in aliases:
        check_name(alias)
    check_since(step.since)
    _check_whole(step.known_to or ())
    return replace(step, aliases=aliases)


def check_since(since: Position | None) -> None:
    """Refuse a place that cannot be one."""
    if since is not None and (not since.document or since.offset < 0):
        raise refused(f"{since!r} is no place in the story: name a document, and an offset from 0 up.")


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def check_name(text: str) -> None:
    """Names, types and tags stand inside lines of a prompt."""
    if len(text) > LONGEST_NAME:
        raise refused(f"{_short(text)} is too long for a name: {LONGEST_NAME} characters are the most.")
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text):
        raise refused(f"{_short(text)} holds a line break or a control character. Names stand on one line.")
    _check_whole((text,))


def _check_whole(texts: Iterable[str]) -> None:
    """The transaction looks through plain columns; these texts go into packed ones."""
    for text in texts:
        if not whole(text):
            raise refused("A name, tag, detail or knower holds half a character (a lone surrogate). Remove it.")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
