"""Following: who wants to do something when rows of a table change.

What follows *within* the change belongs to it: it is done in the same transaction, and kept or lost with it.
What comes *after* is a bell that rings in this process once the change is kept; other processes hear nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Table

from fabula.store.transaction import Writing

Within = Callable[[Writing, Sequence[str]], None]  # the change, and the items of the table it touched
Bell = Callable[[], None]


class Following:
    """Who follows which tables of one open store."""

    def __init__(self) -> None:
        self._within: tuple[tuple[Table, Within], ...] = ()
        self._after: tuple[tuple[Table, Bell], ...] = ()

    def join(self, table: Table, then: Within) -> None:
        """From now on, do this in every transaction that changes the table; once, however often it is asked for."""
        if (table, then) not in self._within:
            self._within = (*self._within, (table, then))

    def hear(self, table: Table, bell: Bell) -> None:
        """From now on, ring when a change of the table was kept."""
        self._after = (*self._after, (table, bell))

    def leave(self, bell: Bell) -> None:
        """Ring no more."""
        self._after = tuple(one for one in self._after if one[1] != bell)

    def within(self, writing: Writing) -> None:
        """A change is about to be kept."""
        for table, then in self._within:
            if items := writing.items(table):
                then(writing, items)

    def after(self, writing: Writing) -> None:
        """A change was kept."""
        for table, bell in self._after:
            if writing.items(table):
                bell()
