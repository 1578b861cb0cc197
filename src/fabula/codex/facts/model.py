"""The facts of a project: sentences of the manuscript about each entry, found when first needed (cdx-10).

A snapshot of facts is part of a view and never changes. The next one takes over what belongs to a document, a
paragraph and names that stayed the same, so after an edit only the changed paragraphs are read again. A small book is
read while a request waits; a large one in the background, and until then prompts hold no facts.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from fabula.codex.entry import Entry
from fabula.codex.facts.choose import OFTEN, choose_facts
from fabula.codex.facts.fact import Fact, FactText, make_fact, make_quoted_fact
from fabula.codex.facts.find import FactNames, make_fact_names
from fabula.codex.facts.known import EntryFacts, KnownFacts, VantageFacts, prepare_facts
from fabula.codex.facts.paragraphs import ReadParagraph, read_paragraph
from fabula.codex.facts.quotations import find_quotations
from fabula.codex.model import Codex
from fabula.core.background import WAITING, start_in_background, work_on
from fabula.core.fragment import Fragment
from fabula.core.story import Timeline, Vantage
from fabula.text.names.matcher import NameMatcher

log = logging.getLogger("fabula.codex")

PER_ENTRY = 3  # facts of one entry in a prompt, unless a setting says otherwise
IMMEDIATE_CHARACTERS = 60_000  # that are read while a request waits
_MAX_VANTAGES = 200  # documents, as somebody sees them, whose known facts are kept


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
        self._for_prompts: dict[str, EntryFacts] = {}
        self._rendered: dict[tuple[str, float], Fragment] = {}
        self._known: tuple[Timeline | None, dict[tuple[object, ...], VantageFacts]] = (None, {})
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
            given = every, self.dismissed, is_often_named, self.codex.timeline
            chosen = self._chosen[entry_id] = self._reader.choose(entry_id, *given)
        return chosen

    def list_dismissed(self, entry_id: str) -> tuple[Fact, ...]:
        """The facts of one entry that stay away, in the order of the text."""
        every = (fact for document in self.read() for fact in document.facts.get(entry_id, ()))
        return tuple({fact.id: fact for fact in every if fact.id in self.dismissed}.values())

    def list_for_prompts(self, entry: Entry) -> EntryFacts:
        """The facts of an entry that may enter prompts, as they are compared with scenes."""
        facts = self._for_prompts.get(entry.id)
        if facts is None:
            facts = self._for_prompts[entry.id] = self._reader.prepare(entry, self.list_facts(entry.id))
        return facts

    def find_known(self, vantage: Vantage, timeline: Timeline) -> VantageFacts:
        """What is known of facts in the document of a vantage, by whoever looks."""
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
            known = cache[key] = VantageFacts(document)
        return known

    def list_known(self, entry: Entry, vantage: Vantage, timeline: Timeline) -> KnownFacts:
        """The facts of an entry that may be known somewhere in the document of a vantage."""
        return self.find_known(vantage, timeline).list_known(
            self.list_for_prompts(entry), entry, self.codex, vantage, timeline
        )

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
    paragraphs: Mapping[str, ReadParagraph]
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
        self.chosen: dict[str, tuple[tuple[list[Fact], frozenset[str], bool, Timeline], tuple[Fact, ...]]] = {}
        self.prepared: dict[str, tuple[tuple[Fact, ...], Entry, EntryFacts]] = {}

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
        self, entry_id: str, facts: list[Fact], dismissed: frozenset[str], is_often_named: bool, timeline: Timeline
    ) -> tuple[Fact, ...]:
        """The facts of an entry, the most telling ones first; chosen again only where it has others than before."""
        known, given = self.chosen.get(entry_id), (facts, dismissed, is_often_named, timeline)
        if known is None or known[0] != given:
            known = self.chosen[entry_id] = given, choose_facts(*given)
        return known[1]

    def prepare(self, entry: Entry, facts: tuple[Fact, ...]) -> EntryFacts:
        """The facts of an entry as they are compared with scenes; prepared again only where something changed."""
        known = self.prepared.get(entry.id)
        if known is None or known[0] is not facts or known[1] is not entry:
            known = self.prepared[entry.id] = facts, entry, prepare_facts(entry, facts)
        return known[2]


def _read_document(
    text: FactText,
    matcher: NameMatcher,
    names: FactNames,
    old: _ReadDocument | None,
    after_each: Callable[[], None],
) -> _ReadDocument:
    known_paragraphs = old.paragraphs if old is not None else {}
    paragraphs: dict[str, ReadParagraph] = {}
    found: dict[str, list[Fact]] = {}
    mentions: Counter[str] = Counter()
    offset = 0
    for line in text.text.split("\n"):
        known = known_paragraphs.get(line)
        if known is None:
            known = read_paragraph(line, matcher, names)
            after_each()
        paragraphs[line] = known
        mentions.update(known.named)
        for sentence in known.sentences:
            found.setdefault(sentence.entry_id, []).append(make_fact(sentence, line, text, offset))
        offset += len(line) + 1
    for quotation in find_quotations(text.text, text.quotations, matcher, names) if text.quotations else ():
        found.setdefault(quotation.entry_id, []).append(make_quoted_fact(quotation, text))
    if text.quotations:  # the order of the text decides which of two facts is the later one
        found = {ident: sorted(each, key=lambda fact: fact.since.offset) for ident, each in found.items()}
    return _ReadDocument(text, paragraphs, {ident: tuple(each) for ident, each in found.items()}, mentions)
