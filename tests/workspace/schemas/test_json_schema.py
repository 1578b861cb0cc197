"""The JSON Schema in `docs/` is the one of the code, and every schema is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.workspace.schemas import chat
from fabula.workspace.schemas.context import AssembleRequest
from fabula.workspace.schemas.json_schema import all_schemas, make_json_schema
from fabula.workspace.schemas.schema import decode

PAGE = Path(__file__).parents[3] / "docs" / "schemas.json"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == make_json_schema(), "write it anew: make docs"


def test_names_on_the_wire_are_camel_case_and_described() -> None:
    definitions = json.loads(make_json_schema())["$defs"]
    for kind in all_schemas():
        described = definitions[kind.__name__]
        assert described["description"], kind
        if kind.__module__ != chat.__name__:  # whose names the specification gives
            assert not [name for name in described.get("properties", {}) if "_" in name], kind


def test_an_unknown_field_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(FabulaError) as refusal:
        decode(b'{"projectId": "p", "documntId": "d"}', AssembleRequest, what=message("request"))
    assert refusal.value.code is Code.REQUEST_INVALID
    assert "'documentId'" in refusal.value.sentence
