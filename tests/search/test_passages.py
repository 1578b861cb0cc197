"""Passages and the index over them."""

from __future__ import annotations

from itertools import pairwise

from fabula.search.passages import SIZE, Passages, cut
from fabula.text.terms import terms
from tests.manuscript.stories import filler
from tests.text.strings import prose


def test_words_are_matched_as_they_stand_and_chinese_by_pairs() -> None:
    assert terms("The Lamp's oil, 1912!") == ["the", "lamp's", "oil", "1912"]
    assert terms("灯塔熄灭") == ["灯塔", "塔熄", "熄灭"]
    assert terms("灯") == ["灯"]
    assert terms("。，！ … —") == []


def test_passages_follow_paragraphs_and_lose_nothing() -> None:
    for seed in range(30):
        text = prose(seed, 60)
        passages = cut("a", "A", text)
        assert [passage.number for passage in passages] == list(range(len(passages)))
        assert all(text[p.start : p.end].strip() == p.text for p in passages)
        assert all(first.end <= second.start for first, second in pairwise(passages))
        assert "".join("".join(p.text.split()) for p in passages) == "".join(text.split())


def test_passages_aim_at_their_size() -> None:
    passages = cut("a", "A", filler(5000))
    assert len(passages) > 10
    assert all(SIZE <= passage.end - passage.start <= 2 * SIZE for passage in passages[:-1])


def test_an_empty_document_has_no_passages() -> None:
    assert cut("a", "A", "") == []
    assert cut("a", "A", " \n\n ") == []
    assert Passages([]).scores(["lamp"]) == {}


def test_the_passage_that_shares_rare_words_with_the_question_ranks_first() -> None:
    text = "\n\n".join(filler(120) + (" The astrolabe was broken.\n\n" if n == 7 else "\n\n") for n in range(20))
    passages = Passages([("a", "A", text)])
    scores = passages.scores(terms("Who broke the astrolabe?"))
    best = max(scores, key=lambda at: scores[at])
    assert "astrolabe" in passages.all[best].text


def test_a_passage_is_found_by_its_source() -> None:
    passages = Passages([("a", "A", filler(500)), ("b", "B", filler(500))])
    assert all(passages.all[passages.by_source[passage.source]] is passage for passage in passages.all)
    assert len(passages.by_source) == len(passages.all)
