"""The snapshot of a project's active lorebooks: loaded from the store, parsed once, scanned on request (inj-8).

Books with the same rule set and settings are scanned together, as if they were one book. Each such
group has its own scan and its own budget. The results of the latest scans are cached, because one
request needs the same scan for its fragments, for the reasons of omitted entries and for its timed effects.

How a book's JSON is understood depends on its format. Formats are above this package, so the caller
passes the function that parses. A book that cannot be parsed is kept with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import cached_property

import msgspec
from msgspec import Struct

from fabula.context.gate import judge_visibility
from fabula.context.trace import Reason
from fabula.core.errors import FabulaError
from fabula.core.fragment import Fragment, Visibility
from fabula.core.messages import Sentence
from fabula.core.story import Position, Timeline, Vantage
from fabula.lorebook.activation import activate
from fabula.lorebook.edits import Lorebook, list_lorebooks
from fabula.lorebook.entry_check import MAX_SCAN_DEPTH
from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.keys import KeyIndex
from fabula.lorebook.model import (
    Activation,
    CardCharacter,
    EntryRef,
    LorebookContents,
    LorebookSettings,
    LoreEntry,
    ParsedLorebook,
    ScanContext,
    ScanMessage,
    StoryLimits,
    TimedEffects,
)
from fabula.lorebook.parsing import parse_timed_effects
from fabula.lorebook.rules import make_seeded_random
from fabula.lorebook.scan_order import ScanEntry, prepare_entry, sort_by_order
from fabula.lorebook.sillytavern_rules import EXACT
from fabula.store.transaction import ReadTransaction
from fabula.text.macros import fill_in_names, has_macros
from fabula.text.tokens.tokenizer import Tokenizer

RULES = {rules.name: rules for rules in (EXACT, FABULA)}
_CACHED_SCANS = 8


class ActiveLorebook(Struct, frozen=True, kw_only=True):
    """A lorebook that is in use. `parsed` is named by the id, because two books may have the same name."""

    id: str
    name: str
    rules: str
    parsed: ParsedLorebook
    settings: LorebookSettings
    card_character: CardCharacter | None = None  # if the book came with a character card
    problem: Sentence | None = None  # why it cannot be parsed


class ScanRequest(Struct, frozen=True):
    """Everything that the result of a scan depends on besides the books."""

    messages: tuple[ScanMessage, ...]  # oldest first
    earlier_count: int  # messages before these; they are counted and not read
    context: ScanContext
    seed: tuple[str, ...]
    timed_effects: bytes = b""  # encoded, from the previous request
    include_names: bool = True  # whether keys are matched in the names of speakers
    absent_cards: frozenset[str] = frozenset()  # ids of books that are left out
    hidden: frozenset[EntryRef] = frozenset()  # entries that the gate would stop; they are left out of the scan


class Lorebooks:
    """A snapshot of the active lorebooks of a project."""

    def __init__(self, project_id: str, books: Sequence[ActiveLorebook] = ()) -> None:
        self.project_id = project_id
        self.books = {book.id: book for book in books}
        self.entries: dict[EntryRef, LoreEntry] = {
            EntryRef(book.id, entry.uid): entry for book in books for entry in book.parsed.entries
        }
        self.visibility = {
            ref: _make_visibility(ref, entry.story) for ref, entry in self.entries.items() if entry.story is not None
        }
        self._groups: dict[tuple[str, LorebookSettings], list[ParsedLorebook]] = {}
        for book in books:
            if book.problem is None:
                self._groups.setdefault((book.rules, book.settings), []).append(book.parsed)
        self._scans: dict[tuple[ScanRequest, str], tuple[Activation, ...]] = {}
        self._indexes: dict[int, tuple[tuple[str, str], KeyIndex]] = {}  # by group, with the names in its keys
        self._fragments: dict[str, Fragment] = {}

    def find_card_character(self, name: str) -> CardCharacter:
        """Return the character of that name from its card; without a name, the character of the only card."""
        cards = [book.card_character for book in self.books.values() if book.card_character is not None]
        matching = [card for card in cards if card.name.casefold() == name.casefold()] if name else cards
        return matching[0] if len(matching) == 1 else CardCharacter(name=name)

    def list_entries(self, book_ids: Set[str]) -> list[EntryRef]:
        """Return the entries of some books."""
        return [ref for ref in self.entries if ref.book in book_ids] if book_ids else []

    def find_hidden(self, vantage: Vantage, timeline: Timeline) -> dict[EntryRef, Reason]:
        """Return the entries that the gate would stop, with the reason; they must not activate other entries either."""
        reasons = {ref: judge_visibility(limits, vantage, timeline) for ref, limits in self.visibility.items()}
        return {
            ref: reason for ref, reason in reasons.items() if reason is not None and reason is not Reason.NOT_REVEALED
        }

    @cached_property
    def scan_depth(self) -> int:
        """The largest number of messages that any entry reads."""
        if any(book.settings.min_activations for book in self.books.values()):
            return MAX_SCAN_DEPTH
        own = (entry.scan_depth for entry in self.entries.values() if entry.scan_depth is not None)
        deepest = max((*own, *(book.settings.depth for book in self.books.values())), default=0)
        return int(min(max(deepest, 0), MAX_SCAN_DEPTH))

    def prepare_in_order(self, refs: Sequence[EntryRef], context: ScanContext) -> list[ScanEntry]:
        """Prepare entries, given in the order of activation, in reading order: by position, then by ascending order."""
        ascending = sort_by_order([prepare_entry(ref, self.entries[ref], context) for ref in refs])[::-1]
        return sorted(ascending, key=lambda entry: entry.fields.position or 0)

    def share_fragment(self, fragment: Fragment) -> Fragment:
        """Return the fragment of an earlier request if it is equal, so that it is measured once."""
        known = self._fragments.get(fragment.source)
        if known != fragment:
            known = self._fragments[fragment.source] = fragment
        return known

    def scan(self, request: ScanRequest, tokenizer: Tokenizer) -> tuple[Activation, ...]:
        """Scan the books, once for each group with the same rules and settings; recent results are cached."""
        key = (request, tokenizer.name)
        result = self._scans.get(key)
        if result is None:
            if len(self._scans) >= _CACHED_SCANS:
                self._scans.clear()
            result = self._scans[key] = tuple(self._scan_groups(request, tokenizer))
        return result

    def _get_index(
        self, number: int, books: Sequence[ParsedLorebook], settings: LorebookSettings, context: ScanContext
    ) -> KeyIndex:
        """Return the keys of a group of books; they are parsed again only where names in keys have changed."""
        names = (context.user, context.character.name) if self._names_in_keys else ("", "")
        known = self._indexes.get(number)
        if known is None or known[0] != names:
            index = KeyIndex(books, settings, lambda text: fill_in_names(text, context.user, context.character.name))
            known = self._indexes[number] = names, index
        return known[1]

    @cached_property
    def _names_in_keys(self) -> bool:
        keys = (key for entry in self.entries.values() for key in (*(entry.key or ()), *(entry.keysecondary or ())))
        return any(has_macros(key) for key in keys)

    def _scan_groups(self, request: ScanRequest, tokenizer: Tokenizer) -> list[Activation]:
        effects = decode_timed_effects(request.timed_effects)
        messages = [ScanMessage("", "")] * request.earlier_count + list(request.messages)
        results = []
        for number, ((rules, settings), books) in enumerate(self._groups.items()):
            index = self._get_index(number, books, settings, request.context)
            if request.absent_cards:
                books = [book for book in books if book.name not in request.absent_cards]
                if not books:
                    continue
            if request.hidden:
                books = [_remove_entries(book, request.hidden) for book in books]
            if not request.include_names:
                settings = msgspec.structs.replace(settings, include_names=False)
            results.append(
                activate(
                    books,
                    messages,
                    tokenizer=tokenizer,
                    random_source=make_seeded_random(*request.seed, len(messages), number),
                    settings=settings,
                    context=request.context,
                    timed_effects=effects,
                    rules=RULES[rules],
                    index=index,
                )
            )
        return results


def make_source(ref: EntryRef) -> str:
    """Return the source of an entry's fragment."""
    return f"lorebook:{ref}"


