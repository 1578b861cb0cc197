"""The settings of recaps, read when they are needed, so that a change takes effect at once (cnv-9)."""

from __future__ import annotations

from fabula.conversation.recaps.model import SETTINGS, Rules, check_setting, rules_from
from fabula.conversation.tables import conversations
from fabula.settings import edits as service
from fabula.settings.tables import settings
from fabula.store.transaction import Reading, Writing


def rules_of(reading: Reading) -> tuple[Rules, tuple[str, ...]]:
    """A project's rules, and which of its settings make no sense: those count as not set."""
    rows = reading.rows(settings, settings.c.name.in_(list(SETTINGS)), only=("name", "value"))
    return rules_from({row.name: row.value for row in rows})


def put(tx: Writing, name: str, value: object | None, *, expected: int | None = None) -> None:
    """Set one of them; None leaves it to the house."""
    if value is not None or name not in SETTINGS:
        check_setting(name, value)
        service.put(tx, name, value, expected=expected)
    elif service.get(tx, name) is not None:
        service.unset(tx, name)
    tx.change(conversations, {"recap_due": 0})  # by other rules, other rounds are due
