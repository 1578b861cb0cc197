"""Windows around a cursor: they give way at the far end and always end at the cursor."""

from __future__ import annotations

import random

import pytest

from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.sentences import find_sentence_starts
from fabula.text.tokens.paragraphs import HUGE_PARAGRAPH, Paragraphs
from fabula.text.tokens.tokenizer import ByteTokenizer, Tokenizer, load_encoding
from fabula.text.windows import BLOCK_SEPARATOR, TextWindow, as_text_window, make_text_window
from tests.text.strings import CHINESE, ENGLISH, prose

TOKENIZER = load_encoding("o200k_base")


def at(text: str, cursor: int | None = None, reach: int = 10_000_000) -> TextWindow:
    cursor = len(text) if cursor is None else cursor
    return make_text_window(Paragraphs(text), cursor, source="editor:cursor-window", project_id="p", reach=reach)


def kept(found: TextWindow, room: int, tokenizer: Tokenizer = TOKENIZER) -> str | None:
    """What remains of a window in a room, after checking that it is honest about its cost."""
    cut = found.fit(tokenizer, room)
    if cut is None:
        return None
    text = found.text_from(cut.start)
    assert cut.tokens <= room
    assert cut.tokens == (tokenizer.count(text + BLOCK_SEPARATOR) if text else 0)
    return text


def sentences_of(count: int, length: int = 9) -> str:
    return " ".join(f"The keeper lit lamp number {n} " + "again and again " * length + "." for n in range(count))


def test_a_window_with_room_enough_is_the_whole_text_before_the_cursor() -> None:
    text = "One.\n\nTwo.\n\nThree, up to here|and not beyond."
    cursor = text.index("|")
    assert kept(at(text, cursor), 1000) == text[:cursor]


def test_whole_paragraphs_go_first_the_furthest_first() -> None:
    text = "\n\n".join(f"Paragraph {n} is about the lamp." for n in range(20))
    for room in range(10, 200, 7):
        found = kept(at(text), room)
        assert found is not None
        assert text.endswith(found)
        assert found.startswith("Paragraph ")


def test_a_paragraph_too_long_for_the_room_is_cut_between_sentences() -> None:
    text = sentences_of(30)
    for room in (60, 150, 400):
        found = kept(at(text), room)
        assert found is not None
        assert text.endswith(found)
        assert found.startswith("The keeper lit lamp number ")
        assert found != text


def test_a_sentence_too_long_for_the_room_is_cut_between_characters() -> None:
    for words in ("and so on ", "然后灯塔的光又一次扫过海面，"):
        text = words * 2000
        found = kept(at(text), 50)
        assert found is not None
        assert text.rstrip().endswith(found)
        assert 40 <= TOKENIZER.count(found + BLOCK_SEPARATOR) <= 50


def test_a_chinese_paragraph_is_cut_between_sentences() -> None:
    text = "".join(f"守灯人第{n}次点亮了灯塔上的那盏灯。" for n in range(200))
    found = kept(at(text), 120)
    assert found is not None
    assert text.endswith(found)
    assert found.startswith("守灯人第")


def test_what_remains_always_ends_at_the_cursor_and_is_as_long_as_whole_paragraphs_allow() -> None:
    rng = random.Random(4)
    for seed in range(60):
        text = prose(seed, 25)
        cursor, room = rng.randint(0, len(text)), rng.randint(1, 400)
        whole = at(text, cursor)
        found = kept(whole, room)
        before = text[:cursor].rstrip()
        assert found is None or before.endswith(found)
        cut = whole.fit(TOKENIZER, room)
        if cut is None or not found or cut.start <= whole.begin:
            continue
        if cut.start in whole.paragraphs.starts:
            earlier = whole.paragraphs.starts[whole.paragraphs.starts.index(cut.start) - 1]
            assert TOKENIZER.count(before[earlier:] + BLOCK_SEPARATOR) > room


def test_a_window_does_not_keep_white_space_before_the_cursor() -> None:
    assert kept(at("One.\n\nTwo.  \n\n   "), 100) == "One.\n\nTwo."
    assert at(" \n\n \n").is_empty
    assert kept(at(" \n\n \n"), 100) == ""


