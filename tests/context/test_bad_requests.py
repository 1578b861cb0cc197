"""Bad requests (models, cursors, documents, recipes): the code, a sentence that helps, and nothing half done."""

from __future__ import annotations

import inspect
import json
import logging
import re

import pytest

from fabula.context import (
    Code,
    FabulaError,
    Perspective,
    Project,
    Request,
    View,
)
from fabula.manuscript.model import Document
from fabula.text.offsets import utf16_to_code_points
from fabula.workspace.schemas.context import read_request
from tests.context.bad import GOOD, SAME, good, refuses, unharmed
from tests.context.builders import (
    PROJECT,
    ask,
    check_result,
    engine,
    helpful,
    prose,
    refused,
    sized,
    story,
)

# Models and encodings


def test_an_unknown_model_is_refused_with_the_nearest_names() -> None:
    error = refuses(Code.MODEL_UNKNOWN, model="gpt4-o")
    assert "gpt-4o" in error.sentence
    assert "window and an encoding" in error.sentence


def test_a_model_like_no_other_is_refused_with_the_names_there_are() -> None:
    assert "claude" in refuses(Code.MODEL_UNKNOWN, model="zzzzzz").sentence


def test_an_empty_model_name_is_refused() -> None:
    refuses(Code.MODEL_UNKNOWN, model="", window=None)


def test_any_model_will_do_with_a_window_and_an_encoding() -> None:
    result = engine().assemble(ask(model="my-own", window=9000, encoding="cl100k_base"), SAME)
    assert result.budget.window == 9000
    check_result(result)


def test_an_unknown_encoding_is_refused_with_the_nearest_names() -> None:
    assembler = engine()
    with pytest.raises(FabulaError) as caught:
        assembler.assemble(ask(model="my-own", encoding="o200k"), SAME)
    assert caught.value.code is Code.MODEL_UNKNOWN
    assert "o200k_base" in caught.value.sentence
    helpful(caught.value.sentence)
    unharmed(assembler)


@pytest.mark.parametrize("window", [0, -1, -100_000, 1, 40])
def test_a_window_without_room_for_anything_is_refused(window: int) -> None:
    assembler = engine()
    with pytest.raises(FabulaError) as caught:
        assembler.assemble(ask(window=window), SAME)
    assert caught.value.code is (Code.RULES_TOO_LARGE if window > 0 else Code.REQUEST_INVALID)
    assert f"window of {window}" in caught.value.sentence
    helpful(caught.value.sentence)
    unharmed(assembler)


@pytest.mark.parametrize("reply", [-1, -4000, 8192, 1_000_000])
def test_a_reply_that_cannot_be_kept_free_is_refused(reply: int) -> None:
    assembler = engine()
    with pytest.raises(FabulaError) as caught:
        assembler.assemble(ask(reply_tokens=reply), SAME)
    assert caught.value.code in (Code.RULES_TOO_LARGE, Code.REQUEST_INVALID)
    helpful(caught.value.sentence)
    unharmed(assembler)


# Cursors and selections


def test_a_cursor_past_the_end_is_refused() -> None:
    refuses(Code.CURSOR_INVALID, cursor=10_000_000)


def test_a_cursor_one_past_the_end_is_refused_and_at_the_end_is_not() -> None:
    length = len(prose(10, 12))
    assert engine().assemble(ask(cursor=length), SAME).prompt == good().prompt
    refuses(Code.CURSOR_INVALID, cursor=length + 1)


@pytest.mark.parametrize("cursor", [-1, -10_000_000])
def test_a_negative_cursor_is_refused(cursor: int) -> None:
    refuses(Code.CURSOR_INVALID, cursor=cursor)


def test_a_cursor_inside_a_character_is_refused() -> None:
    text = "水𠮷门"  # the middle one is two UTF-16 units
    assert utf16_to_code_points(text, 1) == 1
    assert utf16_to_code_points(text, 3) == 2
    refused(Code.CURSOR_INVALID, lambda: utf16_to_code_points(text, 2))


@pytest.mark.parametrize("units", [-1, 5, 10**12], ids=["negative", "one past the end", "far past the end"])
def test_a_cursor_in_units_outside_the_text_is_refused(units: int) -> None:
    refused(Code.CURSOR_INVALID, lambda: utf16_to_code_points("水𠮷门", units))
    refused(Code.CURSOR_INVALID, lambda: utf16_to_code_points("abc", units))


def on_the_wire(**fields: object) -> Request:
    texts = {"ch-01": "水𠮷门"}
    return read_request(json.dumps({"projectId": PROJECT, "documentId": "ch-01", **fields}), texts.get)


