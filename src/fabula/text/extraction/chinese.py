"""Names in Chinese prose, told by what they do, for there are no capitals.

Candidates are the words a segmenter finds or makes up, and whatever stands between the beginning of a
clause and a word of speaking. Then the whole book is asked about each of them: what stands before and
behind it, is it free on both sides, does it say and see things, does it begin clauses. A surname makes
belief easier; a word the dictionary knows as an ordinary one makes it harder. 玄德 becomes another name
of 刘备 only where the book says so (姓刘，名备，字玄德).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ahocorasick_rs import AhoCorasick, MatchKind
from rjieba import Jieba

from fabula.text.extraction.chinese_merge import NAME_TAGS, NOUNS, Seen, gathered
from fabula.text.extraction.chinese_words import (
    ACTS,
    COUNTED,
    GENERIC,
    INTO,
    INTRODUCED,
    NEVER,
    NEVER_FIRST,
    NEVER_LAST,
    SPEAKER,
)
from fabula.text.extraction.proposals import Found, Progress, Texts
from fabula.text.names.surnames import DOUBLE, SURNAMES, surname_of

FEWEST = 3  # mentions of what is worth proposing
PER_MENTION = 150_000  # characters of a long book that ask for one mention more
LONGEST = 4


def find(texts: Texts, progress: Progress | None = None) -> list[Found]:
    """Every name that is believed in."""
    length, done = sum(len(text) for _, text in texts), 0
    segmenter = Jieba()
    words: Counter[str] = Counter()
    speakers: Counter[str] = Counter()
    introduced: set[tuple[str, str]] = set()
    for _, text in texts:
        words.update(segmenter.cut(text))
        speakers.update(SPEAKER.findall(text))
        introduced.update(_introductions(text))
        done += len(text)
        if progress is not None:
            progress(done, 2 * length)
    fewest = max(FEWEST, length // PER_MENTION)
    seen = _candidates(words, speakers, {name for pair in introduced for name in pair}, fewest, segmenter)
    automaton = AhoCorasick([one.word for one in seen], matchkind=MatchKind.Standard)
    for _, text in texts:
        _look(text, automaton, seen)
        done += len(text)
        if progress is not None:
            progress(done, 2 * length)
    return gathered({one.word: one for one in seen if one.count >= fewest}, introduced, texts)


def _introductions(text: str) -> Iterator[tuple[str, str]]:
    """Names that the book itself says are one person's: the full one and the other."""
    for found in INTRODUCED.finditer(text):
        surname, given, whole, courtesy, pen = found.groups()
        if surname and (surname in SURNAMES or surname in DOUBLE):
            yield surname + given, courtesy or pen
        elif whole:
            at = next((n for n in range(len(whole) - 1) if surname_of(whole[n:])), None)
            if at is not None:
                yield whole[at:], courtesy or pen


def _candidates(
    words: Mapping[str, int], speakers: Mapping[str, int], told: set[str], fewest: int, segmenter: Jieba
) -> list[Seen]:
    """What may be a name at all."""
    found: list[Seen] = []
    often = {word for known in (words, speakers) for word, count in known.items() if count >= fewest}
    for word in sorted(often | told):
        if word not in told and not _sound(word):
            continue
        pieces = segmenter.tag(word, False)
        tag = pieces[0][1] if len(pieces) == 1 else ""
        speaks = speakers.get(word, 0)
        if speaks > 1 or tag.startswith(NAME_TAGS) or word in told or (word[0] in SURNAMES and tag in NOUNS):
            found.append(Seen(word, tag, speaks))
    return found


def _sound(word: str) -> bool:
    """Could these characters be a name?"""
    if not 2 <= len(word) <= LONGEST or word in GENERIC or word in DOUBLE:
        return False
    if word[-1] in NEVER_LAST or word[0] in NEVER_FIRST:
        return False
    return all("\u4e00" <= character <= "\u9fff" and character not in NEVER for character in word)


def _look(text: str, automaton: AhoCorasick, seen: list[Seen]) -> None:
    for pattern, start, end in automaton.find_matches_as_indexes(text, overlapping=True):
        one = seen[pattern]
        one.count += 1
        before, behind = text[start - 1 : start], text[end : end + 1]
        if "\u4e00" <= before <= "\u9fff":
            one.left[before] += 1
            if before in COUNTED:
                one.counted += 1
            elif before in INTO:
                one.entered += 1
        else:
            one.begins += 1
        if ACTS.match(text, end):
            one.acts += 1
        elif "\u4e00" <= behind <= "\u9fff":
            one.right[behind] += 1
