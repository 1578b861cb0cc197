"""The shelf: the books of a project, parsed once, and what they answer.

Books that are read in the same way are scanned together, as if they were one; each way has its own scan,
with its own budget. A scan depends on what is handed in and on nothing else, so the answers to the latest
questions are kept: one request asks the same thing several times, for its fragments, for its reasons and
for what it leaves behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec import Struct

from fabula.context.gate import judge_terms
from fabula.context.trace import Reason as Hidden
from fabula.core.errors import FabulaError
from fabula.core.fragment import Terms
from fabula.core.story import Position, Timeline, Vantage
from fabula.lorebook.activation import activate
from fabula.lorebook.entry_check import DEEPEST
from fabula.lorebook.model import About, Activation, Book, LoreEntry, Ref, Said, Scene, Settings, Story, Timed
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.parsing import read_timed
from fabula.lorebook.random_source import seeded
from fabula.lorebook.scan_order import Lore, by_order, ready
from fabula.lorebook.sillytavern_rules import EXACT
from fabula.text.tokens.tokenizer import Tokenizer

RULES = {rules.name: rules for rules in (EXACT, FABULA)}
_ANSWERS = 8  # questions whose answers are kept


class Shelved(Struct, frozen=True, kw_only=True):
    """One book that is in use. Inside, it goes by its id, because two books may have one name."""

    id: str
    name: str
    rules: str
    book: Book
    settings: Settings
    about: About | None = None  # where it came with a card
    problem: str = ""  # why it cannot be read, if it cannot


class Question(Struct, frozen=True):
    """All that an answer depends on besides the books."""

    said: tuple[Said, ...]  # oldest first
    earlier: int  # messages before these, which nobody looks at but which count
    scene: Scene
    seed: tuple[str, ...]
    left: bytes = b""  # the timed effects, as the last request left them
    names: bool = True  # whether messages have a speaker worth looking at
    withheld: frozenset[Ref] = frozenset()  # entries that may not be told here: as if they were not in their book


class Lorebooks:
    """A snapshot of the books in use."""

    def __init__(self, project_id: str, books: Sequence[Shelved] = ()) -> None:
        self.project_id = project_id
        self.books = {book.id: book for book in books}
        self.entries: dict[Ref, LoreEntry] = {
            Ref(book.id, entry.uid): entry for book in books for entry in book.book.entries
        }
        self.terms = {ref: _terms(ref, entry.story) for ref, entry in self.entries.items() if entry.story is not None}
        self._ways: dict[tuple[str, Settings], list[Book]] = {}
        for book in books:
            if not book.problem:
                self._ways.setdefault((book.rules, book.settings), []).append(book.book)
        self._answers: dict[tuple[Question, str], tuple[Activation, ...]] = {}

    def about(self, name: str) -> About:
        """What is known of a character from its card; where nobody is named and there is one card, of that one."""
        cards = [book.about for book in self.books.values() if book.about is not None]
        known = [card for card in cards if card.name.casefold() == name.casefold()] if name else cards
        return known[0] if len(known) == 1 else About(name=name)

    def withheld(self, vantage: Vantage, timeline: Timeline) -> dict[Ref, Hidden]:
        """Entries that the gate would stop here. They must not call others up either, so books are asked without."""
        judged = {ref: judge_terms(terms, vantage, timeline) for ref, terms in self.terms.items()}
        return {ref: why for ref, why in judged.items() if why is not None and why is not Hidden.NOT_REVEALED}

    @cached_property
    def depth(self) -> int:
        """How many messages any entry may look at."""
        if any(book.settings.min_activations for book in self.books.values()):
            return DEEPEST
        own = (entry.scan_depth for entry in self.entries.values() if entry.scan_depth is not None)
        deepest = max((*own, *(book.settings.depth for book in self.books.values())), default=0)
        return int(min(max(deepest, 0), DEEPEST))

    def read_in_order(self, refs: Sequence[Ref], scene: Scene) -> list[Lore]:
        """Those entries, activated in this order, as they are read: by position, then the lowest order first."""
        ascending = by_order([ready(ref, self.entries[ref], scene) for ref in refs])[::-1]
        return sorted(ascending, key=lambda lore: lore.entry.position or 0)

    def ask(self, question: Question, tokenizer: Tokenizer) -> tuple[Activation, ...]:
        """What the books answer: one scan for each way of reading them."""
        key = (question, tokenizer.name)
        known = self._answers.get(key)
        if known is None:
            if len(self._answers) >= _ANSWERS:
                self._answers.clear()
            known = self._answers[key] = tuple(self._scans(question, tokenizer))
        return known

    def _scans(self, question: Question, tokenizer: Tokenizer) -> list[Activation]:
        timed = timed_of(question.left)
        said = [Said("", "")] * question.earlier + list(question.said)
        answers = []
        for number, ((rules, settings), books) in enumerate(self._ways.items()):
            books = [_without(book, question.withheld) for book in books] if question.withheld else books
            way = settings if question.names else msgspec.structs.replace(settings, include_names=False)
            answers.append(
                activate(
                    books,
                    said,
                    tokenizer=tokenizer,
                    chance=seeded(*question.seed, len(said), number),
                    settings=way,
                    scene=question.scene,
                    timed=_of_books(timed, books),
                    rules=RULES[rules],
                )
            )
        return answers


def source_of(ref: Ref) -> str:
    """An entry's name among fragments."""
    return f"lorebook:{ref}"


def _terms(ref: Ref, story: Story) -> Terms:
    since, until = (Position(document) if document else None for document in (story.since, story.until))
    return Terms(source_of(ref), since, until, None if story.known_to is None else frozenset(story.known_to))


def _without(book: Book, withheld: frozenset[Ref]) -> Book:
    told = tuple(entry for entry in book.entries if Ref(book.name, entry.uid) not in withheld)
    return book if len(told) == len(book.entries) else Book(book.name, told, book.source)


def timed_of(left: bytes) -> Timed:
    """The effects that a request left behind; what cannot be read is as good as lost."""
    if not left:
        return Timed()
    try:
        return read_timed(msgspec.json.decode(left))
    except (msgspec.DecodeError, FabulaError):
        return Timed()


def leave(answers: Sequence[Activation]) -> bytes:
    """The effects after all scans; nothing where none runs."""
    sticky = {name: effect for answer in answers for name, effect in answer.timed.sticky.items()}
    cooldown = {name: effect for answer in answers for name, effect in answer.timed.cooldown.items()}
    return msgspec.json.encode(Timed(sticky, cooldown)) if sticky or cooldown else b""


def _of_books(timed: Timed, books: Sequence[Book]) -> Timed:
    """The effects of those books' entries."""
    names = {str(Ref(book.name, entry.uid)) for book in books for entry in book.entries}

    def own(effects: Mapping[str, object]) -> set[str]:
        return names & effects.keys()

    return Timed(
        {name: timed.sticky[name] for name in sorted(own(timed.sticky))},
        {name: timed.cooldown[name] for name in sorted(own(timed.cooldown))},
    )
