"""A row becomes a struct whose fields have their types."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.store.rows import read_struct
from fabula.store.store import Store


class Kind(StrEnum):
    CHAPTER = "chapter"


class Chapter(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    kind: Kind
    known_to: frozenset[str] | None
    is_new: bool


def test_columns_and_other_values_become_fields_of_their_types(store: Store) -> None:
    project = projects.create(store, "One")
    with store.write(project=project) as tx:
        document = documents.add(tx, "Fog", known_to=["mara", "tomas"])
    with store.read(project=project) as reading:
        row = reading.require(rows, id=document)
    expected = Chapter(id=document, name="Fog", kind=Kind.CHAPTER, known_to=frozenset({"mara", "tomas"}), is_new=True)
    assert read_struct(Chapter, row, name=row.title, is_new=row.version) == expected
