"""Tables of conversations: who takes part, what was said, and what was made of it.

Messages form a tree of stable ids. The hash of a message's content is a column; the hash of a path is
derived from it and from the parent's, never stored.
"""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Column, Index, Integer, Text, UniqueConstraint

from fabula.conversation.model import Kind
from fabula.core.fragment import Role
from fabula.store.schema import About, number, packed, project_table, refers, text, times, version

ROOM = "conversation"
PEOPLE = "people"

Origin = Literal["model", "hand"]  # who wrote a summary or a recap

participants = project_table(
    "participants",
    About(room=PEOPLE, owner="project", item="id"),
    Column("id", Text, nullable=False),  # namespace:key
    text("name"),
    packed("aliases", info={"holds": list[str]}),
    text("persona"),
    number("revision", 1),
    number("gone"),
    *times(),
    version(),
)

conversations = project_table(
    "conversations",
    About(room=ROOM, owner="project", item="id"),
    Column("id", Text, nullable=False),
    text("conv_key"),
    text("title"),
    text("mode"),
    packed("mode_state", "{}", info={"holds": dict[str, Any]}),
    text("leaf_id", None),  # the newest message of the active path
    number("said"),  # how many messages were ever said: the next one's number
    number("rounds"),
    number("recap_due"),  # the round from which on something may have to be told; 0: nobody has looked
    *times(),
    version(),
    Index("ix_conversations_key", "project_id", "conv_key"),
)

presence = project_table(
    "presence",
    About(room=ROOM, owner="project", item="conversation_id"),
    Column("conversation_id", Text, nullable=False),
    Column("participant_id", Text, nullable=False),
    Column("since_number", Integer, nullable=False, server_default="0"),  # the first message they could hear
    number("until_number", None),
    text("joined"),
    refers(["conversation_id"], "conversations"),
    key=("conversation_id", "participant_id", "since_number"),
)

messages = project_table(
    "messages",
    About(room=ROOM, owner="project", item="conversation_id"),
    Column("id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    text("parent_id", None, info={"above": True}),
    Column("number", Integer, nullable=False),
    text("kind", "user", info={"holds": Kind}),
    number("final", 1),
    text("role", "user", info={"holds": Role}),
    text("speaker"),
    text("content"),
    text("content_hash"),
    text("before", None),  # what it said before a correction, for undo
    packed("audience", None, info={"holds": list[str]}),
    text("at"),
    text("skill_id"),
    packed("extra", "{}", info={"holds": dict[str, Any]}),
    version(),
    refers(["conversation_id"], "conversations"),
    UniqueConstraint("project_id", "conversation_id", "number"),
)

summaries = project_table(
    "summaries",
    About(room="recaps", owner="project", item="conversation_id"),
    Column("id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    number("first_round"),
    number("last_round"),
    packed("rounds", info={"holds": list[int]}),  # exactly these: between them may be some of other branches
    text("text"),  # empty: nothing was to be told, or a person took it away
    text("origin", "model", info={"holds": Origin}),
    number("stacked"),  # told by a recap, perhaps one that is gone
    text("made_from"),
    text("made"),
    version(),
    refers(["conversation_id"], "conversations"),
    Index("ix_summaries_conversation", "project_id", "conversation_id"),
)

recaps = project_table(
    "recaps",
    About(room="recaps", owner="project", item="conversation_id"),
    Column("id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    number("place"),
    packed("rounds", info={"holds": list[int]}),
    text("text"),
    text("origin", "model", info={"holds": Origin}),
    text("made_from"),
    text("made"),
    version(),
    refers(["conversation_id"], "conversations"),
    Index("ix_recaps_conversation", "project_id", "conversation_id"),
)

fixed_prompts = project_table(
    "fixed_prompts",
    About(room=PEOPLE, owner="project", item="participant_id"),
    Column("id", Text, nullable=False),
    Column("participant_id", Text, nullable=False),
    number("place"),
    text("text"),
    version(),
    refers(["participant_id"], "participants"),
)

biographies = project_table(
    "biographies",
    About(room=PEOPLE, owner="project", item="participant_id"),
    Column("id", Text, nullable=False),
    Column("participant_id", Text, nullable=False),
    number("place"),
    text("text"),
    text("made_from"),
    text("made"),
    version(),
    refers(["participant_id"], "participants"),
)
