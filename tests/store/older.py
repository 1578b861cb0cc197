"""Columns and tables that older stores lack, for tests that put a store back to an earlier version."""

from __future__ import annotations

CONVERSATION_COLUMNS = {
    "fixed_prompts": ("private",),
    "conversations": ("tokens", "said_due", "tokens_due", "after_number", "branches", "deleted_branches"),
    "messages": ("round", "tokens", "pinned", "after_number", "mode_state"),
    "summaries": ("heard",),
    "recaps": ("heard",),
}

# Before these columns are dropped: indexes that have one, and a column that older stores have
PRESENCE_STATEMENTS = (
    "DROP INDEX ix_messages_branches",
    "DROP INDEX ix_messages_states",
    "ALTER TABLE presence ADD COLUMN until_number INTEGER",
)

LATER_TABLES = ("codex_quotations", "codex_removed", "needs", "personas")

RESPONSE_TABLES = ("request_keys", "streams", "stream_events")
ACCESS_TABLES = ("people", "api_keys", "sessions", "sign_in_failures")
