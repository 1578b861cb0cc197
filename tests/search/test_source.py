"""Passages of the manuscript that bear on what is being written, none of them a spoiler or a repetition."""

from __future__ import annotations

import pytest

from fabula.context.result import Result
from fabula.core.fragments import Layer
from fabula.core.scale import PASSAGE
from fabula.manuscript.model import Document
from tests.manuscript.stories import ask, chapter, everything, filler, sources, story


def marked(word: str, words: int = 900) -> str:
    """A chapter with a rare word in the middle of it."""
    return filler(words // 2) + f"\n\nThe {word} lay on the table, and the {word} was broken.\n\n" + filler(words // 2)


def long_chapter(paragraphs: int) -> str:
    """Long words, so that a token is many characters; every paragraph has a word of its own."""
    words = ("lantern", "harbour", "yesterday", "whispering", "remembered", "particular", "afterwards", "wonderful")
    return "\n\n".join(" ".join(words * 8) + f" marker{n:03}x." for n in range(paragraphs))


def window_of(result: Result) -> str:
    return result.prompt.split("[The text up to the cursor]\n")[1].split("\n\n(The cursor stands")[0]


def test_a_passage_of_an_earlier_chapter_is_found_by_what_is_asked() -> None:
    fabula = story(chapter(1, marked("astrolabe")), *[chapter(n, filler(2000, f"tide{n}")) for n in (2, 3)])
    result = ask(fabula, additional_input="What happened to the astrolabe?")
    found = [verdict for verdict in result.trace if verdict.source.startswith("search:ch-1#") and verdict.included]
    assert any("astrolabe" in verdict.text for verdict in found)
    assert all(verdict.layer is Layer.RETRIEVED for verdict in found)
    assert all(PASSAGE[0] <= verdict.score <= PASSAGE[1] + 1e-9 for verdict in found)
    assert "[From Chapter 1]" in result.prompt


def test_a_passage_is_known_from_where_it_ends() -> None:
    for cursor in range(0, 4000, 500):
        text = marked("astrolabe")
        result = ask(story(chapter(1, text)), cursor=min(cursor, len(text)), window=2000, additional_input="astrolabe")
        assert "astrolabe lay" not in everything(result) or text.index("astrolabe lay") < cursor + 500


@pytest.mark.parametrize("skill", ["continue", "rewrite", "chat"])
def test_passages_of_later_chapters_are_never_told(skill: str) -> None:
    fabula = story(chapter(1, filler(900)), chapter(2, filler(900)), chapter(3, marked("astrolabe")))
    for document in ("ch-1", "ch-2"):
        result = ask(fabula, document_id=document, skill_id=skill, additional_input="astrolabe table broken")
        assert "astrolabe lay" not in everything(result)


def test_in_a_flashback_passages_of_what_happens_later_stay_out() -> None:
    book = [chapter(1, marked("astrolabe")), chapter(2, filler(900), when=0.5), chapter(3, filler(900))]
    fabula = story(*book)
    assert "astrolabe lay" not in everything(ask(fabula, document_id="ch-2", additional_input="astrolabe"))
    assert "astrolabe lay" in ask(fabula, document_id="ch-3", additional_input="astrolabe").prompt


@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
def test_passages_from_behind_the_cursor_of_this_chapter_are_never_told(place: float) -> None:
    text = long_chapter(300)
    cursor = int(len(text) * place)
    wanted = " ".join(f"marker{n:03}x" for n in range(0, 300, 10))
    fabula = story(chapter(1, text))
    for skill in ("continue", "plan"):
        result = ask(fabula, cursor=cursor, window=8192, additional_input=wanted, skill_id=skill)
        for verdict in result.trace:
            if verdict.source.startswith("search:") and verdict.included:
                assert text.index(verdict.text.split("] ", 1)[1][-30:]) < cursor


@pytest.mark.parametrize("cursor", [None, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("size", [4096, 8192, 32_000])
def test_what_the_window_shows_is_not_told_again_as_a_passage(size: int, cursor: float | None) -> None:
    text = long_chapter(400)
    at = None if cursor is None else int(len(text) * cursor)
    wanted = " ".join(f"marker{n:03}x" for n in range(0, 400, 5))
    fabula = story(chapter(1, text))
    result = ask(fabula, cursor=at, window=size, additional_input=wanted)
    shown = window_of(result)
    for verdict in result.trace:
        if verdict.source.startswith("search:") and verdict.included:
            assert verdict.text.split("] ", 1)[1][-30:] not in shown


def test_words_typed_before_the_cursor_do_not_turn_what_follows_it_into_the_past() -> None:
    text = filler(700) + "\n\n" + marked("astrolabe")
    typed = filler(6000, "gull")
    cursor = len(typed) + 100
    result = ask(
        story(chapter(1, text)), unsaved_text=typed + text, cursor=cursor, window=4096, additional_input="astrolabe"
    )
    assert "astrolabe lay" not in everything(result)


def test_passages_told_before_stay_in_their_place() -> None:
    fabula = story(chapter(1, marked("astrolabe")), chapter(2, marked("sextant")), chapter(3, filler(900)))
    first = fabula.request(additional_input="astrolabe", cursor=2000)
    fabula.commit(first, fabula.assemble(first))
    told = sources(ask(fabula, additional_input="astrolabe", cursor=2000), "search:")
    assert set(told) <= set(sources(ask(fabula, additional_input="", cursor=2010), "search:"))


def test_search_fills_no_more_than_half_of_the_retrieved_share() -> None:
    book = [chapter(n, marked("astrolabe", 4000)) for n in range(1, 30)]
    fabula = story(*book, Document("last", "Last", filler(50)))
    result = ask(fabula, additional_input="astrolabe table broken", window=8192)
    spent = sum(v.tokens for v in result.trace if v.source.startswith("search:") and v.included)
    assert 0 < spent <= result.budget.shares[Layer.RETRIEVED] * 0.6


def test_a_chinese_passage_is_found_by_its_characters() -> None:
    rest = "潮水涨了又退，石头还是石头。" * 60
    text = f"{rest}\n\n星盘放在桌上，已经碎了。\n\n{rest}"
    book = [Document("a", "第一章", text), *(Document(f"b{n}", f"第{n}章", f"{rest}{n}") for n in range(9))]
    result = ask(story(*book, language="zh"), additional_input="星盘在哪里？")
    assert "[第一章·原文]" in result.prompt
    assert "星盘放在桌上" in result.prompt


def test_an_excluded_passage_stays_out() -> None:
    fabula = story(chapter(1, marked("astrolabe")), *[chapter(n, filler(2000, f"tide{n}")) for n in (2, 3)])
    told = sources(ask(fabula, additional_input="astrolabe"), "search:ch-1#")
    assert told
    result = ask(fabula, additional_input="astrolabe", exclude=tuple(told))
    assert not set(told) & set(sources(result))
