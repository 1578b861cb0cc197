"""Rounds: a user message and all replies to it, along the active path (cnv-6).

Where characters speak among themselves, a round begins when somebody speaks again who has spoken since the last one
began (`edits.RoundCounter`). Rounds are numbered as they begin, on any branch. The number is stored with the message,
so numbers are never reused and never go back, also where messages are deleted. Along a path they rise, with gaps where
other branches were added in between. Only final messages count. Messages before the first round belong to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Row, bindparam

from fabula.conversation.edits import NOTHING_DUE
from fabula.conversation.model import ConversationState, MessageKind
from fabula.conversation.snapshot import follow_path
from fabula.conversation.tables import conversations, messages
from fabula.core.fragment import Role
from fabula.store.queries import RowQuery
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction

_COLUMNS = (
    "id",
    "parent_id",
    "number",
    "kind",
    "final",
    "role",
    "speaker",
    "content_hash",
    "audience",
    "round",
    "tokens",
)
_FROM_NUMBER = RowQuery(
    messages,
    messages.c.conversation_id == bindparam("conversation"),
    messages.c.number >= bindparam("first"),
    order=(messages.c.number,),
    only=_COLUMNS,
)
_MESSAGES_BEFORE = 64  # read too, because a round may begin with messages that not everyone heard


class RoundMessage(Struct, frozen=True, gc=False):
    """A final message without its text."""

    id: str
    number: int
    role: Role
    speaker: str
    content_hash: str
    is_public: bool  # everyone present heard it
    token_estimate: int = 0


class Round(Struct, frozen=True):
    """A round of the active path."""

    number: int
    messages: tuple[RoundMessage, ...]
    is_complete: bool  # it has a reply, or another round follows

    @property
    def public_numbers(self) -> tuple[int, ...]:
        """The numbers of the messages that everyone present heard; a summary is made of these."""
        return tuple([one.number for one in self.messages if one.is_public])

    @property
    def token_estimate(self) -> int:
        """About how many tokens its messages have."""
        return sum([one.token_estimate for one in self.messages])


class RoundHistory(Struct, frozen=True, kw_only=True):
    """The rounds of the active path, and the state of the conversation when they were read."""

    state: ConversationState
    round_count: int  # on all branches
    due: Mapping[str, int]  # the counters from which more is due
    token_count: int  # of all messages ever added, an estimate
    rounds: tuple[Round, ...]


def load_rounds(reading: ReadTransaction, conversation_id: str) -> RoundHistory:
    """Load the rounds of the active path; this reads every message of the conversation, but no text."""
    conversation = reading.require(conversations, id=conversation_id)
    rows = reading.query(_FROM_NUMBER, conversation=conversation_id, first=0)
    return _make_history(conversation, follow_path(rows, conversation.leaf_id), number_rounds(rows))


def load_latest_rounds(
    reading: ReadTransaction, conversation: Row[Any], first: int, number: int
) -> RoundHistory | None:
    """Load the rounds of the active path from the round `first` on, which holds the message with this number.

    None where the messages around it do not tell where that round begins.
    """
    before = max(number - _MESSAGES_BEFORE, 0)
    path = follow_path(reading.query(_FROM_NUMBER, conversation=conversation.id, first=before), conversation.leaf_id)
    starts = [index for index, row in enumerate(path) if _begins_round(row) and row.final]
    place = next((index for index, start in enumerate(starts) if path[start].round == first), None)
    if not place or not all(path[start].round for start in starts):
        return None
    rows = path[starts[place] :]
    return _make_history(conversation, rows, {row.id: row.round for row in rows})


def _make_history(conversation: Row[Any], path: Iterable[Row[Any]], numbers: Mapping[str, int]) -> RoundHistory:
    return RoundHistory(
        state=read_struct(ConversationState, conversation),
        round_count=conversation.rounds,
        due={name: conversation._mapping[name] for name in NOTHING_DUE},
        token_count=conversation.tokens,
        rounds=_split_rounds([row for row in path if row.final], numbers),
    )


def number_rounds(rows: Sequence[Row[Any]]) -> dict[str, int]:
    """Return the number of the round that a message begins, by its id, from all rows of a conversation.

    Messages of older saves do not have it stored; those of users are counted.
    """
    beginnings = [row for row in rows if _begins_round(row)]
    return {row.id: row.round or count for count, row in enumerate(beginnings, start=1)}


def _begins_round(row: Row[Any]) -> bool:
    return bool(row.round) or row.kind == MessageKind.USER.value


def hash_rounds(rounds: Iterable[Round]) -> str:
    """Return the hash of the public messages of some rounds."""
    content = [
        (one.number, [(message.speaker, message.content_hash) for message in one.messages if message.is_public])
        for one in rounds
    ]
    return sha256(msgspec.json.encode(content)).hexdigest()


def _split_rounds(path: list[Row[Any]], numbers: Mapping[str, int]) -> tuple[Round, ...]:
    starts = [index for index, row in enumerate(path) if _begins_round(row)]
    rounds = []
    for index, start in enumerate(starts):
        is_last = index + 1 == len(starts)
        rows = path[0 if index == 0 else start : len(path) if is_last else starts[index + 1]]
        is_complete = not is_last or len(path) > start + 1
        heard = [
            RoundMessage(row.id, row.number, row.role, row.speaker, row.content_hash, row.audience is None, row.tokens)
            for row in rows
        ]
        rounds.append(Round(numbers[path[start].id], tuple(heard), is_complete))
    return tuple(rounds)
