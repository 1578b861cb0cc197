"""SillyTavern's chat files: JSON lines, of one character or a group, read and written without loss.

The first line describes the chat; older group chats have none. Each other line is a message. Its swipes are what the
character said in its place before or after, and become siblings in the tree of messages: the chosen one is followed
by the rest of the chat. A hidden message (`is_system`) is kept and reaches no prompt, as it does there.

`Message.extra["sillytavern"]` keeps of the chosen swipe all `fields` of its line but the texts, and of each swipe its
`index`. A text that the store would change (its line ends) is kept as it came. A message that was corrected here is
written with its new text.

The author's note of a chat (`note_…` in `chat_metadata`) becomes that of the conversation. What SillyTavern has no
field for, the mode of a conversation among it, stands under `fabula`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from fabula.conversation.model import (
    BEGUN,
    DEFAULT_NOTE_DEPTH,
    EARLIER,
    GREETING,
    MAX_NOTE_CHARACTERS,
    MAX_NOTE_DEPTH,
    NOTE,
    ROUND,
    AuthorNote,
    Message,
    MessageKind,
    NotePlace,
    find_note,
    get_kind,
)
from fabula.conversation.modes import DEFAULT_MODE
from fabula.conversation.participants import strip_revision
from fabula.core.fragment import Role
from fabula.core.messages import Sentence, message, plural
from fabula.formats.chats.json_lines import NumberedLine
from fabula.formats.chats.model import (
    FILE_FIELDS,
    MAX_MESSAGES,
    SILLYTAVERN,
    Chat,
    ChatMessage,
    JsonObject,
    StoredChat,
    check_text,
    clean_name,
    get_text,
    read_kind,
    read_presence,
    read_states,
)
from fabula.formats.chats.timestamps import read_timestamp
from fabula.formats.safe.import_errors import FETCH_AGAIN, refuse_too_large, refuse_unreadable
from fabula.text.offsets import normalise

_OWN = "fabula"  # in `extra` of a message and in `chat_metadata`: what SillyTavern has no field for
_NOBODY = "unused"  # in place of names in the first line of a group chat
_NARRATOR = "narrator"  # `extra.type` of a message that nobody says
_OF_SWIPE = ("send_date", "gen_started", "gen_finished", "extra")  # what a line says of its chosen swipe
_NOTE_ROLES: tuple[Role, ...] = ("system", "user", "assistant")  # by their numbers
_NOTE_PLACES: tuple[NotePlace, ...] = ("after", "depth", "before")
_MAX_INTERVAL = 1_000_000
# What of a stored state is about messages, which have no ids here, or has fields
_OF_MESSAGES = (ROUND, EARLIER, NOTE)
_HEADER = ("chat_metadata", "user_name", "character_name", "create_date")


def is_sillytavern(row: Mapping[str, Any]) -> bool:
    """Return whether the first line of a file is that of a chat of SillyTavern."""
    return "mes" in row or any(name in row for name in _HEADER)


def parse_sillytavern(lines: Sequence[NumberedLine], label: str, title: str) -> Chat:
    """Make a chat of the lines of a file."""
    header = lines[0][1] if "mes" not in lines[0][1] else None
    if header is not None and not is_sillytavern(header):
        refuse_unreadable(label, message("it is no chat of SillyTavern and no session"), FETCH_AGAIN)
    found: list[ChatMessage] = []
    leaf: int | None = None
    odd = 0
    for line, (place, row) in enumerate(lines if header is None else lines[1:]):
        if len(found) + len(_read_swipes(row)[0] or (row,)) > MAX_MESSAGES:
            refuse_too_large(label, message("it has more than {count:,} messages", count=MAX_MESSAGES))
        swipes, chosen = _parse_line(line, place, row, leaf)
        odd += "swipes" in row and "index" not in swipes[chosen].extra[SILLYTAVERN]
        leaf = len(found) + chosen
        found.extend(swipes)
    if leaf is None:
        refuse_unreadable(label, message("nothing is said in it"), FETCH_AGAIN)
    found[0].extra[FILE_FIELDS] = {"format": SILLYTAVERN, "header": header}
    header = header or {}
    unread = plural(
        odd,
        "{label}: the swipes of one message cannot be read. They are kept as they are.",
        "{label}: the swipes of {count} messages cannot be read. They are kept as they are.",
        label=label,
    )
    names: tuple[tuple[object, Role], ...] = (
        (header.get("user_name"), "user"),
        (header.get("character_name"), "assistant"),
    )
    metadata = _get_object(header, "chat_metadata")
    own, note = _get_object(metadata, _OWN), _read_note(metadata)
    state, ids = dict(_get_object(own, "mode_state")), _get_object(own, "participants")
    mode = clean_name(given) if isinstance(given := own.get("mode"), str) else ""
    if mode:
        state[ROUND] = {"is_ended": True}  # the mode has begun
    if note is not None:
        state[NOTE] = to_builtins(note)
    return Chat(
        label=label,
        title=clean_name(title),
        format=SILLYTAVERN,
        messages=tuple(found),
        leaf=leaf,
        created_at=read_timestamp(header.get("create_date")),
        mode=mode,
        mode_state=state,
        names={who: name for who, name in ids.items() if isinstance(name, str) and _is_name(name)},
        members=tuple((clean_name(name), role) for name, role in names if isinstance(name, str) and _is_name(name)),
        presence=read_presence(own.get("presence")),
        notices=((unread,) if odd else ()) + _describe_note(note, label),
    )


def _read_note(metadata: Mapping[str, Any]) -> AuthorNote | None:
    """Read the author's note of a chat; what is no number of its kind has the value that SillyTavern begins with."""
    text = metadata.get("note_prompt")
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        return None
    places, roles = len(_NOTE_PLACES) - 1, len(_NOTE_ROLES) - 1
    return AuthorNote(
        text=normalise(text)[:MAX_NOTE_CHARACTERS],
        depth=_read_number(metadata, "note_depth", DEFAULT_NOTE_DEPTH, MAX_NOTE_DEPTH),
        role=_NOTE_ROLES[_read_number(metadata, "note_role", 0, roles)],
        place=_NOTE_PLACES[_read_number(metadata, "note_position", 1, places)],
        interval=_read_number(metadata, "note_interval", 1, _MAX_INTERVAL),
    )


