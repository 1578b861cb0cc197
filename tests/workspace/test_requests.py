"""A request that names what there is not, or has a value of another type, is refused before anything is assembled."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

P = "coast"


@pytest.fixture
def coast(store: Store) -> ProjectHandle:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        documents.add(tx, "Supper", text="They ate.", document_id="ch-1")
    return Workspace(store).project(P)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("document_id", 1.5),
        ("additional_input", None),
        ("cursor", "start"),
        ("window", 1.5),
        ("session", {"day": 1}),
        ("include", (None,)),
        ("attachments", ("picture.png",)),
        ("preset", "mine"),
    ],
)
def test_a_value_of_another_type_is_refused_with_the_name_of_its_field(
    coast: ProjectHandle, field: str, value: object
) -> None:
    fields: dict[str, Any] = {field: value}
    with pytest.raises(FabulaError, match=field) as caught:
        coast.request(**fields)
    assert caught.value.code is Code.REQUEST_INVALID


@pytest.mark.parametrize("field", ["document_id", "conversation_id", "speaker_id", "character"])
def test_a_request_made_by_hand_is_refused_where_it_names_what_there_is_not(coast: ProjectHandle, field: str) -> None:
    fields: dict[str, Any] = {field: "Nowhere"}
    with pytest.raises(FabulaError, match="Nowhere") as caught:
        coast.assemble(replace(coast.request(), **fields))
    assert caught.value.code in (Code.STORE_NOT_FOUND, Code.DOCUMENT_UNKNOWN)


def test_a_request_made_by_hand_may_call_things_by_their_names(coast: ProjectHandle) -> None:
    result = coast.assemble(replace(coast.request(), document_id="Supper"))
    assert "They ate." in result.prompt


def test_a_number_stands_for_a_chapter_in_a_request(coast: ProjectHandle) -> None:
    number: Any = 1
    assert coast.request(document_id=number).document_id == "ch-1"


@pytest.mark.parametrize("name", ["ch-2", "2", "The Well"])
def test_a_cursor_counts_utf16_units_however_the_document_is_named(
    store: Store, coast: ProjectHandle, name: str
) -> None:
    with store.write(project=P) as tx:
        documents.add(tx, "The Well", text="水𠮷门", document_id="ch-2")  # the middle one is two units
    data = msgspec.json.encode({"projectId": P, "documentId": name, "cursorPosition": 3})
    assert coast.read_request(data).cursor == 2
