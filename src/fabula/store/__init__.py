"""The store: database connections, transactions, versions and the change feed, upgrades, backups and saves (sav-3)."""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily
from fabula.store.rows import read_struct
from fabula.store.schema import (
    Fraction,
    Json,
    NonBlank,
    Percent,
    TableInfo,
    all_tables,
    integer_column,
    json_column,
    position_columns,
    project_foreign_key,
    project_table,
    table_info,
    text_column,
    timestamp_columns,
    user_table,
    version_column,
)
from fabula.store.store import LOCAL_USER, Store
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction, row_missing

if TYPE_CHECKING:
    from fabula.store.anchors import move_positions
    from fabula.store.doctor import HealthFinding, examine

__all__ = [
    "LOCAL_USER",
    "Fraction",
    "HealthFinding",
    "Json",
    "NonBlank",
    "Percent",
    "ReadTransaction",
    "Store",
    "TableInfo",
    "WriteTransaction",
    "all_tables",
    "examine",
    "integer_column",
    "json_column",
    "move_positions",
    "position_columns",
    "project_foreign_key",
    "project_table",
    "projects",
    "read_struct",
    "row_missing",
    "table_info",
    "text_column",
    "timestamp_columns",
    "user_table",
    "version_column",
]

__getattr__ = import_lazily(
    __name__,
    {
        "HealthFinding": "fabula.store.doctor",
        "examine": "fabula.store.doctor",
        "move_positions": "fabula.store.anchors",
    },
)
