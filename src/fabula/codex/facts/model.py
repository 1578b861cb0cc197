"""The facts of a project: sentences of the manuscript about each entry, found when first needed (cdx-10).

A snapshot of facts is part of a view and never changes. The next one takes over what belongs to a document, a
paragraph and names that stayed the same, so after an edit only the changed paragraphs are read again. A small book is
read while a request waits; a large one in the background, and until then prompts hold no facts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex.entry import Entry
from fabula.codex.facts.find import FactKind, FactNames, FactSentence, find_fact_sentences
from fabula.codex.model import Codex
from fabula.core.fragment import Fragment, Visibility
from fabula.core.story import Position
from fabula.text.names.matcher import NameMatcher
from fabula.text.terms import find_shared_terms

log = logging.getLogger("fabula.codex")

MAX_FACTS = 24  # of one entry, the most telling ones
MIN_FACTS = 6  # of one entry that may enter prompts, where it has so many: after what lasts the best events
PER_ENTRY = 3  # facts of one entry in a prompt, unless a setting says otherwise
MAX_PARAGRAPH = 20_000  # characters; a longer paragraph is no prose, and has no facts
IMMEDIATE_CHARACTERS = 60_000  # that are read while a request waits
MIN_SHARED_TERMS = 0.6  # of the terms of two facts about one thing, of which the later one is true from then on
MIN_SAID_TERMS = 0.8  # of the terms of a fact that its entry has too, which says the same then
FACT_PREFIX = "fact:"  # in the source of a fact, before its id
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
    is_lasting: bool = True  # whether it may enter prompts: its words show that it lasts, or it is one of a few events
    is_event: bool = False  # whether it tells what became of the entry
    role: str = ""  # the word that says who somebody is, if the sentence tells no more of them

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
        self._documents: tuple[Mapping[str, tuple[Fact, ...]], ...] | None = None  # by entry, of each text
        self._chosen: dict[str, tuple[Fact, ...]] = {}
        self._for_prompts: dict[str, tuple[Fact, ...]] = {}
        self._rendered: dict[tuple[str, float], Fragment] = {}
        self._reader: _FactReader = _FactReader() if previous is None else previous._reader

    def by_entry(self) -> Mapping[str, tuple[Fact, ...]]:
        """The facts of each entry: those that last first, and of these the most telling."""
        found = dict.fromkeys(ident for document in self.read() for ident in document)
        return {ident: chosen for ident in found if (chosen := self.list_facts(ident))}

    def list_facts(self, entry_id: str) -> tuple[Fact, ...]:
        """The facts of one entry."""
        chosen = self._chosen.get(entry_id)
        if chosen is None:
            every = [fact for document in self.read() for fact in document.get(entry_id, ())]
            chosen = self._chosen[entry_id] = self._reader.choose(entry_id, every, self.dismissed)
        return chosen

    def list_for_prompts(self, entry: Entry) -> tuple[Fact, ...]:
        """The facts of an entry that may enter prompts: those that last, and that the entry itself does not say."""
        facts = self._for_prompts.get(entry.id)
        if facts is None:
            lasting = [fact for fact in self.list_facts(entry.id) if fact.is_lasting]
            facts = self._for_prompts[entry.id] = tuple(_drop_said(entry, lasting)) if lasting else ()
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
                threading.Thread(target=self._read_in_background, name="facts", daemon=True).start()
        if wait_seconds and reader.lock.acquire(timeout=wait_seconds):
            reader.lock.release()
            return self.prepare()
        return False

    def read(self) -> tuple[Mapping[str, tuple[Fact, ...]], ...]:
        """The facts of each text by entry, however long it takes to read them."""
        if self._documents is None:
            with self._reader.lock:
                self._documents = self._reader.read(self) if self._documents is None else self._documents
        return self._documents

    def _read_in_background(self) -> None:
        try:
            self._documents = self._reader.read(self)
        except Exception as error:
            log.warning("the facts of a project could not be read: %s", type(error).__name__)
            self._reader.failure = error
        finally:
            self._reader.is_in_background = False
            self._reader.lock.release()


class _ReadDocument(Struct, frozen=True):
    """A text with the facts of its paragraphs, and all of them by entry."""

    text: FactText
    paragraphs: Paragraphs
    facts: Mapping[str, tuple[Fact, ...]]


class _FactReader:
    """Reads the facts of one project; shared by its snapshots. `lock` is held while facts are read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_in_background = False
        self.failure: Exception | None = None  # of reading in the background, until a request has raised it
        self.matcher: NameMatcher | None = None  # with which the documents were read
        self.documents: dict[str, _ReadDocument] = {}
        self.chosen: dict[str, tuple[list[Fact], frozenset[str], tuple[Fact, ...]]] = {}

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

    def read(self, facts: Facts) -> tuple[Mapping[str, tuple[Fact, ...]], ...]:
        """The facts of a snapshot; documents and paragraphs that were read before are not read again."""
        matcher = facts.codex.name_matcher
        if matcher is not self.matcher:
            self.matcher, self.documents = matcher, {}
        names = FactNames(
            {entry.id: frozenset(map(str.casefold, (entry.name, *entry.aliases))) for entry in facts.codex.entries},
            frozenset(entry.id for entry in facts.codex.entries if entry.type == "location"),
        )
        documents: dict[str, _ReadDocument] = {}
        for text in facts.texts:
            old = self.documents.get(text.id)
            is_same = old is not None and old.text == text
            documents[text.id] = old if old is not None and is_same else _read_document(text, matcher, names, old)
        self.documents = documents
        return tuple(document.facts for document in documents.values())

    def choose(self, entry_id: str, facts: list[Fact], dismissed: frozenset[str]) -> tuple[Fact, ...]:
        """The most telling facts of an entry; they are chosen again only where it has other facts than before."""
        known = self.chosen.get(entry_id)
        if known is None or known[0] != facts or known[1] != dismissed:
            known = self.chosen[entry_id] = facts, dismissed, _choose_facts(facts, dismissed)
        return known[2]


