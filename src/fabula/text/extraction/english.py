"""Find names in English prose by how they are written and by their behaviour.

A name is capitalised where no sentence begins, and hardly ever written in lower case. The words around it say the
rest: people speak, have faces and bear titles; one is in or at a place; a thing has an article before it. A word that
only begins sentences is a name where it mostly acts as people do, and is never written in lower case. The shorter
form of a name belongs to the longer one where only one longer form contains it: Ahab is Captain Ahab, while Mr. and
Mrs. Bennet stay two.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise

from msgspec import Struct, field

from fabula.text.extraction import english_words as lists
from fabula.text.extraction.model import (
    MAX_EXAMPLES,
    MIN_MENTIONS,
    ExtractedName,
    Kind,
    Progress,
    TextPlace,
    Texts,
)

MIN_PERSON_SCORE = 0.1  # of a character
MIN_PAIR_SHARE = 0.7  # of a name's mentions have the same word before them, if that is part of the name
MAX_ALIASES = 6
MAX_FORM = 12  # words of a form that can have shorter forms; a longer row of capitals is a list
_UP, _LOW = "A-ZÀ-ÖØ-ÞŁŒŠŽ", "a-zß-öø-ÿāăąćčďēęěğīłńňōœŕřśşšţťūůűźżž"
_CAPITAL = rf"[{_UP}](?:[{_UP}{_LOW}]|['’](?!s\b)(?=[{_UP}{_LOW}]))*(?:-[{_UP}][{_UP}{_LOW}]+)*"
_BETWEEN = rf"(?:(?<=\b[{_UP}])\.|(?<=\b[A-Z][a-z])\.|(?<=\b[A-Z][a-z][a-z])\.)?[ \u00a0\u202f\n]"
_RUN = re.compile(rf"(?<![\w’'-]){_CAPITAL}(?:{_BETWEEN}(?:(?:{'|'.join(sorted(lists.NAME_PARTICLES))}) )?{_CAPITAL})*")
_LOWER_CASE_WORD = re.compile(rf"(?<![\w’'-])[{_LOW}]{{2,}}(?:['’][{_LOW}]+)?")
_HEADING = re.compile(r"(?:(?<=\n\n)|\A)[^\n]{1,90}(?<![.!?…,;:”\"’—-])(?=\n\n|\n?\Z)")
_WORD_BEFORE = re.compile(r"([\w’'-]+)[,]?[ \u00a0\n]+\Z")
_WORD_AFTER = re.compile(r"(['’]s?)?,?[ \u00a0\n]+([\w’'-]+)|['’]s\b")
_OPENING_QUOTES = frozenset('“‘"')
_CALL_ENDS = frozenset("!,?")
_SENTENCE_ENDS = frozenset(".!?…")
_SENTENCE_OPENERS = _SENTENCE_ENDS | frozenset(":;“‘\"'([{*_—")
_TITLE_CLASSES = (lists.MEN_TITLES, lists.WIVES_TITLES, lists.UNMARRIED_TITLES, lists.WOMEN_TITLES)
_SAINTS = ("St. ", "Saint ")
_WIVES = _TITLE_CLASSES.index(lists.WIVES_TITLES) + 1

Form = tuple[str, ...]  # one form of a name, word by word


class CapitalisedRun(Struct, gc=False):
    """Capitalised words in a row, with the words before and after them."""

    words: Form
    begins_sentence: bool  # its first capital then proves nothing
    before: str
    after: str
    is_possessive: bool
    is_call: bool  # begins speech and is all that is said, or is followed by a comma: “Bulkington!”
    place: TextPlace


class NameStatistics(Struct):
    """What the book shows of one form of a name."""

    count: int = 0
    inside_sentence: int = 0
    speeches: int = 0
    actions: float = 0.0
    determiners: int = 0  # articles and the like before it
    locations: float = 0.0  # in it, at it, from it
    titles: Counter[str] = field(default_factory=Counter)
    places: list[TextPlace] = field(default_factory=list)

    def add(self, other: NameStatistics) -> None:
        """Add the statistics of another form."""
        self.count += other.count
        self.inside_sentence += other.inside_sentence
        self.speeches += other.speeches
        self.actions += other.actions
        self.determiners += other.determiners
        self.locations += other.locations
        self.titles.update(other.titles)
        self.places = sorted([*self.places, *other.places])[:MAX_EXAMPLES]

    @property
    def person_score(self) -> float:
        """How often, relative to all occurrences, it behaves like a person."""
        return (2 * self.speeches + self.actions + 2 * self.titles.total()) / self.count


def find_english_names(texts: Texts, progress: Progress | None = None) -> list[ExtractedName]:
    """The names of a book."""
    lower_case: Counter[str] = Counter()
    runs: list[CapitalisedRun] = []
    total, done = sum(len(text) for _, text in texts), 0
    for number, (_, text) in enumerate(texts):
        lower_case.update(_LOWER_CASE_WORD.findall(text))
        runs += _find_runs(number, text)
        done += len(text)
        if progress is not None:
            progress(done, total)
    words = _NameWords(runs, lower_case)
    statistics: dict[tuple[str, Form], NameStatistics] = {}
    for run in runs:
        for title, form in words.split_names(run):
            _add_run(statistics.setdefault((title, form), NameStatistics()), run, title)
    forms = _join_titles(statistics)
    names = (_make_name(members, forms, words) for members in _merge_forms(forms))
    return [name for name in names if name is not None]


def _find_runs(number: int, text: str) -> Iterator[CapitalisedRun]:
    headings = [match.span() for match in _HEADING.finditer(text)]
    headings.reverse()
    for match in _RUN.finditer(text):
        start, end = match.span()
        while headings and headings[-1][1] <= start:
            headings.pop()
        if headings and headings[-1][0] <= start:
            continue
        before = text[max(0, start - 24) : start]
        word_before = _WORD_BEFORE.search(before)
        after = _WORD_AFTER.match(text, end, end + 32)
        yield CapitalisedRun(
            tuple(match[0].replace(".", "").split()),
            _begins_sentence(before),
            word_before[1].lower() if word_before else "",
            (after[2] or "").lower() if after else "",
            after is not None and (after[1] is not None or after[0].startswith(("'", "’"))),
            before[-1:] in _OPENING_QUOTES and text[end : end + 1] in _CALL_ENDS,
            TextPlace(number, start),
        )


def _begins_sentence(before: str) -> bool:
    """Does a sentence begin after this text?"""
    bare = before.rstrip()
    unquoted = bare.rstrip("”’\"')")
    has_ended = not bare or bare[-1] in _SENTENCE_OPENERS or unquoted[-1:] in _SENTENCE_ENDS
    return has_ended or "\n\n" in before[len(bare) :]


class _NameWords:
    """Decides by the whole book which capitalised words are part of names."""

    def __init__(self, runs: Iterable[CapitalisedRun], lower_case: Mapping[str, int]) -> None:
        self._lower_case = lower_case
        self._inside_sentence: Counter[str] = Counter()
        self._speeches: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()  # of neighbours inside sentences
        self._sentence_starts: Counter[str] = Counter()
        self._deeds_at_start: Counter[str] = Counter()  # of these, followed by what a person does
        for run in runs:
            if run.begins_sentence:
                self._sentence_starts[run.words[0]] += 1
                is_deed = run.after in lists.SPEECH_VERBS or run.after in lists.ACTION_WORDS
                self._deeds_at_start[run.words[0]] += is_deed and not run.is_possessive
            self._pairs.update(pairwise(run.words[1:] if run.begins_sentence else run.words))
            self._inside_sentence.update(run.words[1:] if run.begins_sentence else run.words)
            if run.before in lists.SPEECH_VERBS and not run.begins_sentence:
                self._speeches[run.words[0]] += 1
            elif run.after in lists.SPEECH_VERBS and (len(run.words) > 1 or not run.begins_sentence):
                self._speeches[run.words[-1]] += 1
        self._cache: dict[str, bool] = {}

    def __contains__(self, word: str) -> bool:
        known = self._cache.get(word)
        if known is None:
            known = self._cache[word] = self._is_name(word)
        return known

    def _is_name(self, word: str) -> bool:
        lower = word.lower().replace("'", "’")
        is_listed = lower in lists.CAPITALISED_WORDS
        if (
            (is_listed and lower not in lists.WORDS_THAT_ARE_NAMES)
            or lower in lists.TITLES
            or len(word) < 2
            or word.isupper()
        ):
            return False
        inside = self._inside_sentence[word]
        if inside > 2 * self._lower_case.get(lower, 0) and not is_listed:
            return True
        if self._speeches[word] >= 3 and self._speeches[word] * 20 >= inside:
            return True
        return not is_listed and self.only_begins_sentences(word)

    def only_begins_sentences(self, word: str) -> bool:
        """Is a word a name although it stands nowhere else than at the beginning of sentences?"""
        lower, deeds = word.lower(), self._deeds_at_start[word]
        if deeds < MIN_MENTIONS or deeds * 2 < self._sentence_starts[word] or self._inside_sentence[word]:
            return False
        return not any(self._lower_case.get(form) for form in (lower, lower.removesuffix("s"), f"{lower}s"))

    def _belongs_before(self, word: str, name_word: str) -> bool:
        """Is an ordinary word part of the name after it, because the name hardly ever stands without: New Bedford?"""
        count = self._pairs[word, name_word]
        is_usual = count >= MIN_MENTIONS and count >= MIN_PAIR_SHARE * self._inside_sentence[name_word]
        return is_usual and len(word) > 1 and word not in self and word.lower() not in lists.TITLES

    def split_names(self, run: CapitalisedRun) -> Iterator[tuple[str, Form]]:
        """The names in a run, each with the titles before it."""
        titles: list[str] = []
        name: list[str] = []
        for word, following in pairwise((*run.words, "", "")):
            lower = word.lower()
            if not name and following in self and self._belongs_before(word, following):
                name.append(word)
                continue
            if word and (word in self or (name and lower in lists.NAME_PARTICLES)):
                name.append(word)
                continue
            while name and name[-1].lower() in lists.NAME_PARTICLES:
                name.pop()
            if name:
                yield " ".join(titles), tuple(name)
                titles, name = [], []
            # Madame de Villefort: the particle belongs to the title, so that it stays with it.
            is_title = lower in lists.TITLES or (titles and lower in lists.NAME_PARTICLES)
            if is_title:
                titles.append(word)
            else:
                titles = []


def _add_run(statistics: NameStatistics, run: CapitalisedRun, title: str) -> None:
    statistics.count += 1
    statistics.inside_sentence += not run.begins_sentence
    if len(statistics.places) < MAX_EXAMPLES:
        statistics.places.append(run.place)
    if title:
        statistics.titles[title] += 1
    statistics.speeches += run.before in lists.SPEECH_VERBS or run.after in lists.SPEECH_VERBS
    if run.is_possessive:
        statistics.actions += run.after in lists.POSSESSIONS
    elif run.is_call or run.after in lists.ACTION_WORDS or run.after.endswith("ed"):
        statistics.actions += 1
    elif run.after in lists.AUXILIARIES:
        statistics.actions += 0.5
    statistics.determiners += run.before in lists.DETERMINERS and not title
    statistics.locations += run.before in lists.PLACE_PREPOSITIONS or (
        0.3 if run.before in lists.DIRECTION_PREPOSITIONS else 0
    )


def _join_titles(statistics: Mapping[tuple[str, Form], NameStatistics]) -> dict[Form, NameStatistics]:
    """Statistics by form; a title becomes part of the form where titles distinguish two people."""
    titles_of: dict[Form, list[str]] = {}
    for title, name in statistics:
        titles_of.setdefault(name, []).append(title)
    forms: dict[Form, NameStatistics] = {}
    for name, titles in titles_of.items():
        counts: Counter[int] = Counter()
        for title in titles:
            counts[_find_title_class(title)] += statistics[title, name].count
        apart = _find_separate_classes(counts)
        for title in titles:
            form = (_add_dots(title), *name) if _find_title_class(title) in apart else name
            joined = forms.setdefault(form, NameStatistics())
            joined.add(statistics[title, name])
            if form is not name:
                joined.actions += 2 * joined.titles.total()
                joined.titles.clear()
    return forms


def _find_separate_classes(counts: Mapping[int, int]) -> set[int]:
    """Which classes of titles are people of their own; without a title a family name means the man who bears it."""
    classes = {number for number, count in counts.items() if number and count >= MIN_MENTIONS}
    if len(classes) > 1:
        return {number for number in counts if number > 1}
    # Lady Macbeth, where Macbeth alone is mentioned more often
    return {_WIVES} if _WIVES in classes and counts.get(0, 0) >= counts[_WIVES] else set()


def _find_title_class(title: str) -> int:
    """Which member of a family a title belongs to; 0 when it may be anyone."""
    words = set(title.lower().split())
    return next((number for number, titles in enumerate(_TITLE_CLASSES, 1) if words & titles), 0)


def _merge_forms(forms: Mapping[Form, NameStatistics]) -> list[list[Form]]:
    """The forms of each name: a shorter form joins the only longer one that contains it."""
    longer: dict[Form, list[Form]] = {}
    for form, statistics in forms.items():
        if 1 < len(form) <= MAX_FORM and statistics.count > 1 and not _find_title_class(form[0].replace(".", "")):
            for size in range(1, len(form)):
                for start in range(len(form) - size + 1):
                    longer.setdefault(form[start : start + size], []).append(form)
    group_of: dict[Form, Form] = {}
    for form in sorted(forms, key=len, reverse=True):
        counts: Counter[Form] = Counter()
        for other in longer.get(form, ()):
            counts[group_of[other]] += forms[other].count
        best = max(counts, key=lambda group: (counts[group], group), default=form)
        is_unique = counts[best] >= 0.8 * counts.total() and _is_short_form(form, best, forms)
        group_of[form] = best if is_unique else form
    ordered = sorted(forms, key=lambda form: (group_of[form], form))
    return [list(members) for _, members in groupby(ordered, key=group_of.__getitem__)]


def _is_short_form(form: Form, longer: Form, forms: Mapping[Form, NameStatistics]) -> bool:
    """Does the shorter form probably mean the longer one?"""
    short, long = forms[form], forms[longer]
    if short.count <= long.count:
        return True
    as_woman = sum(count for title, count in short.titles.items() if _find_title_class(title) in (2, 3))
    long_as_woman = any(_find_title_class(title) in (2, 3) for title in long.titles)
    if form == longer[-len(form) :] and as_woman * 2 > short.count and not long_as_woman:
        return False  # Mrs. Hussey is not Hosea Hussey
    return short.person_score >= MIN_PERSON_SCORE and long.count * 100 >= short.count


def _make_name(members: list[Form], forms: Mapping[Form, NameStatistics], words: _NameWords) -> ExtractedName | None:
    """The name with these forms; None where it occurs too rarely, or only at the beginning of sentences like a word."""
    total = NameStatistics()
    surfaces: Counter[str] = Counter()
    for form in members:
        text, statistics = " ".join(form), forms[form]
        total.add(statistics)
        surfaces[text] += statistics.count - statistics.titles.total()
        for title, count in statistics.titles.items():
            surfaces[f"{_add_dots(title)} {text}"] += count
    is_proven = total.inside_sentence or any(words.only_begins_sentences(form[0]) for form in members)
    if total.count < MIN_MENTIONS or not is_proven:
        return None
    kind, confidence = _estimate_kind(members, total, forms)
    names = [name for name, count in surfaces.most_common() if count > 1] or [surfaces.most_common(1)[0][0]]
    if not names[0].startswith(_SAINTS):  # St. Andrew is a church or an order, and not Andrew
        names = [name for name in names if not name.startswith(_SAINTS)]
    return ExtractedName(
        name=names[0],
        aliases=tuple(names[1 : MAX_ALIASES + 1]),
        kind=kind,
        mentions=total.count,
        confidence=confidence,
        places=total.places,
    )


def _add_dots(title: str) -> str:
    return " ".join(f"{word}." if word.lower() in lists.ABBREVIATED_TITLES else word for word in title.split())


def _estimate_kind(
    members: list[Form], total: NameStatistics, forms: Mapping[Form, NameStatistics]
) -> tuple[Kind, float]:
    words = {word.lower() for form in members for word in form}
    as_thing, as_place = total.determiners / total.count, total.locations / total.count
    as_saint = sum(count for title, count in total.titles.items() if title.lower() in ("st", "saint"))
    if words & lists.PLACE_NOUNS:
        return "location", 0.8
    has_singular = any((form[-1][:-1],) in forms for form in members if form[-1][-1] == "s")
    if words & lists.GROUP_NOUNS or (as_thing > 0.3 and has_singular):
        return "faction", 0.8
    is_person = total.person_score >= MIN_PERSON_SCORE and total.person_score > 2 * as_place
    if as_thing < 0.3 and is_person and as_saint * 2 < total.count:
        return "character", min(1.0, 0.5 + total.person_score - as_thing)
    if as_place > 0.1 and as_thing < 0.5:
        return "location", min(1.0, 0.4 + as_place)
    return "other", 0.5
