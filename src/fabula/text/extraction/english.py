"""Names in English prose, told by how they are written and by what they do.

A name is capitalised where no sentence begins, and hardly ever written small. What stands around it
says the rest: people say things, have faces and bear titles; one is in or at a place; a thing has an
article before it. The shorter form of a name belongs to the longer one where only one longer one has
it: Ahab is Captain Ahab, while Mr. and Mrs. Bennet stay two.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from msgspec import Struct, field

from fabula.text.extraction.english_words import (
    ACTS,
    BEFORE_THINGS,
    FEMALE,
    FROM,
    GROUPS,
    INSIDE,
    IS,
    JUNK,
    MAIDS,
    MALE,
    OWNED,
    PARTICLES,
    PERHAPS,
    PLACES,
    SHORT,
    SPEECH,
    TITLES,
    WIVES,
)
from fabula.text.extraction.proposals import Found, Kind, Place, Progress, Texts

PERSON = 0.1  # how much a character does, at least
FEWEST = 3  # mentions of what is worth proposing
EXAMPLES = 3
MOST_ALIASES = 6
_UP, _LOW = "A-ZÀ-ÖØ-ÞŁŒŠŽ", "a-zß-öø-ÿāăąćčďēęěğīłńňōœŕřśşšţťūůűźżž"
_CAPITAL = rf"[{_UP}](?:[{_UP}{_LOW}]|['’](?!s\b)(?=[{_UP}{_LOW}]))*(?:-[{_UP}][{_UP}{_LOW}]+)*"
_BETWEEN = rf"(?:(?<=\b[{_UP}])\.|(?<=\b[A-Z][a-z])\.|(?<=\b[A-Z][a-z][a-z])\.)?[ \u00a0\u202f\n]"
_RUN = re.compile(rf"(?<![\w’'-]){_CAPITAL}(?:{_BETWEEN}(?:(?:{'|'.join(sorted(PARTICLES))}) )?{_CAPITAL})*")
_SMALL = re.compile(rf"(?<![\w’'-])[{_LOW}]{{2,}}(?:['’][{_LOW}]+)?")
_HEADING = re.compile(r"(?:(?<=\n\n)|\A)[^\n]{1,90}(?<![.!?…,;:”\"’—-])(?=\n\n|\n?\Z)")
_BEFORE = re.compile(r"([\w’'-]+)[,]?[ \u00a0\n]+\Z")
_AFTER = re.compile(r"(['’]s?)?,?[ \u00a0\n]+([\w’'-]+)|['’]s\b")
_ENDS = frozenset(".!?…")
_STOPS = _ENDS | frozenset(":;“‘\"'([{*_—")
_CLASSES = (MALE, WIVES, MAIDS, FEMALE)

Core = tuple[str, ...]


class Run(Struct, gc=False):
    """Capitalised words in a row, with what stands before and behind."""

    words: Core
    begins: bool  # a sentence, so that its first capital means nothing
    before: str
    behind: str
    owns: bool
    place: Place


class Tally(Struct):
    """What was seen of one form of a name."""

    count: int = 0
    inside: int = 0  # a sentence
    speaks: int = 0
    acts: float = 0.0
    things: int = 0  # with an article before it
    within: float = 0.0  # in it, at it, from it
    titles: Counter[str] = field(default_factory=Counter)
    places: list[Place] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what was seen of another form."""
        self.count += other.count
        self.inside += other.inside
        self.speaks += other.speaks
        self.acts += other.acts
        self.things += other.things
        self.within += other.within
        self.titles += other.titles
        self.places = sorted([*self.places, *other.places])[:EXAMPLES]

    @property
    def person(self) -> float:
        """How often, of all times, it does what people do."""
        return (2 * self.speaks + self.acts + 2 * self.titles.total()) / self.count


def find(texts: Texts, progress: Progress | None = None) -> list[Found]:
    """Every name that is believed in."""
    small: Counter[str] = Counter()
    runs: list[Run] = []
    total, done = sum(len(text) for _, text in texts), 0
    for number, (_, text) in enumerate(texts):
        small.update(_SMALL.findall(text))
        runs += _runs(number, text)
        done += len(text)
        if progress is not None:
            progress(done, total)
    proper = _Proper(runs, small)
    seen: dict[tuple[str, Core], Tally] = {}
    for run in runs:
        for title, core in proper.cores(run):
            _note(seen.setdefault((title, core), Tally()), run, title)
    forms = _forms(seen)
    return [found for members in _merged(forms) for found in _believed(members, forms)]


