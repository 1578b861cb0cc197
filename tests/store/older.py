"""Columns and tables that older stores lack, for tests that put a store back to an earlier version."""

from __future__ import annotations

CONVERSATION_COLUMNS = {
    "fixed_prompts": ("private",),
    "conversations": ("tokens", "said_due", "tokens_due"),
    "messages": ("round", "tokens", "pinned"),
    "summaries": ("heard",),
    "recaps": ("heard",),
}

LATER_TABLES = ("codex_quotations", "codex_removed", "needs")

RESPONSE_TABLES = ("request_keys", "streams", "stream_events")
ACCESS_TABLES = ("people", "api_keys", "sessions", "sign_in_failures")
