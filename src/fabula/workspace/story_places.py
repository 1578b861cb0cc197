"""Read a place in the story, and the limits of what holds where, as a person writes them."""

from __future__ import annotations

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, is_word, message
from fabula.core.story import Position
from fabula.manuscript.snapshot import sort_in_reading_order
from fabula.manuscript.tables import documents
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import MAX_DIGITS
from fabula.workspace.cursor import explain_words
from fabula.workspace.names import find_document, match_documents, match_named, name_documents

START, END = message("start"), message("end")  # take a limit in the story away


def find_chapter(reading: ReadTransaction, name: str) -> str:
    """Return the id of the document that a spelling means."""
    rows = reading.rows(documents, only=("id", "title", "kind", "parent_id", "place"))
    return find_document(sort_in_reading_order(rows), name, code=Code.TREE_INVALID)


def read_place(reading: ReadTransaction, text: str) -> Position:
    """Read `CHAPTER`, `CHAPTER@OFFSET`, or `CHAPTER:WORDS` for right after these words; a chapter by any name."""
    rows = sort_in_reading_order(reading.rows(documents, only=("id", "title", "text", "kind", "parent_id", "place")))
    named = name_documents(rows)
    marks = [place for place, character in enumerate(text) if character in "@:："]
    cuts = (len(text), *reversed(marks))  # the longest name that a chapter has
    if marks and not match_named(named, text):  # a title may hold such a mark; a number before one is no title
        cuts = cuts[1:]
    cut = next((cut for cut in cuts if match_documents(rows, named, text[:cut])), len(text))
    found = find_document(rows, text[:cut], code=Code.TREE_INVALID)
    row = next(row for row in rows if row.id == found)
    mark, rest = text[cut : cut + 1], text[cut + 1 :]
    if not rest:
        return Position(row.id, 0)
    if mark == "@" and rest.isdecimal() and len(rest) <= MAX_DIGITS and int(rest) <= len(row.text):
        return Position(row.id, int(rest))
    if mark in (":", "：") and row.text.count(rest) == 1:
        return Position(row.id, row.text.index(rest) + len(rest))
    if mark in (":", "："):
        problem = explain_words(rest, row.text.count(rest), row.text)
        raise FabulaError(Code.TREE_INVALID, message("{problem} Nothing was changed.", problem=problem))
    raise FabulaError(
        Code.TREE_INVALID,
        message(
            "{place!r} is no place in the story: after the chapter, write @OFFSET inside it, or :WORDS that stand in "
            "it once. Nothing was changed.",
            place=text,
        ),
    )


def read_limit(reading: ReadTransaction, text: str, no_limit: Sentence) -> Position | None:
    """Read a place from which or until which something holds; None for the word that takes the limit away."""
    return None if is_word(text, no_limit) else read_place(reading, text)
