"""What the editor source offers: the text around the cursor, as it stands, ending at the cursor."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer
from fabula.manuscript.model import Document
from tests.manuscript.stories import ask, chapter, filler, reason, sources, story


def test_the_window_ends_at_the_cursor_and_the_rest_stands_behind_it() -> None:
    text = "One came.\n\nTwo came and left again.\n\nThree came."
    cursor = text.index(" and left")
    result = ask(story(chapter(1, text)), cursor=cursor)
    before, after = result.prompt.index("Two came"), result.prompt.index("and left again.")
    assert "One came.\n\nTwo came\n" in result.prompt
    assert before < result.prompt.index("The cursor stands") < after
    assert result.prompt.count("Two came") == 1


def test_without_a_cursor_the_window_ends_with_the_document() -> None:
    result = ask(story(chapter(1, "One came.\n\nTwo came.")))
    assert "One came.\n\nTwo came." in result.prompt
    assert "editor:after" not in sources(result)


def test_five_hundred_characters_behind_the_cursor_are_offered_and_no_more() -> None:
    text = "Before." + "a" * 499 + "b" + "c" * 100
    result = ask(story(chapter(1, text)), cursor=7)
    assert "a" * 499 + "b" in result.prompt
    assert "bc" not in result.prompt


def test_the_scene_title_stands_in_front_of_the_window() -> None:
    result = ask(story(chapter(1, "One came.")))
    assert result.prompt.index("[Scene] Chapter 1") < result.prompt.index("One came.")


def test_the_selection_is_offered_as_it_stands() -> None:
    text = "One came. Two left. Three stayed."
    result = ask(story(chapter(1, text)), selection=(10, 19), skill_id="rewrite")
    assert "[Selected text]\nTwo left.\n" in result.prompt


@pytest.mark.parametrize("selection", [(0, 99), (-1, 3), (5, 99)])
def test_a_selection_outside_the_document_is_refused(selection: tuple[int, int]) -> None:
    fabula = story(chapter(1, "One came."))
    with pytest.raises(FabulaError) as caught:
        fabula.assemble(fabula.request(selection=selection))
    assert caught.value.code is Code.CURSOR_INVALID


@pytest.mark.parametrize("cursor", [-1, 10, 1 << 40])
def test_a_cursor_outside_the_document_is_refused(cursor: int) -> None:
    fabula = story(chapter(1, "One came."))
    with pytest.raises(FabulaError) as caught:
        fabula.assemble(fabula.request(cursor=cursor))
    assert caught.value.code is Code.CURSOR_INVALID


def test_a_document_the_project_does_not_have_is_refused() -> None:
    fabula = story(chapter(1, "One came."))
    with pytest.raises(FabulaError) as caught:
        fabula.assemble(fabula.request(document_id="ch-7"))
    assert caught.value.code is Code.DOCUMENT_UNKNOWN
    assert "Chapter 1" in caught.value.sentence


def test_a_stale_revision_is_refused_unless_the_text_comes_along() -> None:
    fabula = story(Document("ch-1", "Chapter 1", "The stored text.", revision=3))
    with pytest.raises(FabulaError) as caught:
        fabula.assemble(fabula.request(revision=2))
    assert caught.value.code is Code.DOCUMENT_STALE
    assert "The stored text." in ask(fabula, revision=3).prompt
    result = ask(fabula, revision=2, unsaved_text="My newer text.\r\nSecond line.")
    assert "My newer text.\nSecond line." in result.prompt
    assert "stored" not in result.prompt


def test_unsaved_text_is_what_the_cursor_counts_in() -> None:
    result = ask(story(chapter(1, "Short.")), unsaved_text="A much longer text than that.", cursor=22)
    assert "A much longer text tha\n" in result.prompt


def test_an_empty_document_assembles_and_renders_no_window() -> None:
    result = ask(story(chapter(1, "")))
    assert not result.warnings
    assert "up to the cursor" not in result.prompt
    assert result.layers[Layer.IMMEDIATE].tokens > 0


def test_beats_are_offered_as_possibly_irrelevant() -> None:
    result = ask(story(chapter(1, "One came.", beats=("the lamp goes out", "she rows"))))
    assert "the lamp goes out; she rows" in result.prompt
    assert "it may not be relevant" in result.prompt


def test_a_chinese_project_is_labelled_in_chinese() -> None:
    result = ask(story(Document("ch-1", "第一章", "灯灭了。她没有动。"), language="zh"), cursor=4)
    assert "[场景] 第一章" in result.prompt
    assert "灯灭了。\n" in result.prompt
    assert "[光标之后的正文]\n她没有动。" in result.prompt


def test_a_long_paragraph_before_a_short_one_still_fills_the_guaranteed_minimum() -> None:
    """ctx-3: the chapter before the cursor, at least 2000 tokens of it where they exist."""
    long = " ".join(f"The keeper lit lamp number {n} again and again." for n in range(2000))
    result = ask(story(chapter(1, long + "\n\nShe")), window=8192)
    assert result.layers[Layer.IMMEDIATE].tokens >= 2000
    assert "She\n" in result.prompt


def test_five_million_characters_without_a_line_break_assemble() -> None:
    result = ask(story(chapter(1, "word " * 1_000_000)), window=8192, cursor=4_000_000)
    assert result.token_count <= result.budget.total
    assert result.layers[Layer.IMMEDIATE].tokens >= 2000
    assert reason(result, "editor:cursor-window").value == "SHORTENED"


def test_a_window_too_long_for_its_room_begins_with_a_paragraph() -> None:
    text = filler(20_000)
    result = ask(story(chapter(1, text)), window=8192)
    shown = result.prompt.split("[The text up to the cursor]\n[…]\n")[1].split("\n\n(The cursor stands")[0]
    assert text.rstrip().endswith(shown)
    assert "\n\n" + shown in text
