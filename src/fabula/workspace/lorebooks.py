"""What a person can do with lorebooks: import, edit, try on a text, export, turn into codex entries (inj-7, inj-8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.codex import Codex, Entry
from fabula.codex import edits as codex_edits
from fabula.context.reasons import name_chapter
from fabula.context.recipes import Preset
from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, advise, is_word, message
from fabula.core.story import Perspective, Position, Vantage
from fabula.formats.bounded_import import read_bounded
from fabula.formats.lore import conversion, editing
from fabula.formats.lore.cards import CARD
from fabula.formats.lore.files import read_lorebook, write_lorebook
from fabula.formats.lore.other_programs import WORLD_INFO
from fabula.formats.lore.to_codex import convert_to_codex, list_lost_features
from fabula.lorebook import edits
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import (
    Activation,
    CardCharacter,
    EntryRef,
    EntryVerdict,
    LorebookContents,
    LorebookReason,
    ScanContext,
    ScanMessage,
    StoryLimits,
)
from fabula.lorebook.placement import list_anchors, place_entry
from fabula.lorebook.scan_order import make_title
from fabula.lorebook.snapshot import Lorebooks, ScanRequest, parse_active_lorebook
from fabula.lorebook.source import explain_hidden
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import find_by_name
from fabula.text.tokens.tokenizer import load_encoding
from fabula.workspace.arguments import PositiveInt, Title
from fabula.workspace.names import read_knowers
from fabula.workspace.story_places import END, START, read_place
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, label_removal

TEST_ENCODING = "o200k_base"
REPLACE_FILE = advise(
    message("To put the file in its place: --replace"),
    message("To put the file in its place, import it with `replaceExisting`."),
)


class LorebookSummary(Struct, frozen=True):
    """A lorebook, how many entries it has (None where it cannot be read), and what else its card is called."""

    book: Lorebook
    entry_count: int | None
    other_names: tuple[str, ...] = ()


class HiddenLoreEntry(Struct, frozen=True):
    """An entry that a reader at a place of the story must not see, and why."""

    ref: EntryRef
    title: str
    reason: Reason
    cause: Sentence | None = None  # from or until which chapter it holds


class LorebookTrial(Struct, frozen=True):
    """What a text activates: one result for each group of books with the same rules, and the hidden entries."""

    activations: tuple[Activation, ...]
    hidden: list[HiddenLoreEntry]
    book_names: Mapping[str, str]  # by id


class LorebookVerbs(ProjectVerbs):
    """The lorebooks of an open project; a book is named by its id or name, an entry by its number."""

    def list_lorebooks(self) -> list[LorebookSummary]:
        """List every book by name."""
        with self._read() as reading:
            return [
                LorebookSummary(book, _count_entries(book), _list_names(book)[1:])
                for book in edits.list_lorebooks(reading)
            ]

    def read(self, book: str) -> tuple[Lorebook, LorebookContents]:
        """Return a book as it is stored, and what it means."""
        with self._read() as reading:
            found = find_lorebook(reading, book)
        return found, editing.parse_lorebook(found)

    def name_limits(self, contents: LorebookContents) -> dict[str, Sentence | str]:
        """Return what the chapters and people in the limits of a book's entries are called, by id."""
        timeline, codex = self._view.timeline, self._view.snapshot(Codex)
        limits = [entry.story for entry in contents.book.entries if entry.story is not None]
        documents = {one for story in limits for one in (story.since, story.until) if one}
        people = {entry.id: entry.name for entry in codex.entries} if codex is not None else {}
        return {**people, **{one: name_chapter(timeline, Position(one)) for one in documents}}

    def create(self, name: Title, *, rules: str = "fabula") -> Lorebook:
        """Make an empty book."""
        empty = Lorebook(name=name, book={"name": name, "entries": {}}, format=WORLD_INFO.name)
        return self._save_new(replace(empty, rules=rules))

    def import_file(
        self, path: str | Path, *, rules: str = "", replace_existing: bool = False
    ) -> tuple[Lorebook, LorebookContents]:
        """Import a lorebook, or a card with the book it has, to be read by its own rules or by others.

        A book with the same contents as one that is here is refused. With `replace_existing` the file takes the
        place of that book, or of the one with the same name, and keeps its id and whether it is in use.
        """
        path = Path(path)
        book = read_bounded(read_lorebook, path)
        with self._write() as tx:
            stored, warnings = store_imported(tx, book, path, rules=rules, replace_existing=replace_existing)
        contents = editing.parse_lorebook(stored)
        return stored, replace(contents, warnings=(*contents.warnings, *warnings))

    def export_file(
        self,
        book: str,
        path: str | Path,
        *,
        into: str | Path | None = None,
        as_world_info: bool = False,
        version: int | None = None,
        overwrite: bool = False,
    ) -> tuple[Lorebook, tuple[Sentence, ...]]:
        """Write a book as it came, as world info, or as a version of card; return it, and what is lost.

        `into` is the picture or archive of which a copy gets the card.
        """
        if as_world_info and version is not None:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("A book is written as world info or as a version of card, not both. Nothing was written."),
            )
        with self._read() as reading:
            found = find_lorebook(reading, book)
        warnings: tuple[Sentence, ...] = ()
        if as_world_info:
            found, warnings = conversion.convert_to_world_info(found)
        if version is not None:
            found, lost = conversion.convert_to_version(found, version)
            warnings += lost
        warnings += write_lorebook(found, Path(path), into=None if into is None else Path(into), overwrite=overwrite)
        return found, warnings

    def try_text(
        self, text: str, *, book: str | None = None, place: str | None = None, context_tokens: PositiveInt = 8192
    ) -> LorebookTrial:
        """Find the entries that a text activates, in the books in use or in one book.

        With a place, the answer is for a reader who has come that far in the story; without, for the author.
        """
        timeline = self._view.timeline
        with self._read() as reading:
            in_use = [one for one in edits.list_lorebooks(reading) if one.active]
            books = in_use if book is None else [find_lorebook(reading, book)]
            position = None if place is None else read_place(reading, place)
        for one in books:
            editing.parse_lorebook(one)  # refuses a book that cannot be read, with the reason
        lorebooks = Lorebooks(self._project.id, [parse_active_lorebook(one, editing.parse_lorebook) for one in books])
        reasons: Mapping[EntryRef, Reason] = {}
        vantage = Vantage(Perspective.READER, position)
        if position is not None:
            reasons = lorebooks.find_hidden(vantage, timeline)
        character = CardCharacter(name=lorebooks.find_card_character("").name)
        request = ScanRequest(
            messages=(ScanMessage("", text),),
            earlier_count=0,
            context=ScanContext(max_context=context_tokens, character=character),
            seed=(self._project.id, "test"),
            include_names=False,
            hidden=frozenset(reasons),
        )
        hidden = [
            HiddenLoreEntry(
                ref,
                make_title(ref, lorebooks.entries[ref]),
                reason,
                explain_hidden(lorebooks, ref, reason, vantage, timeline),
            )
            for ref, reason in reasons.items()
        ]
        anchors = list_anchors(self._view.snapshot(Preset))
        activations = [
            replace(one, verdicts=tuple(_check_place(verdict, lorebooks, anchors) for verdict in one.verdicts))
            for one in lorebooks.scan(request, load_encoding(TEST_ENCODING))
        ]
        return LorebookTrial(tuple(activations), hidden, {one.id: one.name for one in books})

    def add_entry(self, book: str, fields: Mapping[str, Any]) -> tuple[Lorebook, int]:
        """Add an entry, with fields by their names in world info; return the book and the entry's number."""
        with self._write(label_change(message("lorebook"), book)) as tx:
            found = find_lorebook(tx, book)
            tx.undo_label = label_change(message("lorebook"), found.name)
            changed, uid = editing.add_entry(found, **fields)
            return _save(tx, found, changed), uid

    def edit_entry(self, book: str, entry: str | int, fields: Mapping[str, Any]) -> Lorebook:
        """Change some fields of an entry; all others stay as they came."""
        with self._write(label_change(message("lorebook"), book)) as tx:
            found = find_lorebook(tx, book)
            tx.undo_label = label_change(message("lorebook"), found.name)
            return _save(tx, found, editing.patch_entry(found, editing.find_uid(found, entry), **fields))

    def remove_entry(self, book: str, entry: str | int) -> Lorebook:
        """Remove an entry."""
        with self._write(label_change(message("lorebook"), book)) as tx:
            found = find_lorebook(tx, book)
            tx.undo_label = label_change(message("lorebook"), found.name)
            return _save(tx, found, editing.remove_entry(found, editing.find_uid(found, entry)))

    def limit_entry(
        self,
        book: str,
        entry: str | int,
        *,
        since: str | None = None,
        until: str | None = None,
        known_to: Sequence[str] | None = None,
    ) -> Lorebook:
        """Say from which chapter to which an entry holds, and who may know it; what is not given stays.

        `start`, `end` and `everybody` take a limit away, and `nobody` is the empty list of those who know it.
        """
        view = self._view
        with self._write(label_change(message("lorebook"), book)) as tx:
            found = find_lorebook(tx, book)
            tx.undo_label = label_change(message("lorebook"), found.name)
            uid = editing.find_uid(found, entry)
            known = next((one for one in editing.parse_lorebook(found).book.entries if one.uid == uid), None)
            story = (known.story if known is not None else None) or StoryLimits()
            if since is not None:
                story = replace(story, since=None if is_word(since, START) else _read_document(tx, since))
            if until is not None:
                story = replace(story, until=None if is_word(until, END) else _read_document(tx, until))
            if known_to is not None:
                story = replace(story, known_to=read_knowers(view, tx, known_to))
            return _save(tx, found, editing.patch_entry(found, uid, story=story))

    def use(self, book: str, *, active: bool = True, rules: str = "") -> Lorebook:
        """Use a book or use it no longer, by the rules it has or by others."""
        with self._write(label_change(message("lorebook"), book)) as tx:
            found = find_lorebook(tx, book)
            tx.undo_label = label_change(message("lorebook"), found.name)
            return _save(tx, found, replace(found, active=active, rules=rules or found.rules))

    def remove(self, book: str) -> Lorebook:
        """Remove a book; return what it was."""
        with self._write(label_removal(message("lorebook"), book)) as tx:
            found = find_lorebook(tx, book)
            tx.undo_label = label_removal(message("lorebook"), found.name)
            edits.remove_lorebook(tx, found.id, expected=found.version)
        return found

    def make_codex_entries(
        self, book: str, *, keep_active: bool = False
    ) -> tuple[Lorebook, list[Entry], list[Sentence]]:
        """Make codex entries of a book, which is then no longer used unless `keep_active` says so.

        Return the book, its entries, and what of the book codex entries cannot express.
        """
        with self._write(label_change(message("lorebook"), book)) as tx:
            found = find_lorebook(tx, book)
            tx.undo_label = label_change(message("lorebook"), found.name)
            entries = convert_to_codex(found)
            codex_edits.put_all(tx, entries)
            if not keep_active:
                _save(tx, found, replace(found, active=False))
        return found, entries, list_lost_features(found)

    def _save_new(self, book: Lorebook) -> Lorebook:
        with self._write(label_addition(message("lorebook"), book.name)) as tx:
            return edits.get_lorebook(tx, edits.save_lorebook(tx, book))  # which refuses rules that it does not know


