"""Edges of Chinese words: is this a name standing by itself, or a piece of other words?

There are no spaces to lean on. A segmenter that knows the names decides: a name must begin where a word
begins, so that 树林远处 does not mention 林远. Four things it gets wrong are put right here:

- a long name (three characters and more) is hardly ever an accident, and stands wherever it occurs;
- a conjunction may have been swallowed: 和丽丽 is a word of the dictionary, and yet means "and 丽丽";
- a person's name that goes on, as 桥本 does in 桥本龙太郎, is another person's;
- a person's name in front of a place or an institution (伏羲庙, 任岩松中学) names that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rjieba import Jieba

NEAR = 24  # characters each side of a hit that the segmenter is shown
LONG = 3
_FREQUENCY = 1000
_SWALLOWED = frozenset("和与跟同及比对把被让给向从问叫见找请学为由使令替帮闻言呼候宣遣奏谓投擒斩")
_PLACES = frozenset("庙祠桥路街村镇县市寺亭塔墓林洞店")
_INSTITUTIONS = frozenset(("中学", "小学", "大学", "学院", "医院", "图书馆", "机场", "书院", "纪念馆", "广场", "公园"))
_TITLES = frozenset(
    (
        "太后",
        "皇帝",
        "皇后",
        "先生",
        "女士",
        "小姐",
        "夫人",
        "太太",
        "公主",
        "王子",
        "大人",
        "将军",
        "丞相",
        "老师",
        "姑娘",
    )
)
_DASHES = "—–"


class Edges:
    """A segmenter that learns names as they are met; names that do not occur cannot change an answer."""

    def __init__(self) -> None:
        self._segmenter: Jieba | None = None
        self._known: set[str] = set()

    def learn(self, names: Iterable[str]) -> None:
        """Names that occur in the text about to be judged."""
        for name in names:
            if name not in self._known:
                if self._segmenter is None:
                    self._segmenter = Jieba()
                self._segmenter.add_word(name, _FREQUENCY, "nr")
                self._known.add(name)

    def stands(self, text: str, start: int, end: int, *, person: bool) -> bool:
        """Does a name stand here by itself?"""
        if end - start == 1:
            return not _han(text, start - 1) and not _han(text, end)
        if person and start > 1 and text[start - 1] in _DASHES and _han(text, start - 2):
            return False  # one dash joins (道—琼斯); two of them are a pause
        word, place, after = self._word_at(text, start, end)
        if place < start:
            swallowed = place == start - 1 and place + len(word) == end and word[0] in _SWALLOWED
            return swallowed or end - start >= LONG
        return not person or not _goes_on(word[end - start :], after)

    def _word_at(self, text: str, start: int, end: int) -> tuple[str, int, str]:
        """The word in which the name begins, where that begins, and the word behind it."""
        assert self._segmenter is not None
        place = left = max(0, start - NEAR)
        words = iter(self._segmenter.cut(text[left : end + NEAR], False))
        for word in words:
            if place + len(word) > start:
                return word, place, next(words, "")
            place += len(word)
        return text[start:end], start, ""


def _goes_on(rest: str, after: str) -> bool:
    """Is what follows a person's name more of a longer name?"""
    if not rest:
        return after in _PLACES or after in _INSTITUTIONS
    return rest in _PLACES if len(rest) == 1 else rest not in _TITLES and _is_person(rest)


@lru_cache(maxsize=4096)
def _is_person(word: str) -> bool:
    tagged = _plain().tag(word, False)
    return len(tagged) == 1 and tagged[0][1].startswith("nr")


@lru_cache(maxsize=1)
def _plain() -> Jieba:
    """A segmenter that knows no names but the dictionary's."""
    return Jieba()


def _han(text: str, at: int) -> bool:
    return 0 <= at < len(text) and "\u3400" <= text[at] <= "\u9fff"
