"""The facts of a project: sentences of the manuscript about each entry, found when first needed (cdx-10).

A snapshot of facts is part of a view and never changes. The next one takes over what belongs to a document, a
paragraph and names that stayed the same, so after an edit only the changed paragraphs are read again. A small book is
read while a request waits; a large one in the background, and until then prompts hold no facts.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex.entry import Entry
from fabula.codex.facts.find import MAX_PARAGRAPH, FactNames, FactSentence, find_fact_sentences, make_fact_names
from fabula.codex.facts.quotations import FoundQuotation, Quotation, find_quotations
from fabula.codex.model import Codex
from fabula.context.gate import judge_fragment
from fabula.core.background import WAITING, start_in_background, work_on
from fabula.core.fragment import Fragment, Visibility
from fabula.core.relevance import FACT
from fabula.core.story import Perspective, Position, Timeline, Vantage
from fabula.text.names.matcher import NameMatcher
from fabula.text.telling import measure_sentence
from fabula.text.terms import find_shared_terms

log = logging.getLogger("fabula.codex")

MAX_FACTS = 24  # of one entry, the most telling ones
MIN_FACTS = 5  # of one entry that may enter prompts, where so many are likely enough worth knowing
OFTEN = 30  # mentions of an entry, which has five facts in prompts if it can
# the least chances that a reader finds a sentence worth knowing which may enter prompts
POSSIBLE = 0.3  # of one of an entry that is named often
TELLING = 0.33  # of others that show by their form that they last, or what became of somebody
LIKELY = 0.5  # of all that need not fit the scene
QUITE_LIKELY = 0.42  # of others whose form shows nothing
VERY_LIKELY = 0.75  # of those behind the first five
PER_ENTRY = 3  # facts of one entry in a prompt, unless a setting says otherwise
IMMEDIATE_CHARACTERS = 60_000  # that are read while a request waits
QUOTATION_WORTH = 0.9  # of a sentence because a model quotes it
MIN_SHARED_TERMS = 0.6  # of the terms of two facts about one thing, of which the later one is true from then on
MIN_SAID_TERMS = 0.8  # of the terms of a fact that its entry has too, which says the same then
FACT_PREFIX = "fact:"  # in the source of a fact, before its id
_DIGEST_SIZE = 6
_MAX_VANTAGES = 200  # documents, as somebody sees them, whose known facts are kept,
_MAX_KNOWN = 100  # each of so many entries

FactOrigin = Literal["program", "model"]  # who found a fact


class _ReadParagraph(Struct, frozen=True):
    """A paragraph that was read: its facts, and the entries that it names, as often as it names them."""

    sentences: tuple[FactSentence, ...] = ()
    named: tuple[str, ...] = ()


class FactText(Struct, frozen=True):
    """A document of the manuscript in which facts are looked for, who may know it, and what a model quotes of it."""

    id: str
    text: str
    known_to: frozenset[str] | None = None
    quotations: tuple[Quotation, ...] = ()


class Fact(Struct, frozen=True, kw_only=True):
    """A sentence of the book about an entry: where it stands, until when it holds, and who could know it."""

    id: str  # a digest of the entry and the sentence
    entry_id: str
    text: str
    digest: str  # of the sentence
    start: int = 0  # where the sentence begins and ends in its document
    end: int = 0
    since: Position  # from where on it may be told: the end of the sentence, or of its document
    until: Position | None = None  # where a later sentence says something else
    known_to: frozenset[str] | None = None
    score: float = 0.0  # how likely a reader finds it worth knowing
    is_lasting: bool = True  # whether it may enter prompts; of a sentence that was just read: whether its form tells
    role: str = ""  # the word that says who somebody is, if the sentence tells no more of them
    origin: FactOrigin = "program"

    @property
    def is_likely(self) -> bool:
        """Whether it is worth a line anywhere; else only where the scene has words of it."""
        return self.score >= LIKELY

    @property
    def source(self) -> str:
        """The source of its fragment."""
        return f"codex:entity:{self.entry_id}#{FACT_PREFIX}{self.id}"

    @property
    def visibility(self) -> Visibility:
        """From when until when it holds, and who may know it."""
        return Visibility(self.source, self.since, self.until, self.known_to)

    @property
    def terms(self) -> frozenset[str]:
        """The terms by which it is compared with other texts."""
        return find_terms(self.text)


class PromptFact(Struct, frozen=True, eq=False):
    """A fact that may enter prompts, as the gate sees it and as it is compared with scenes."""

    fact: Fact
    fragment: Fragment  # with the lowest score
    terms: frozenset[str]  # without those of the entry's names, which say nothing about a scene

    def has_limits_in(self, document: str | None) -> bool:
        """Whether a place in this document decides on whether it may be known."""
        fragment = self.fragment
        marks = [fragment.since, fragment.until]
        for one in fragment.derived_from:
            marks += [one.since, one.until, *(position for _, position in one.learned_at)]
        return any(mark is not None and mark.document == document for mark in marks)


KnownFacts = tuple[tuple[PromptFact, bool], ...]  # each with whether a place in its document decides on it
# who is where, which documents they may be told, and which they do not know
_VantageKey = tuple[str | None, Perspective, str | None, frozenset[str], frozenset[str] | None, frozenset[str]]


class Facts:
    """All facts of a project at one version."""

    def __init__(
        self,
        texts: Iterable[FactText],
        codex: Codex,
        previous: Facts | None = None,
        dismissed: Iterable[str] = (),
        *,
        per_entry: int = PER_ENTRY,
        immediate_characters: int = IMMEDIATE_CHARACTERS,
    ) -> None:
        """`previous` are the facts of the previous view; `dismissed` are the ids of facts that stay away.

        `per_entry` is how many facts of one entry a prompt holds at most.
        """
        self.texts = tuple(texts)
        self.codex = codex
        self.dismissed = frozenset(dismissed)
        self.per_entry = per_entry
        self._immediate_characters = immediate_characters
        self._documents: tuple[_ReadDocument, ...] | None = None
        self._chosen: dict[str, tuple[Fact, ...]] = {}
        self._for_prompts: dict[str, tuple[PromptFact, ...]] = {}
        self._rendered: dict[tuple[str, float], Fragment] = {}
        self._known: tuple[Timeline | None, dict[_VantageKey, dict[str, KnownFacts]]] = (None, {})
        self._reader: _FactReader = _FactReader() if previous is None else previous._reader

    def by_entry(self) -> Mapping[str, tuple[Fact, ...]]:
        """The facts of each entry, those first that are most likely worth knowing."""
        found = dict.fromkeys(ident for document in self.read() for ident in document.facts)
        return {ident: chosen for ident in found if (chosen := self.list_facts(ident))}

    def list_facts(self, entry_id: str) -> tuple[Fact, ...]:
        """The facts of one entry."""
        chosen = self._chosen.get(entry_id)
        if chosen is None:
            documents = self.read()
            every = [fact for document in documents for fact in document.facts.get(entry_id, ())]
            is_often_named = sum(document.mentions.get(entry_id, 0) for document in documents) >= OFTEN
            chosen = self._chosen[entry_id] = self._reader.choose(entry_id, every, self.dismissed, is_often_named)
        return chosen

    def list_dismissed(self, entry_id: str) -> tuple[Fact, ...]:
        """The facts of one entry that stay away, in the order of the text."""
        every = (fact for document in self.read() for fact in document.facts.get(entry_id, ()))
        return tuple({fact.id: fact for fact in every if fact.id in self.dismissed}.values())

    def list_for_prompts(self, entry: Entry) -> tuple[PromptFact, ...]:
        """The facts of an entry that may enter prompts: those that last, and that the entry itself does not say."""
        facts = self._for_prompts.get(entry.id)
        if facts is None:
            lasting = [fact for fact in self.list_facts(entry.id) if fact.is_lasting]
            names = find_terms(" ".join((entry.name, *entry.aliases))) if lasting else frozenset[str]()
            facts = self._for_prompts[entry.id] = tuple(
                PromptFact(fact, self.render(entry, fact, FACT[0]), fact.terms - names)
                for fact in _drop_said(entry, lasting)
            )
        return facts

    def find_known(self, vantage: Vantage, timeline: Timeline) -> dict[str, KnownFacts]:
        """The facts that `list_known` has listed for this document and whoever looks, by the id of the entry."""
        if self._known[0] is not timeline:
            self._known = (timeline, {})
        cache, here = self._known[1], vantage.position
        document = None if here is None else here.document
        told = (vantage.documents, vantage.unknown_documents)
        key = (document, vantage.perspective, vantage.character, vantage.other_ids, *told)
        known = cache.get(key)
        if known is None:
            if len(cache) >= _MAX_VANTAGES:
                cache.clear()
            known = cache[key] = {}
        return known

    def list_known(self, entry: Entry, vantage: Vantage, timeline: Timeline) -> KnownFacts:
        """The facts of an entry that may be known somewhere in the document of a vantage.

        Each comes with whether its place in the document decides on that, so that the others need not be judged again
        while the same document is written.
        """
        known, here = self.find_known(vantage, timeline), vantage.position
        facts = known.get(entry.id)
        if facts is None:
            document = None if here is None else here.document
            every = [(one, one.has_limits_in(document)) for one in self.list_for_prompts(entry)]
            facts = tuple(
                (one, is_limited)
                for one, is_limited in every
                if is_limited or judge_fragment(one.fragment, vantage, timeline) is None
            )
            if len(known) >= _MAX_KNOWN:
                known.clear()
            known[entry.id] = facts
        return facts

    def render(self, entry: Entry, fact: Fact, score: float) -> Fragment:
        """A fact as a fragment; the same one at each call."""
        key = (fact.id, score)
        fragment = self._rendered.get(key)
        if fragment is None:
            fragment = self._rendered[key] = self.codex.render_fact(entry, fact.text, fact.visibility, score)
        return fragment

    def prepare(self, *, wait_seconds: float = 0.0) -> bool:
        """Whether the texts are read; few new characters are read at once, and many in the background.

        With `wait_seconds` the caller waits so long for those that are read in the background.
        """
        if self._documents is not None:
            return True
        reader = self._reader
        failure, reader.failure = reader.failure, None
        if failure is not None:
            raise failure
        if not reader.is_in_background:
            if reader.count_new_characters(self, self._immediate_characters) <= self._immediate_characters:
                self.read()
                return True
            if reader.lock.acquire(blocking=False):
                reader.is_in_background = True
                start_in_background(self._read_in_background, "facts")
        if wait_seconds:
            with WAITING:
                is_read = reader.lock.acquire(timeout=wait_seconds)
            if is_read:
                reader.lock.release()
                return self.prepare()
        return False

    def read(self) -> tuple[_ReadDocument, ...]:
        """The texts with their facts by entry, however long it takes to read them."""
        if self._documents is None:
            with self._reader.lock:
                self._documents = self._reader.read(self) if self._documents is None else self._documents
        return self._documents

    def _read_in_background(self, give_way: Callable[[], None]) -> None:
        try:
            self._documents = self._reader.read(self, give_way)
        except Exception as error:
            log.warning("the facts of a project could not be read: %s", type(error).__name__)
            self._reader.failure = error
        finally:
            self._reader.is_in_background = False
            self._reader.lock.release()


class _ReadDocument(Struct, frozen=True):
    """A text with its paragraphs, all their facts by entry, and how often each entry is named."""

    text: FactText
    paragraphs: Mapping[str, _ReadParagraph]
    facts: Mapping[str, tuple[Fact, ...]]
    mentions: Mapping[str, int]


class _FactReader:
    """Reads the facts of one project; shared by its snapshots. `lock` is held while facts are read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_in_background = False
        self.failure: Exception | None = None  # of reading in the background, until a request has raised it
        self.matcher: NameMatcher | None = None  # with which the documents were read
        self.documents: dict[str, _ReadDocument] = {}
        self.chosen: dict[str, tuple[tuple[list[Fact], frozenset[str], bool], tuple[Fact, ...]]] = {}

    def count_new_characters(self, facts: Facts, limit: int) -> int:
        """How many characters of a snapshot were not read yet; counted until there are more than `limit`."""
        known = self.documents if facts.codex.name_matcher is self.matcher else {}
        new = 0
        for text in facts.texts:
            old = known.get(text.id)
            if old is None:
                new += len(text.text)
            elif old.text.text is not text.text:
                new += sum(len(line) for line in text.text.split("\n") if line not in old.paragraphs)
            if new > limit:
                break
        return new

    def read(self, facts: Facts, after_each: Callable[[], None] = work_on) -> tuple[_ReadDocument, ...]:
        """The texts of a snapshot with their facts; what was read before is not read again.

        `after_each` is called after each paragraph that is read.
        """
        matcher = facts.codex.name_matcher
        if matcher is not self.matcher:
            self.matcher, self.documents = matcher, {}
        names = make_fact_names(facts.codex.entries)
        documents: dict[str, _ReadDocument] = {}
        for text in facts.texts:
            old = self.documents.get(text.id)
            is_same = old is not None and old.text == text
            if old is None or not is_same:
                old = _read_document(text, matcher, names, old, after_each)
            documents[text.id] = old
        self.documents = documents
        return tuple(documents.values())

    def choose(
        self, entry_id: str, facts: list[Fact], dismissed: frozenset[str], is_often_named: bool
    ) -> tuple[Fact, ...]:
        """The most telling facts of an entry; they are chosen again only where it has other facts than before."""
        known, given = self.chosen.get(entry_id), (facts, dismissed, is_often_named)
        if known is None or known[0] != given:
            known = self.chosen[entry_id] = given, _choose_facts(*given)
        return known[1]


