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

_UNSPACED_RUN = re.compile(r"[\u3400-\u9fff\uac00-\ud7af]{2,}")
_LETTERS = re.compile(r"[a-z\u00df-\u024f\u0370-\u052f]{2,}")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]+")
_FIRST_UNSPACED = "\u3400"
_UNSPACED_CHARACTER = re.compile(r"[\u3000-\u9fff\uac00-\ud7af\uff00-\uff60]")
_SAMPLE = 2000  # characters at the beginning of a text that decide its script

_FUNCTION_WORDS = """
    a about above after again against ago all almost alone along already also although always am among an and
    another any anybody anyone anything are around as aside ask asked at away back be became because become been before
    began begin begun behind being below beside between beyond both but by call called came can cannot come could couldn
    day days did didn do does doesn doing don done down during each eh either else end enough even ever every everybody
    everyone everything except eyes face far feel felt few first for found from full gave get give given go goes going
    gone good got great had hadn half hand hands hardly has hasn have haven having he head hear heard held her here hers
    herself him himself his how however if in indeed instead into is isn it its itself just keep kept knew know known
    last later least left less let like little long look looked looking looks made make man many may me mean men might
    mind mine moment more most much must my myself near need neither never new next no nobody none nor not nothing now
    of off often oh old on once one only onto or other others our ours out over own part people perhaps place put quite
    rather really right round said same saw say saying says see seem seemed seems seen several shall she should side
    since so some somebody someone something soon still such take taken tell than that the their theirs them themselves
    then there these they thing things think this those though thought three through thus till time to together told too
    took toward towards turn turned two under until up upon us use used very voice want wanted was wasn way we well went
    were weren what whatever when where whether which while who whole whom whose why will with within without won word
    words would wouldn year years yes yet you young your yours yourself ll ve re mr mrs miss sir
"""
_STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
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
