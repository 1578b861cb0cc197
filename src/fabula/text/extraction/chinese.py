"""Find names in Chinese prose by their behaviour, as there are no capitals.

Candidates are the words a segmenter finds or makes up, and whatever stands between the beginning of a clause and a
verb of speaking. Then the statistics of the whole book are collected for each candidate: what stands before and after
it, whether its neighbours vary on both sides, whether it speaks and acts, whether it begins clauses. A surname lowers
the bar; being an ordinary word of the dictionary raises it. 玄德 becomes an alias of 刘备 only where the book says so
(姓刘，名备，字玄德).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from fabula.text.automaton import Automaton
from fabula.text.extraction.chinese_merge import NAME_TAGS, NOUN_TAGS, CandidateStatistics, merge_candidates
from fabula.text.extraction.chinese_words import (
    ACTION,
    GENERIC_PERSONS,
    GENERIC_PLACES,
    MEASURE_CHARACTERS,
    NEVER_FIRST_IN_NAME,
    NEVER_IN_NAME,
    NEVER_LAST_IN_NAME,
    PLACE_VERBS,
    SPEAKER,
)
from fabula.text.extraction.model import MIN_MENTIONS, ExtractedName, Progress, Texts
from fabula.text.names.introductions import find_introductions
from fabula.text.names.surnames import DOUBLE_SURNAMES, SURNAMES
from fabula.text.segmenter import find_tag, load_segmenter

CHARACTERS_PER_MENTION = 150_000  # a longer book requires one mention more for each of these
MAX_NAME = 4  # characters


def find_chinese_names(texts: Texts, progress: Progress | None = None) -> list[ExtractedName]:
    """The names of a book; `progress` counts every character twice, as the book is read twice."""
    length, done = sum(len(text) for _, text in texts), 0
    words: Counter[str] = Counter()
    speakers: Counter[str] = Counter()
    introduced: set[tuple[str, str]] = set()
    for _, text in texts:
        words.update(load_segmenter().cut(text))
        speakers.update(SPEAKER.findall(text))
        introduced.update(find_introductions(text))
        done += len(text)
        if progress is not None:
            progress(done, 2 * length)
    minimum = max(MIN_MENTIONS, length // CHARACTERS_PER_MENTION)
    introduced_names = {name for pair in introduced for name in pair}
    candidates = _make_candidates(words, speakers, introduced_names, minimum)
    automaton = Automaton([candidate.word for candidate in candidates])
    for _, text in texts:
        _collect_statistics(text, automaton, candidates)
        done += len(text)
        if progress is not None:
            progress(done, 2 * length)
    frequent = {candidate.word: candidate for candidate in candidates if candidate.count >= minimum}
    return merge_candidates(frequent, introduced, texts)


def _make_candidates(
    words: Mapping[str, int], speakers: Mapping[str, int], introduced: set[str], minimum: int
) -> list[CandidateStatistics]:
    """The words that may be names at all."""
    candidates: list[CandidateStatistics] = []
    frequent = {word for counts in (words, speakers) for word, count in counts.items() if count >= minimum}
    for word in sorted(frequent | introduced):
        if word not in introduced and not _can_be_name(word):
            continue
        tag = find_tag(word)
        speeches = speakers.get(word, 0)
        is_noun_with_surname = word[0] in SURNAMES and tag in NOUN_TAGS
        if speeches > 1 or tag.startswith(NAME_TAGS) or word in introduced or is_noun_with_surname:
            candidates.append(CandidateStatistics(word, tag, speeches))
    return candidates


def _can_be_name(word: str) -> bool:
    """Could these characters be a name?"""
    if not 2 <= len(word) <= MAX_NAME or word in DOUBLE_SURNAMES:
        return False
    if word in GENERIC_PERSONS or word in GENERIC_PLACES:
        return False
    if word[-1] in NEVER_LAST_IN_NAME or word[0] in NEVER_FIRST_IN_NAME:
        return False
    return all("\u4e00" <= character <= "\u9fff" and character not in NEVER_IN_NAME for character in word)


def _collect_statistics(text: str, automaton: Automaton, candidates: list[CandidateStatistics]) -> None:
    for number, start, end in automaton.find(text):
        candidate = candidates[number]
        candidate.count += 1
        before, after = text[start - 1 : start], text[end : end + 1]
        if "\u4e00" <= before <= "\u9fff":
            candidate.left[before] += 1
            if before in MEASURE_CHARACTERS:
                candidate.measured += 1
            elif before in PLACE_VERBS:
                candidate.entered += 1
        else:
            candidate.clause_starts += 1
        if ACTION.match(text, end):
            candidate.actions += 1
        elif "\u4e00" <= after <= "\u9fff":
            candidate.right[after] += 1