def _read_document(
    text: FactText,
    matcher: NameMatcher,
    names: FactNames,
    old: _ReadDocument | None,
    after_each: Callable[[], None],
) -> _ReadDocument:
    known_paragraphs = old.paragraphs if old is not None else {}
    paragraphs: dict[str, _ReadParagraph] = {}
    found: dict[str, list[Fact]] = {}
    mentions: Counter[str] = Counter()
    offset = 0
    for line in text.text.split("\n"):
        known = known_paragraphs.get(line)
        if known is None:
            known = _read_paragraph(line, matcher, names)
            after_each()
        paragraphs[line] = known
        mentions.update(known.named)
        for sentence in known.sentences:
            found.setdefault(sentence.entry_id, []).append(_make_fact(sentence, line, text, offset))
        offset += len(line) + 1
    for quotation in find_quotations(text.text, text.quotations, matcher, names) if text.quotations else ():
        found.setdefault(quotation.entry_id, []).append(_make_quoted_fact(quotation, text))
    if text.quotations:  # the order of the text decides which of two facts is the later one
        found = {ident: sorted(each, key=lambda fact: fact.since.offset) for ident, each in found.items()}
    return _ReadDocument(text, paragraphs, {ident: tuple(each) for ident, each in found.items()}, mentions)


def _read_paragraph(line: str, matcher: NameMatcher, names: FactNames) -> _ReadParagraph:
    matches = [match for match in matcher.find(line) if match.is_certain] if len(line) <= MAX_PARAGRAPH else []
    if not matches:
        return _ReadParagraph()
    return _ReadParagraph(tuple(find_fact_sentences(line, matches, names)), tuple(match.owner for match in matches))


