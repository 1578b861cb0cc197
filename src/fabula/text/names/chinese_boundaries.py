"""Decide whether a Chinese name stands by itself or is part of other words (cdx-3).

Chinese has no spaces. A segmenter that knows the names decides: a name must begin where a word begins, so that
树林远处 does not mention 林远. These rules correct the segmenter:

- a name of three or more characters is hardly ever an accident, and counts wherever it occurs;
- the dictionary has words that are two words, 于孙权 or 学雷锋: a full name that the story knows outranks them, and a
  conjunction may be part of such a word (和丽丽 means "and 丽丽");
- the owner's own surname may stand before another of their names: 刘玄德 is 玄德;
- a name that continues, as 桥本 does in 桥本龙太郎, or that follows another one (道—琼斯), is somebody else's;
- a person's name in front of a place or an institution (伏羲庙, 任岩松中学) names that place;
- a person's name that begins a longer ordinary word (高峰 in 高峰期) is part of that word.

`ambiguous.py` decides whether a person's name that is also a word is meant as the name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.text.names.ambiguous import is_chinese_word_between
from fabula.text.names.surnames import DOUBLE_SURNAMES, UNAMBIGUOUS_SURNAMES
from fabula.text.segmenter import find_tag, load_segmenter, make_segmenter
from fabula.text.word_list import load_word_lists

if TYPE_CHECKING:
    from rjieba import Jieba

CONTEXT_CHARACTERS = 24  # on each side of a match that the segmenter is given
LONG_NAME = 3  # characters
_FREQUENCY = 1000
_PLACE_ENDINGS = frozenset("庙祠桥路街村镇县市寺亭塔墓林洞店")
_LISTS = load_word_lists("chinese_names")
_INSTITUTIONS, _TITLES = _LISTS["institutions"], _LISTS["forms_of_address"]
_NAME_JOINTS = frozenset("—–-－·・•‧")  # between the parts of one foreign name
_TRANSCRIPTION = frozenset("斯尔姆特克德普弗蒂茨恩顿莱")  # frequent in foreign names


class SegmentedWord(Struct, frozen=True, gc=False):
    """The word in which a match begins, where that word starts, and the words before and after it."""

    word: str
    start: int
    before: str
    after: str


class ChineseBoundaries:
    """Checks boundaries with a segmenter to which names are added when they first occur in a text."""

    def __init__(self) -> None:
        self._segmenter: Jieba | None = None
        self._lock = threading.Lock()  # a word must not be added while the segmenter is used
        self.known_names: set[str] = set()

    def add_names(self, names: Iterable[str]) -> None:
        """Add names that occur in the text about to be checked; names that do not occur cannot change a result."""
        for name in names:
            if name not in self.known_names:
                with self._lock:
                    if self._segmenter is None:
                        self._segmenter = make_segmenter()
                    self._segmenter.add_word(name, _FREQUENCY, "nr")
                    self.known_names.add(name)

    def is_name_at(
        self, text: str, start: int, end: int, *, is_person: bool, owner_names: Set[str] = frozenset()
    ) -> bool:
        """Does a name stand here by itself? `owner_names` are the owner's other names and their surnames."""
        if end - start == 1:
            return not _is_han(text, start - 1) and not _is_han(text, end)
        name = text[start:end]
        if (
            is_person
            and start > 1
            and text[start - 1] in _NAME_JOINTS
            and _is_han(text, start - 2)
            and _is_foreign(name)
        ):
            return _follows_own_name(text, start - 1, owner_names)  # two joints are a dash
        word = self._segment(text, start, end)
        if word.start < start:
            return (
                len(name) >= LONG_NAME
                or _is_swallowed(word, name, start, end)
                or _follows_own_name(text, start, owner_names)
            )
        rest = word.word[end - start :]
        if not is_person:
            return True
        if _continues(rest, word.after) or _has_other_surname(word, name, owner_names):
            return False
        return len(name) >= LONG_NAME or not (_begins_longer_word(name, word.word, rest) or _is_word(name, word, rest))

    def _segment(self, text: str, start: int, end: int) -> SegmentedWord:
        assert self._segmenter is not None
        at = max(0, start - CONTEXT_CHARACTERS)
        before = ""
        with self._lock:
            words = iter(self._segmenter.cut(text[at : end + CONTEXT_CHARACTERS], False))
        for word in words:
            if at + len(word) > start:
                return SegmentedWord(word, at, before, next(words, ""))
            at, before = at + len(word), word
        return SegmentedWord(text[start:end], start, before, "")


def _is_full_name(name: str) -> bool:
    """Is it a surname with a given name after it?"""
    return name[0] in UNAMBIGUOUS_SURNAMES or name[:2] in DOUBLE_SURNAMES


def _is_foreign(name: str) -> bool:
    """Is it a transcription, or at least not a surname with a given name?"""
    return not _is_full_name(name) or not _TRANSCRIPTION.isdisjoint(name)


def _is_swallowed(word: SegmentedWord, name: str, start: int, end: int) -> bool:
    """Is a word of the dictionary this name with one more character in front?"""
    if word.start != start - 1 or word.start + len(word.word) != end or find_tag(name)[:2] not in ("nr", ""):
        return False
    if _is_full_name(name):
        return find_tag(word.word).startswith("nr") or not _is_proper_noun(word.word)
    return find_tag(word.word[0]).startswith(("c", "p", "v", "zg"))


def _begins_longer_word(name: str, word: str, rest: str) -> bool:
    """Is this a longer ordinary word, and not two words in one (明治维新, 雷锋精神)?"""
    if rest in ("", "的") or _is_full_name(name) or _is_proper_noun(word):
        return False
    tag = find_tag(word)
    if tag in ("i", "l"):  # 愚公移山 speaks of 愚公
        return not find_tag(name).startswith("n")
    return tag != "" and not (len(rest) > 1 and load_segmenter().has_word(rest))


def _is_word(name: str, word: SegmentedWord, rest: str) -> bool:
    return load_segmenter().has_word(name) and is_chinese_word_between(find_tag(name), word.before, rest or word.after)


def _follows_own_name(text: str, start: int, owner_names: Set[str]) -> bool:
    return any(text.startswith(other, start - len(other)) for other in owner_names if len(other) <= start)


def _has_other_surname(word: SegmentedWord, name: str, owner_names: Set[str]) -> bool:
    """Is it a given name after a surname that is not the owner's: 李建国 where 王建国 is known?"""
    if _is_full_name(name) or owner_names.isdisjoint(UNAMBIGUOUS_SURNAMES | DOUBLE_SURNAMES):
        return False
    return (word.before in UNAMBIGUOUS_SURNAMES or word.before in DOUBLE_SURNAMES) and word.before not in owner_names


def _continues(rest: str, after: str) -> bool:
    """Is what follows a person's name part of a longer name?"""
    if not rest:
        return after in _PLACE_ENDINGS or after in _INSTITUTIONS
    return rest in _PLACE_ENDINGS if len(rest) == 1 else rest not in _TITLES and _is_proper_noun(rest)


def _is_proper_noun(word: str) -> bool:
    return find_tag(word).startswith(("nr", "ns", "nt", "nz"))


def _is_han(text: str, at: int) -> bool:
    return 0 <= at < len(text) and "\u3400" <= text[at] <= "\u9fff"
