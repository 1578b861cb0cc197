"""The engine's own texts: warnings say what to do, and a language is one file of translations."""

from __future__ import annotations

from string import Formatter

import pytest

from fabula.context.attachments import explain_dropped
from fabula.context.phrases import WARNINGS, load_phrases
from fabula.context.request import Attachment
from fabula.context.trace import Reason
from fabula.core.errors import Code
from tests.context.builders import helpful

ENGLISH, CHINESE = load_phrases("en"), load_phrases("zh")
DROPPED = [
    str(explain_dropped(Attachment(id="a", kind=kind, reference=reference), reason))
    for kind, reference, reason in (
        ("image", "a.png", Reason.NO_ROOM),
        ("image", "a.png", Reason.EMPTY),
        ("file", "a.pdf", Reason.EMPTY),
        ("file", "", Reason.EMPTY),
    )
]


def fields(pattern: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(pattern) if name}


def test_every_text_of_a_prompt_is_in_the_language_of_the_project() -> None:
    assert ENGLISH.identity != CHINESE.identity
    assert CHINESE.headings["constraints"] == "[创作约束 - 不可违反]"
    assert all(CHINESE.headings[name] != heading for name, heading in ENGLISH.headings.items())


def test_the_warnings_of_the_specification_are_spelled_as_there() -> None:
    assert CHINESE.format_unavailable(Code.KG_UNAVAILABLE, "codex") == "KG_UNAVAILABLE: 知识图谱数据未注入"
    assert CHINESE.format_unavailable(Code.KG_UNAVAILABLE, "map") == "KG_UNAVAILABLE: 知识图谱数据未注入 (map)"


@pytest.mark.parametrize("code", WARNINGS)
def test_a_warning_tells_what_happened_and_what_to_do(code: Code) -> None:
    values = dict.fromkeys(fields(WARNINGS[code].template), "the bell")
    for why in DROPPED if "why" in values else ("",):
        warning = ENGLISH.format_warning(code, **{**values, "why": why})
        assert warning.startswith(f"{code.value}: ")
        helpful(warning.removeprefix(f"{code.value}: "))