def _make_fact(sentence: FactSentence, paragraph: str, text: FactText, offset: int) -> Fact:
    digest, ident = _make_digests(sentence.entry_id, sentence.quote(paragraph))
    return Fact(
        id=ident,
        entry_id=sentence.entry_id,
        text=sentence.quote(paragraph),
        digest=digest,
        start=offset + sentence.start,
        end=offset + sentence.end,
        since=Position(text.id, offset + sentence.end),
        known_to=text.known_to,
        score=sentence.score,
        is_lasting=sentence.is_telling,
        role=sentence.role,
    )


def _make_quoted_fact(quotation: FoundQuotation, text: FactText) -> Fact:
    quoted = quotation.quote(text.text)
    digest, ident = _make_digests(quotation.entry_id, quoted)
    return Fact(
        id=ident,
        entry_id=quotation.entry_id,
        text=quoted,
        digest=digest,
        start=quotation.start,
        end=quotation.end,
        since=Position(text.id, quotation.known_from),
        known_to=text.known_to,
        score=QUOTATION_WORTH + (1 - QUOTATION_WORTH) * measure_sentence(quoted),
        origin="model",
    )


def make_fact_id(entry_id: str, quoted: str) -> str:
    """The id of the fact that a sentence is for an entry."""
    return _make_digests(entry_id, quoted)[1]


