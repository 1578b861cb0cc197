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
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import is_valid_id
from fabula.core.messages import Sentence, join_alternatives, join_names, message
from fabula.core.story import Position
from fabula.store.rows import read_record
from fabula.store.schema import SavedRow
from fabula.text.truncation import shorten_to_line

MAX_NAME_LENGTH = 200
MAX_ALIASES = 1_000  # of one entry, over the whole story
MAX_SHOWN = 40  # characters of a name in an error

_Record = TypeVar("_Record", Entry, Progression)


def codex_error(sentence: Sentence | str) -> FabulaError:
    """Make the error for an invalid entry, progression, pin or fact."""
    return FabulaError(Code.CODEX_INVALID, message("{sentence} Nothing was changed.", sentence=sentence))


def validate_entry(entry: Entry) -> Entry:
    """Return the entry with tidy names, each once; refuse one that cannot be stored."""
    if not is_valid_id(entry.id) or "#" in entry.id:
        raise codex_error(
            message("{id!r} cannot be the id of an entry: leave out spaces, slashes, `|` and `#`.", id=entry.id[:80])
        )
    name = entry.name.strip()
    if not name:
        raise codex_error(message("An entry needs a name: what is it called?"))
    short = shorten_to_line(name, MAX_SHOWN)
    kind, aliases, tags = entry.type.strip(), _strip_all(entry.aliases), _strip_all(entry.tags)
    if not kind:
        raise codex_error(
            message("The entry {name!r} needs a type, such as character, location, item or other.", name=short)
        )
    for text in (name, kind, *aliases, *tags):
        validate_name(text)
    if entry.level not in tuple(Level):
        raise codex_error(
            message(
                "The entry {name!r} has the level {level!r}. Choose {levels}.",
                name=short,
                level=entry.level,
                levels=join_alternatives([*Level]),
            )
        )
    relations = tuple(dict.fromkeys(entry.relations))
    for relation in relations:
        if not relation.to:
            raise codex_error(
                message("A relation of the entry {name!r} leads nowhere. Name another entry.", name=short)
            )
        validate_position(relation.since)
        validate_position(relation.until)
    if len({(relation.to, relation.kind) for relation in relations}) < len(relations):
        raise codex_error(
            message("The entry {name!r} has the same relation to another entry twice. Leave one out.", name=short)
        )
    validate_position(entry.since)
    progressions = tuple(map(validate_progression, entry.progressions))
    if len(aliases) + sum(len(progression.aliases) for progression in progressions) > MAX_ALIASES:
        raise codex_error(
            message("The entry {name!r} has more than {most} aliases. Leave some out.", name=short, most=MAX_ALIASES)
        )
    return replace(
        entry,
        type=kind,
        name=name,
        aliases=aliases,
        tags=tags,
        relations=relations,
        progressions=progressions,
    )


def validate_progression(progression: Progression) -> Progression:
    """Return the progression with tidy names; refuse one without text or name, or with an impossible position."""
    aliases = _strip_all(progression.aliases)
    if not progression.text.strip() and not aliases:
        raise codex_error(message("A progression needs a text or a new name: what is true from there on?"))
    if len(aliases) > MAX_ALIASES:
        raise codex_error(message("A progression may add {most} names at most.", most=MAX_ALIASES))
    for alias in aliases:
        validate_name(alias)
    validate_position(progression.since)
    return replace(progression, aliases=aliases)


def validate_position(position: Position | None) -> None:
    """Refuse a position without a document or with a negative offset."""
    if position is not None and (not position.document or position.offset < 0):
        raise codex_error(
            message(
                "The document {document!r} with the offset {offset} is no place in the story. "
                "Name a document, and an offset from 0 up.",
                document=position.document,
                offset=position.offset,
            )
        )


def validate_name(text: str) -> None:
    """Refuse a name, type or tag that is too long or does not fit on one line."""
    if len(text) <= MAX_NAME_LENGTH and text.isprintable():
        return
    short = shorten_to_line(text, MAX_SHOWN)
    if len(text) > MAX_NAME_LENGTH:
        raise codex_error(
            message("{name!r} is too long. A name has {most} characters at most.", name=short, most=MAX_NAME_LENGTH)
        )
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        raise codex_error(
            message("{name!r} contains a line break or a character that cannot be shown. Remove it.", name=short)
        )


def check_entry_row(row: SavedRow) -> None:
    """Refuse the row of an entry that this module would not let in."""
    validate_entry(read_record(Entry, {"type": "other", "name": "", **row, "rules": {}}))
    rules = row.get("rules", {}).get("without", ())
    phrases = [phrase for phrase in rules if isinstance(phrase, str)] if isinstance(rules, list) else []
    if len(phrases) > MAX_ALIASES:
        raise codex_error(message("An entry may exclude {most} phrases at most.", most=MAX_ALIASES))
    for phrase in phrases:
        validate_name(phrase)


def check_progression_row(row: SavedRow) -> None:
    """Refuse the row of a progression that this module would not let in."""
    aliases = _strip_all(row.get("aliases", ()))
    validate_progression(Progression(row.get("text", ""), Position("-"), aliases=aliases))


def apply_values(record: _Record, values: Mapping[str, Any], *, fixed: Set[str] = frozenset()) -> _Record:
    """Return an entry or progression with some fields changed; refuse unknown and fixed fields and wrong types."""
    fields = asdict(record)
    rejected = values.keys() - fields.keys() | fixed & values.keys()
    if rejected:
        raise codex_error(message("These fields cannot be changed here: {names}.", names=join_names(sorted(rejected))))
    try:
        return msgspec.convert({**fields, **values}, type(record))
    except msgspec.ValidationError as error:
        raise codex_error(
            message("The values cannot be used: {problem}.", problem=explain_decode_error(error, type(record)))
        ) from error


def _strip_all(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