def store_imported(
    tx: WriteTransaction, book: Lorebook, path: Path, *, rules: str = "", replace_existing: bool = False
) -> tuple[Lorebook, tuple[Sentence, ...]]:
    """Store a book that was read from a file; return it, and warnings. The rules are those of `import_file`."""
    same = find_same_lorebook(tx, book)
    named = [other for other in edits.list_lorebooks(tx) if other.name.casefold() == book.name.casefold()]
    if replace_existing:
        target = same or _choose_only(named, book.name)
        kept = target.rules if target.format == book.format else book.rules
        return _save(tx, target, replace(book, id=target.id, active=target.active, rules=rules or kept)), ()
    if same is not None:
        raise FabulaError(
            Code.STORE_DUPLICATE,
            message(
                "{file}: the same lorebook is here already: {name} (number {number}). Nothing was imported. {advice}",
                advice=REPLACE_FILE,
                file=path.name,
                name=same.name,
                number=_number_books(tx)[same.id],
            ),
        )
    stored = edits.get_lorebook(tx, edits.save_lorebook(tx, replace(book, rules=rules) if rules else book))
    if not named:
        return stored, ()
    notice = message(
        "Another lorebook with other contents is called {name} too: number {number}.",
        name=named[0].name,
        number=_number_books(tx)[named[0].id],
    )
    return stored, (notice,)


