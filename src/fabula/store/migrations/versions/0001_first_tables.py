"""The first tables."""

from __future__ import annotations

from alembic import op

from fabula.store.migrations.columns import EDITED, SINCE, UNTIL, Big, Name, columns, create_table

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make every table."""
    create_table(
        "changes",
        columns(owner=Name, version=Big, room=Name, item=Name, at=""),
        key=("owner", "version", "room", "item"),
        owner=None,
    )
    create_table("heads", columns(owner=Name, version=Big), key=("owner",), owner=None)
    create_table("profiles", columns(text="", changed="", version=1), key=(), owner="user_id")
    create_table(
        "projects",
        columns(kind="book", series_id=str | None, title="", language="en", identity="", direction="{}", **EDITED),
        key=(),
    )
    create_table(
        "user_memories",
        columns(kind="preference", text="", confidence=0.5, evidence="[]", state="confirmed", **SINCE, **EDITED),
        owner="user_id",
    )
    create_table("user_settings", columns(value="null", changed="", version=1), key=("name",), owner="user_id")
    create_table("budgets", columns(profile="{}", limits="{}", changed="", version=1), key=())
    create_table(
        "codex_entries",
        columns(
            type="other",
            name="",
            aliases="[]",
            level="when_detected",
            description="",
            details="{}",
            tags="[]",
            notes="",
            known_to=str | None,
            **SINCE,
            rules="{}",
            **EDITED,
        ),
    )
    op.create_index("ix_codex_entries_name", "codex_entries", ["project_id", "name"])
    create_table("constraints", columns(text="", kind="style", origin="user", priority=50, **SINCE, **UNTIL, **EDITED))
    create_table(
        "conversations",
        columns(conv_key="", title="", mode="", mode_state="{}", leaf_id=str | None, said=0, rounds=0, **EDITED),
    )
    op.create_index("ix_conversations_key", "conversations", ["project_id", "conv_key"])
    create_table(
        "documents",
        columns(
            parent_id=str | None,
            place=0,
            kind="chapter",
            title="",
            text="",
            pov=str | None,
            happens=float | None,
            known_to=str | None,
            notes="",
            status="",
            **EDITED,
        ),
        references={"parent_id": "documents"},
    )
    op.create_index("ix_documents_tree", "documents", ["project_id", "parent_id", "place"])
    create_table(
        "jobs",
        columns(
            kind="", work="{}", state="queued", queued="", due="", leased_until=str | None, holder="", tries=0, why=""
        ),
        key=("key",),
    )
    op.create_index("ix_jobs_due", "jobs", ["state", "due"])
    create_table("knowledge", columns(**SINCE, note=""), key=("fact", "knower"))
    create_table("lorebooks", columns(name="", format="", rules="exact", book="{}", active=1, **EDITED))
    create_table(
        "memories",
        columns(kind="preference", text="", confidence=0.5, evidence="[]", state="confirmed", **SINCE, **EDITED),
    )
    create_table("participants", columns(name="", aliases="[]", persona="", revision=1, gone=0, **EDITED))
    create_table("presets", columns(name="", nodes="[]", active=0, **EDITED))
    create_table(
        "runs",
        columns(
            skill_id="",
            model="",
            document_id="",
            conversation_id="",
            at="",
            input_tokens=0,
            cached_tokens=0,
            output_tokens=0,
            money_micros=Big(0),
            currency="USD",
            prefix_hash="",
            trace="{}",
            prompt=str | None,
            answer="",
            outcome="",
            verdicts="[]",
        ),
    )
    op.create_index("ix_runs_at", "runs", ["project_id", "at"])
    create_table("settings", columns(value="null", changed="", version=1), key=("name",))
    create_table(
        "beats", columns(document_id=str, place=0, text="", done=0, version=1), references={"document_id": "documents"}
    )
    op.create_index("ix_beats_document", "beats", ["project_id", "document_id", "place"])
    create_table(
        "biographies",
        columns(participant_id=str, place=0, text="", made_from="", made="", version=1),
        references={"participant_id": "participants"},
    )
    create_table(
        "codex_progressions",
        columns(entry_id=str, place=0, text="", **SINCE, known_to=str | None, version=1),
        references={"entry_id": "codex_entries"},
    )
    op.create_index("ix_codex_progressions_entry", "codex_progressions", ["project_id", "entry_id", "place"])
    create_table(
        "codex_relations",
        columns(kind="", place=0),
        key=("entry_id", "to_id", "kind"),
        references={"entry_id": "codex_entries"},
    )
    create_table(
        "fixed_prompts",
        columns(participant_id=str, place=0, text="", version=1),
        references={"participant_id": "participants"},
    )
    create_table(
        "marks",
        columns(document_id=str, start=0, end=0, kind="model", run_id="", made=""),
        references={"document_id": "documents"},
    )
    op.create_index("ix_marks_document", "marks", ["project_id", "document_id", "start"])
    create_table(
        "messages",
        columns(
            conversation_id=str,
            parent_id=str | None,
            number=int,
            kind="user",
            final=1,
            role="user",
            speaker="",
            content="",
            content_hash="",
            before=str | None,
            audience=str | None,
            at="",
            skill_id="",
            extra="{}",
            version=1,
        ),
        references={"conversation_id": "conversations"},
        unique=("conversation_id", "number"),
    )
    create_table(
        "pins", columns(wish="include"), key=("where_id", "entry_id"), references={"entry_id": "codex_entries"}
    )
    create_table(
        "presence",
        columns(since_number=0, until_number=int | None, joined=""),
        key=("conversation_id", "participant_id", "since_number"),
        references={"conversation_id": "conversations"},
    )
    create_table(
        "recaps",
        columns(conversation_id=str, place=0, text="", made_from="", made="", version=1),
        references={"conversation_id": "conversations"},
    )
    create_table(
        "revisions",
        columns(revision=int, title="", text="", label="", cause="", at=""),
        key=("document_id", "revision"),
        references={"document_id": "documents"},
    )
    create_table(
        "summaries",
        columns(conversation_id=str, first_round=0, last_round=0, text="", made_from="", made="", version=1),
        references={"conversation_id": "conversations"},
    )
    create_table(
        "synopses",
        columns(text="", origin="hand", made_from="", changed="", version=1),
        key=("document_id",),
        references={"document_id": "documents"},
    )
