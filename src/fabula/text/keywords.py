"""Extract the keywords of a text: its content words, without the words that every text uses.

English words are separated by spaces, and a list names the words without content. Chinese is read as pairs of
characters, and a pair with a particle in it has no content. A word with a capital in the middle of a sentence counts
as a name. The result depends on the text alone, so it can be stored with the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set
from itertools import pairwise

from fabula.text.word_list import load_word_lists

_UNSPACED_RUN = re.compile(r"[\u3400-\u9fff\uac00-\ud7af]{2,}")
_LETTERS = re.compile(r"[a-z\u00df-\u024f\u0370-\u052f]{2,}")
_NAME = re.compile(r" (?<=[a-z,;] )([A-Z\u00c0-\u00de][a-z\u00df-\u00ff]+)")  # a space first: it is found quickly
_FIRST_UNSPACED = "\u3400"
_UNSPACED_CHARACTER = re.compile(r"[\u3000-\u9fff\uac00-\ud7af\uff00-\uff60]")
_SAMPLE = 2000  # characters at the beginning of a text that decide its script

_STOP_WORDS = load_word_lists("stop_words")["keywords"]
_PARTICLES = (
    "的了是一不在有我他这个们来到时大地为子中你说生国年着就那和要她出也得里后自以会可下而过天去能对小多然于心学么之都"
    "好看起发当没成只如事把还用第样道想作种开只其些又与从见被让给向再却很吧吗呢啊呀哦嗯哪谁什怎它两几次便已更最方才"
    "并且或但若因所此彼则即将乃曰矣也者乎焉哉亦吾汝尔夫盖尚叫问听笑走回话"
)
_WORD = re.compile(
    rf"[a-zA-Z\u00c0-\u024f\u0370-\u052f]{{2,}}|(?:(?![{_PARTICLES}])[\u3400-\u9fff\uac00-\ud7af]){{2,}}"
)


def is_unspaced(text: str) -> bool:
    """Is this text mostly written without spaces, as Chinese and Japanese are?"""
    sample = text[:_SAMPLE]
    return not sample.isascii() and 3 * len(_UNSPACED_CHARACTER.findall(sample)) > len(sample)


def split_content_words(text: str) -> list[str]:
    """The content words of a text in order and in lower case; of unspaced text, pairs of characters."""
    words: list[str] = []
    for word in _WORD.findall(text):
        if word < _FIRST_UNSPACED:
            lower = word.lower()
            if lower not in _STOP_WORDS:
                words.append(lower)
        elif len(word) == 2:
            words.append(word)
        else:
            words += map("".join, pairwise(word))
    return words


def find_present_words(text: str, words: Set[str]) -> Set[str]:
    """Which of these words occur in a text; quicker than checking each word of the text."""
    lower = text.lower()
    present = words & set(_LETTERS.findall(lower))
    for run in () if lower.isascii() else _UNSPACED_RUN.findall(lower):
        present |= words & set(map("".join, pairwise(run)))
    return present


def find_capitalised_names(text: str) -> set[str]:
    """Words with a capital where no sentence begins, in lower case."""
    return {name.lower() for name in _NAME.findall(text)} - _STOP_WORDS


def extract_keywords(text: str, limit: int) -> dict[str, float]:
    """The words a text uses most, each with its weight; names count double."""
    counts = Counter(split_content_words(text))
    names = find_capitalised_names(text)
    weights = {word: count * (2.0 if word in names else 1.0) for word, count in counts.items()}
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:limit])
