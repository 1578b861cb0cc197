"""Messages: English templates with values, shown in the language of the reader."""

from __future__ import annotations

import pytest

from fabula.core import messages
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, advise, join_alternatives, message, plural, show


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = {
        "There is no {what} called {name!r}.": "没有名为“{name}”的{what}。",
        "chapter": "章节",
        "{count} chapters": "{count} 章",
        ", ": "、",
        "{first} or {last}": "{first}或{last}",
    }
    monkeypatch.setattr(messages, "load_translations", lambda language: sentences if language == "zh" else {})


def test_a_message_is_english_unless_another_language_is_asked_for() -> None:
    assert str(message("There is no {what} called {name!r}.", what="chapter", name="X")) == (
        "There is no chapter called 'X'."
    )


@pytest.mark.usefixtures("translated")
def test_messages_among_the_values_are_translated_too() -> None:
    said = message("There is no {what} called {name!r}.", what=message("chapter"), name="雨")
    assert said.render("zh") == "没有名为“雨”的章节。"


@pytest.mark.usefixtures("translated")
def test_one_and_many_are_told_apart_where_the_language_does() -> None:
    assert str(plural(1, "{count} chapter", "{count} chapters")) == "1 chapter"
    assert str(plural(2, "{count} chapter", "{count} chapters")) == "2 chapters"
    assert plural(1, "{count} chapter", "{count} chapters").render("zh") == "1 章"


@pytest.mark.usefixtures("translated")
def test_alternatives_are_listed_as_the_language_lists_them() -> None:
    assert str(join_alternatives(["a", "b", "c"])) == "a, b or c"
    assert join_alternatives(["甲", "乙", "丙"]).render("zh") == "甲、乙或丙"
    assert str(join_alternatives(["a"])) == "a"


def test_a_language_without_a_translation_is_shown_in_english() -> None:
    assert message("A sentence that nobody translated.").render("xx") == "A sentence that nobody translated."


def test_values_with_braces_are_text_and_not_templates() -> None:
    assert str(message("{name} is gone.", name="{count}")) == "{count} is gone."


def test_an_error_keeps_its_message_for_whoever_shows_it() -> None:
    error = FabulaError(Code.STORE_NOT_FOUND, message("{name} is gone.", name="A"))
    assert (error.sentence, str(error)) == ("A is gone.", "STORE_NOT_FOUND: A is gone.")
    assert isinstance(error.message, Sentence)


def test_messages_can_be_keys() -> None:
    chapters = {message("{n} chapters", n=n): n for n in (1, 2, 1)}
    assert list(chapters.values()) == [1, 2]


def test_quotation_marks_inside_quotation_marks_are_single_ones() -> None:
    assert message("Constraint {number} is gone: “{text}”", number=1, text="不得出现“忽然”").render() == (
        "Constraint 1 is gone: “不得出现‘忽然’”"
    )


def test_advice_names_a_command_at_the_command_line_alone() -> None:
    advice = advise(message("Make one: fabula new TITLE."), message("Make one."))
    sentence = message("There is no project. {advice}", advice=advice)
    assert str(sentence) == "There is no project. Make one."
    assert show(sentence, "en", on_command_line=True) == "There is no project. Make one: fabula new TITLE."
    assert show((advice,), "en", on_command_line=True) == "Make one: fabula new TITLE."
