"""Passages: cut along scenes and paragraphs, and cut again only where something was edited."""

from __future__ import annotations

import time
from itertools import pairwise
from random import Random

import pytest

from fabula.search.index.passages import (
    PASSAGE_CHARACTERS,
    UNSPACED_PASSAGE_CHARACTERS,
    DocumentText,
    count_new_characters,
    cut_into_passages,
    iterate_paragraphs_back,
)
from tests.manuscript.stories import filler
from tests.text.strings import prose

SENTENCE = "潮水涨了又退，石头还是石头，谁也没有说话。"


def spoken(text: str) -> str:
    """A text without its spaces."""
    return "".join(text.split())


def test_passages_follow_paragraphs_and_lose_nothing() -> None:
    for seed in range(30):
        text = prose(seed, 60)
        passages = cut_into_passages(DocumentText("a", "A", text)).passages
        assert all(text[p.start : p.end] == p.text for p in passages)
        assert all(p.text == p.text.strip() for p in passages)
        assert all(first.end <= second.start for first, second in pairwise(passages))
        assert "".join(spoken(p.text) for p in passages) == spoken(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [(filler(5000), PASSAGE_CHARACTERS), ("\n\n".join([SENTENCE * 3] * 90), UNSPACED_PASSAGE_CHARACTERS)],
)
def test_passages_aim_at_their_size(text: str, size: int) -> None:
    passages = cut_into_passages(DocumentText("a", "A", text)).passages
    assert len(passages) > 10
    assert all(size // 3 <= len(passage.text) <= 3 * size for passage in passages)


def test_an_empty_document_has_no_passages() -> None:
    assert cut_into_passages(DocumentText("a", "A", "")).passages == ()
    assert cut_into_passages(DocumentText("a", "A", " \n\n　　\n ")).passages == ()
    assert cut_into_passages(DocumentText("a", "A", "* * *\n\n***")).passages == ()


@pytest.mark.parametrize("mark", ["* * *", "***", "#", "———", "---", "⁂", "　　＊＊＊".replace("＊", "*"), "~ ~ ~"])
def test_no_passage_reaches_over_the_end_of_a_scene(mark: str) -> None:
    thread = cut_into_passages(DocumentText("a", "A", f"She left.\n\n{mark}\n\nYears went by.\n{mark}\nShe came back."))
    assert [passage.text for passage in thread.passages] == ["She left.", "Years went by.", "She came back."]


def test_blank_lines_end_a_scene_where_they_are_rare() -> None:
    first, second = "\n".join(["The tide came in. " * 5] * 20), "\n".join(["It went out again. " * 5] * 20)
    passages = cut_into_passages(DocumentText("a", "A", f"{first}\n\n{second}")).passages
    assert not [p for p in passages if "came in" in p.text and "went out" in p.text]
    wide = "\n\n".join(["The tide came in. " * 5] * 20) + "\n\n\n" + "\n\n".join(["It went out again. " * 5] * 20)
    assert not [
        p
        for p in cut_into_passages(DocumentText("a", "A", wide)).passages
        if "came in" in p.text and "went out" in p.text
    ]


def test_blank_lines_between_all_paragraphs_mean_nothing() -> None:
    passages = cut_into_passages(
        DocumentText("a", "A", "\n\n".join(f"A short line, number {n}." for n in range(200)))
    ).passages
    assert all(passage.text.count("\n\n") >= 3 for passage in passages)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = " ".join(f"This is sentence number {n} of a paragraph that goes on." for n in range(80))
    assert all(passage.text.endswith(".") for passage in cut_into_passages(DocumentText("a", "A", text)).passages)
    wide = "".join(f"第{n}句写在同一段里，没有换行。" for n in range(80))
    assert all(passage.text.endswith("。") for passage in cut_into_passages(DocumentText("a", "A", wide)).passages)


@pytest.mark.parametrize("unit", ["x", "灯", "word ", "abc def. ", "灯塔没有亮，", "\u0301"])
def test_five_million_characters_without_a_paragraph_are_cut_in_bounded_time(unit: str) -> None:
    text = unit * (5_000_000 // len(unit))
    start = time.monotonic()
    passages = cut_into_passages(DocumentText("a", "A", text)).passages
    assert time.monotonic() - start < 60
    assert all(len(passage.text) <= 3 * PASSAGE_CHARACTERS for passage in passages)
    assert sum(len(spoken(passage.text)) for passage in passages) == len(spoken(text))


def test_a_passage_is_named_by_its_words_and_keeps_its_name_when_something_is_added_further_up() -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "the tide came in over the stones. " * 8 for n in range(12))
    first = cut_into_passages(DocumentText("a", "A", text))
    second = cut_into_passages(DocumentText("a", "A", "A new beginning. " * 20 + "\n\n" + text))
    names = [passage.source for passage in first.passages]
    assert all(name.startswith("search:a#") for name in names)
    assert set(names[1:]) <= {passage.source for passage in second.passages}


def test_words_that_come_again_have_names_of_their_own() -> None:
    verse = "Row, brothers, row, and do not look at the shore. " * 3
    passages = cut_into_passages(DocumentText("a~b#c", "A", "\n\n".join([verse] * 5))).passages
    assert len({passage.source for passage in passages}) == len(passages) == 5


def test_an_edited_text_is_cut_as_if_it_had_never_been_otherwise() -> None:
    for seed in range(400):
        random = Random(seed)
        parts = [prose(random.randrange(10_000), random.randrange(1, 20)) for _ in range(random.randrange(1, 4))]
        old = random.choice(["\n\n* * *\n\n", "\n\n\n", "\n\n"]).join(parts)
        if random.random() < 0.3:
            old = old.replace("\n\n", "\n")
        start = random.randrange(len(old) + 1)
        end = min(start + random.choice([0, 0, 5, 50, 500, 3000]), len(old))
        new = old[:start] + random.choice(["", "x", " word.", "\n\n", "\n\n* * *\n\n", prose(seed, 3)]) + old[end:]
        before, after = DocumentText("a", "A", old), DocumentText("a", "A", new)
        assert cut_into_passages(after, (before, cut_into_passages(before))) == cut_into_passages(after), seed


def test_what_is_far_from_an_edit_is_the_very_same() -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "the tide came in over the stones. " * 8 for n in range(200))
    before = DocumentText("a", "A", text)
    known = cut_into_passages(before)
    at = text.index("Paragraph 100")
    again = cut_into_passages(DocumentText("a", "A", text[:at] + "Now. " + text[at:]), (before, known))
    same = {id(passage) for passage in known.passages} & {id(passage) for passage in again.passages}
    assert len(same) > 90
    assert sum(p.text is q.text for p, q in zip(known.passages[-90:], again.passages[-90:], strict=True)) == 90


def test_another_title_or_other_witnesses_reach_every_passage() -> None:
    before = DocumentText("a", "A", filler(900))
    known = cut_into_passages(before)
    renamed = cut_into_passages(DocumentText("a", "B", before.text, frozenset({"mara"})), (before, known))
    assert {(passage.title, passage.known_to) for passage in renamed.passages} == {("B", frozenset({"mara"}))}


def test_how_much_was_rewritten_is_seen_without_reading_what_was_not() -> None:
    text = filler(20_000)
    assert count_new_characters(text, text) == 0
    assert count_new_characters(text, text[:60_000] + "gull" + text[60_000:]) <= 4
    assert count_new_characters("", text) == len(text)


def test_paragraphs_before_a_place_say_where_a_scene_begins() -> None:
    text = "She left.\n\n* * *\n\nYears went by.\n\nShe came back.\n"
    assert list(iterate_paragraphs_back(text, 0, len(text))) == [
        ("She came back.", 1, False),
        ("Years went by.", 17, True),
        ("She left.", 40, False),
    ]
    assert [body for body, _, _ in iterate_paragraphs_back(text, text.index("came"), len(text))] == ["came back."]
    assert list(iterate_paragraphs_back("", 0, 0)) == []
