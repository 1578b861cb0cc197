"""Names that are words as well: what stands around one says which of the two is meant.

Only what can hardly stand beside a name is held against it. In English a sentence hides the difference
behind its capital: "Will you come?" and "Mark my words" go on with somebody or something, as a name does
not; "in May" and "3 June" are times. In Chinese nothing is very 安静 but what is quiet, one counts mountains
of gold and not 金山, and what is done 安静地 is done quietly.
"""

from __future__ import annotations

import re

from fabula.text.word_set import listed

_ENDS = frozenset(".!?…:;\n—")
_OPENERS = "“‘\"'([{*_ \u00a0\u3000"
_TARGET = re.compile(
    r" (?:(?:I|you|he|she|it|we|they|me|him|us|them|my|your|his|her|its|our|their|a|an|this|that|these|those|there"
    r"|not|be)\b|the (?-i:(?![A-Z])))",
    re.IGNORECASE,
)
_VERBS = listed(
    "bill can carry chase chuck don drew grace grant hope jack josh lance mark may nick pat peg pierce rip rob rose "
    "rush skip stew sue trip tuck wade ward watch will"
)
_TIMES = listed(
    "january february march april may june july august september october november december spring summer autumn "
    "winter monday tuesday wednesday thursday friday saturday sunday easter dawn"
)
_WHEN_BEFORE = re.compile(
    r"(?:\b(?:in|since|until|till|during|last|next|early|late|mid|every|(?:end|middle|beginning|month|first|day|days|"
    r"morning|night|\d(?:st|nd|rd|th)?) of|\d(?:st|nd|rd|th)?)[ -])\Z",
    re.IGNORECASE,
)
_WHEN_BEHIND = re.compile(r",? (?:the )?\d")

# Chinese: how much, how many; and what turns a word into the manner of something.
_VERY = listed(
    "很 太 最 更 挺 极 颇 较 越 愈 不 没 未 非常 十分 极其 极为 特别 相当 比较 格外 如此 这么 那么 多么 越来越 "
    "有点 有些 更加 过于 异常 无比 万分 分外 不够 足够"
)
_COUNT = re.compile(
    "[一二两三四五六七八九十百千几数半这那每某各整][座块片条朵阵场股滴颗串缕层团堆张把杯坛瓶首件种份声道]\\Z"
)
_MANNER = listed("地 着 极了")
_EACH = listed("整个 各个 各 每 任何 所有 一切 全部 某种 这种 那种 一种")
_GLUE = ("c", "d", "p", "r", "u")  # the words that hold sentences together
_CALLED = listed("叫 名叫 名为 唤 喊 唤作 叫作 叫做 姓")
_SAYS = ("说", "道", "问", "笑", "喊", "答", "先生", "小姐", "姑娘", "老师")


def may_be_word(name: str) -> bool:
    """Is an English name also something to do, or a time?"""
    low = name.lower()
    return low in _VERBS or low in _TIMES


def word_in_english(text: str, start: int, end: int) -> bool:
    """Is an ordinary word meant here, though it is written like a name?"""
    word = text[start:end]
    if word.lower() in _TIMES and (
        _WHEN_BEFORE.search(text, max(start - 16, 0), start) or _WHEN_BEHIND.match(text, end)
    ):
        return True
    if word.lower() not in _VERBS or not (word.isupper() or _begins_sentence(text, start)):
        return False
    return _TARGET.match(text, end) is not None


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(start - 8, 0) : start].rstrip(_OPENERS)
    return not before or before[-1] in _ENDS


def is_the_word(tag: str, before: str, behind: str) -> bool:
    """Is a Chinese word meant between these two, though somebody is called so?"""
    if behind in _MANNER or before in _VERY or before in _EACH or _COUNT.search(before):
        return True
    return tag.startswith(_GLUE) and before not in _CALLED and not behind.startswith(_SAYS)
