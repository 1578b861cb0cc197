"""One table of codes."""

from __future__ import annotations

import re

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message


def test_every_code_is_a_word_for_programs_and_stands_in_the_table_once() -> None:
    values = [code.value for code in Code]
    assert len(values) == len(set(values)) == len(Code.__members__)
    assert all(re.fullmatch(r"[A-Z]+(_[A-Z]+)+", value) for value in values)


@pytest.mark.parametrize(
    "value",
    [
        "CONTEXT_DOCUMENT_STALE",
        "CONTEXT_SCOPE_VIOLATION",
        "CONTEXT_FRAGMENT_INVALID",
        "CONTEXT_INSPECT_FORBIDDEN",
        "CONTEXT_MODEL_UNKNOWN",
        "CONTEXT_RULES_OVERBUDGET",
        "CONTEXT_RULES_TOO_LARGE",
        "CONTEXT_BUDGET_FALLBACK",
        "CONTEXT_BUDGET_INVALID_RATIO",
        "CONTEXT_BUDGET_INVALID_MINIMUM",
        "CONTEXT_INPUT_TOO_LARGE",
        "CONTEXT_RETRIEVED_CHUNK_LIMIT",
        "CONTEXT_BACKPRESSURE",
        "CONTEXT_CURSOR_INVALID",
        "CONSTRAINT_LIMIT",
        "CONSTRAINT_VALIDATION_ERROR",
        "KG_UNAVAILABLE",
        "MEMORY_UNAVAILABLE",
        "RETRIEVAL_UNAVAILABLE",
        "EDITOR_UNAVAILABLE",
        "PRESET_ANCHOR_MISSING",
    ],
)
def test_the_codes_of_the_specification_are_spelled_as_there(value: str) -> None:
    assert Code(value).value == value


def test_an_error_says_its_code_first_and_then_a_sentence() -> None:
    error = FabulaError(Code.MODEL_UNKNOWN, message("No such model."), nearest=["gpt-4o"])
    assert str(error) == "CONTEXT_MODEL_UNKNOWN: No such model."
    assert error.code is Code.MODEL_UNKNOWN
    assert error.sentence == "No such model."
    assert error.details == {"nearest": ["gpt-4o"]}