def _runs(number: int, text: str) -> Iterator[Run]:
    headings = [match.span() for match in _HEADING.finditer(text)]
    headings.reverse()
    for match in _RUN.finditer(text):
        start, end = match.span()
        while headings and headings[-1][1] <= start:
            headings.pop()
        if headings and headings[-1][0] <= start:
            continue
        before = text[max(0, start - 24) : start]
        word = _BEFORE.search(before)
        after = _AFTER.match(text, end, end + 32)
        yield Run(
            tuple(match[0].replace(".", "").split()),
            _begins(before),
            word[1].lower() if word else "",
            (after[2] or "").lower() if after else "",
            after is not None and (after[1] is not None or after[0].startswith(("'", "’"))),
            Place(number, start),
        )


def _begins(before: str) -> bool:
    """Does a sentence begin behind this?"""
    bare = before.rstrip()
    ended = bare.rstrip("”’\"')")
    return not bare or bare[-1] in _STOPS or ended[-1:] in _ENDS or "\n\n" in before[len(bare) :]


class _Proper:
    """Which capitalised words are names, judged by the whole book."""

    def __init__(self, runs: Iterable[Run], small: Mapping[str, int]) -> None:
        self.small = small
        self.inside: Counter[str] = Counter()
        self.first: Counter[str] = Counter()
        self.speaks: Counter[str] = Counter()
        for run in runs:
            rest = run.words[1:] if run.begins else run.words
            self.inside.update(rest)
            if run.begins:
                self.first[run.words[0]] += 1
            if run.before in SPEECH and not run.begins:
                self.speaks[run.words[0]] += 1
            elif run.behind in SPEECH and (len(run.words) > 1 or not run.begins):
                self.speaks[run.words[-1]] += 1
        self._known: dict[str, bool] = {}

    def __contains__(self, word: str) -> bool:
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = self._is_name(word)
        return known

    def _is_name(self, word: str) -> bool:
        low = word.lower().replace("'", "’")
        if (low in JUNK and low not in PERHAPS) or low in TITLES or len(word) < 2 or word.isupper():
            return False
        inside, small = self.inside[word], self.small.get(low, 0)
        if inside > 2 * small and low not in JUNK:
            return True
        return self.speaks[word] >= 3 and self.speaks[word] * 20 >= inside

    def cores(self, run: Run) -> Iterator[tuple[str, Core]]:
        """The names in a run, each with the titles before it."""
        titles: list[str] = []
        core: list[str] = []
        for word in (*run.words, ""):
            low = word.lower()
            if word and (word in self or (core and low in PARTICLES)):
                core.append(word)
                continue
            while core and core[-1].lower() in PARTICLES:
                core.pop()
            if core:
                yield " ".join(titles), tuple(core)
                titles, core = [], []
            titles = [*titles, word] if low in TITLES else []


def _note(tally: Tally, run: Run, title: str) -> None:
    tally.count += 1
    tally.inside += not run.begins
    if len(tally.places) < EXAMPLES:
        tally.places.append(run.place)
    if title:
        tally.titles[title] += 1
    tally.speaks += run.before in SPEECH or run.behind in SPEECH
    if run.owns:
        tally.acts += run.behind in OWNED
    elif run.behind in ACTS or run.behind.endswith("ed"):
        tally.acts += 1
    elif run.behind in IS:
        tally.acts += 0.5
    tally.things += run.before in BEFORE_THINGS and not title
    tally.within += run.before in INSIDE or (0.3 if run.before in FROM else 0)