def _make_visibility(ref: EntryRef, story: StoryLimits) -> Visibility:
    since, until = (Position(document) if document else None for document in (story.since, story.until))
    return Visibility(make_source(ref), since, until, None if story.known_to is None else frozenset(story.known_to))


def _remove_entries(book: ParsedLorebook, removed: frozenset[EntryRef]) -> ParsedLorebook:
    entries = tuple(entry for entry in book.entries if EntryRef(book.name, entry.uid) not in removed)
    return book if len(entries) == len(book.entries) else msgspec.structs.replace(book, entries=entries)


def decode_timed_effects(data: bytes) -> TimedEffects:
    """Decode the timed effects of a previous request; unreadable data gives none."""
    try:
        return parse_timed_effects(msgspec.json.decode(data or b"{}"))
    except (msgspec.DecodeError, FabulaError):
        return TimedEffects()


def encode_timed_effects(activations: Sequence[Activation]) -> bytes:
    """Encode the timed effects after all scans; empty if none runs."""
    sticky = {name: effect for one in activations for name, effect in one.timed_effects.sticky.items()}
    cooldown = {name: effect for one in activations for name, effect in one.timed_effects.cooldown.items()}
    return msgspec.json.encode(TimedEffects(sticky, cooldown)) if sticky or cooldown else b""