def _read_number(fields: Mapping[str, Any], name: str, otherwise: int, most: int) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else otherwise


def _describe_note(note: AuthorNote | None, label: str) -> tuple[Sentence, ...]:
    """Say what becomes of the author's note of a chat."""
    if note is None:
        return ()
    if note.interval == 0:
        return (message("{label}: the author's note is switched off. It is kept, and reaches no prompt.", label=label),)
    told = message("{label}: the author's note stands in every prompt.", label=label)
    if note.place == "depth":
        told = message(
            "{label}: the author's note stands in every prompt, at depth {depth}.", label=label, depth=note.depth
        )
    if note.interval == 1:
        return (told,)
    return (
        told,
        message(
            "{label}: in SillyTavern the note is told once every {count} messages. An export writes that again.",
            label=label,
            count=note.interval,
        ),
    )


def encode_sillytavern(chat: StoredChat) -> tuple[list[JsonObject], tuple[Sentence, ...]]:
    """Return the lines of a chat file, the first one too, and what of the conversation is left out."""
    written = 0
    rows: list[JsonObject] = []
    for said in chat.path:
        alternatives = chat.list_alternatives(said)
        written += len(alternatives)
        rows.append(_make_row(chat, said, alternatives))
    header = _make_header(chat)
    left = len(chat.messages) - written
    notice = plural(
        left,
        "{count} message of another branch is not in the file.",
        "{count} messages of other branches are not in the file.",
    )
    return ([] if header is None else [header]) + rows, (notice,) if left else ()


