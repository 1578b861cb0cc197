"""Search in messages: all words of a query, in any order, whatever their case and accents (cnv-1, ppl-4).

Databases fold letters differently, and SQLite only those of ASCII. So the program compares, and the database reads a
bounded number of messages at a time: those of the conversation that changed last first. The search ends where nothing
newer can follow.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Row, desc, or_

from fabula.conversation.model import Message
from fabula.conversation.tables import conversations, messages
from fabula.core.background import REST_SECONDS
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import fold_name

_PART = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|(\S+)')
_QUOTES = '"“”„«»「」'
_AT_ONCE = 2_000  # messages that are read in one query
_CONVERSATIONS = 500  # in one query
_LATEST_FIRST = (desc(conversations.c.changed), conversations.c.id)
_SEARCHED = ("id", "number", "at", "content")


class FoundMessage(Struct, frozen=True):
    """A message that a search found, and the conversation it belongs to."""

    conversation_id: str
    message: Message
    title: str = ""  # of the conversation


def search_messages(
    reading: ReadTransaction, text: str, *, conversation_id: str | None = None, limit: int
) -> list[FoundMessage]:
    """Return the messages that contain all words of a text, the newest first; what stands in quotes stays together."""
    parts = split_query(text)
    if conversation_id is not None:
        found = _search_conversation(reading, conversation_id, parts, limit)
    else:
        found = _search_all(reading, parts, limit)
    ids = [row.id for row in found]
    rows = {row.id: row for row in reading.rows(messages, messages.c.id.in_(ids))} if ids else {}
    named = conversations.c.id.in_({row.conversation_id for row in rows.values()})
    titles = {row.id: row.title for row in reading.rows(conversations, named, only=("id", "title"))} if ids else {}
    return [
        FoundMessage(row.conversation_id, read_struct(Message, row), titles.get(row.conversation_id, ""))
        for row in map(rows.__getitem__, ids)
    ]


def split_query(text: str) -> tuple[str, ...]:
    """Return the words and quoted phrases of a query, as `fold_name` folds them."""
    parts: dict[str, None] = {}
    for found in _PART.finditer(text):
        *phrases, word = found.groups()
        part = word.strip(_QUOTES) or word if word else next(filter(None, phrases))
        parts[fold_name(part)] = None
    return tuple(filter(None, parts))


def _search_all(reading: ReadTransaction, parts: Sequence[str], limit: int) -> list[Row[Any]]:
    """Return the newest messages of a project that contain these parts."""
    found: list[Row[Any]] = []
    for group in _group_conversations(reading):
        if len(found) == limit and found[-1].at >= group[0].changed:
            break
        if len(group) == 1:
            found += _search_conversation(reading, group[0].id, parts, limit)
        else:
            rows = reading.rows(messages, messages.c.conversation_id.in_([one.id for one in group]), only=_SEARCHED)
            found += _select(rows, parts)
        found = sorted(found, key=lambda row: (row.at, row.number), reverse=True)[:limit]
    return found


def _search_conversation(
    reading: ReadTransaction, conversation_id: str, parts: Sequence[str], limit: int
) -> list[Row[Any]]:
    """Return the newest messages of a conversation that contain these parts."""
    found: list[Row[Any]] = []
    where = [messages.c.conversation_id == conversation_id]
    by_number = (desc(messages.c.number),)  # which an index knows
    rows = reading.rows(messages, *where, order=by_number, limit=_AT_ONCE, only=_SEARCHED)
    while rows and len(found) < limit:
        found += _select(rows, parts)
        older = messages.c.number < rows[-1].number
        rows = reading.rows(messages, *where, older, order=by_number, limit=_AT_ONCE, only=_SEARCHED)
    return found[:limit]


def _group_conversations(reading: ReadTransaction) -> Iterator[list[Row[Any]]]:
    """Group conversations, the latest first, so that no group has too many of them or of messages to be read at once.

    One with more of them than that is a group of its own.
    """
    group: list[Row[Any]] = []
    count = 0
    for row in _list_conversations(reading):
        if group and (count + row.said > _AT_ONCE or len(group) == _CONVERSATIONS):
            yield group
            group, count = [], 0
        group.append(row)
        count += row.said
    if group:
        yield group


def _list_conversations(reading: ReadTransaction) -> Iterator[Row[Any]]:
    """List conversations, the latest first, a page at a time."""
    older: tuple[ColumnElement[bool], ...] = ()
    while rows := reading.rows(
        conversations, *older, order=_LATEST_FIRST, limit=_CONVERSATIONS, only=("id", "said", "changed")
    ):
        yield from rows
        last, column = rows[-1], conversations.c
        older = (column.changed <= last.changed, or_(column.changed < last.changed, column.id > last.id))


def _select(rows: Sequence[Row[Any]], parts: Sequence[str]) -> list[Row[Any]]:
    """Return the messages that contain these parts, and rest a moment: other threads wait for the interpreter."""
    found = [row for row in rows if _contains(row.content, parts)]
    time.sleep(REST_SECONDS)
    return found


def _contains(content: str, parts: Sequence[str]) -> bool:
    folded = fold_name(content)
    return all(part in folded for part in parts)