ParseLorebook = Callable[[Lorebook], LorebookContents]


def load_lorebooks(
    reading: ReadTransaction,
    project_id: str,
    parse: ParseLorebook,
    before: Lorebooks | None = None,
    moved: Set[str] | None = None,
) -> Lorebooks | None:
    """Load the active books by name; None if there are none. Books that did not change are shared with `before`."""
    previous = before.books if before is not None else {}
    unchanged = {key: book for key, book in previous.items() if moved is not None and not moved & {key, ""}}
    books = [
        unchanged.get(book.id) or parse_active_lorebook(book, parse) for book in list_lorebooks(reading) if book.active
    ]
    if before is not None and before.project_id == project_id and books == list(previous.values()):
        return before
    return Lorebooks(project_id, books) if books else None


def parse_active_lorebook(book: Lorebook, parse: ParseLorebook) -> ActiveLorebook:
    """Parse a book; if that fails, return it empty and with the reason."""
    problem: Sentence | None = None
    try:
        contents = parse(book)
    except FabulaError as error:
        contents, problem = LorebookContents(ParsedLorebook(book.id, ()), LorebookSettings()), error.message
    character = contents.card_character
    return ActiveLorebook(
        id=book.id,
        name=book.name,
        rules=book.rules,
        parsed=contents.book if character is None else _name_character(contents.book, character.name),
        settings=contents.settings,
        card_character=character,
        problem=problem,
    )


def _name_character(book: ParsedLorebook, name: str) -> ParsedLorebook:
    """Fill in the name of the character whose book it is, because others may speak where it is read."""

    def fill_in(entry: LoreEntry) -> LoreEntry:
        texts = (entry.content or "", *(entry.key or ()), *(entry.keysecondary or ()))
        if not any(map(has_macros, texts)):
            return entry
        content, *keys = (fill_in_names(text, "", name) for text in texts)
        count = len(entry.key or ())
        return msgspec.structs.replace(
            entry,
            content=content if entry.content else entry.content,
            key=entry.key and tuple(keys[:count]),
            keysecondary=entry.keysecondary and tuple(keys[count:]),
        )

    return msgspec.structs.replace(book, entries=tuple(map(fill_in, book.entries)))
