"""Places in the story move along with the text they point into.

Many rooms hold marks such as "since the end of that sentence in chapter 6". They are a document and an
offset, in columns that say so by their names; when a text is edited, all of them are carried along, in
the same transaction. A mark inside the changed words goes where nothing is told too early: the beginning
of what holds moves to the end of the change, the end of it to the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Table

from fabula.store.schema import METADATA, About
from fabula.store.transaction import Writing
from fabula.text.offsets import Edit


def carry(tx: Writing, document_id: str, edit: Edit) -> None:
    """Move every mark in a document as the text around it moved."""
    for table, prefix in _marked():
        document, offset = table.c[f"{prefix}_document"], table.c[f"{prefix}_offset"]
        here = document == document_id
        inside = edit.start if prefix == "until" else edit.new_end
        if edit.growth:
            # Behind the change first, from the far side of where the other step puts its marks.
            tx.change(table, {offset.name: offset + edit.growth}, here, offset >= edit.old_end, offset > edit.start)
        if edit.old_end - edit.start > 1:
            between = (offset > edit.start, offset < edit.old_end)
            tx.change(table, {offset.name: inside}, here, *between)


def _marked() -> Iterator[tuple[Table, str]]:
    for table in METADATA.sorted_tables:
        known = table.info.get("about")
        if isinstance(known, About) and known.owner == "project":
            for column in table.columns:
                if column.name.endswith("_offset"):
                    yield table, column.name.removesuffix("_offset")
