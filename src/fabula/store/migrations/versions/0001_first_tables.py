"""The first tables.

A migration tells how tables were made at its time, so it declares them itself and imports none of ours.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def text(name: str, default: str | None = None, *, kind: Any = sa.Text) -> sa.Column[str]:
    return sa.Column(name, kind(), nullable=False, server_default=default)


def maybe(name: str, kind: Any = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind(), nullable=True)


def number(name: str, default: str | None = None, *, kind: Any = sa.Integer) -> sa.Column[int]:
    return sa.Column(name, kind(), nullable=False, server_default=default)


def table(name: str, *parts: Any, key: tuple[str, ...]) -> None:
    """A table; one whose key begins with a project's id goes with the project."""
    if key[0] == "project_id" and name != "projects":
        parts = (*parts, refers(name, (), "projects"))
    op.create_table(name, *parts, sa.PrimaryKeyConstraint(*key, name=f"pk_{name}"))


def refers(name: str, columns: tuple[str, ...], to: str) -> sa.ForeignKeyConstraint:
    own = ("project_id", *columns)
    theirs = ("project_id", "id")[: len(own)]
    return sa.ForeignKeyConstraint(
        own, [f"{to}.{column}" for column in theirs], ondelete="CASCADE", name=f"fk_{name}_{'_'.join(own)}"
    )


