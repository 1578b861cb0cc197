"""The trigger on recap settings: a change takes effect at once; reads them as the rules for recaps (cnv-9)."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.context.fit.history import count_after_step
from fabula.context.recipes import CHAT
from fabula.conversation.edits import NOTHING_DUE
from fabula.conversation.mode_states import read_policy
from fabula.conversation.recaps.model import RecapRules
from fabula.conversation.tables import conversations
from fabula.settings.tables import settings
from fabula.settings.values import read_values
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction, WriteTransaction

RECAP_SETTINGS = (
    "History.Recaps",
    "History.SummaryEveryNRounds",
    "History.RecapUpdateEveryRounds",
    "History.RecapDictMaxEntries",
    "History.RecapMaxChars",
    "History.SummaryOverMessages",
    "History.SummaryOverTokens",
    "History.Budget.MaxLatencyMs",
)
_MAX_HISTORY = "maxHistoryTokens"
_MAX_WINDOW = CHAT.history_tokens or 0  # of any chat: a larger one may not fit into the model's window


def connect(store: Store) -> None:
    """Reset the counters of all conversations of a project when one of its recap settings changes."""
    store.hooks.add_before_commit(settings, _reset_counters)


def read_recap_rules(
    reading: ReadTransaction, mode: str = "", conversation_id: str = ""
) -> tuple[RecapRules, tuple[str, ...]]:
    """A project's rules for recaps in a mode, and the settings whose stored values cannot be used and count as not set.

    A mode says from when on history is summarised, unless the project does; what its window does not show always is.
    The policy of a mode that no package offers is read from the conversation.
    """
    values = read_values(reading, (*RECAP_SETTINGS, _MAX_HISTORY))
    policy, own_window = read_policy(reading, mode, conversation_id), values.get_override(_MAX_HISTORY)
    messages = values.get_override("History.SummaryOverMessages") or policy.summary_messages
    if own_window is None and policy.history_messages is not None:
        messages = min(messages, count_after_step(policy.history_messages))
    window = min(_MAX_WINDOW, own_window or policy.history_tokens or _MAX_WINDOW)
    rules = RecapRules(
        enabled=values["History.Recaps"],
        rounds_per_summary=values["History.SummaryEveryNRounds"],
        rounds_per_recap=values["History.RecapUpdateEveryRounds"],
        max_recaps=values["History.RecapDictMaxEntries"],
        max_chars=values["History.RecapMaxChars"],
        timeout=values["History.Budget.MaxLatencyMs"] / 1000,
        max_messages=messages,
        max_tokens=values.get_override("History.SummaryOverTokens") or policy.summary_tokens,
        window_tokens=int(window * (1 - CHAT.history_step)),  # that a chat surely shows after a step
    )
    return rules, tuple(name for name in RECAP_SETTINGS if values.resolve(name).unusable)


def _reset_counters(tx: WriteTransaction, names: Sequence[str]) -> None:
    if any(name in (*RECAP_SETTINGS, _MAX_HISTORY) for name in names):
        tx.update_rows(conversations, NOTHING_DUE)  # by other rules, other rounds are due