def _make_digests(entry_id: str, quoted: str) -> tuple[str, str]:
    """The digest of a sentence, and the id of the fact that it is for an entry."""
    digest = blake2b(quoted.encode("utf-8", "replace"), digest_size=_DIGEST_SIZE).hexdigest()
    return digest, blake2b(f"{entry_id}\n{digest}".encode(), digest_size=_DIGEST_SIZE).hexdigest()


def _choose_facts(facts: Sequence[Fact], dismissed: frozenset[str], is_often_named: bool) -> tuple[Fact, ...]:
    """The most telling facts of an entry, each sentence once; the later of two about one thing ends the earlier."""
    by_id: dict[str, Fact] = {}
    roles: set[str] = set()
    for fact in facts:
        if fact.id not in dismissed and fact.role not in roles:
            known = by_id.setdefault(fact.id, fact)
            if known is not fact:  # a sentence that two of them found
                found = known if known.is_lasting else fact
                by_id[fact.id] = replace(found, score=max(known.score, fact.score))
            roles.update(filter(None, [fact.role]))
    best = sorted(by_id.values(), key=lambda fact: -fact.score)[:MAX_FACTS]
    best = [
        replace(
            fact,
            is_lasting=fact.score
            >= _find_least_chance(number, is_telling=fact.is_lasting, is_often_named=is_often_named),
        )
        for number, fact in enumerate(best)
    ]
    places = {fact.id: number for number, fact in enumerate(by_id.values())}
    chosen: list[Fact] = []
    for fact in best:
        later = [
            other
            for other in best
            if places[other.id] > places[fact.id] and _share_terms(fact.terms, other.terms) >= MIN_SHARED_TERMS
        ]
        chosen.append(replace(fact, until=min(later, key=lambda one: places[one.id]).since) if later else fact)
    return tuple(chosen)


def _find_least_chance(number: int, *, is_telling: bool, is_often_named: bool) -> float:
    """How likely worth knowing a sentence must be to enter prompts, after `number` others of its entry."""
    if number >= MIN_FACTS:
        return VERY_LIKELY
    return POSSIBLE if is_often_named else TELLING if is_telling else QUITE_LIKELY


def _share_terms(terms: frozenset[str], others: frozenset[str]) -> float:
    return len(terms & others) / max(len(terms | others), 1)


def _drop_said(entry: Entry, facts: Iterable[Fact]) -> Iterable[Fact]:
    """The facts that an entry does not say already, in nearly the same words."""
    texts = (entry.description, *entry.details.values(), *(step.text for step in entry.progressions))
    said = [find_terms(text) for text in texts if text]
    for fact in facts:
        terms = fact.terms
        if not any(len(terms & one) >= MIN_SAID_TERMS * len(terms) for one in said):
            yield fact


find_terms = lru_cache(maxsize=1 << 12)(find_shared_terms)  # of short texts that are compared again and again
