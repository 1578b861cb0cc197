"""Choose the sentences of a book that tell most about a name (cdx-7).

A sentence tells something where it says who or what the name is ("Vale was a pilot", "a town called Harwick", 姓…名…),
how somebody looks or whose relative they are. Speech tells less than narration, and a long or very short sentence
less than a plain one. Nothing is rewritten: sentences are quoted as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from fabula.text.extraction.model import Texts
from fabula.text.names.matcher import NameMatcher, NameRules
from fabula.text.sentences import find_sentence_starts
from fabula.text.word_list import load_word_lists

MAX_QUOTATION = 240  # characters of one sentence
MAX_MATCHES = 2000  # mentions that are looked at
_CONTEXT = 300  # characters on each side in which a sentence is looked for,
_WIDER = 8  # and how many times as many if it is longer
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|M|Mme|Mlle|Capt|Col|Rev|Prof|Lieut|Gen|[A-Z])\.\s+\Z")
_OPENING_QUOTES = '“‘"「『'
_QUOTES = re.compile('[“”"「」『』]')
_LISTS = load_word_lists("telling_words")
_ENGLISH_WORDS, _CHINESE_WORDS = _LISTS["english"], tuple(_LISTS["chinese"])
_WORD = re.compile(r"[a-z]+")
_BLANK = re.compile(r"\s+")
_ENGLISH_AFTER = (
    (re.compile(r",? (?:was|is|had been|became) (?:a|an|the|one|his|her|my|our|their)\b"), 4.0),
    (re.compile(r", (?:a|an|the|his|her|who|whose|which|where)\b"), 3.0),
    (re.compile(r" (?:was|is|lay|stood|wore|looked|had)\b"), 1.5),
    (re.compile(r"['’]s (?:face|eyes|hair|voice|hands|father|mother|wife|husband|son|daughter|house)\b"), 1.5),
)
_ENGLISH_BEFORE = re.compile(r"(?:named|called|name was|name is|known as|by the name of) \Z")
_CHINESE_AFTER = (
    (re.compile("(?:，|者，)?(?:[表]?字|乃|系|原是|本是|原系|本系|是[^的]{0,12}[人子女妻兄弟])"), 4.0),
    (re.compile("(?:，)?(?:生得|身长|年方|年约|自幼|面如|人氏|的[父母儿女妻])"), 3.0),
)
_CHINESE_BEFORE = re.compile("(?:名叫|名唤|唤作|叫做|叫作|名为|姓|名|乃是|便是|人称|号)\\Z")


class TellingSentence(Struct, frozen=True):
    """A sentence about a name: the number of its text, where it stands, and how much it tells."""

    text: int
    start: int
    end: int
    quotation: str
    score: float


def find_sentence(text: str, offset: int) -> tuple[int, int]:
    """Where the sentence around an offset begins and ends; a line break between paragraphs ends one too."""
    start, end = _find_sentence_within(text, offset, _CONTEXT)
    is_cut = 0 < start == offset - _CONTEXT or end == offset + _CONTEXT < len(text)
    return _find_sentence_within(text, offset, _WIDER * _CONTEXT) if is_cut else (start, end)


def _find_sentence_within(text: str, offset: int, context: int) -> tuple[int, int]:
    left = max(0, offset - context)
    near = text[left : offset + context]
    at = offset - left
    starts = [start for start in find_sentence_starts(near) if not _ABBREVIATION.search(near, 0, start)]
    break_before = near.rfind("\n\n", 0, at)
    break_after = near.find("\n\n", at)
    start = max([start for start in starts if start <= at] + ([break_before + 2] if break_before >= 0 else [0]))
    end = min([start for start in starts if start > at] + [len(near) if break_after < 0 else break_after])
    return left + start, left + end


def shorten_quotation(sentence: str, at: int, limit: int) -> str:
    """A sentence on one line, shortened around a place in it where it is too long; no word is cut."""
    if len(sentence.strip()) > limit:
        first = max(0, at - limit // 2)
        last = min(first + limit, len(sentence))
        blanks = [blank.start() for blank in _BLANK.finditer(sentence)]
        start = next((blank for blank in blanks if first <= blank < at), first) if first else 0
        end = next((blank for blank in reversed(blanks) if at < blank <= last), last) if last < len(sentence) else last
        shown = sentence[start:end].strip()
        sentence = f"{'…' if start else ''}{shown}{'…' if end < len(sentence) else ''}"
    return " ".join(sentence.split())


def quote_sentence(sentence: str) -> str:
    """A sentence in quotation marks, or as it stands where it has such marks inside: nothing in it is replaced."""
    words = sentence.strip("“”")
    return sentence if "“" in words or "”" in words else f"“{words}”"


def find_telling_sentences(
    texts: Texts, names: Sequence[str], *, is_person: bool, language: str
) -> list[TellingSentence]:
    """The sentences that mention one of the names, in the order of the story, each with its score."""
    matcher = NameMatcher({"": names}, rules={"": NameRules(is_person=is_person)})
    found: dict[tuple[int, int], TellingSentence] = {}
    count = 0
    for number, (_, text) in enumerate(texts):
        for match in matcher.find(text):
            count += 1
            if count > MAX_MATCHES:
                return list(found.values())
            start, end = find_sentence(text, match.start)
            sentence = text[start:end]
            score = _score_sentence(sentence, match.start - start, match.end - start, language)
            known = found.get((number, start))
            if known is None or known.score < score:
                quotation = shorten_quotation(sentence, match.start - start, MAX_QUOTATION)
                found[number, start] = TellingSentence(number, start, end, quotation, score)
    return list(found.values())


def _score_sentence(sentence: str, start: int, end: int, language: str) -> float:
    is_chinese = language == "zh"
    after, before = sentence[end : end + 40], sentence[max(0, start - 24) : start]
    patterns = _CHINESE_AFTER if is_chinese else _ENGLISH_AFTER
    score = max((points for pattern, points in patterns if pattern.match(after)), default=0.0)
    if (_CHINESE_BEFORE if is_chinese else _ENGLISH_BEFORE).search(before):
        score += 4.0
    if not score:  # words that describe may be about something else in the sentence
        return 0.0
    if is_chinese:
        score += min(sum(word in sentence for word in _CHINESE_WORDS), 3)
    else:
        score += min(len(_ENGLISH_WORDS & set(_WORD.findall(sentence.lower()))), 3)
    if _QUOTES.search(sentence):
        score -= 3.0 if sentence.lstrip()[:1] in _OPENING_QUOTES else 1.5
    shortest, longest = (12, 100) if is_chinese else (40, MAX_QUOTATION)
    return score - (0.0 if shortest <= len(sentence.strip()) <= longest else 2.0)
