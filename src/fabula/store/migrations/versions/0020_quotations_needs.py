"""What a model quotes of chapters, and what it asked for in scenes."""

from __future__ import annotations

from fabula.store.migrations.columns import SINCE, columns, create_table

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Two tables: a row for each chapter that a model read for facts, and for each place at which it was asked."""
    quotation = columns(document_id=str, quotations="[]", origin="model", made_from="", made="")
    create_table("codex_quotations", quotation, key=("document_id",), references={"document_id": "documents"})
    need = columns(id=str, **SINCE, vantage="", questions="[]", origin="model", made="")
    create_table("needs", need)
