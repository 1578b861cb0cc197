"""The engine's own words: the same things are said in both languages, and warnings say what to do."""

from __future__ import annotations

from string import Formatter

import pytest

from fabula.context.phrases import PHRASES
from fabula.core.errors import Code
from tests.context.builders import helpful

ENGLISH, CHINESE = PHRASES["en"], PHRASES["zh"]


def fields(pattern: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(pattern) if name}


def test_both_languages_warn_of_the_same() -> None:
    assert ENGLISH.warnings.keys() == CHINESE.warnings.keys()
    assert ENGLISH.attachment_reasons.keys() == CHINESE.attachment_reasons.keys()


@pytest.mark.parametrize("code", ENGLISH.warnings)
def test_a_warning_tells_what_happened_and_what_to_do(code: Code) -> None:
    english, chinese = ENGLISH.warnings[code], CHINESE.warnings[code]
    assert fields(english) == fields(chinese)
    said = dict.fromkeys(fields(english), "the bell")
    for why in ENGLISH.attachment_reasons.values() if "why" in said else ("",):
        warning = ENGLISH.format_warning(code, **{**said, "why": why})
        assert warning.startswith(f"{code.value}: ")
        helpful(warning.removeprefix(f"{code.value}: "))