def find_same_lorebook(reading: ReadTransaction, book: Lorebook) -> Lorebook | None:
    """Return the stored book with the same contents, if there is one."""
    return next((other for other in edits.list_lorebooks(reading) if _has_same_contents(other, book)), None)


def find_lorebook(reading: ReadTransaction, name: str) -> Lorebook:
    """Return a book by its id, number or name, a card also by the name of its character."""
    numbers = _number_books(reading)
    return find_by_name(
        edits.list_lorebooks(reading),
        name,
        what=message("lorebook"),
        names_of=_list_names,
        number_of=lambda book: numbers[book.id],
    )


def _number_books(reading: ReadTransaction) -> dict[str, int]:
    """The numbers by id that the list of books shows."""
    return {book.id: number for number, book in enumerate(edits.list_lorebooks(reading), start=1)}


def _list_names(book: Lorebook) -> tuple[str, ...]:
    """What a book is called: by its own name, and a card by the name and nickname of its character too."""
    data = book.book.get("data", book.book) if book.format == CARD.name else None
    names = [data.get(field) for field in ("nickname", "name")] if isinstance(data, Mapping) else []
    return tuple(dict.fromkeys([book.name, *(name for name in names if isinstance(name, str) and name.strip())]))


def _check_place(verdict: EntryVerdict, books: Lorebooks, anchors: frozenset[str]) -> EntryVerdict:
    """The verdict on an entry, which is not in a prompt that has no place for it."""
    placement = place_entry(books.entries[verdict.ref], anchors) if verdict.active else None
    if not isinstance(placement, Sentence):
        return verdict
    return replace(verdict, active=False, reason=LorebookReason.NO_PLACE, detail=placement)


