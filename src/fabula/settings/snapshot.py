"""From rows to snapshots: how a project divides its windows, and what it sets for the engine."""

from __future__ import annotations

import msgspec

from fabula.context.budget import BudgetProfile
from fabula.context.options import AssemblyOptions
from fabula.settings.tables import budgets
from fabula.settings.values import SettingValues
from fabula.store.transaction import ReadTransaction


def load_profile(reading: ReadTransaction, before: BudgetProfile | None = None) -> BudgetProfile | None:
    """Load the project's profile, None without one of its own; return the one before where it is the same."""
    row = reading.row(budgets)
    if row is None:
        return None
    profile = msgspec.convert(row.profile, BudgetProfile)
    return before if before == profile else profile


def make_options(values: SettingValues, before: AssemblyOptions | None = None) -> AssemblyOptions | None:
    """Make the engine's options from settings, None where nothing is set; return those before where they are equal."""
    options = AssemblyOptions(
        input_tokens=values.get_override("limits.inputTokens"),
        retrieved_chunks=values.get_override("limits.retrievedChunks"),
        late_joiners=values.get_override("lateJoiners"),
        max_history_tokens=values.get_override("maxHistoryTokens"),
        max_injected_characters=values.get_override("History.MaxPromptChars"),
        injection=values["History.Injection"],
        passages=values["search.passages"],
    )
    if options == AssemblyOptions():
        return None
    return before if before == options else options
