"""Sessions on disk: `meta.json` and `messages.jsonl` in a folder, read, written and appended to (cht-5).

A session has the folder `logs/threads/{thread}/sessions/{session}/`; an older layout is `logs/threads/{session}/`. A
line is `{id, role, participant_id, content, timestamp, usage?}`; other fields are kept in `Message.extra["session"]`.
A flat file has no branches, so we write the active path. A line that does not follow on from the line before it names
its `parent_id`. The store stays the truth; whoever writes holds the session's lock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from fabula.conversation.model import GREETING, Message, MessageKind, get_kind
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.ids import current_timestamp, parse_timestamp
from fabula.core.messages import Sentence, advise, message, plural
from fabula.formats.chats.json_lines import MAX_FILE_BYTES, NumberedLine, append_lines, encode_lines, parse_lines
from fabula.formats.chats.model import (
    FILE_FIELDS,
    MAX_MESSAGES,
    SESSION,
    Chat,
    ChatMessage,
    JsonObject,
    StoredChat,
    clean_name,
    get_text,
    read_kind,
    read_presence,
    read_states,
)
from fabula.formats.chats.session_lock import LOCK_FILE, hold_lock
from fabula.formats.chats.timestamps import read_timestamp
from fabula.formats.safe.files import read_file, refuse_unwritten, write_file
from fabula.formats.safe.import_errors import CORRECT, FETCH_AGAIN, refuse_too_large, refuse_unreadable
from fabula.formats.safe.json_reader import encode_json, parse_json

META_FILE = "meta.json"
MESSAGES_FILE = "messages.jsonl"
SESSIONS_FOLDER = "sessions"
_ROLES = get_args(Role)
_NO_SLUG = re.compile(r"[^\w.-]+")


def is_session(row: Mapping[str, Any]) -> bool:
    """Return whether the first line of a file is that of a session."""
    return "role" in row and "content" in row


def parse_session(
    lines: Sequence[NumberedLine], meta: JsonObject, label: str, *, session_id: str = "", thread: str = ""
) -> Chat:
    """Make a chat of the lines of a session and what `meta.json` says of it."""
    if not lines:
        refuse_unreadable(label, message("nothing is said in it"), FETCH_AGAIN)
    if len(lines) > MAX_MESSAGES:
        refuse_too_large(label, message("it has more than {count:,} messages", count=MAX_MESSAGES))
    found: list[ChatMessage] = []
    places: dict[str, int] = {}
    renamed = repeated = 0
    for line, (place, row) in enumerate(lines):
        one = _parse_line(line, place, row, places)
        renamed += "role" in one.extra[SESSION]
        repeated += one.id in places
        if one.id:
            places.setdefault(one.id, line)
        found.append(one)
    mode, state = meta.get("mode") or "", meta.get("mode_state") or {}
    for name, value, kind in (("mode", mode, str), ("mode_state", state, dict)):
        if not isinstance(value, kind):
            expected = message("a text") if kind is str else message("a table of names and values")
            place = message("{file}, {other}", file=label, other=META_FILE)
            refuse_unreadable(place, message("`{name}` must be {expected}", name=name, expected=expected), CORRECT)
    own = ("mode", "mode_state", "participants", "presence", "updated_at")
    kept = {name: None if name in own else value for name, value in meta.items()}
    found[0].extra[FILE_FIELDS] = {"format": SESSION, "session": session_id, "thread": thread, "meta": kept}
    title, given = meta.get("title"), meta.get("participants")
    names = {who: name for who, name in given.items() if isinstance(name, str)} if isinstance(given, dict) else {}
    notices = (
        plural(
            renamed,
            "{label}: one message has a role that is not known here; it counts as an answer.",
            "{label}: {count} messages have a role that is not known here; they count as answers.",
            label=label,
        ),
        plural(
            repeated,
            "{label}: one id stands there twice. Both messages are kept.",
            "{label}: {count} ids stand there more than once. All messages are kept.",
            label=label,
        ),
    )
    return Chat(
        label=label,
        title=(clean_name(title) if isinstance(title, str) else "") or clean_name(session_id or label),
        format=SESSION,
        messages=tuple(found),
        leaf=len(found) - 1,
        session_id=session_id,
        created_at=read_timestamp(meta.get("created_at")),
        mode=clean_name(mode),
        mode_state=state,
        names=names,
        members=tuple((clean_name(who), "user" if who.startswith("player:") else "assistant") for who in names),
        presence=read_presence(meta.get("presence")),
        notices=tuple(notice for notice, count in zip(notices, (renamed, repeated), strict=True) if count),
    )


def find_session_folder(chat: StoredChat, root: Path) -> Path:
    """Return the folder that a session is written to: the one given if it is a session's, else one below it."""
    if root.parent.name == SESSIONS_FOLDER or any((root / name).exists() for name in (META_FILE, MESSAGES_FILE)):
        return root
    kept = chat.file_fields if chat.file_fields.get("format") == SESSION else {}
    session = str(kept.get("session") or chat.record.id)
    thread = str(kept.get("thread") or chat.thread)
    return root / "logs" / "threads" / _make_slug(thread, "fabula") / SESSIONS_FOLDER / _make_slug(session, "session")