def _parse_line(line: int, place: Sentence, row: JsonObject, parent: int | None) -> tuple[list[ChatMessage], int]:
    """Make messages of a line, one of each swipe; return them and which one is chosen."""
    text = get_text(row, "mes", place)
    swipes, index = _read_swipes(row)
    for swipe in swipes:
        check_text(swipe, place)
    kept = _get_object(row, "extra")
    own = _get_object(kept, _OWN)
    is_hidden, kind = bool(row.get("is_system")), kept.get("type")
    is_nobody = kind == _NARRATOR or (is_hidden and isinstance(kind, str))
    name = row.get("name")
    role: Role = "system" if is_nobody else "user" if row.get("is_user") else "assistant"
    if is_nobody and own.get("kind") == MessageKind.KNOWLEDGE.value:  # what a mode told
        role = "user"
    audience, states = own.get("audience"), read_states(own.get("mode_state"))

    def make(content: str, timestamp: object, fields: JsonObject, states: JsonObject | None = None) -> ChatMessage:
        return ChatMessage(
            line=line,
            parent=parent,
            role=role,
            content=content,
            speaker=clean_name(name) if isinstance(name, str) and not is_nobody else "",
            timestamp=read_timestamp(timestamp),
            kind=read_kind(own.get("kind")),
            final=not is_hidden,
            audience=tuple(map(str, audience)) if isinstance(audience, list) else None,
            mode_state=states or {},
            extra={SILLYTAVERN: fields, **({GREETING: True} if own.get(GREETING) is True else {})},
        )

    if not swipes:
        return [make(text, row.get("send_date"), _keep_text({"fields": {**row, "mes": None}}, text), states)], 0
    information = row.get("swipe_info")
    found: list[ChatMessage] = []
    for place_of_swipe, swipe in enumerate(swipes):
        if place_of_swipe == index:
            fields = {**row, "mes": None, "swipes": None}
            kept_fields = _keep_text({"index": index, "count": len(swipes), "fields": fields}, text)
            if swipe != text:
                kept_fields |= {"mes": text, "swipe": swipe}
            found.append(make(text, row.get("send_date"), kept_fields, states))
            continue
        info = _get_info(information, place_of_swipe)
        timestamp = info.get("send_date") or row.get("send_date")
        found.append(make(swipe, timestamp, _keep_text({"index": place_of_swipe}, swipe)))
    return found, index


