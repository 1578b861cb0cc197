"""What an entry must be before it is kept."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from fabula.codex.model import Entry, Level, Progression
from fabula.core.errors import Code, FabulaError
from fabula.core.fragments import whole
from fabula.core.ids import sound_id
from fabula.core.story import Position


def refused(sentence: str) -> FabulaError:
    """A refusal of this room."""
    return FabulaError(Code.CODEX_INVALID, f"{sentence} Nothing was changed.")


def checked(entry: Entry) -> Entry:
    """An entry that can be kept: its names without white space around them, each once."""
    if not sound_id(entry.id) or "#" in entry.id:
        raise refused(f"{entry.id!r} cannot be the id of an entry: leave out spaces, slashes, `|` and `#`.")
    name = entry.name.strip()
    if not name or "\n" in name:
        raise refused(f"The entry {entry.id!r} needs a name, on one line.")
    if not entry.type.strip() or "\n" in entry.type:
        raise refused(f"The entry {name!r} needs a type, such as character, location, item or other.")
    if entry.level not in tuple(Level):
        raise refused(f"The entry {name!r} has the level {entry.level!r}. There are: {', '.join(Level)}.")
    if any(not relation.to for relation in entry.relations):
        raise refused(f"The entry {name!r} has a relation to nobody: name another entry.")
    check_since(entry.since)
    for step in entry.progressions:
        check_step(step)
    _check_whole((*entry.aliases, *entry.tags, *entry.details, *entry.details.values(), *(entry.known_to or ())))
    return replace(
        entry,
        type=entry.type.strip(),
        name=name,
        aliases=_each_once(entry.aliases),
        tags=_each_once(entry.tags),
        relations=tuple(dict.fromkeys(entry.relations)),
    )


def check_step(step: Progression) -> None:
    """Refuse a progression that says nothing, or not since when."""
    if not step.text.strip():
        raise refused("A progression needs a few words: what is true from there on?")
    check_since(step.since)
    _check_whole(step.known_to or ())


def check_since(since: Position | None) -> None:
    """Refuse a place that cannot be one."""
    if since is not None and (not since.document or since.offset < 0):
        raise refused(f"{since!r} is no place in the story: name a document, and an offset from 0 up.")


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def _check_whole(texts: Iterable[str]) -> None:
    """The transaction looks through plain columns; these texts go into packed ones."""
    for text in texts:
        if not whole(text):
            raise refused("A name, tag, detail or knower holds half a character (a lone surrogate). Remove it.")