def upgrade() -> None:
    """Make every table."""
    table(
        "changes",
        text("owner", kind=sa.String),
        number("version", kind=sa.BigInteger),
        text("room", kind=sa.String),
        text("item", kind=sa.String),
        text("at", ""),
        key=("owner", "version", "room", "item"),
    )
    table("heads", text("owner", kind=sa.String), number("version", kind=sa.BigInteger), key=("owner",))
    table(
        "profiles",
        text("user_id", kind=sa.String),
        text("text", ""),
        text("changed", ""),
        number("version", "1"),
        key=("user_id",),
    )
    table(
        "projects",
        text("project_id", kind=sa.String),
        text("kind", "book"),
        maybe("series_id"),
        text("title", ""),
        text("language", "en"),
        text("identity", ""),
        text("direction", "{}"),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("project_id",),
    )
    table(
        "user_memories",
        text("user_id", kind=sa.String),
        text("id"),
        text("kind", "preference"),
        text("text", ""),
        number("confidence", "0.5", kind=sa.Float),
        text("evidence", "[]"),
        text("state", "confirmed"),
        maybe("since_document"),
        maybe("since_offset", sa.Integer),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("user_id", "id"),
    )
    table(
        "user_settings",
        text("user_id", kind=sa.String),
        text("name"),
        text("value", "null"),
        text("changed", ""),
        number("version", "1"),
        key=("user_id", "name"),
    )
    table(
        "budgets",
        text("project_id", kind=sa.String),
        text("profile", "{}"),
        text("limits", "{}"),
        text("changed", ""),
        number("version", "1"),
        key=("project_id",),
    )
    table(
        "codex_entries",
        text("project_id", kind=sa.String),
        text("id"),
        text("type", "other"),
        text("name", ""),
        text("aliases", "[]"),
        text("level", "when_detected"),
        text("description", ""),
        text("details", "{}"),
        text("tags", "[]"),
        text("notes", ""),
        maybe("known_to"),
        maybe("since_document"),
        maybe("since_offset", sa.Integer),
        text("rules", "{}"),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("project_id", "id"),
    )
    op.create_index("ix_codex_entries_name", "codex_entries", ["project_id", "name"])
    table(
        "constraints",
        text("project_id", kind=sa.String),
        text("id"),
        text("text", ""),
        text("kind", "style"),
        text("origin", "user"),
        number("priority", "50"),
        maybe("since_document"),
        maybe("since_offset", sa.Integer),
        maybe("until_document"),
        maybe("until_offset", sa.Integer),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("project_id", "id"),
    )
    table(
        "conversations",
        text("project_id", kind=sa.String),
        text("id"),
        text("conv_key", ""),
        text("title", ""),
        text("mode", ""),
        text("mode_state", "{}"),
        maybe("leaf_id"),
        number("said", "0"),
        number("rounds", "0"),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("project_id", "id"),
    )
    op.create_index("ix_conversations_key", "conversations", ["project_id", "conv_key"])
    table(
        "documents",
        text("project_id", kind=sa.String),
        text("id"),
        maybe("parent_id"),
        number("place", "0"),
        text("kind", "chapter"),
        text("title", ""),
        text("text", ""),
        maybe("pov"),
        maybe("happens", sa.Float),
        maybe("known_to"),
        text("notes", ""),
        text("status", ""),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        refers("documents", ("parent_id",), "documents"),
        key=("project_id", "id"),
    )
    op.create_index("ix_documents_tree", "documents", ["project_id", "parent_id", "place"])
    table(
        "jobs",
        text("project_id", kind=sa.String),
        text("key"),
        text("kind", ""),
        text("work", "{}"),
        text("state", "queued"),
        text("queued", ""),
        text("due", ""),
        maybe("leased_until"),
        text("holder", ""),
        number("tries", "0"),
        text("why", ""),
        key=("project_id", "key"),
    )
    op.create_index("ix_jobs_due", "jobs", ["state", "due"])
    table(
        "knowledge",
        text("project_id", kind=sa.String),
        text("fact"),
        text("knower"),
        maybe("since_document"),
        maybe("since_offset", sa.Integer),
        text("note", ""),
        key=("project_id", "fact", "knower"),
    )
    table(
        "lorebooks",
        text("project_id", kind=sa.String),
        text("id"),
        text("name", ""),
        text("format", ""),
        text("rules", "exact"),
        text("book", "{}"),
        number("active", "1"),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("project_id", "id"),
    )
    table(
        "memories",
        text("project_id", kind=sa.String),
        text("id"),
        text("kind", "preference"),
        text("text", ""),
        number("confidence", "0.5", kind=sa.Float),
        text("evidence", "[]"),
        text("state", "confirmed"),
        maybe("since_document"),
        maybe("since_offset", sa.Integer),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("project_id", "id"),
    )
    table(
        "participants",
        text("project_id", kind=sa.String),
        text("id"),
        text("name", ""),
        text("aliases", "[]"),
        text("persona", ""),
        number("revision", "1"),
        number("gone", "0"),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("project_id", "id"),
    )
    table(
        "presets",
        text("project_id", kind=sa.String),
        text("id"),
        text("name", ""),
        text("nodes", "[]"),
        number("active", "0"),
        text("made", ""),
        text("changed", ""),
        number("version", "1"),
        key=("project_id", "id"),
    )
    table(
        "runs",
        text("project_id", kind=sa.String),
        text("id"),
        text("skill_id", ""),
        text("model", ""),
        text("document_id", ""),
        text("conversation_id", ""),
        text("at", ""),
        number("input_tokens", "0"),
        number("cached_tokens", "0"),
        number("output_tokens", "0"),
        number("money_micros", "0", kind=sa.BigInteger),
        text("currency", "USD"),
        text("prefix_hash", ""),
        text("trace", "{}"),
        maybe("prompt"),
        text("answer", ""),
        text("outcome", ""),
        text("verdicts", "[]"),
        key=("project_id", "id"),
    )
    op.create_index("ix_runs_at", "runs", ["project_id", "at"])
    table(
        "settings",
        text("project_id", kind=sa.String),
        text("name"),
        text("value", "null"),
        text("changed", ""),
        number("version", "1"),
        key=("project_id", "name"),
    )
    table(
        "beats",
        text("project_id", kind=sa.String),
        text("id"),
        text("document_id"),
        number("place", "0"),
        text("text", ""),
        number("done", "0"),
        number("version", "1"),
        refers("beats", ("document_id",), "documents"),
        key=("project_id", "id"),
    )
    op.create_index("ix_beats_document", "beats", ["project_id", "document_id", "place"])
    table(
        "biographies",
        text("project_id", kind=sa.String),
        text("id"),
        text("participant_id"),
        number("place", "0"),
        text("text", ""),
        text("made_from", ""),
        text("made", ""),
        number("version", "1"),
        refers("biographies", ("participant_id",), "participants"),
        key=("project_id", "id"),
    )
    table(
        "codex_progressions",
        text("project_id", kind=sa.String),
        text("id"),
        text("entry_id"),
        number("place", "0"),
        text("text", ""),
        maybe("since_document"),
        maybe("since_offset", sa.Integer),
        maybe("known_to"),
        number("version", "1"),
        refers("codex_progressions", ("entry_id",), "codex_entries"),
        key=("project_id", "id"),
    )
    op.create_index("ix_codex_progressions_entry", "codex_progressions", ["project_id", "entry_id", "place"])
    table(
        "codex_relations",
        text("project_id", kind=sa.String),
        text("entry_id"),
        text("to_id"),
        text("kind", ""),
        number("place", "0"),
        refers("codex_relations", ("entry_id",), "codex_entries"),
        key=("project_id", "entry_id", "to_id", "kind"),
    )
    table(
        "fixed_prompts",
        text("project_id", kind=sa.String),
        text("id"),
        text("participant_id"),
        number("place", "0"),
        text("text", ""),
        number("version", "1"),
        refers("fixed_prompts", ("participant_id",), "participants"),
        key=("project_id", "id"),
    )
    table(
        "marks",
        text("project_id", kind=sa.String),
        text("id"),
        text("document_id"),
        number("start", "0"),
        number("end", "0"),
        text("kind", "model"),
        text("run_id", ""),
        text("made", ""),
        refers("marks", ("document_id",), "documents"),
        key=("project_id", "id"),
    )
    op.create_index("ix_marks_document", "marks", ["project_id", "document_id", "start"])
    table(
        "messages",
        text("project_id", kind=sa.String),
        text("id"),
        text("conversation_id"),
        maybe("parent_id"),
        number("number"),
        text("kind", "user"),
        number("final", "1"),
        text("role", "user"),
        text("speaker", ""),
        text("content", ""),
        text("content_hash", ""),
        maybe("before"),
        maybe("audience"),
        text("at", ""),
        text("skill_id", ""),
        text("extra", "{}"),
        number("version", "1"),
        refers("messages", ("conversation_id",), "conversations"),
        sa.UniqueConstraint(
            "project_id", "conversation_id", "number", name="uq_messages_project_id_conversation_id_number"
        ),
        key=("project_id", "id"),
    )
    table(
        "pins",
        text("project_id", kind=sa.String),
        text("where_id"),
        text("entry_id"),
        text("wish", "include"),
        refers("pins", ("entry_id",), "codex_entries"),
        key=("project_id", "where_id", "entry_id"),
    )
    table(
        "presence",
        text("project_id", kind=sa.String),
        text("conversation_id"),
        text("participant_id"),
        number("since_number", "0"),
        maybe("until_number", sa.Integer),
        text("joined", ""),
        refers("presence", ("conversation_id",), "conversations"),
        key=("project_id", "conversation_id", "participant_id", "since_number"),
    )
    table(
        "recaps",
        text("project_id", kind=sa.String),
        text("id"),
        text("conversation_id"),
        number("place", "0"),
        text("text", ""),
        text("made_from", ""),
        text("made", ""),
        number("version", "1"),
        refers("recaps", ("conversation_id",), "conversations"),
        key=("project_id", "id"),
    )
    table(
        "revisions",
        text("project_id", kind=sa.String),
        text("document_id"),
        number("revision"),
        text("title", ""),
        text("text", ""),
        text("label", ""),
        text("cause", ""),
        text("at", ""),
        refers("revisions", ("document_id",), "documents"),
        key=("project_id", "document_id", "revision"),
    )
    table(
        "summaries",
        text("project_id", kind=sa.String),
        text("id"),
        text("conversation_id"),
        number("first_round", "0"),
        number("last_round", "0"),
        text("text", ""),
        text("made_from", ""),
        text("made", ""),
        number("version", "1"),
        refers("summaries", ("conversation_id",), "conversations"),
        key=("project_id", "id"),
    )
    table(
        "synopses",
        text("project_id", kind=sa.String),
        text("document_id"),
        text("text", ""),
        text("origin", "hand"),
        text("made_from", ""),
        text("changed", ""),
        number("version", "1"),
        refers("synopses", ("document_id",), "documents"),
        key=("project_id", "document_id"),
    )
