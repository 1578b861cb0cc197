"""The tables of conversations, participants, messages, summaries and recaps.

Messages form a tree by `parent_id`. The hash of a message's content is a column. The hash of a path is
derived from it and never stored.
"""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Column, Index, Integer, Text, UniqueConstraint, text

from fabula.conversation.model import MAX_PARTICIPANTS, MessageKind
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.messages import message
from fabula.store.schema import (
    GroupLimit,
    SavedRow,
    TableInfo,
    integer_column,
    json_column,
    project_foreign_key,
    project_table,
    text_column,
    timestamp_columns,
    version_column,
)
from fabula.text.offsets import normalise

AREA = "conversation"
PARTICIPANT_AREA = "people"

TextOrigin = Literal["model", "hand"]  # who wrote a summary or a recap

MAX_TEXTS = 1_000  # fixed prompts, or items of the biography, of one participant
MAX_TEXT_CHARACTERS = 20_000  # of each
MAX_PERSONAS = 100  # earlier ones of one participant that are kept, the latest


def check_participant_text(text: str) -> str:
    """Return a fixed prompt or an item of a biography with tidy line ends; refuse an empty or a long one."""
    checked = normalise(text).strip()
    if not 0 < len(checked) <= MAX_TEXT_CHARACTERS:
        raise FabulaError(
            Code.TEXT_INVALID,
            message("Such a text has 1 to {limit:,} characters. Nothing was changed.", limit=MAX_TEXT_CHARACTERS),
        )
    return checked


def _check_text_row(row: SavedRow) -> None:
    check_participant_text(row.get("text", ""))


_TEXTS_EACH = GroupLimit(group=lambda row: row.get("participant_id"), names=lambda row: [row["id"]], most=MAX_TEXTS)

participants = project_table(
    "participants",
    TableInfo(area=PARTICIPANT_AREA, owner="project", item="id"),
    Column("id", Text, nullable=False),  # namespace:key
    text_column("name"),
    json_column("aliases", info={"type": list[str]}),
    text_column("persona"),
    integer_column("revision", 1),
    integer_column("gone"),
    *timestamp_columns(),
    version_column(),
    text_column("card"),  # the id of the lorebook that the character's card is kept with
)