def test_a_cursor_at_the_beginning_has_an_empty_window() -> None:
    found = at("One.\n\nTwo.", 0)
    assert found.is_empty
    assert kept(found, 100) == ""


def test_no_room_at_all_keeps_nothing() -> None:
    assert at("One. Two. Three.").fit(TOKENIZER, 0) is None


def test_a_window_reaches_back_no_further_than_it_is_told_and_begins_with_a_paragraph() -> None:
    text = "\n\n".join(f"Paragraph {n}." for n in range(1000))
    found = at(text, reach=500)
    assert 500 <= len(text) - found.begin < 600
    assert text[found.begin :].startswith("Paragraph ")


def test_the_cost_from_any_beginning_is_that_of_the_text_as_sent() -> None:
    rng = random.Random(9)
    for seed in range(40):
        found = at(prose(seed, 20))
        for start in rng.sample(found.paragraphs.starts, min(5, len(found.paragraphs.starts))):
            text = found.text_from(start)
            assert found.count_tokens_from(TOKENIZER, start) == (TOKENIZER.count(text + BLOCK_SEPARATOR) if text else 0)


def test_a_short_last_paragraph_does_not_hide_the_long_one_before_it() -> None:
    """What whole paragraphs leave of the room goes to sentences of the paragraph in front of them."""
    text = sentences_of(200) + "\n\nShe"
    found = kept(at(text), 2000)
    assert found is not None
    assert found.endswith("\n\nShe")
    assert TOKENIZER.count(found) > 1500


@pytest.mark.parametrize("ending", ["", "\n\nShe looked up."])
@pytest.mark.parametrize("words", ["word ", "字", "x", "!", "灯灭了。", "\u3000", "/"])
def test_five_million_characters_without_a_line_break_are_windowed(words: str, ending: str) -> None:
    text = words * (5_000_000 // len(words)) + ending
    found = at(text, reach=100_000)
    cut = found.fit(TOKENIZER, 3000)
    assert cut is None or cut.tokens <= 3000
    if text.strip():
        assert cut is not None
        assert text.rstrip().endswith(found.text_from(cut.start))


def test_a_huge_paragraph_in_the_middle_is_not_counted_and_not_taken_whole() -> None:
    text = "Before.\n\n" + "word " * (HUGE_PARAGRAPH // 4) + "\n\nAfter it.\n\nHere."
    cut = at(text).fit(TOKENIZER, 50_000)
    assert cut is not None
    assert cut.start > 0
    assert at(text).text_from(cut.start).endswith("After it.\n\nHere.")
    assert cut.tokens <= 50_000


@pytest.mark.parametrize("name", ["llama2", "mistral_v1", "llama3", "gemma3", "qwen3", "cautious"])
def test_other_vocabularies_never_count_a_window_below_its_cost(name: str) -> None:
    tokenizer: Tokenizer = ByteTokenizer() if name == "cautious" else load_encoding(name)
    for seed in range(20):
        found = at(prose(seed, 25))
        cut = found.fit(tokenizer, 300)
        if cut is not None:
            assert tokenizer.count(found.text_from(cut.start) + BLOCK_SEPARATOR) <= cut.tokens <= 300


def test_a_plain_fragment_becomes_a_stretch_of_the_same_text() -> None:
    fragment = Fragment(
        source="given", layer=Layer.IMMEDIATE, text="One.\n\nTwo.", project_id="p", part=Part.WINDOW, title="T"
    )
    found = as_text_window(fragment)
    assert found.text_from(found.begin) == "One.\n\nTwo."
    assert (found.source, found.title, found.project_id) == ("given", "T", "p")
    assert as_text_window(found) is found


def test_sentences_of_the_last_paragraph_are_all_that_fit() -> None:
    rng = random.Random(12)
    for _ in range(40):
        words, joint = rng.choice(((ENGLISH, " "), (CHINESE, "")))
        text = joint.join(rng.choice(words) for _ in range(400)).strip()
        room = rng.randint(20, 120)
        found = kept(at(text), room)
        assert found is not None
        start = len(text) - len(found)
        earlier = [place for place in find_sentence_starts(text) if place < start]
        if start in find_sentence_starts(text) and earlier:
            assert TOKENIZER.count(text[earlier[-1] :] + BLOCK_SEPARATOR) > room
