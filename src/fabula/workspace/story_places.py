"""Read a place in the story, and the limits of what holds where, as a person writes them."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Position
from fabula.manuscript.tables import documents
from fabula.store.transaction import ReadTransaction
from fabula.workspace.names import find_by_name

START, END = "start", "end"  # take a limit in the story away
EVERYBODY, NOBODY = "everybody", "nobody"


def read_place(reading: ReadTransaction, text: str) -> Position:
    """Read `CHAPTER`, `CHAPTER@OFFSET`, or `CHAPTER:WORDS` for right after these words; a chapter by id or title."""
    rows = reading.rows(documents, only=("id", "title", "text"))
    names = {name for row in rows for name in (row.id, row.title)}
    cuts = (len(text), text.rfind("@"), text.find(":"))
    cut = next((cut for cut in cuts if cut >= 0 and text[:cut] in names), len(text))
    row = find_by_name(
        rows,
        text[:cut],
        what=message("chapter"),
        names_of=lambda row: (row.title,),
        code=Code.TREE_INVALID,
    )
    mark, rest = text[cut : cut + 1], text[cut + 1 :]
    if not rest:
        return Position(row.id, 0)
    if mark == "@" and rest.isdecimal() and int(rest) <= len(row.text):
        return Position(row.id, int(rest))
    if mark == ":" and row.text.count(rest) == 1:
        return Position(row.id, row.text.index(rest) + len(rest))
    raise FabulaError(
        Code.TREE_INVALID,
        message(
            "{place!r} is no place in the story: after the chapter, write @OFFSET inside it, or :WORDS that stand in "
            "it once. Nothing was changed.",
            place=text,
        ),
    )


def read_limit(reading: ReadTransaction, text: str, no_limit: str) -> Position | None:
    """Read a place from which or until which something holds; None for the word that takes the limit away."""
    return None if text == no_limit else read_place(reading, text)


def read_knowers(names: Sequence[str]) -> tuple[str, ...] | None:
    """Read who may know something: None for `everybody`, an empty tuple for `nobody`."""
    return None if list(names) == [EVERYBODY] else tuple(name for name in names if name != NOBODY)
