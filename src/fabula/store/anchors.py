"""Anchors: positions in the story that move with the text they point into.

Many tables hold positions such as "since the end of that sentence in chapter 6". A position is a document and an
offset, in columns named `…_document` and `…_offset`. When a text is edited, all positions in it are moved in the same
transaction. A position inside the changed words moves so that nothing is revealed too early: the start of a span
moves to the end of the change, the end of a span to its start.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress

from sqlalchemy import Table, case

from fabula.store.schema import TableInfo, all_tables
from fabula.store.transaction import WriteTransaction
from fabula.text.offsets import TextEdit


def move_positions(tx: WriteTransaction, document_id: str, edit: TextEdit) -> None:
    """Move every position in a document as the text around it moved."""
    columns = list(_position_columns())
    affected = tx.exist([(table, table.c[f"{prefix}_document"] == document_id) for table, prefix in columns])
    for table, prefix in compress(columns, affected):
        document, offset = table.c[f"{prefix}_document"], table.c[f"{prefix}_offset"]
        inside = edit.start if prefix == "until" else edit.new_end
        # In one statement: a position that has moved already must not be taken for one inside the change.
        moved = case((offset < edit.old_end, inside), else_=offset + edit.growth)
        matching = [document == document_id, offset > edit.start]
        if not edit.growth:
            matching.append(offset < edit.old_end)
        tx.update_rows(table, {offset.name: moved}, *matching)


def _position_columns() -> Iterator[tuple[Table, str]]:
    for table in all_tables():
        info = table.info.get("table_info")
        if isinstance(info, TableInfo) and info.owner == "project":
            for column in table.columns:
                if column.name.endswith("_offset"):
                    yield table, column.name.removesuffix("_offset")
