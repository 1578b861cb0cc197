"""Codex entries that a model extracted from a text: parses its answer and checks it against the text.

Models invent, so names and aliases that do not occur in the text are left out. An entry is visible from the first
mention of its name on: one from chapter nine does not appear in a prompt for chapter three.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fabula.codex import Entry
from fabula.codex.entry_types import ENTRY_TYPES
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Position
from fabula.skills.structured_answer import STRING, STRINGS, make_list_schema, parse_rows
from fabula.text.word_boundaries import contains_word, find_word

MAX_ENTRIES = 100
MAX_NAME_CHARACTERS = 80
MAX_DESCRIPTION_CHARACTERS = 600

ENTRIES_SCHEMA: Mapping[str, Any] = make_list_schema(
    "entries",
    {
        "type": {"type": "string", "enum": list(ENTRY_TYPES)},
        "name": STRING,
        "aliases": STRINGS,
        "description": STRING,
    },
)


def parse_entries(answer: str, text: str, document_id: str, known: Iterable[str], *, offset: int = 0) -> list[Entry]:
    """Parse the entries in an answer whose names the codex does not know; `offset` is the start of the text."""
    rows = parse_rows(answer, "entries")
    if rows is None:
        raise FabulaError(
            Code.LLM_ANSWER_INVALID,
            message("The model did not answer with a readable list of entries. Nothing was changed. Try again."),
        )
    names = {name.casefold() for name in known}
    entries: list[Entry] = []
    for row in rows[:MAX_ENTRIES]:
        entry = _parse_entry(row, text, document_id, offset)
        if entry is not None and not any(name.casefold() in names for name in entry.names):
            names.update(name.casefold() for name in entry.names)
            entries.append(entry)
    return entries


def _parse_entry(row: Mapping[str, Any], text: str, document_id: str, offset: int) -> Entry | None:
    name, entry_type = _parse_line(row.get("name")), row.get("type")
    at = find_word(text, name) if name else -1
    if at < 0:
        return None
    aliases = row.get("aliases")
    others = [_parse_line(alias) for alias in aliases] if isinstance(aliases, list) else []
    mentioned = (alias for alias in others if alias and alias != name and contains_word(text, alias))
    return Entry(
        id="",
        type=entry_type if entry_type in ENTRY_TYPES else "other",
        name=name,
        aliases=tuple(dict.fromkeys(mentioned)),
        description=_parse_line(row.get("description"), MAX_DESCRIPTION_CHARACTERS),
        since=Position(document_id, offset + at),
    )


def _parse_line(value: object, max_characters: int = MAX_NAME_CHARACTERS) -> str:
    """A value as text on one line; empty where it is no text or too long."""
    line = " ".join(value.split()) if isinstance(value, str) else ""
    return line if len(line) <= max_characters else ""