def write_session(
    chat: StoredChat, folder: Path, *, append: bool = False, overwrite: bool = False
) -> tuple[int, tuple[Sentence, ...]]:
    """Write a conversation as a session, or append what is not in it yet; return how many lines were written."""
    left = len(chat.messages) - len(chat.path)
    notices: tuple[Sentence, ...] = ()
    if left:
        notice = plural(
            left,
            "{count} message of another branch is not in the file.",
            "{count} messages of other branches are not in the file.",
        )
        notices = (notice,)
    _make_folder(folder)
    with hold_lock(folder / LOCK_FILE):
        path = folder / MESSAGES_FILE
        if append and path.exists():
            count, found = _append_new(chat, folder)
            return count, (*notices, *found)
        write_file(encode_lines(_make_rows(chat, chat.path, None)), path, overwrite=overwrite)
        meta = _make_meta(chat, {}, list(chat.path))
        write_file(encode_json(meta, indent=2), folder / META_FILE, overwrite=True)
    return len(chat.path), notices


def append_messages(folder: Path, rows: Sequence[Mapping[str, Any]]) -> tuple[Sentence, ...]:
    """Append lines to a session under its lock, all or none, and note the time; return what was mended on the way."""
    _make_folder(folder)
    with hold_lock(folder / LOCK_FILE):
        notices = append_lines(folder / MESSAGES_FILE, encode_lines(rows))
        meta = _read_meta(folder)
        write_file(encode_json(_mark_update(meta), indent=2), folder / META_FILE, overwrite=True)
    return notices


def _parse_line(line: int, place: Sentence, row: JsonObject, places: Mapping[str, int]) -> ChatMessage:
    content, role, ident = get_text(row, "content", place), get_text(row, "role", place), row.get("id")
    speaker, timestamp = row.get("participant_id"), read_timestamp(row.get("timestamp"))
    parent, kind, audience = row.get("parent_id"), read_kind(row.get("kind")), row.get("audience")
    known: dict[str, bool] = {  # what the message says again when it is written
        "id": isinstance(ident, str),
        "role": role in _ROLES,
        "participant_id": isinstance(speaker, str) and clean_name(speaker) == speaker,
        "content": True,
        "timestamp": row.get("timestamp") == timestamp,
        "usage": True,
        "parent_id": isinstance(parent, str) and parent in places,
        "kind": kind is not None,
        "final": isinstance(row.get("final"), bool),
        "audience": isinstance(audience, list) and all(isinstance(one, str) for one in audience),
        "mode_state": bool(read_states(row.get("mode_state"))),
    }
    before = line - 1 if line else None
    extra: JsonObject = {SESSION: {name: value for name, value in row.items() if not known.get(name)}}
    if row.get("usage") is not None:
        extra["usage"] = row["usage"]
    others = row.get("extra")
    if isinstance(others, Mapping) and others.get(GREETING) is True:
        extra[GREETING] = True
    return ChatMessage(
        line=line,
        parent=places[parent] if isinstance(parent, str) and known["parent_id"] else before,
        role=next((one for one in _ROLES if one == role), "assistant"),
        content=content,
        speaker=clean_name(speaker) if isinstance(speaker, str) else "",
        id=ident if isinstance(ident, str) else "",
        timestamp=timestamp,
        kind=kind,
        final=row.get("final") is not False,
        audience=tuple(audience) if isinstance(audience, list) and known["audience"] else None,
        mode_state=read_states(row.get("mode_state")),
        extra=extra,
    )


