"""Read a place in the story as a person writes it."""

from __future__ import annotations

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript.tables import documents
from fabula.store.transaction import ReadTransaction
from fabula.workspace.names import nearest_names


def read_place(reading: ReadTransaction, text: str) -> Position:
    """Read `CHAPTER`, `CHAPTER@OFFSET`, or `CHAPTER:WORDS` for right after these words; a chapter by id or title."""
    rows = {row.id: row for row in reading.rows(documents, only=("id", "title", "text"))}
    titles = {row.title: row.id for row in rows.values()}
    for cut in (len(text), text.rfind("@"), text.find(":")):
        if cut < 0:
            continue
        row = rows.get(text[:cut]) or rows.get(titles.get(text[:cut], ""))
        rest = text[cut + 1 :]
        if row is not None and not rest:
            return Position(row.id, 0)
        if row is not None and text[cut] == "@" and rest.isdecimal() and int(rest) <= len(row.text):
            return Position(row.id, int(rest))
        if row is not None and text[cut] == ":" and row.text.count(rest) == 1:
            return Position(row.id, row.text.index(rest) + len(rest))
    near = nearest_names(text.partition("@")[0].partition(":")[0], [*rows, *titles])
    known = ", ".join(near or list(rows)[:12]) or "none yet"
    raise FabulaError(
        Code.TREE_INVALID,
        f"{text!r} is no place in the story: name a document ({known}), perhaps with @OFFSET inside it or :WORDS that "
        "stand in it once. Nothing was changed.",
    )
