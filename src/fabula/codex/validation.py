"""Validates codex entries and progressions before they are stored (cdx-1).

A name is one line of at most 200 characters and is taken literally, even if it looks like a pattern. A name of a
single character is allowed; the name index decides whether it is safe to search for in prose.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Set
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from fabula.codex.entry import Entry, Level, Progression
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import is_encodable
from fabula.core.ids import is_valid_id
from fabula.core.story import Position

MAX_NAME_LENGTH = 200
MAX_ALIASES = 1_000  # of one entry, over the whole story

_Record = TypeVar("_Record", Entry, Progression)


def codex_error(sentence: str) -> FabulaError:
    """Make the error for an invalid entry, progression, pin or fact."""
    return FabulaError(Code.CODEX_INVALID, f"{sentence} Nothing was changed.")


def validate_entry(entry: Entry) -> Entry:
    """Return the entry with tidy names, each once; refuse one that cannot be stored."""
    if not is_valid_id(entry.id) or "#" in entry.id:
        raise codex_error(f"{entry.id[:80]!r} cannot be the id of an entry: leave out spaces, slashes, `|` and `#`.")
    name = entry.name.strip()
    if not name:
        raise codex_error(f"The entry {entry.id!r} needs a name, on one line.")
    kind, aliases, tags = entry.type.strip(), _strip_all(entry.aliases), _strip_all(entry.tags)
    if not kind:
        raise codex_error(f"The entry {_shorten(name)} needs a type, such as character, location, item or other.")
    for text in (name, kind, *aliases, *tags):
        validate_name(text)
    if entry.level not in tuple(Level):
        raise codex_error(f"The entry {_shorten(name)} has the level {entry.level!r}. There are: {', '.join(Level)}.")
    if any(not relation.to for relation in entry.relations):
        raise codex_error(f"The entry {_shorten(name)} has a relation to nobody: name another entry.")
    validate_position(entry.since)
    progressions = tuple(map(validate_progression, entry.progressions))
    if len(aliases) + sum(len(progression.aliases) for progression in progressions) > MAX_ALIASES:
        raise codex_error(f"The entry {_shorten(name)} has more than {MAX_ALIASES} aliases. Leave some out.")
    _check_encodable((*entry.details, *entry.details.values(), *(entry.known_to or ()), *entry.rules.excluded_phrases))
    return replace(
        entry,
        type=kind,
        name=name,
        aliases=aliases,
        tags=tags,
        relations=tuple(dict.fromkeys(entry.relations)),
        progressions=progressions,
    )


def validate_progression(progression: Progression) -> Progression:
    """Return the progression with tidy names; refuse one without text or name, or with an impossible position."""
    aliases = _strip_all(progression.aliases)
    if not progression.text.strip() and not aliases:
        raise codex_error("A progression needs a few words, or a name: what is true from there on?")
    if len(aliases) > MAX_ALIASES:
        raise codex_error(f"A progression may bring {MAX_ALIASES} names at most.")
    for alias in aliases:
        validate_name(alias)
    validate_position(progression.since)
    _check_encodable(progression.known_to or ())
    return replace(progression, aliases=aliases)


def validate_position(position: Position | None) -> None:
    """Refuse a position without a document or with a negative offset."""
    if position is not None and (not position.document or position.offset < 0):
        raise codex_error(f"{position!r} is no place in the story: name a document, and an offset from 0 up.")


def validate_name(text: str) -> None:
    """Refuse a name, type or tag that is too long or does not fit on one line."""
    if len(text) > MAX_NAME_LENGTH:
        raise codex_error(f"{_shorten(text)} is too long for a name: {MAX_NAME_LENGTH} characters are the most.")
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text):
        raise codex_error(f"{_shorten(text)} holds a line break or a control character. Names stand on one line.")
    _check_encodable((text,))


def apply_values(record: _Record, values: Mapping[str, Any], *, fixed: Set[str] = frozenset()) -> _Record:
    """Return an entry or progression with some fields changed; refuse unknown and fixed fields and wrong types."""
    kind = type(record).__name__.lower()
    fields = asdict(record)
    rejected = values.keys() - fields.keys() | fixed & values.keys()
    if rejected:
        raise codex_error(f"These fields of the {kind} cannot be changed here: {', '.join(sorted(rejected))}.")
    try:
        return msgspec.convert({**fields, **values}, type(record))
    except msgspec.ValidationError as error:
        raise codex_error(f"The {kind} cannot be changed like this: {error}.") from error


def _strip_all(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def _check_encodable(texts: Iterable[str]) -> None:
    """Refuse lone surrogates in texts of JSON columns; the transaction checks only plain columns."""
    if not all(map(is_encodable, texts)):
        raise codex_error("A name, tag, detail or knower holds half a character (a lone surrogate). Remove it.")


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
