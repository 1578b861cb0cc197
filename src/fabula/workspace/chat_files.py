"""Import and export conversations as chat files: sessions on disk, and SillyTavern's (cht-5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabula.conversation.cards import Cards
from fabula.conversation.edits import get_conversation, save_tree
from fabula.conversation.model import GREETING, Message, hash_content
from fabula.conversation.participants import (
    Participant,
    base_id,
    list_participants,
    load_participants,
    save_participant,
    strip_revision,
)
from fabula.conversation.presence import Presence, load_attendance
from fabula.conversation.tables import conversations, messages
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.ids import is_valid_id, new_id
from fabula.core.messages import Sentence, advise, join_names, message
from fabula.formats.bounded_import import read_bounded
from fabula.formats.chats.files import read_chats
from fabula.formats.chats.json_lines import MAX_FILE_BYTES, append_lines, encode_lines, parse_lines
from fabula.formats.chats.model import (
    SESSION,
    SILLYTAVERN,
    Chat,
    ChatFormat,
    ChatMessage,
    ChatPresence,
    JsonObject,
    StoredChat,
    clean_name,
)
from fabula.formats.chats.session_lock import hold_lock
from fabula.formats.chats.sessions import find_session_folder, write_session
from fabula.formats.chats.sillytavern import encode_sillytavern
from fabula.formats.safe.files import read_file, write_file
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import fold_name
from fabula.text.offsets import normalise
from fabula.workspace.cards import load_cards
from fabula.workspace.names import NamedThing, find_conversation, find_named, match_named
from fabula.workspace.participants import PLAYER
from fabula.workspace.verbs import ProjectVerbs

MAX_NEW_PARTICIPANTS = 1000  # of one import
_BATCH = 500  # ids in one query
_FILE_ENDINGS = frozenset((".txt", ".md", ".json", ".html", ".pdf", ".docx", ".csv", ".zip", ".fabula"))  # no folders


class ImportedChat(Struct, frozen=True, kw_only=True):
    """A conversation that was imported, who takes part in it, and how many of its messages are alternatives."""

    id: str
    title: str
    format: ChatFormat
    messages: int
    alternatives: int
    participants: tuple[str, ...]


class ChatImportReport(Struct, frozen=True, kw_only=True):
    """What an import of chats brought in."""

    conversations: tuple[ImportedChat, ...]
    new_participants: tuple[str, ...]
    warnings: tuple[Sentence, ...] = ()


class ChatExportReport(Struct, frozen=True, kw_only=True):
    """What an export of a conversation wrote, and where to."""

    path: str
    format: ChatFormat
    title: str
    messages: int  # lines that were written, or appended
    warnings: tuple[Sentence, ...] = ()


class ChatFileVerbs(ProjectVerbs):
    """The chat files of an open project."""

    def import_files(self, path: str | Path) -> ChatImportReport:
        """Import a chat file, a session, or all chats of a folder, in one transaction.

        Whoever speaks in them is found among the participants by name, or added. A chat that is here already, with the
        same messages, is left out; if there is no other one, the import is refused.
        """
        path = Path(path)
        collection = read_bounded(read_chats, path)
        warnings = list(collection.notices)
        with self._write(message("import of {file}", file=path.name)) as tx:
            people = _People(tx)
            imported: list[ImportedChat] = []
            for chat in collection.chats:
                known = _find_same(tx, chat)
                if known is not None:
                    warnings.append(
                        message("{file}: the same chat is here already: {name}.", file=chat.label, name=known)
                    )
                    continue
                imported.append(_import_chat(tx, chat, people))
                warnings.extend(chat.notices)
            if not imported:
                raise FabulaError(
                    Code.STORE_DUPLICATE, message("{sentence} Nothing was imported.", sentence=warnings[-1])
                )
        return ChatImportReport(
            conversations=tuple(imported), new_participants=tuple(people.added), warnings=tuple(warnings)
        )

    def export_file(
        self,
        conversation: str,
        path: str | Path,
        *,
        as_format: str = "",
        append: bool = False,
        overwrite: bool = False,
    ) -> ChatExportReport:
        """Write a conversation as a chat file of SillyTavern, or as a session below a folder.

        Without a format the ending of the name decides: `.jsonl` is SillyTavern's. With `append` only what is not in
        the file yet is added to it, while no other program writes there.
        """
        path = Path(path)
        title = self._view.project.title
        with self._read() as reading:
            chat = _load_chat(reading, find_conversation(None, reading, conversation), title)
        if as_format not in ("", SESSION, SILLYTAVERN):
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "{name!r} is no format of chats. There are: {formats}. Nothing was written.",
                    name=as_format,
                    formats=join_names((SILLYTAVERN, SESSION)),
                ),
            )
        is_folder = path.is_dir() or path.suffix.lower() not in _FILE_ENDINGS
        if not as_format and not is_folder:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "{name} is no name for a chat file: a chat of SillyTavern ends in .jsonl, and a session is written "
                    "to a folder. Nothing was written. {advice}",
                    name=path.name,
                    advice=advise(
                        message("In `fabula chat`, /save writes .txt and .md."), message("Choose one of the two.")
                    ),
                ),
            )
        if (as_format or (SILLYTAVERN if path.suffix.lower() == ".jsonl" else SESSION)) == SESSION:
            target = find_session_folder(chat, path)
            count, warnings = write_session(chat, target, append=append, overwrite=overwrite)
            return _report_export(chat, target, SESSION, count, warnings)
        rows, left_out = encode_sillytavern(chat)
        with hold_lock(path.with_name(f".{path.name}.lock")) if append else nullcontext():
            if append and path.exists():
                present, torn = parse_lines(read_file(path, MAX_FILE_BYTES), path.name)
                rows = _select_new(path, [row for _, row in present], rows)
                mended = append_lines(path, encode_lines(rows)) if rows else torn
                return _report_export(chat, path, SILLYTAVERN, len(rows), (*left_out, *mended))
            write_file(encode_lines(rows), path, overwrite=overwrite)
        return _report_export(chat, path, SILLYTAVERN, len(chat.path), left_out)


class _People:
    """The participants of a project during an import: those who are known, and those who are added."""

    def __init__(self, tx: WriteTransaction) -> None:
        self._tx = tx
        self._known = {one.id: one for one in list_participants(tx)}
        self.added: list[str] = []

    def name_of(self, ident: str) -> str:
        """Return the name of a participant."""
        return self._known[strip_revision(ident)].name

    def find(self, chat: Chat, speaker: str, role: Role) -> str:
        """Return the id of a speaker of a chat, whom the file names by id or name; a new one is added."""
        if chat.format == SESSION and _is_participant_id(speaker):
            ident = base_id(speaker)
            if ident not in self._known:
                name = chat.names.get(speaker) or chat.names.get(ident) or ident.partition(":")[2]
                found = self._match(clean_name(name), role)
                if found is not None and found.id.partition(":")[0] == ident.partition(":")[0]:
                    return found.speaker  # of another project, where the same one has another key
                self._add(ident, name)
            return speaker if speaker != ident else self._known[ident].speaker
        name = clean_name(chat.names.get(speaker) or speaker) or speaker
        found = self._match(name, role)
        if found is not None:
            return found.speaker
        namespace = PLAYER if role == "user" else "agent" if chat.format == SESSION else "persona"
        ident = f"{namespace}:{name}"
        if namespace != "persona" or not _is_participant_id(ident) or base_id(ident) != ident or ident in self._known:
            ident = f"{namespace}:{new_id()}"
        return self._add(ident, name).speaker

    def _match(self, name: str, role: Role) -> Participant | None:
        """Find a participant by a name that is theirs as a whole; a player only where a user speaks."""
        things = [NamedThing(one.id, tuple(filter(None, (one.name, *one.aliases)))) for one in self._known.values()]
        folded = fold_name(name)
        fitting = [
            thing
            for thing in match_named(things, name)
            if folded in map(fold_name, thing.names) and (role == "user" or not thing.id.startswith(f"{PLAYER}:"))
        ]
        players = [thing for thing in fitting if thing.id.startswith(f"{PLAYER}:")]
        fitting = players or fitting
        if not fitting:
            return None
        return self._known[find_named(fitting, name, what=message("participant")).id]

    def _add(self, ident: str, name: str) -> Participant:
        if len(self.added) >= MAX_NEW_PARTICIPANTS:
            raise FabulaError(
                Code.IMPORT_TOO_LARGE,
                message(
                    "More than {count:,} people who are not known here speak in it. Nothing was imported.",
                    count=MAX_NEW_PARTICIPANTS,
                ),
            )
        new = self._known[ident] = save_participant(self._tx, Participant(id=ident, name=clean_name(name)))
        self.added.append(new.name)
        return new


def _is_participant_id(text: str) -> bool:
    if ":" not in text:
        return False
    try:
        base_id(text)
    except FabulaError:
        return False
    return True


def _import_chat(tx: WriteTransaction, chat: Chat, people: _People) -> ImportedChat:
    """Store a chat as a new conversation."""
    speakers: dict[tuple[str, bool], str] = {}  # ids by what the file calls them, apart for those who are users

    def find(name: str, role: Role) -> str:
        key = (name, role == "user")
        if key not in speakers:
            speakers[key] = people.find(chat, name, role)
        return speakers[key]

    for name, role in (*chat.members, *((said.speaker, said.role) for said in chat.messages if said.speaker)):
        find(name, role)
    by_name = {name: ident for (name, _), ident in reversed(speakers.items())}

    def find_by_name(name: str) -> str:
        return strip_revision(by_name[name] if name in by_name else find(name, "assistant"))

    def find_member(who: str) -> str:
        """Find a participant by the id that the file has, which may be another one here."""
        name = who if chat.format == SESSION else clean_name(chat.names[who])
        return by_name[name] if name in by_name else find(name, "user" if who.startswith(f"{PLAYER}:") else "assistant")

    ids = _choose_ids(tx, chat)
    cards = load_cards(tx, load_participants(tx)) or Cards()
    renamed = {said.id: ident for said, ident in zip(chat.messages, ids, strict=True) if said.id}
    if chat.mode_state:
        renamed |= {who: strip_revision(find_member(who)) for who in chat.names}
    spoken = [find(said.speaker, said.role) if said.speaker else "" for said in chat.messages]
    tree = [
        Message(
            id=ident,
            role=said.role,
            content=said.content,
            speaker=speaker,
            timestamp=said.timestamp,
            kind=said.kind,
            final=said.final,
            parent_id=None if said.parent is None else ids[said.parent],
            audience=None if said.audience is None else tuple(map(find_by_name, said.audience)),
            extra=_keep_ids(said, ident, speaker),
        )
        for said, ident, speaker in zip(chat.messages, ids, spoken, strict=True)
    ]
    tree = [replace(one, extra={**one.extra, GREETING: True}) if cards.is_greeting(one) else one for one in tree]
    present = [(find_by_name(one.who), one) for one in chat.presence]
    # Who has hidden lines alone, such as the notices of SillyTavern, takes no part: nobody asks them.
    silent = {(said.speaker, said.role == "user") for said in chat.messages if chat.format == SILLYTAVERN}
    silent -= {(said.speaker, said.role == "user") for said in chat.messages if said.final}
    silent -= {(name, role == "user") for name, role in chat.members}
    everybody = [(strip_revision(ident), ChatPresence("")) for key, ident in speakers.items() if key not in silent]
    ranges = list(_place_presence(chat, present or everybody))
    is_free = is_valid_id(chat.session_id) and tx.row(conversations, id=chat.session_id) is None
    conversation_id = chat.session_id if is_free else new_id()
    save_tree(
        tx,
        conversation_id,
        tree,
        ids[chat.leaf],
        ranges=ranges,
        title=chat.title,
        mode=chat.mode,
        mode_state=_rename_ids(chat.mode_state, renamed),
        kept_states={
            ident: _rename_ids(said.mode_state, renamed)
            for said, ident in zip(chat.messages, ids, strict=True)
            if said.mode_state
        },
        created_at=chat.created_at,
    )
    lines = len({said.line for said in chat.messages})
    return ImportedChat(
        id=conversation_id,
        title=chat.title,
        format=chat.format,
        messages=len(tree),
        alternatives=len(tree) - lines,
        participants=tuple(dict.fromkeys(people.name_of(one.participant_id) for one in ranges)),
    )


def _choose_ids(reading: ReadTransaction, chat: Chat) -> list[str]:
    """Return the ids of the messages: those of the file, as far as they are free."""
    wanted = [said.id for said in chat.messages]
    given = [one for one in dict.fromkeys(wanted) if one and is_valid_id(one)]
    used: set[str] = set()
    for start in range(0, len(given), _BATCH):
        batch = given[start : start + _BATCH]
        used.update(row.id for row in reading.rows(messages, messages.c.id.in_(batch), only=("id",)))
    free = set(given) - used
    ids = []
    for one in wanted:
        ids.append(one if one in free else new_id())
        free.discard(one)
    return ids


def _rename_ids(state: Any, renamed: Mapping[str, str]) -> Any:
    """Return the state of a mode with the ids that participants and messages have here."""
    if isinstance(state, Mapping):
        return {renamed.get(name, name): _rename_ids(value, renamed) for name, value in state.items()}
    if isinstance(state, list):
        return [_rename_ids(value, renamed) for value in state]
    return renamed.get(state, state) if isinstance(state, str) else state


def _keep_ids(said: ChatMessage, ident: str, speaker: str) -> JsonObject:
    """Return what is kept of a message of a file; the ids in the file too, where there are others here."""
    if SESSION not in said.extra:
        return said.extra
    ids = {"id": (said.id, ident), "participant_id": (said.speaker, speaker)}
    others = {name: before for name, (before, here) in ids.items() if before and before != here}
    return {**said.extra, SESSION: {**others, **said.extra[SESSION]}}


def _place_presence(chat: Chat, present: Sequence[tuple[str, ChatPresence]]) -> Iterator[Presence]:
    """Turn lines of a file into numbers of messages."""
    numbers: dict[int, int] = {}
    for number, said in enumerate(chat.messages):
        numbers.setdefault(said.line, number)
    seen: set[tuple[str, int]] = set()
    for ident, one in present:
        since = numbers.get(one.since, len(chat.messages))
        until = None if one.until is None else numbers.get(one.until, len(chat.messages))
        if (ident, since) not in seen:
            yield Presence(participant_id=ident, since=since, until=until)
        seen.add((ident, since))


def _find_same(reading: ReadTransaction, chat: Chat) -> str | None:
    """Return the title of a conversation that has the same messages, if there is one."""
    hashes = [hash_content(normalise(said.content)) for said in chat.messages]
    for row in reading.rows(conversations, conversations.c.said == len(hashes), only=("id", "title")):
        in_conversation = messages.c.conversation_id == row.id
        found = reading.rows(messages, in_conversation, order=(messages.c.number,), only=("content_hash",))
        if [one.content_hash for one in found] == hashes:
            return str(row.title or row.id)
    return None


def _load_chat(reading: ReadTransaction, conversation_id: str, thread: str) -> StoredChat:
    rows = reading.rows(messages, messages.c.conversation_id == conversation_id, order=(messages.c.number,))
    return StoredChat(
        record=get_conversation(reading, conversation_id),
        messages=tuple(read_struct(Message, row) for row in rows),
        attendance=load_attendance(reading, conversation_id),
        participants=load_participants(reading),
        thread=thread,
        mode_states={row.id: row.mode_state for row in rows if row.mode_state},
    )


def _select_new(path: Path, present: Sequence[JsonObject], rows: list[JsonObject]) -> list[JsonObject]:
    """Return the lines that a chat file lacks at its end; it must hold the beginning of the conversation."""
    before = [row["mes"] for row in present if "mes" in row]
    said = [row for row in rows if "mes" in row]
    if before != [row["mes"] for row in said[: len(before)]]:
        raise FabulaError(
            Code.EXPORT_REFUSED,
            message(
                "{path} does not hold the beginning of this conversation as it is now; maybe a message was corrected "
                "since. It was not changed. {advice}",
                path=path,
                advice=advise(
                    message("Name another file, or write all of it anew: --overwrite"),
                    message("Name another file, or overwrite all of it (`overwrite`)."),
                ),
            ),
        )
    return said[len(before) :] if present else rows


def _report_export(
    chat: StoredChat, path: Path, written_as: ChatFormat, count: int, warnings: tuple[Sentence, ...]
) -> ChatExportReport:
    title = chat.record.title or chat.record.id
    return ChatExportReport(path=str(path), format=written_as, title=title, messages=count, warnings=warnings)
