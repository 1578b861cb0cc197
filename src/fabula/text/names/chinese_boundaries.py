"""Edges of Chinese words: is this a name standing by itself, or a piece of other words?

There are no spaces to lean on. A segmenter that knows the names decides: a name must begin where a word
begins, so that 树林远处 does not mention 林远. What it gets wrong is put right here:

- a long name (three characters and more) is hardly ever an accident, and stands wherever it occurs;
- its dictionary takes for one word what are two, 于孙权 or 学雷锋: a whole name that the story knows comes before
  those, and a conjunction may have been swallowed (和丽丽 means "and 丽丽");
- somebody's own surname may stand before another name of theirs: 刘玄德 is 玄德;
- a person's name that goes on, as 桥本 does in 桥本龙太郎, or that follows another (道—琼斯), is another person's;
- a person's name in front of a place or an institution (伏羲庙, 任岩松中学) names that;
- a person's name that begins a longer ordinary word (高峰 in 高峰期) is a piece of it.

Whether a person's name that is also a word is meant as the one or the other is asked in `ordinary`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Set
from functools import lru_cache

from msgspec import Struct
from rjieba import Jieba

from fabula.text.names.ambiguous import is_the_word
from fabula.text.names.surnames import DOUBLE, PLAIN
from fabula.text.word_set import listed

NEAR = 24  # characters each side of a hit that the segmenter is shown
LONG = 3
_FREQUENCY = 1000
_PLACES = frozenset("庙祠桥路街村镇县市寺亭塔墓林洞店")
_INSTITUTIONS = listed("中学 小学 大学 学院 医院 图书馆 机场 书院 纪念馆 广场 公园")
_TITLES = listed("太后 皇帝 皇后 先生 女士 小姐 夫人 太太 公主 王子 大人 将军 丞相 老师 姑娘")
_JOINS = frozenset("—–-－·・•‧")  # between the parts of one foreign name
_SOUNDS = frozenset("斯尔姆特克德普弗蒂茨恩顿莱")  # which foreign names are full of


class Seat(Struct, frozen=True, gc=False):
    """The word in which a name begins, where that begins, and the words before and behind it."""

    word: str
    place: int
    before: str
    after: str


class Edges:
    """A segmenter that learns names as they are met; names that do not occur cannot change an answer."""

    def __init__(self) -> None:
        self._segmenter: Jieba | None = None
        self._turn = threading.Lock()  # it cannot learn while it is asked
        self.known: set[str] = set()

    def learn(self, names: Iterable[str]) -> None:
        """Names that occur in the text about to be judged."""
        for name in names:
            if name not in self.known:
                with self._turn:
                    if self._segmenter is None:
                        self._segmenter = Jieba()
                    self._segmenter.add_word(name, _FREQUENCY, "nr")
                    self.known.add(name)

    def stands(self, text: str, start: int, end: int, *, person: bool, kin: Set[str] = frozenset()) -> bool:
        """Does a name stand here by itself? `kin` is what its owner is called besides, and their surnames."""
        if end - start == 1:
            return not _han(text, start - 1) and not _han(text, end)
        name = text[start:end]
        if person and start > 1 and text[start - 1] in _JOINS and _han(text, start - 2) and _foreign(name):
            return _their_own(text, start - 1, kin)  # two of them are a pause
        seat = self._seat(text, start, end)
        if seat.place < start:
            return len(name) >= LONG or _begins_anyway(seat, name, start, end) or _their_own(text, start, kin)
        rest = seat.word[end - start :]
        if not person:
            return True
        if _goes_on(rest, seat.after) or _somebody_elses(seat, name, kin):
            return False
        return len(name) >= LONG or not (_begins_word(name, seat.word, rest) or _is_word(name, seat, rest))

    def _seat(self, text: str, start: int, end: int) -> Seat:
        assert self._segmenter is not None
        place = max(0, start - NEAR)
        before = ""
        with self._turn:
            words = iter(self._segmenter.cut(text[place : end + NEAR], False))
        for word in words:
            if place + len(word) > start:
                return Seat(word, place, before, next(words, ""))
            place, before = place + len(word), word
        return Seat(text[start:end], start, before, "")


def _whole(name: str) -> bool:
    """Is it a surname with a name behind it?"""
    return name[0] in PLAIN or name[:2] in DOUBLE


def _foreign(name: str) -> bool:
    """Is it written for its sound, or at least not like a name with a surname?"""
    return not _whole(name) or not _SOUNDS.isdisjoint(name)


def _begins_anyway(seat: Seat, name: str, start: int, end: int) -> bool:
    """Is a word of the dictionary this name with something small stuck to its front?"""
    if seat.place != start - 1 or seat.place + len(seat.word) != end or _tag(name)[:2] not in ("nr", ""):
        return False
    if _whole(name):
        return _tag(seat.word).startswith("nr") or not _is_name(seat.word)
    return _tag(seat.word[0]).startswith(("c", "p", "v", "zg"))


def _begins_word(name: str, word: str, rest: str) -> bool:
    """Is this a longer word, and not two words in one (明治维新, 雷锋精神)?"""
    if rest in ("", "的") or _whole(name) or _is_name(word):
        return False
    tag = _tag(word)
    if tag in ("i", "l"):  # 愚公移山 speaks of 愚公
        return not _tag(name).startswith("n")
    return tag != "" and not (len(rest) > 1 and _plain().has_word(rest))


def _is_word(name: str, seat: Seat, rest: str) -> bool:
    return _plain().has_word(name) and is_the_word(_tag(name), seat.before, rest or seat.after)


def _their_own(text: str, start: int, kin: Set[str]) -> bool:
    return any(text.startswith(one, start - len(one)) for one in kin if len(one) <= start)


def _somebody_elses(seat: Seat, name: str, kin: Set[str]) -> bool:
    """A given name behind a surname that is not their own: 李建国 where 王建国 is known."""
    if _whole(name) or kin.isdisjoint(PLAIN | DOUBLE):
        return False
    return (seat.before in PLAIN or seat.before in DOUBLE) and seat.before not in kin


def _goes_on(rest: str, after: str) -> bool:
    """Is what follows a person's name more of a longer name?"""
    if not rest:
        return after in _PLACES or after in _INSTITUTIONS
    return rest in _PLACES if len(rest) == 1 else rest not in _TITLES and _is_name(rest)


def _is_name(word: str) -> bool:
    return _tag(word).startswith(("nr", "ns", "nt", "nz"))


@lru_cache(maxsize=8192)
def _tag(word: str) -> str:
    """What the dictionary takes a word for; nothing where it does not know it."""
    tagged = _plain().tag(word, False)
    return tagged[0][1] if len(tagged) == 1 else ""


@lru_cache(maxsize=1)
def _plain() -> Jieba:
    """A segmenter that knows no names but the dictionary's."""
    return Jieba()


def _han(text: str, at: int) -> bool:
    return 0 <= at < len(text) and "\u3400" <= text[at] <= "\u9fff"
