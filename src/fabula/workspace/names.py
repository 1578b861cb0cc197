"""What a person can name in a project, and by which names: entries, people, chapters, conversations (ppl-4).

`find_by_name` is the one resolver. The functions here say what it chooses from: an entry, a chapter, whoever can know
something, a place to pin an entry to, or what a request includes and excludes. Interfaces hand over what was typed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import bindparam, desc

from fabula.codex import Codex, Entry
from fabula.constraints import Constraints
from fabula.conversation.documents import get_document_id
from fabula.conversation.model import Conversations
from fabula.conversation.participants import (
    Participant,
    Participants,
    list_names,
    list_participants,
    load_participants,
    strip_revision,
)
from fabula.conversation.tables import conversations, participants, presence
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import format_time
from fabula.core.messages import Sentence, is_word, join_alternatives, list_languages, message, plural, show
from fabula.core.similar_names import find_similar_names
from fabula.core.story import READER, name_divisions
from fabula.core.view import View
from fabula.lorebook.scan_order import make_title
from fabula.lorebook.snapshot import Lorebooks, make_source
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Document, Manuscript, name_document, trim_title
from fabula.manuscript.numbering import Divisions, TitledDocument, number_documents, read_title
from fabula.manuscript.tables import documents
from fabula.store.queries import RowQuery
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import MAX_NAMED, find_by_name, find_matches, fold_name

__all__ = ["find_by_name"]

_CHARACTERS = frozenset({"character", "pawn", "persona"})  # namespaces of participants who can be entries
EVERYBODY, NOBODY = "everybody", "nobody"
ENTRY_SOURCE = "codex:entity:"
_GROUP_WORDS = {
    READER: (message("reader"), message("the reader")),
    EVERYBODY: (message("everybody"), message("everybody else")),
    NOBODY: (message("nobody"),),
}
_TOOK_PART = RowQuery(
    presence, presence.c.participant_id == bindparam("participant"), limit=1, only=("participant_id",)
)
_SOURCE = re.compile(r"[a-z_]+:\S+")


class NamedThing(Struct, frozen=True):
    """Something that a person can name: its id, its names with the main one first, and the number it is shown with."""

    id: str
    names: tuple[str, ...] = ()
    number: int | None = None
    remark: Sentence | str = ""  # tells it apart from another of the same name
    full_name: Sentence | str = ""  # no other has it, where another has its name or number; a person may write it too


def find_named(
    things: Iterable[NamedThing],
    wanted: str,
    *,
    what: Sentence,
    code: Code = Code.STORE_NOT_FOUND,
    found: Sequence[NamedThing] = (),
) -> NamedThing:
    """Return the one thing that a spelling means; `found` are its meanings, where other rules have decided that."""
    known = list(things)
    return find_by_name(
        known,
        wanted,
        what=what,
        names_of=lambda thing: thing.names,
        number_of=lambda thing: thing.number,
        remark_of=lambda thing: thing.remark,
        full_name_of=lambda thing: thing.full_name,
        code=code,
        found=found or match_named(known, wanted),
    )


def match_named(things: Sequence[NamedThing], wanted: str) -> list[NamedThing]:
    """Return all things that a spelling may mean."""
    found = find_matches(things, wanted, names_of=lambda thing: thing.names, number_of=lambda thing: thing.number)
    return found or [thing for thing in things if thing.full_name and _is_full_name(thing.full_name, fold_name(wanted))]


def _is_full_name(full_name: Sentence | str, folded: str) -> bool:
    """Is this what a list calls a thing, in some language?"""
    return folded in (fold_name(str(show(full_name, language))) for language in list_languages())


def find_entry(entries: Sequence[Entry], name: str) -> Entry:
    """Return the entry that a spelling means; its number is its place in the list."""
    numbers = {entry.id: number for number, entry in enumerate(entries, start=1)}
    return find_by_name(
        entries,
        name.removeprefix(ENTRY_SOURCE),
        what=message("entry"),
        names_of=lambda entry: entry.names,
        number_of=lambda entry: numbers[entry.id],
        remark_of=lambda entry: entry.type,
    )


def find_character(view: View, name: str) -> Entry:
    """Return the character of the codex that a spelling means; other entries are none."""
    codex = view.snapshot(Codex)
    entries = codex.entries if codex is not None else ()
    return find_by_name(
        [entry for entry in entries if entry.type == "character"],
        name.removeprefix(ENTRY_SOURCE),
        what=message("character"),
        names_of=lambda entry: entry.names,
        number_of=lambda entry: None,
    )


def number_chapters(documents: Iterable[Any]) -> dict[str, int]:
    """Return the numbers that a reader gives to chapters, of documents or their rows in reading order."""
    return {ident: divisions[-1][1] for ident, divisions in _divide(documents).items()}


def name_documents(documents: Sequence[Any], *, of: Sequence[Any] | None = None) -> list[NamedThing]:
    """Return documents or their rows, in reading order, as a person names them: by title or a reader's number.

    Where they are a part of a book, `of` has all documents of the book, which decide the numbers.
    """
    divisions = _divide(documents if of is None else of)
    names = [name_document(document.title, getattr(document, "text", "")) for document in documents]
    numbers = [own[-1][1] if own else None for own in (divisions.get(document.id) for document in documents)]
    full_names = _tell_apart(documents, names, numbers)
    return [
        NamedThing(
            document.id,
            (name,),
            number,
            name_divisions(divisions[document.id]) if number is not None else str(document.kind),
            full_names.get(document.id, ""),
        )
        for document, name, number in zip(documents, names, numbers, strict=True)
    ]


def _tell_apart(
    documents: Sequence[Any], names: Sequence[str], numbers: Sequence[int | None]
) -> dict[str, Sentence | str]:
    """Return full names of documents whose title or number others have: by the part each is in, or what is before."""
    name_counts, number_counts = Counter(names), Counter(numbers)
    number_counts[None] = 0
    by_id = dict(zip((document.id for document in documents), names, strict=True))
    full_names: dict[str, Sentence | str] = {}
    for at, (document, name) in enumerate(zip(documents, names, strict=True)):
        if name_counts[name] == 1 and number_counts[numbers[at]] <= 1:
            continue
        part = by_id.get(_get_parent(document) or "")
        if part:
            full_names[document.id] = message("{chapter} of {part}", chapter=trim_title(name), part=part)
        elif name_counts[name] == 1:
            full_names[document.id] = name
    counts = Counter(map(str, full_names.values()))
    for at, (document, name) in enumerate(zip(documents, names, strict=True)):
        if name_counts[name] > 1 and counts[str(full_names.get(document.id, ""))] != 1:
            chapter, before = trim_title(name), trim_title(names[at - 1])
            full_names[document.id] = (
                message("{chapter} after {other}", chapter=chapter, other=before)
                if at
                else message("{chapter} at the beginning of the book", chapter=chapter)
            )
    return full_names


def _get_parent(document: Any) -> str | None:
    parent: str | None = document.parent if isinstance(document, Document) else document.parent_id
    return parent


def _divide(documents: Iterable[Any]) -> dict[str, Divisions]:
    """Return the divisions of all chapters that have a number, which is that of the last one."""
    titled = [
        TitledDocument(
            document.id,
            document.title,
            DocumentKind(document.kind),
            _get_parent(document),
        )
        for document in documents
        if document.kind != DocumentKind.NOTE
    ]
    return {
        document.id: divisions
        for document, divisions in zip(titled, number_documents(titled), strict=True)
        if divisions and divisions[-1][0] == "chapter"
    }


def match_documents(documents: Sequence[Any], things: Sequence[NamedThing], wanted: str) -> list[NamedThing]:
    """Return all documents that a spelling may mean; `things` are the documents as `name_documents` names them.

    A chapter is also found by its number in words ("chapter three", 第三回), if no title is spelled so.
    """
    stated = read_title(wanted)
    if stated and not any(fold_name(wanted) in map(fold_name, (one.id, *one.names)) for one in things):
        divisions = _divide(documents)
        within = [one for one in things if set(stated) <= set(divisions.get(one.id, ()))]
        found = [one for one in within if divisions[one.id][-1] in (stated[0], stated[-1])]
        if len(found) == 1:
            return found
        return match_named(things, wanted) or found
    return match_named(things, wanted)


def find_readable_document(documents: Sequence[Any], readable: Sequence[Any], name: str) -> str:
    """Return the id of the document that a spelling means, of those in a book that may be read; no others are told."""
    if len(readable) == len(documents):
        return find_document(documents, name)
    things = name_documents(readable, of=documents)
    found = match_documents(documents, things, name)
    return find_named(things, name, what=message("chapter"), code=Code.DOCUMENT_UNKNOWN, found=found).id


def find_document(
    documents: Sequence[Any], name: str, *, code: Code = Code.DOCUMENT_UNKNOWN, among: Container[str] | None = None
) -> str:
    """Return the id of the document, of documents or rows in reading order, that a spelling means.

    `among` has the ids of those that can be meant; by default all can.
    """
    things = [thing for thing in name_documents(documents) if among is None or thing.id in among]
    found = match_documents(documents, things, name)
    if not found and (read_title(name) or fold_name(name).isdecimal()) and (divisions := _divide(documents)):
        sentence = plural(
            len(divisions),
            "There is no chapter {name}. The book has one chapter with a number. Nothing was changed.",
            "There is no chapter {name}. The book has {count:,} chapters with a number. Nothing was changed.",
            name=name,
        )
        raise FabulaError(code, sentence)
    return find_named(things, name, what=message("chapter"), code=code, found=found).id


def find_view_document(view: View, name: str) -> str:
    """Return the id of the document of a view that a spelling means; notes count too."""
    manuscript = view.snapshot(Manuscript) or Manuscript()
    return name if name in manuscript.by_id else find_document((*manuscript.documents, *manuscript.notes), name)


def name_conversations(view: View | None, reading: ReadTransaction | None) -> list[NamedThing]:
    """Return all conversations of a project; where it has no store, those of its view."""
    if reading is not None:
        latest_first = (desc(conversations.c.changed), conversations.c.id)  # as lists show and number them
        rows = reading.rows(conversations, only=("id", "title", "changed"), order=latest_first)
        chapters = load_chapter_titles(reading, (row.id for row in rows))
        # A conversation that somebody called like a chapter goes by that name, and the chapter's own by its id.
        others = {fold_name(row.title) for row in rows if row.id not in chapters} if chapters else set()
        chapters = {ident: "" if fold_name(title) in others else title for ident, title in chapters.items()}
        titles = {row.id: chapters.get(row.id, row.title) for row in rows}
        return [
            NamedThing(row.id, tuple(filter(None, (titles[row.id],))), number, format_time(row.changed))
            for number, row in enumerate(rows, start=1)
        ]
    known = view.snapshot(Conversations) if view is not None else None
    return [NamedThing(ident) for ident in (known.messages if known is not None else ())]


def load_chapter_titles(reading: ReadTransaction, conversation_ids: Iterable[str]) -> dict[str, str]:
    """Return the titles of the chapters whose conversations are among these, by the id of the conversation."""
    by_document = {document_id: ident for ident in conversation_ids if (document_id := get_document_id(ident))}
    if not by_document:
        return {}
    rows = reading.rows(documents, only=("id", "title"))
    return {by_document[row.id]: row.title for row in rows if row.id in by_document}


def find_conversation(view: View | None, reading: ReadTransaction | None, name: str) -> str:
    """Return the id of the conversation that a spelling means; where there is no store, one of the view."""
    if reading is not None and reading.row(conversations, id=name) is not None:
        return name
    return find_named(name_conversations(view, reading), name, what=message("conversation")).id


def name_knowers(view: View, reading: ReadTransaction | None) -> list[NamedThing]:
    """Return everybody who can know something, as a person names them.

    These are entries, whoever is said to know something, points of view, participants, and characters of cards. The
    entry counts where somebody else has the same name; the other is found by the id alone.
    """
    codex, books = view.snapshot(Codex), view.snapshot(Lorebooks)
    found = [NamedThing(entry.id, entry.names, None, entry.type) for entry in (codex.entries if codex else ())]
    people: list[Participant] = list_participants(reading) if reading is not None else []
    cards = [book.card_character for book in books.books.values()] if books is not None else []
    knowledge = codex.knowledge.values() if codex is not None else ()
    others = [
        *(NamedThing(knower) for knowers in knowledge for knower in knowers if knower != READER),
        *(NamedThing(one.pov) for one in view.timeline.entries if one.pov),
        *(NamedThing(one.id, tuple(filter(None, (one.name, *one.aliases)))) for one in people),
        *(NamedThing(card.name, (card.name,)) for card in cards if card is not None and card.name),
    ]
    ids = {thing.id for thing in found}
    names = {fold_name(name) for thing in found for name in (thing.id, *thing.names)}
    for thing in others:
        if thing.id not in ids:
            found.append(thing if names.isdisjoint(map(fold_name, thing.names)) else NamedThing(thing.id))
            ids.add(thing.id)
            names.update(map(fold_name, thing.names))
    return found


def find_participant(view: View | None, reading: ReadTransaction, name: str) -> str:
    """Return the id of the participant that a spelling means; whoever took part in a conversation is one.

    Without a view the names are read from the store, if they are needed.
    """
    known = view.snapshot(Participants) if view is not None else None
    ident = strip_revision(name)
    if known is not None and ident in known.by_id:
        return name
    if reading.row(participants, id=ident) is not None or reading.query(_TOOK_PART, participant=ident):
        return name
    people = (known or load_participants(reading)).by_id.values()
    return find_named(name_participants(people), name, what=message("participant")).id


def name_participants(people: Iterable[Participant]) -> list[NamedThing]:
    """Return participants as a person names them: by name, alias, or the number in the list of all."""
    return [
        NamedThing(one.id, tuple(filter(None, (one.name, *one.aliases))), number)
        for number, one in enumerate(people, start=1)
    ]


def find_speaker(view: View, reading: ReadTransaction, name: str) -> str:
    """Return the id of the participant, or else of the character, that a spelling means."""
    try:
        return find_participant(view, reading, name)
    except FabulaError:
        return find_knower(view, reading, name)


def find_character_ids(view: View, ident: str) -> tuple[str, ...]:
    """Return the other ids of a character: of an entry those of its participants, of a participant that of its entry.

    They are the same where the key of the participant's id is the id of the entry, else where they have a name in
    common that no other entry has. Only characters, pawns and personas are; a person who plays is nobody's character.
    """
    codex, people = view.snapshot(Codex), view.snapshot(Participants)
    if codex is None or people is None:
        return ()
    participants = people.by_id.values()
    own = strip_revision(ident)
    if own in codex.by_id:
        return tuple(one.id for one in participants if find_own_entry(codex.by_id, one) == own)
    return tuple(filter(None, (find_own_entry(codex.by_id, one) for one in participants if one.id == own)))


def list_all_names(view: View, people: Iterable[Participant]) -> dict[str, tuple[str, ...]]:
    """Return the names of participants, by id: the own ones, and those of the codex entry that they are."""
    codex = view.snapshot(Codex)
    names = {one.id: list_names(one) for one in people}
    if codex is not None:
        for ident, own in names.items():
            others = (name for entry in find_character_ids(view, ident) for name in codex.by_id[entry].names)
            names[ident] = tuple(dict.fromkeys((*own, *others)))
    return names


def find_own_entry(entries: Mapping[str, Entry], participant: Participant) -> str | None:
    """Return the id of the codex entry that a participant is, of the entries by id; see `find_character_ids`."""
    namespace, _, key = participant.id.partition(":")
    if namespace not in _CHARACTERS:
        return None
    if key in entries:
        return key
    names = {fold_name(name) for name in (participant.name, *participant.aliases) if name}
    found = [
        one.id
        for one in entries.values()
        if one.type == "character" and not names.isdisjoint(map(fold_name, one.names))
    ]
    return found[0] if len(found) == 1 else None


def find_knower(view: View, reading: ReadTransaction | None, name: str) -> str:
    """Return the id of the character or participant that a spelling means."""
    codex = view.snapshot(Codex)
    wanted = name.removeprefix(ENTRY_SOURCE)
    if codex is not None and wanted in codex.by_id:
        return wanted
    return find_named(name_knowers(view, reading), wanted, what=message("character")).id


def find_played_character(view: View, reading: ReadTransaction | None, name: str) -> str:
    """Return the id of the character or participant that somebody can play; a place or a thing is refused.

    The refusal names the nearest characters.
    """
    codex, wanted = view.snapshot(Codex), name.removeprefix(ENTRY_SOURCE)
    others = {one.id: one for one in (codex.entries if codex is not None else ()) if one.type != "character"}
    known = name_knowers(view, reading)
    playable = [one for one in known if one.id not in others]
    found = match_named(playable, wanted)
    if not found and (meant := match_named([one for one in known if one.id in others], wanted)):
        names = [one.names[0] if one.names else one.id for one in playable]
        nearest = find_similar_names(wanted, names, most=MAX_NAMED, fold=fold_name) or names[:MAX_NAMED]
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{name} is no character ({kind}), and nobody can play it. {hint} Nothing was changed.",
                name=others[meant[0].id].name,
                kind=others[meant[0].id].type,
                hint=message("Did you mean {names}?", names=join_alternatives(nearest))
                if nearest
                else message("There are none yet."),
            ),
        )
    return find_named(playable, wanted, what=message("character"), found=found).id


def read_knowers(view: View, reading: ReadTransaction | None, names: Sequence[str]) -> tuple[str, ...] | None:
    """Read who may know something: None for `everybody`, an empty tuple for `nobody`; `reader` is the reader.

    The three words may be in any language that lists are printed in.
    """
    words = [read_group(name) for name in ((names,) if isinstance(names, str) else names)]
    if words == [EVERYBODY]:
        return None
    knowers = [name if name == READER else find_knower(view, reading, name) for name in words if name != NOBODY]
    return tuple(dict.fromkeys(knowers))


def read_group(name: str) -> str:
    """Return `reader`, `everybody` or `nobody` where a name is the word that a list prints for it, else the name."""
    for group, words in _GROUP_WORDS.items():
        if any(is_word(name, word) for word in words):
            return group
    return name


def find_pin_place(view: View, reading: ReadTransaction | None, name: str) -> NamedThing:
    """Return the document or conversation that a spelling means."""
    documents = [thing for _, thing in _name_chapters(view)]
    others = [thing for thing in name_conversations(view, reading) if not get_document_id(thing.id)]
    return find_named([*documents, *others], name, what=message("chapter or conversation"))


def find_included(view: View, name: str) -> str:
    """Return the source of the codex or lorebook entry that a spelling means."""
    things = _name_entries(view)
    return _find_source(things, name, message("entry"))


def find_excluded(view: View, name: str) -> str:
    """Return the source or id of what a request leaves out: an entry, a chapter, a rule, or any other source."""
    rules = view.snapshot(Constraints)
    constraints = rules.constraints if rules is not None else ()
    things = [
        *_name_entries(view),
        *_name_chapters(view),
        *((f"constraint:{one.id}", NamedThing(one.id, (one.text,))) for one in constraints),
    ]
    if _SOURCE.fullmatch(name) and not name.startswith((ENTRY_SOURCE, "lorebook:", "constraint:")):
        return name
    return _find_source(things, name, message("entry, chapter or rule"))


def find_sources(view: View, name: str) -> frozenset[str]:
    """Return the sources or ids of everything that a spelling may mean: entries, lorebook entries and chapters."""
    things = [*_name_entries(view), *_name_chapters(view)]
    matched = {id(thing) for thing in match_named([thing for _, thing in things], name.removeprefix(ENTRY_SOURCE))}
    return frozenset(source for source, thing in things if id(thing) in matched)


def _name_chapters(view: View) -> list[tuple[str, NamedThing]]:
    manuscript = view.snapshot(Manuscript) or Manuscript()
    return [(thing.id, thing) for thing in name_documents((*manuscript.documents, *manuscript.notes))]


def _name_entries(view: View) -> list[tuple[str, NamedThing]]:
    """Return the entries of codex and lorebooks, each with the source of its fragments."""
    codex, books = view.snapshot(Codex), view.snapshot(Lorebooks)
    entries = codex.entries if codex is not None else ()
    lore = books.entries.items() if books is not None else ()
    return [
        *((entry.source, NamedThing(entry.id, entry.names, None, entry.type)) for entry in entries),
        *((make_source(ref), NamedThing(str(ref), (make_title(ref, entry),))) for ref, entry in lore),
    ]


def _find_source(things: Sequence[tuple[str, NamedThing]], name: str, what: Sentence) -> str:
    sources = {id(thing): source for source, thing in things}
    exact = name.partition("#")[0]
    if exact in sources.values():
        return name
    return sources[id(find_named([thing for _, thing in things], name, what=what))]
