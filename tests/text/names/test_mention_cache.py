"""Names in the sections of a text: the same as in the text itself, and found once."""

from __future__ import annotations

from random import Random

import pytest

from fabula.text.names.matcher import NameMatch, NameMatcher
from fabula.text.names.mention_cache import MAX_SECTION_CHARACTERS, SECTION_PARAGRAPHS, MentionCache
from fabula.text.tokens.paragraphs import Paragraphs

NAMES = NameMatcher({"mara": ["Mara"], "otto": ["Otto"]})
_BITS = ("word", " ", ".", "\n", "\n\n", "。", "他们", "Mr.", " Mara ", " Otto ")


class CountingFinder:
    """Finds names, and remembers which texts were searched."""

    def __init__(self) -> None:
        self.searched: list[str] = []

    def find(self, text: str) -> list[NameMatch]:
        self.searched.append(text)
        return [*NAMES.find(text)]


def searched_around(text: str, inside: str) -> list[str]:
    finder = CountingFinder()
    start = text.index(inside)
    Paragraphs(text).mention_cache.find_between(finder.find, start, start + len(inside))
    return finder.searched


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a line of Anna\n", "Pavlovna goes on\n\n"),
        ("He met Mr.\n", "Darcy there.\n\n"),
    ],
)
def test_a_section_does_not_end_inside_a_sentence(before: str, after: str) -> None:
    text = "One.\n\n" * (SECTION_PARAGRAPHS - 1) + before + after + "Another.\n\n" * 3
    assert searched_around(text, before.strip())[0].endswith(before + after)


@pytest.mark.parametrize("end", ["landed.\n", "来了。\n", "word\n\n"])
def test_a_section_ends_with_a_sentence(end: str) -> None:
    text = end * (2 * SECTION_PARAGRAPHS)
    assert searched_around(text, end) == [end * SECTION_PARAGRAPHS]


@pytest.mark.parametrize(("text", "searched"), [("", [""]), ("\n\nalone", ["alone"])])
def test_a_short_text_is_one_section(text: str, searched: list[str]) -> None:
    assert searched_around(text, text.strip()) == searched


def test_mentions_between_two_offsets_are_those_of_the_text() -> None:
    chance = Random(3)
    for _ in range(200):
        text = "".join(chance.choice(_BITS) for _ in range(chance.randint(1, 600)))
        expected = [(match.start, match.owner) for match in NAMES.find(text)]
        cache = Paragraphs(text).mention_cache
        for _ in range(12):
            start = chance.randint(0, len(text))
            end = chance.randint(start, len(text))
            mentions = cache.find_between(NAMES.find, start, end)
            assert mentions is not None
            assert [(at, match.owner) for at, match in mentions] == [one for one in expected if start <= one[0] <= end]
            assert all(text[at : at + len(match.surface)] == match.surface for at, match in mentions)


def test_a_section_is_searched_once() -> None:
    text = "\n\n".join(f"Mara said {n}." for n in range(3 * SECTION_PARAGRAPHS))
    finder, cache = CountingFinder(), Paragraphs(text).mention_cache
    for n in range(SECTION_PARAGRAPHS, 2 * SECTION_PARAGRAPHS):
        cache.find_between(finder.find, text.index(f"said {n}."), text.index(f"said {n}.") + 1)
    assert len(finder.searched) == 1


def test_other_names_are_searched_anew() -> None:
    others = NameMatcher({"ines": ["Ines"]})
    cache = Paragraphs("Mara met Ines.").mention_cache
    for _ in range(2):
        for names, owner, offset in ((NAMES, "mara", 0), (others, "ines", 9)):
            mentions = cache.find_between(names.find, 0, 14)
            assert mentions is not None
            assert [(at, match.owner) for at, match in mentions] == [(offset, owner)]


def test_endless_paragraphs_are_not_searched_whole() -> None:
    text = "Mara and on and on " * MAX_SECTION_CHARACTERS
    assert Paragraphs(text).mention_cache.find_between(NAMES.find, 100, 200) is None


def test_a_text_without_sentence_ends_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, looked = 20_000, 0
    begins_sentence = MentionCache._begins_sentence

    def count(cache: MentionCache, start: int) -> bool:
        nonlocal looked
        looked += 1
        return begins_sentence(cache, start)

    monkeypatch.setattr(MentionCache, "_begins_sentence", count)
    cache = Paragraphs("a\n" * lines).mention_cache
    for offset in (2 * lines - 10, lines, 500, lines, 2 * lines - 40):
        cache.find_between(NAMES.find, offset, offset + 10)
        cache.count_in_scene(NAMES.find, offset)
    assert looked <= 2 * lines