# The persona of each earlier revision of a participant
personas = project_table(
    "personas",
    TableInfo(
        area=PARTICIPANT_AREA,
        owner="project",
        item="participant_id",
        max_each=GroupLimit(
            group=lambda row: row.get("participant_id"),
            names=lambda row: [str(row["revision"])],
            most=MAX_PERSONAS,
        ),
    ),
    Column("participant_id", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    text_column("persona"),
    text_column("replaced"),  # when another one took its place
    project_foreign_key(["participant_id"], "participants"),
    key=("participant_id", "revision"),
)

conversations = project_table(
    "conversations",
    TableInfo(area=AREA, owner="project", item="id"),
    Column("id", Text, nullable=False),
    text_column("conv_key"),
    text_column("title"),
    text_column("mode"),
    json_column("mode_state", "{}", info={"type": dict[str, Any]}),
    text_column("leaf_id", None),  # the newest message of the active path
    integer_column("said"),  # number of messages ever added; the number of the next message
    integer_column("after_number", None),  # of the message that the next one follows; null: the one added last
    integer_column("branches"),  # messages that follow another one than the one added before
    # Of those that were deleted: the number of each, and of the message that it followed
    json_column("deleted_branches", None, info={"type": list[tuple[int, int]]}),
    integer_column("rounds"),
    integer_column("recap_due"),  # the round from which a recap may be due; 0: not known
    integer_column("tokens"),  # of all messages ever added, an estimate
    integer_column("said_due"),  # the number of messages, and of tokens, from which a summary may be due; 0: not known
    integer_column("tokens_due"),
    *timestamp_columns(),
    version_column(),
    Index("ix_conversations_key", "project_id", "conv_key"),  # without the time, which every message changes
    Index("ix_conversations_changed", "project_id", "changed"),
)

RECAP_COUNTERS = ("mode", "leaf_id", "rounds", "recap_due", "said", "said_due", "tokens", "tokens_due")

presence = project_table(
    "presence",
    TableInfo(
        area=AREA,
        owner="project",
        item="conversation_id",
        max_each=GroupLimit(
            group=lambda row: row.get("conversation_id"),
            names=lambda row: [row["participant_id"]],
            most=MAX_PARTICIPANTS,
        ),
    ),
    Column("conversation_id", Text, nullable=False),
    Column("participant_id", Text, nullable=False, info={"refers_to": participants.name}),
    Column("since_number", Integer, nullable=False, server_default="0"),  # of the first message that it may hold for
    # Of the message behind which the participant came or left: it holds for what follows on from there. -1: of none
    Column("after_number", Integer, nullable=False, server_default="-1"),
    integer_column("leaves"),  # 1: the participant left; 0: came
    text_column("joined"),  # when that was
    project_foreign_key(["conversation_id"], "conversations"),
    Index("ix_presence_participant", "project_id", "participant_id", "conversation_id"),
    key=("conversation_id", "participant_id", "since_number", "after_number"),
)

messages = project_table(
    "messages",
    TableInfo(area=AREA, owner="project", item="conversation_id"),
    Column("id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    text_column("parent_id", None, info={"parent": True}),
    Column("number", Integer, nullable=False),
    text_column("kind", "user", info={"type": MessageKind}),
    integer_column("final", 1),
    text_column("role", "user", info={"type": Role}),
    text_column("speaker", info={"refers_to": participants.name}),
    text_column("content"),
    text_column("content_hash"),
    text_column("before", None),  # the text before a correction, for undo
    json_column("audience", None, info={"type": list[str]}),
    text_column("at"),
    text_column("skill_id"),
    json_column("extra", "{}", info={"type": dict[str, Any]}),
    integer_column("round"),  # the number of the round that the message begins; 0 where it begins none
    integer_column("tokens"),  # an estimate, which decides when history is summarised
    text_column("pinned", None),  # the words that are kept word for word; empty for the whole message
    version_column(),
    # Of the message that it followed when it was added; null: the one added before. -1: of none. Deletions change
    # parents, and leave this.
    integer_column("after_number", None),
    # The states of modes that hold behind it, by the name of the mode, where they changed
    json_column("mode_state", None, info={"type": dict[str, dict[str, Any]]}),
    project_foreign_key(["conversation_id"], "conversations"),
    UniqueConstraint("project_id", "conversation_id", "number"),
    Index("ix_messages_parent", "project_id", "conversation_id", "parent_id"),
    Index(
        "ix_messages_branches",
        *("project_id", "conversation_id", "number", "after_number"),
        sqlite_where=text("after_number IS NOT NULL"),
        postgresql_where=text("after_number IS NOT NULL"),
    ),
    Index(
        "ix_messages_states",
        *("project_id", "conversation_id", "number"),
        sqlite_where=text("mode_state IS NOT NULL"),
        postgresql_where=text("mode_state IS NOT NULL"),
    ),
)

summaries = project_table(
    "summaries",
    TableInfo(area="recaps", owner="project", item="conversation_id"),
    Column("id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    integer_column("first_round"),
    integer_column("last_round"),
    json_column("rounds", info={"type": list[int]}),  # numbers may be missing: rounds of other branches
    text_column("text"),  # empty: there was nothing to summarise, or a person removed it
    text_column("origin", "model", info={"type": TextOrigin}),
    integer_column("stacked"),  # 1: a recap was made of it, which may be removed by now
    json_column("heard", info={"type": list[int]}),  # the numbers of the messages that it was made from
    text_column("made_from"),
    text_column("made"),
    version_column(),
    project_foreign_key(["conversation_id"], "conversations"),
    Index("ix_summaries_conversation", "project_id", "conversation_id"),
)

recaps = project_table(
    "recaps",
    TableInfo(area="recaps", owner="project", item="conversation_id"),
    Column("id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    integer_column("place"),
    json_column("rounds", info={"type": list[int]}),
    json_column("heard", info={"type": list[int]}),
    text_column("text"),
    text_column("origin", "model", info={"type": TextOrigin}),
    text_column("made_from"),
    text_column("made"),
    version_column(),
    project_foreign_key(["conversation_id"], "conversations"),
    Index("ix_recaps_conversation", "project_id", "conversation_id"),
)

fixed_prompts = project_table(
    "fixed_prompts",
    TableInfo(
        area=PARTICIPANT_AREA,
        owner="project",
        item="participant_id",
        check_row=_check_text_row,
        max_each=_TEXTS_EACH,
    ),
    Column("id", Text, nullable=False),
    Column("participant_id", Text, nullable=False),
    integer_column("place"),
    text_column("text"),
    integer_column("private"),  # 1: it reaches its owner only
    version_column(),
    project_foreign_key(["participant_id"], "participants"),
)

biographies = project_table(
    "biographies",
    TableInfo(
        area=PARTICIPANT_AREA,
        owner="project",
        item="participant_id",
        check_row=_check_text_row,
        max_each=_TEXTS_EACH,
    ),
    Column("id", Text, nullable=False),
    Column("participant_id", Text, nullable=False),
    integer_column("place"),
    text_column("text"),
    text_column("made_from"),
    text_column("made"),
    version_column(),
    project_foreign_key(["participant_id"], "participants"),
)