def _forms(seen: Mapping[tuple[str, Core], Tally]) -> dict[Core, Tally]:
    """What was seen by the form of the name; where titles tell two people apart, the title belongs to it."""
    titled: dict[Core, list[str]] = {}
    for title, core in seen:
        titled.setdefault(core, []).append(title)
    forms: dict[Core, Tally] = {}
    for core, titles in titled.items():
        sides: Counter[int] = Counter()
        for title in titles:
            sides[_side(title)] += seen[title, core].count
        apart = sum(count >= FEWEST for side, count in sides.items() if side) > 1
        for title in titles:
            side = _side(title)
            form = (_dotted(title), *core) if apart and side else core
            tally = forms.setdefault(form, Tally())
            tally.add(seen[title, core])
            if form is not core:
                tally.acts += 2 * tally.titles.total()
                tally.titles.clear()
    return forms


def _side(title: str) -> int:
    """Which of a family a title belongs to; 0 when it may be anyone."""
    words = set(title.lower().split())
    return next((side for side, those in enumerate(_CLASSES, 1) if words & those), 0)


def _merged(forms: Mapping[Core, Tally]) -> list[list[Core]]:
    """Forms of one name together: a shorter one goes to the longer one that alone has it."""
    longer: dict[Core, list[Core]] = {}
    for core, tally in forms.items():
        if len(core) > 1 and tally.count > 1:
            for size in range(1, len(core)):
                for start in range(len(core) - size + 1):
                    longer.setdefault(core[start : start + size], []).append(core)
    home: dict[Core, Core] = {}
    for core in sorted(forms, key=len, reverse=True):
        homes: Counter[Core] = Counter()
        for owner in longer.get(core, ()):
            homes[home[owner]] += forms[owner].count
        best = max(homes, key=lambda one: (homes[one], one), default=core)
        alone = homes[best] >= 0.8 * homes.total() and _belongs(core, best, forms)
        home[core] = best if alone else core
    order = sorted(forms, key=lambda core: (home[core], core))
    return [list(members) for _, members in groupby(order, key=home.__getitem__)]


def _belongs(core: Core, owner: Core, forms: Mapping[Core, Tally]) -> bool:
    """Is the shorter form likely to mean the longer one?"""
    short, long = forms[core], forms[owner]
    if short.count <= long.count:
        return True
    hers = sum(count for title, count in short.titles.items() if _side(title) in (2, 3))
    if core == owner[-len(core) :] and hers * 2 > short.count and not long.titles:
        return False  # Mrs. Hussey is not Hosea Hussey
    return short.person >= PERSON and long.count * 100 >= short.count


def _believed(members: list[Core], forms: Mapping[Core, Tally]) -> Iterator[Found]:
    whole = Tally()
    surfaces: Counter[str] = Counter()
    for core in members:
        text, tally = " ".join(core), forms[core]
        whole.add(tally)
        surfaces[text] += tally.count - tally.titles.total()
        for title, count in tally.titles.items():
            surfaces[f"{_dotted(title)} {text}"] += count
    if whole.count < FEWEST or not whole.inside:
        return
    kind, sure = _kind(members, whole, forms)
    names = [name for name, count in surfaces.most_common() if count > 1] or [surfaces.most_common(1)[0][0]]
    yield Found(
        name=names[0],
        aliases=tuple(names[1 : MOST_ALIASES + 1]),
        kind=kind,
        mentions=whole.count,
        sure=sure,
        places=whole.places,
    )


def _dotted(title: str) -> str:
    return " ".join(f"{word}." if word.lower() in SHORT else word for word in title.split())


def _kind(members: list[Core], tally: Tally, forms: Mapping[Core, Tally]) -> tuple[Kind, float]:
    words = {word.lower() for core in members for word in core}
    thing, within = tally.things / tally.count, tally.within / tally.count
    saintly = sum(count for title, count in tally.titles.items() if title.lower() in ("st", "saint"))
    if words & PLACES:
        return "location", 0.8
    if words & GROUPS or (thing > 0.3 and any((core[-1][:-1],) in forms for core in members if core[-1][-1] == "s")):
        return "faction", 0.8
    if thing < 0.3 and tally.person >= PERSON and tally.person > 2 * within and saintly * 2 < tally.count:
        return "character", min(1.0, 0.5 + tally.person - thing)
    if within > 0.1 and thing < 0.5:
        return "location", min(1.0, 0.4 + within)
    return "other", 0.5