def test_a_cursor_on_the_wire_counts_utf16_units() -> None:
    assert on_the_wire(cursorPosition=3).cursor == 2
    assert on_the_wire(selection=[1, 3]).selection == (1, 2)
    assert on_the_wire(cursorPosition=4, unsavedText="a\r\nb𠮷").cursor == 3


@pytest.mark.parametrize("fields", [{"cursorPosition": 2}, {"cursorPosition": -1}, {"selection": [0, 2]}])
def test_a_cursor_on_the_wire_that_is_no_place_is_refused(fields: dict[str, object]) -> None:
    refused(Code.CURSOR_INVALID, lambda: on_the_wire(**fields))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"projectId": 5}',
        b'{"projectId": "p", "cursor": 1}',
        b"\xff\xfe",
    ],
    ids=["empty", "cut off", "a list", "wrong type", "unknown field", "not text"],
)
def test_a_request_that_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(FabulaError) as caught:
        read_request(data, lambda document: None)
    assert caught.value.code is Code.REQUEST_INVALID
    assert len(caught.value.sentence) > 30


def test_a_selection_outside_the_text_is_refused() -> None:
    refuses(Code.CURSOR_INVALID, selection=(0, 10_000_000), skill_id="rewrite")
    refuses(Code.CURSOR_INVALID, selection=(-3, 10), skill_id="rewrite")


def test_a_selection_made_backwards_is_the_same_selection() -> None:
    forwards = engine().assemble(ask(selection=(5, 60), skill_id="rewrite"), SAME)
    backwards = engine().assemble(ask(selection=(60, 5), skill_id="rewrite"), SAME)
    assert backwards.prompt == forwards.prompt


def long_chapter() -> View:
    return story(documents=[Document("ch-10", "第10章", prose(10, 200))])


def test_a_selection_larger_than_the_window_is_refused() -> None:
    """Not as rules that are too large: it is the selection that has to shrink."""
    assembler = engine()
    view = long_chapter()
    wishes = ask(skill_id="rewrite", selection=(0, len(prose(10, 200))))
    error = refused(Code.INPUT_TOO_LARGE, lambda: assembler.assemble(wishes, view))
    assert "elect" in error.sentence
    unharmed(assembler)


def test_an_instruction_larger_than_the_window_is_refused() -> None:
    assembler = engine()
    error = refused(Code.INPUT_TOO_LARGE, lambda: assembler.assemble(ask(additional_input=sized(7000)), SAME))
    assert "instruction" in error.sentence
    unharmed(assembler)


# Documents, recipes, skills, eyes


def test_an_unknown_document_is_refused_with_the_documents_there_are() -> None:
    assert "ch-01" in refuses(Code.DOCUMENT_UNKNOWN, document_id="ch-99").sentence


def test_a_stale_revision_is_refused_unless_the_text_comes_along() -> None:
    refuses(Code.DOCUMENT_STALE, revision=7)
    result = engine().assemble(ask(revision=7, unsaved_text="　　新的一行。"), SAME)
    assert "新的一行。" in result.prompt


def test_an_unknown_recipe_is_refused_with_the_recipes_there_are() -> None:
    assert "character-chat" in refuses(Code.RECIPE_UNKNOWN, recipe="opera").sentence


def test_an_unknown_skill_is_refused_with_the_skills_there_are() -> None:
    assert "continue" in refuses(Code.SKILL_UNKNOWN, skill_id="sing").sentence


def test_eyes_without_a_character_are_refused() -> None:
    refuses(Code.REQUEST_INVALID, perspective=Perspective.CHARACTER)


def test_a_request_without_a_project_is_refused() -> None:
    assembler = engine()
    with pytest.raises(FabulaError) as caught:
        assembler.assemble(ask(project_id=""), SAME)
    assert caught.value.code is Code.REQUEST_INVALID
    unharmed(assembler)


def test_a_view_of_another_project_is_refused_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    assembler = engine()
    with caplog.at_level(logging.DEBUG, "fabula"):
        refused(Code.SCOPE_VIOLATION, lambda: assembler.assemble(GOOD, View(Project(id="B"))))
    assert [record for record in caplog.records if record.levelno >= logging.ERROR and "security" in record.message]
    unharmed(assembler)


def test_help_on_a_request_describes_each_of_its_fields() -> None:
    described = inspect.getdoc(Request) or ""
    lists = re.findall(r"^    ([a-z_, ]+):", described, re.MULTILINE)
    names = {name.strip() for one in lists for name in one.split(",")}
    assert names == set(Request.__struct_fields__)