def _append_new(chat: StoredChat, folder: Path) -> tuple[int, tuple[Sentence, ...]]:
    """Append the messages that are not in the file yet; the file must hold this conversation."""
    path = folder / MESSAGES_FILE
    lines, _ = parse_lines(read_file(path, MAX_FILE_BYTES), path.name)
    present = [row for _, row in lines]
    by_file_id = {_get_file_id(one): one for one in chat.messages}
    known = [found for row in present if (found := by_file_id.get(_freeze(row.get("id")))) is not None]
    if present and not known:
        sentence = message("{path} holds another conversation. It was not changed. Name another folder.", path=folder)
        raise FabulaError(Code.EXPORT_REFUSED, sentence)
    texts = {_freeze(row.get("id")): row.get("content") for row in present}
    new = [one for one in chat.path if _get_file_id(one) not in texts]
    changed = sum(texts[_get_file_id(one)] != one.content for one in chat.path if _get_file_id(one) in texts)
    last = present[-1].get("id") if present else None
    notices = append_lines(path, encode_lines(_make_rows(chat, new, last)))
    meta = _make_meta(chat, _read_meta(folder), [*known, *new])
    write_file(encode_json(meta, indent=2), folder / META_FILE, overwrite=True)
    outdated = plural(
        changed,
        "{count} message was corrected since it was written, and stands in the file as it was. {advice}",
        "{count} messages were corrected since they were written, and stand in the file as they were. {advice}",
        advice=advise(message("To write all anew: --overwrite"), message("To write all anew, overwrite the file.")),
    )
    return len(new), (*notices, outdated) if changed else notices


def _make_rows(chat: StoredChat, said: Sequence[Message], last: object) -> list[JsonObject]:
    """Return the lines of messages; one that does not follow on from the last line names its parent."""
    file_ids = {one.id: _get_file_id(one) for one in chat.messages}
    rows = []
    for one in said:
        kept = one.extra.get(SESSION)
        kept = kept if isinstance(kept, Mapping) else {}
        row: JsonObject = {
            "id": one.id,
            "role": one.role,
            "participant_id": one.speaker or None,
            "content": one.content,
            "timestamp": one.timestamp,
        }
        if "usage" in one.extra:
            row["usage"] = one.extra["usage"]
        if get_kind(one) not in (MessageKind.USER, MessageKind.REPLY):
            row["kind"] = get_kind(one).value
        if not one.final:
            row["final"] = False
        if one.audience is not None:
            row["audience"] = list(one.audience)
        if one.id in chat.mode_states:
            row["mode_state"] = chat.mode_states[one.id]
        parent = None if one.parent_id is None else file_ids.get(one.parent_id)
        if parent is not None and parent != last:
            row["parent_id"] = parent
        others = {name: value for name, value in one.extra.items() if name not in (SESSION, "usage", FILE_FIELDS)}
        if others and "extra" not in kept:
            row["extra"] = others
        rows.append({**row, **kept})
        last = file_ids[one.id]
    return rows


def _make_meta(chat: StoredChat, present: Mapping[str, Any], lines: list[Message]) -> JsonObject:
    kept = chat.file_fields if chat.file_fields.get("format") == SESSION else {}
    names = {one.participant_id: chat.participants.name_of(one.participant_id) for one in chat.attendance.changes}
    presence = [
        {"who": one.participant_id, "since": one.since, "until": one.until} for one in chat.list_presence(lines)
    ]
    record = chat.record
    meta: JsonObject = {
        "id": str(kept.get("session") or record.id),
        "thread": str(kept.get("thread") or chat.thread),
        "created_at": record.created_at,
        **kept.get("meta", {}),
        **present,
        "title": record.title,
        "mode": record.mode,
        "mode_state": dict(record.mode_state),
        "participants": names,
        "presence": presence,
    }
    if not presence:
        del meta["presence"]
    return _mark_update({**meta, "updated_at": present.get("updated_at")})


def _mark_update(meta: JsonObject) -> JsonObject:
    """Return what `meta.json` says with the time of this change, which never lies before that of the last one."""
    now = current_timestamp()
    last = meta.get("updated_at")
    last_time, time = parse_timestamp(last) if isinstance(last, str) else None, parse_timestamp(now)
    is_later = last_time is not None and time is not None and last_time > time
    return {**meta, "updated_at": last if is_later else now}


def _read_meta(folder: Path) -> JsonObject:
    path = folder / META_FILE
    if not path.exists():
        return {}
    meta = parse_json(read_file(path, MAX_FILE_BYTES), path.name)
    return meta if isinstance(meta, dict) else {}


def _get_file_id(said: Message) -> object:
    """Return the id that a message has in its file."""
    kept = said.extra.get(SESSION)
    return _freeze(kept["id"]) if isinstance(kept, Mapping) and "id" in kept else said.id


def _freeze(ident: object) -> object:
    return ident if isinstance(ident, str | int | float | None) else repr(ident)


def _make_slug(text: str, otherwise: str) -> str:
    return _NO_SLUG.sub("-", text).strip("-.")[:100] or otherwise


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse_unwritten(folder, error)