def _read_swipes(row: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return the swipes of a line and which one is chosen; none where they are not of their usual form."""
    swipes, index = row.get("swipes"), row.get("swipe_id")
    if not isinstance(swipes, list) or not all(isinstance(one, str) for one in swipes):
        return [], 0
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(swipes):
        return [], 0
    return swipes, index


def _keep_text(fields: JsonObject, text: str) -> JsonObject:
    """Add the text to what is kept of a message where the store changes it."""
    return fields if normalise(text) == text else {**fields, "mes": text}


def _get_info(information: object, index: int | None) -> Mapping[str, Any]:
    """Return what is known of a swipe beside its text."""
    if not isinstance(information, list) or index is None or index >= len(information):
        return {}
    found = information[index]
    return found if isinstance(found, dict) else {}


def _get_object(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = row.get(name)
    return found if isinstance(found, dict) else {}


def _is_name(name: str) -> bool:
    return bool(clean_name(name)) and name != _NOBODY


def _make_row(chat: StoredChat, said: Message, alternatives: Sequence[Message]) -> JsonObject:
    """Return the line of a message with its alternatives, the chosen one among them."""
    holder = next((one for one in (said, *alternatives) if "fields" in _get_fields(one)), None)
    kept = {} if holder is None else _get_fields(holder)
    row = dict(kept["fields"]) if holder is not None else _make_new_row(chat, said)
    chosen = alternatives.index(said)
    row["mes"] = _get_text(said)
    if "index" in kept or len(alternatives) > 1:
        indices = [_get_fields(one).get("index") for one in alternatives]
        is_complete = indices == list(range(kept.get("count", 0)))
        information = row.get("swipe_info")
        info = _get_info(information, _get_fields(said).get("index"))
        if holder is not said:
            row |= {name: info[name] for name in _OF_SWIPE if name in info} if info else _describe_swipe(said)
        row["swipe_id"] = chosen
        row["swipes"] = [_get_swipe(one) for one in alternatives]
        if not is_complete:
            row["swipe_info"] = [
                _get_info(information, index) or _describe_swipe(one)
                for index, one in zip(indices, alternatives, strict=True)
            ]
    own = _describe_own(chat, said)
    if own:
        row["extra"] = {**_get_object(row, "extra"), _OWN: own}
    return row


def _make_new_row(chat: StoredChat, said: Message) -> JsonObject:
    """Return the line of a message that came from no file."""
    is_narrator = not said.speaker and (said.role == "system" or get_kind(said) is MessageKind.KNOWLEDGE)
    is_user = said.role == "user" and not is_narrator
    name = chat.participants.name_of(said.speaker) if said.speaker else "You" if is_user else "System"
    return {
        "name": name,
        "is_user": is_user,
        "is_system": not said.final,
        "send_date": said.timestamp,
        "mes": None,
        "extra": {"type": _NARRATOR} if is_narrator else {},
    }


def _describe_swipe(said: Message) -> JsonObject:
    return {"send_date": said.timestamp, "extra": {}}


def _describe_own(chat: StoredChat, said: Message) -> JsonObject:
    own: JsonObject = {}
    if said.audience is not None:
        own["audience"] = [chat.participants.name_of(one) for one in said.audience]
    if get_kind(said) not in (MessageKind.USER, MessageKind.REPLY):
        own["kind"] = get_kind(said).value
    if said.id in chat.mode_states:
        own["mode_state"] = chat.mode_states[said.id]
    if said.extra.get(GREETING) and SILLYTAVERN not in said.extra:  # what came from a file goes out as it came
        own[GREETING] = True
    return own


def _make_header(chat: StoredChat) -> JsonObject | None:
    known = chat.file_fields if chat.file_fields.get("format") == SILLYTAVERN else {}
    header = known.get("header") if "header" in known else _make_new_header(chat)
    before = _get_object(header or {}, "chat_metadata")
    changes: JsonObject = {}
    note, own = find_note(chat.record.mode_state), _describe_chat(chat)
    if note != _read_note(before):
        changes |= _write_note(note)
    if own:
        changes[_OWN] = own
    if not changes and _OWN not in before:
        return header
    header = _make_new_header(chat) if header is None else header
    others = {name: value for name, value in before.items() if name != _OWN}  # that was so when it came
    return {**header, "chat_metadata": {**others, **changes}}


def _describe_chat(chat: StoredChat) -> JsonObject:
    """Return what SillyTavern has no field for: who was present when, and the mode with its state."""
    own: JsonObject = {}
    presence = [
        {"who": chat.participants.name_of(one.participant_id), "since": one.since, "until": one.until}
        for one in chat.list_presence(list(chat.path))
    ]
    if presence:
        own["presence"] = presence
    state = {name: value for name, value in chat.record.mode_state.items() if name not in _OF_MESSAGES}
    if state.keys() - {BEGUN} or chat.record.mode not in ("", DEFAULT_MODE):  # with the ids of the participants
        names = {one.participant_id: chat.participants.name_of(one.participant_id) for one in chat.attendance.ranges}
        own |= {"mode": chat.record.mode, "mode_state": state, "participants": names}
    return own


def _write_note(note: AuthorNote | None) -> JsonObject:
    if note is None:
        return {"note_prompt": ""}
    return {
        "note_prompt": note.text,
        "note_interval": note.interval,
        "note_position": _NOTE_PLACES.index(note.place),
        "note_depth": note.depth,
        "note_role": _NOTE_ROLES.index(note.role),
    }


def _make_new_header(chat: StoredChat) -> JsonObject:
    users = {strip_revision(one.speaker) for one in chat.path if one.speaker and one.role == "user"}
    everybody = list(dict.fromkeys([one.participant_id for one in chat.attendance.changes]))
    others = [one for one in everybody if one not in users and not one.startswith("player:")]
    players = [one for one in everybody if one not in others]
    is_single = len(others) == 1 and len(players) <= 1
    return {
        "user_name": chat.participants.name_of(players[0]) if is_single and players else _NOBODY,
        "character_name": chat.participants.name_of(others[0]) if is_single else _NOBODY,
        "create_date": chat.record.created_at,
        "chat_metadata": {},
    }


def _get_fields(said: Message) -> Mapping[str, Any]:
    return _get_object(said.extra, SILLYTAVERN)


def _get_text(said: Message) -> str:
    """Return the text of a message as it came, unless it was corrected since."""
    original = _get_fields(said).get("mes")
    return original if isinstance(original, str) and normalise(original) == said.content else said.content


def _get_swipe(said: Message) -> str:
    """Return the text of a message in the list of swipes, where it may differ from that of the line."""
    text, swipe = _get_text(said), _get_fields(said).get("swipe")
    return swipe if isinstance(swipe, str) and text == _get_fields(said).get("mes") else text
