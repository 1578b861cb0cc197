"""Anchors: positions in the story that move with the text they point into.

Many tables hold positions such as "since the end of that sentence in chapter 6". A position is a document and an
offset, in columns named `…_document` and `…_offset`. When a text is edited, all positions in it are moved in the same
transaction, however many places the edit changed: a position in unchanged text stays with its words. A position inside
changed words moves so that nothing is revealed too early: the start of a span moves to the end of the change, the end
of a span to its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any

from sqlalchemy import Table, case, func

from fabula.store.schema import TableInfo, all_tables, key_columns
from fabula.store.transaction import WriteTransaction
from fabula.text.diff import TextEdit, map_offset


def move_positions(tx: WriteTransaction, document_id: str, edits: Sequence[TextEdit]) -> None:
    """Move every position in a document as the text around it moved."""
    if not edits:
        return
    columns = list(_position_columns())
    affected = tx.exist([(table, table.c[f"{prefix}_document"] == document_id) for table, prefix in columns])
    for table, prefix in compress(columns, affected):
        document, offset = table.c[f"{prefix}_document"], table.c[f"{prefix}_offset"]
        names = [*(column.name for column in key_columns(table)), offset.name]
        moved: dict[tuple[Any, ...], dict[str, int]] = {}
        for row in tx.rows(table, document == document_id, offset > edits[0].start, only=names):
            new = map_offset(edits, row[-1], forward=prefix != "until")
            if new != row[-1]:
                moved[tuple(row[:-1])] = {offset.name: new}
        tx.update_each(table, moved)  # by key: no row is moved twice


def transfer_positions(tx: WriteTransaction, source: str, target: str, *, first: int = 0, shift: int = 0) -> None:
    """Move the positions of one document from an offset on to another document; the end of a span may stay at it."""
    for table, prefix in _position_columns():
        document, offset = table.c[f"{prefix}_document"], table.c[f"{prefix}_offset"]
        at = func.coalesce(offset, 0)
        matching = at > first if prefix == "until" and first else at >= first
        moved = case((at + shift < 0, 0), else_=at + shift)
        tx.update_rows(table, {document.name: target, offset.name: moved}, document == source, matching)


def _position_columns() -> Iterator[tuple[Table, str]]:
    for table in all_tables():
        info = table.info.get("table_info")
        if isinstance(info, TableInfo) and info.owner == "project":
            for column in table.columns:
                if column.name.endswith("_offset"):
                    yield table, column.name.removesuffix("_offset")
