"""Places in the story move along with the text they point into.

Many rooms hold marks such as "since the end of that sentence in chapter 6". They are a document and an
offset, in columns that say so by their names; when a text is edited, all of them are carried along, in
the same transaction. A mark inside the changed words goes where nothing is told too early: the beginning
of what holds moves to the end of the change, the end of it to the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress

from sqlalchemy import Table, case

from fabula.store.schema import About, all_tables
from fabula.store.transaction import Writing
from fabula.text.offsets import Edit


def carry(tx: Writing, document_id: str, edit: Edit) -> None:
    """Move every mark in a document as the text around it moved."""
    marked = list(_marked())
    held = tx.which([(table, table.c[f"{prefix}_document"] == document_id) for table, prefix in marked])
    for table, prefix in compress(marked, held):
        document, offset = table.c[f"{prefix}_document"], table.c[f"{prefix}_offset"]
        inside = edit.start if prefix == "until" else edit.new_end
        # In one step: a mark that has moved already must not be taken for one inside the change.
        carried = case((offset < edit.old_end, inside), else_=offset + edit.growth)
        moving = [document == document_id, offset > edit.start]
        if not edit.growth:
            moving.append(offset < edit.old_end)
        tx.change(table, {offset.name: carried}, *moving)


def _marked() -> Iterator[tuple[Table, str]]:
    for table in all_tables():
        known = table.info.get("about")
        if isinstance(known, About) and known.owner == "project":
            for column in table.columns:
                if column.name.endswith("_offset"):
                    yield table, column.name.removesuffix("_offset")
