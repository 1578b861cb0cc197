"""From rows to a snapshot: how the project divides its windows, where it has a way of its own."""

from __future__ import annotations

import msgspec

from fabula.context.budget import Profile
from fabula.settings.tables import budgets
from fabula.store.transaction import Reading


def load(reading: Reading, before: Profile | None = None) -> Profile | None:
    """The project's profile; the very one before where it is the same."""
    row = reading.row(budgets)
    if row is None:
        return None
    profile = msgspec.convert(row.profile, Profile)
    return before if before == profile else profile