def _read_document(text: FactText, matcher: NameMatcher, names: FactNames, old: _ReadDocument | None) -> _ReadDocument:
    known_paragraphs = old.paragraphs if old is not None else {}
    paragraphs: dict[str, tuple[FactSentence, ...]] = {}
    found: dict[str, list[Fact]] = {}
    offset = 0
    for line in text.text.split("\n"):
        known = known_paragraphs.get(line)
        if known is None:
            is_prose = 0 < len(line) <= MAX_PARAGRAPH
            known = tuple(find_fact_sentences(line, matcher.find(line), names)) if is_prose else ()
            time.sleep(0)  # let a thread run that answers a request
        paragraphs[line] = known
        for sentence in known:
            found.setdefault(sentence.entry_id, []).append(_make_fact(sentence, line, text, offset))
        offset += len(line) + 1
    return _ReadDocument(text, paragraphs, {ident: tuple(each) for ident, each in found.items()})


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
        is_lasting=sentence.kind is FactKind.LASTING,
        is_event=sentence.kind is FactKind.EVENT,
        role=sentence.role,
    )


def _choose_facts(facts: Sequence[Fact], dismissed: frozenset[str]) -> tuple[Fact, ...]:
    """The most telling facts of an entry, each sentence once; the later of two about one thing ends the earlier."""
    by_id: dict[str, Fact] = {}
    roles: set[str] = set()
    for fact in facts:
        if fact.id not in dismissed and fact.role not in roles:
            by_id.setdefault(fact.id, fact)
            roles.update(filter(None, [fact.role]))
    best = sorted(by_id.values(), key=lambda fact: (not fact.is_lasting, not fact.is_event, -fact.score))[:MAX_FACTS]
    best = [
        replace(fact, is_lasting=fact.is_lasting or (fact.is_event and number < MIN_FACTS))
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
