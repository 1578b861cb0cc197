"""The facts of a project: sentences of the manuscript about each entry, found when first needed (cdx-10).

A snapshot of facts is part of a view and never changes. The next one takes over what belongs to a paragraph and to
names that stayed the same, so after an edit only the changed paragraphs are read again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex.facts.find import FactSentence, find_fact_sentences
from fabula.codex.model import Codex
from fabula.core.story import Position
from fabula.text.names.matcher import NameMatcher
from fabula.text.terms import count_shared_terms

MAX_FACTS = 24  # of one entry, the most telling ones
MAX_PARAGRAPH = 20_000  # characters; a longer paragraph is no prose, and has no facts
MIN_SHARED_TERMS = 0.6  # of the terms of two facts about one thing, of which the later one is true from then on
_DIGEST_SIZE = 6

Paragraphs = Mapping[str, tuple[FactSentence, ...]]  # the facts of each paragraph, by its text


class FactText(Struct, frozen=True):
    """A document of the manuscript in which facts are looked for, and who may know it."""

    id: str
    text: str
    known_to: frozenset[str] | None = None


class Fact(Struct, frozen=True, kw_only=True):
    """A sentence of the book about an entry: where it stands, until when it holds, and who could know it."""

    id: str  # a digest of the entry and the sentence
    entry_id: str
    text: str
    digest: str  # of the sentence
    since: Position  # where the sentence ends
    until: Position | None = None  # where a later sentence says something else
    known_to: frozenset[str] | None = None
    score: float = 0.0  # how much it tells
    is_lasting: bool = True  # whether its words show that what it says lasts

    @property
    def source(self) -> str:
        """The source of its fragment."""
        return f"fact:{self.entry_id}#{self.id}"


class Facts:
    """All facts of a project at one version."""

    def __init__(
        self, texts: Iterable[FactText], codex: Codex, previous: Facts | None = None, dismissed: Iterable[str] = ()
    ) -> None:
        """`previous` are the facts of the previous view; `dismissed` are the ids of facts that stay away."""
        self.texts = tuple(texts)
        self.codex = codex
        self.dismissed = frozenset(dismissed)
        self._by_entry: Mapping[str, tuple[Fact, ...]] | None = None
        self._reader = _FactReader()
        if previous is not None:
            self._reader = previous._reader

    def by_entry(self) -> Mapping[str, tuple[Fact, ...]]:
        """The facts of each entry: those that last first, and of these the most telling."""
        if self._by_entry is None:
            with self._reader.lock:
                self._by_entry = self._by_entry or self._reader.read(self)
        return self._by_entry


class _FactReader:
    """Reads the facts of one project; shared by its snapshots. `lock` is held while facts are read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.matcher: NameMatcher | None = None  # with which the paragraphs were read
        self.paragraphs: dict[str, Paragraphs] = {}  # by document id

    def read(self, facts: Facts) -> Mapping[str, tuple[Fact, ...]]:
        """The facts of a snapshot; paragraphs that were read before are not read again."""
        matcher = facts.codex.name_matcher
        if matcher is not self.matcher:
            self.matcher, self.paragraphs = matcher, {}
        names = {entry.id: (entry.name, *entry.aliases) for entry in facts.codex.entries}
        found: dict[str, list[Fact]] = {}
        for gone in self.paragraphs.keys() - {text.id for text in facts.texts}:
            del self.paragraphs[gone]
        for text in facts.texts:
            old = self.paragraphs.get(text.id, {})
            paragraphs: dict[str, tuple[FactSentence, ...]] = {}
            offset = 0
            for line in text.text.split("\n"):
                known = old.get(line)
                if known is None:
                    is_prose = 0 < len(line) <= MAX_PARAGRAPH
                    known = tuple(find_fact_sentences(line, matcher.find(line), names)) if is_prose else ()
                paragraphs[line] = known
                for sentence in known:
                    found.setdefault(sentence.entry_id, []).append(_make_fact(sentence, line, text, offset))
                offset += len(line) + 1
            self.paragraphs[text.id] = paragraphs
        return {ident: _choose_facts(each, facts.dismissed) for ident, each in found.items()}


def _make_fact(sentence: FactSentence, paragraph: str, text: FactText, offset: int) -> Fact:
    quotation = sentence.quote(paragraph)
    digest = blake2b(quotation.encode("utf-8", "replace"), digest_size=_DIGEST_SIZE).hexdigest()
    return Fact(
        id=blake2b(f"{sentence.entry_id}\n{digest}".encode(), digest_size=_DIGEST_SIZE).hexdigest(),
        entry_id=sentence.entry_id,
        text=quotation,
        digest=digest,
        since=Position(text.id, offset + sentence.end),
        known_to=text.known_to,
        score=sentence.score,
        is_lasting=sentence.is_lasting,
    )


def _choose_facts(facts: Sequence[Fact], dismissed: frozenset[str]) -> tuple[Fact, ...]:
    """The most telling facts of an entry, each sentence once; the later of two about one thing ends the earlier."""
    by_id: dict[str, Fact] = {}
    for fact in facts:
        if fact.id not in dismissed:
            by_id.setdefault(fact.id, fact)
    best = sorted(by_id.values(), key=lambda fact: (not fact.is_lasting, -fact.score))[:MAX_FACTS]
    places = {fact.id: number for number, fact in enumerate(by_id.values())}
    terms = {fact.id: frozenset(count_shared_terms(fact.text)[0]) for fact in best}
    chosen: list[Fact] = []
    for fact in best:
        later = [
            other
            for other in best
            if places[other.id] > places[fact.id] and _share_terms(terms[fact.id], terms[other.id]) >= MIN_SHARED_TERMS
        ]
        chosen.append(replace(fact, until=min(later, key=lambda one: places[one.id]).since) if later else fact)
    return tuple(chosen)


def _share_terms(terms: frozenset[str], others: frozenset[str]) -> float:
    return len(terms & others) / max(len(terms | others), 1)
