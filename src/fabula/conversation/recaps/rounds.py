"""Rounds: a user's message and all replies to it, along the active path (cnv-6).

A round's number says how many users' messages had been said in the conversation when it began, its own included
and whatever the branch. So a number is never given twice and never comes back, and along a path numbers only
rise; where other branches were said in between, some are missing. Only final messages count. What is said before
the first user's message goes with the first round.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Row

from fabula.conversation.model import Kind, Mark
from fabula.conversation.tables import conversations, messages
from fabula.core.fragment import Role
from fabula.store.transaction import Reading

_PLAIN = ("id", "parent_id", "number", "kind", "final", "role", "speaker", "content_hash", "audience")


class Said(Struct, frozen=True, gc=False):
    """A final message, without its words."""

    id: str
    role: Role
    speaker: str
    content_hash: str
    public: bool  # said to everybody who was there


class Round(Struct, frozen=True):
    """One round of the path."""

    number: int
    said: tuple[Said, ...]
    complete: bool  # answered, or over because another one follows


class History(Struct, frozen=True, kw_only=True):
    """The rounds of a conversation's active path, and how the conversation stood when they were read."""

    mark: Mark
    counted: int  # rounds that were ever begun
    due: int
    rounds: tuple[Round, ...]


def history(reading: Reading, conversation_id: str) -> History:
    """The rounds as they stand; reads every message of the conversation, but none of the words."""
    talk = reading.need(conversations, id=conversation_id)
    rows = reading.rows(
        messages, messages.c.conversation_id == conversation_id, order=(messages.c.number,), only=_PLAIN
    )
    begun = [row.id for row in rows if row.kind == Kind.USER.value]
    numbers = {ident: number for number, ident in enumerate(begun, start=1)}
    return History(
        mark=mark_of(talk),
        counted=talk.rounds,
        due=talk.recap_due,
        rounds=_rounds([row for row in _path(rows, talk.leaf_id) if row.final], numbers),
    )


def mark_of(row: Row[Any]) -> Mark:
    """How a conversation stands: while this is the same, so is everything on its path."""
    return Mark(row.made, row.version, row.said, row.leaf_id)


def content_of(rounds: Iterable[Round]) -> str:
    """By which the content of some rounds is known again; what was said to some only is no part of it."""
    said = [(one.number, [(each.speaker, each.content_hash) for each in one.said if each.public]) for one in rounds]
    return sha256(msgspec.json.encode(said)).hexdigest()


def _path(rows: Iterable[Row[Any]], leaf: str | None) -> list[Row[Any]]:
    known = {row.id: row for row in rows}
    path: list[Row[Any]] = []
    wanted = leaf
    while wanted is not None and (row := known.pop(wanted, None)) is not None:
        path.append(row)
        wanted = row.parent_id
    return path[::-1]


def _rounds(path: list[Row[Any]], numbers: dict[str, int]) -> tuple[Round, ...]:
    begins = [place for place, row in enumerate(path) if row.kind == Kind.USER.value]
    found = []
    for place, start in enumerate(begins):
        last = place + 1 == len(begins)
        stretch = path[0 if place == 0 else start : len(path) if last else begins[place + 1]]
        number = numbers[path[start].id]
        answered = len(path) > start + 1
        found.append(Round(number, tuple([_said(row) for row in stretch]), answered or not last))
    return tuple(found)


def _said(row: Row[Any]) -> Said:
    return Said(row.id, row.role, row.speaker, row.content_hash, row.audience is None)
