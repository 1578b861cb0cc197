"""Entries that a model found in a text: read, and held against that text.

A model invents. A name that does not stand in the text is left out, and so is an alias; what is kept holds from
where the name first stands, so that an entry made from chapter nine is not told in chapter three.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fabula.codex.entry import Entry
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.skills.structured_answer import TEXT, TEXTS, list_of, rows_in
from fabula.text.whole_words import as_a_word, first_as_a_word

TYPES = ("character", "location", "event", "item", "faction", "lore", "other")
MOST = 100
LONGEST_NAME = 80
LONGEST_DESCRIPTION = 600

SCHEMA: Mapping[str, Any] = list_of(
    "entries", {"type": {"type": "string", "enum": list(TYPES)}, "name": TEXT, "aliases": TEXTS, "description": TEXT}
)


def read_entries(answer: str, text: str, document_id: str, known: Iterable[str], *, offset: int = 0) -> list[Entry]:
    """What an answer found in a text and nobody is called by yet; `offset` is where the text begins in its document."""
    rows = rows_in(answer, "entries")
    if rows is None:
        raise FabulaError(
            Code.LLM_ANSWER_INVALID,
            "The model did not answer with a list of entries that can be read. Nothing was changed; ask again.",
        )
    taken = {name.casefold() for name in known}
    found: list[Entry] = []
    for row in rows[:MOST]:
        entry = _entry(row, text, document_id, offset)
        if entry is not None and not any(name.casefold() in taken for name in entry.names):
            taken.update(name.casefold() for name in entry.names)
            found.append(entry)
    return found


def _entry(row: Mapping[str, Any], text: str, document_id: str, offset: int) -> Entry | None:
    name, kind = _words(row.get("name")), row.get("type")
    at = first_as_a_word(text, name) if name else -1
    if at < 0:
        return None
    aliases = row.get("aliases")
    others = [_words(alias) for alias in aliases] if isinstance(aliases, list) else []
    return Entry(
        id="",
        type=kind if kind in TYPES else "other",
        name=name,
        aliases=tuple(dict.fromkeys(alias for alias in others if alias and alias != name and as_a_word(text, alias))),
        description=_words(row.get("description"), LONGEST_DESCRIPTION),
        since=Position(document_id, offset + at),
    )


def _words(value: object, longest: int = LONGEST_NAME) -> str:
    """A text on one line; nothing where it is none, or too long to be what it should."""
    said = " ".join(value.split()) if isinstance(value, str) else ""
    return said if len(said) <= longest else ""