def _has_same_contents(one: Lorebook, other: Lorebook) -> bool:
    """Return whether two books hold the same JSON, in whatever order."""
    first, second = (msgspec.json.encode(book.book, order="deterministic") for book in (one, other))
    return first == second


def _choose_only(books: Sequence[Lorebook], name: str) -> Lorebook:
    """Return the only book of a name, to be replaced."""
    if len(books) == 1:
        return books[0]
    none = message("There is no lorebook called {name} to replace.", name=name)
    several = message("More than one lorebook is called {name}; remove those you do not need.", name=name)
    problem = several if books else none
    raise FabulaError(Code.STORE_NOT_FOUND, message("{problem} Nothing was changed.", problem=problem))


def _save(tx: WriteTransaction, before: Lorebook, after: Lorebook) -> Lorebook:
    return edits.get_lorebook(tx, edits.save_lorebook(tx, after, expected=before.version))


def _count_entries(book: Lorebook) -> int | None:
    try:
        return len(editing.parse_lorebook(book).book.entries)
    except FabulaError:
        return None


def _read_document(reading: ReadTransaction, text: str) -> str:
    """Return a document by its id or title; a lorebook has no places inside of one."""
    position = read_place(reading, text)
    if position.offset:
        raise FabulaError(
            Code.LOREBOOK_INVALID,
            message(
                "{place!r} lies inside a chapter, but an entry holds for whole chapters. Nothing was changed.",
                place=text,
            ),
        )
    return position.document
