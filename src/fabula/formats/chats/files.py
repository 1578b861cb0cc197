"""Read chats from a file or a folder: sessions in both layouts, and chat files of SillyTavern.

The content of a file decides its format. In a folder every session and every file of JSON lines below it is read, and
one that cannot be read refuses all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NoReturn

from msgspec.structs import replace

from fabula.core.messages import Sentence, advise, message, plural
from fabula.formats.chats.json_lines import MAX_FILE_BYTES, parse_lines
from fabula.formats.chats.model import MAX_MESSAGES, Chat, ChatCollection, JsonObject, clean_name
from fabula.formats.chats.sessions import MESSAGES_FILE, META_FILE, SESSIONS_FOLDER, is_session, parse_session
from fabula.formats.chats.sillytavern import parse_sillytavern
from fabula.formats.safe.files import open_folder, read_file
from fabula.formats.safe.import_errors import CORRECT, FETCH_AGAIN, refuse_too_large, refuse_unreadable
from fabula.formats.safe.json_reader import parse_json

_ENDING = ".jsonl"
_CARD_FILE = re.compile(rb"\x89PNG|PK\x03\x04")  # a picture or an archive
_ONE_OBJECT = re.compile(rb"\s*\{[ \t\r]*\n")  # JSON over several lines
_OF_CARDS, _OF_LOREBOOKS = {"first_mes", "char_greeting", "char_name", "data"}, {"entries", "lorebookVersion"}
ReadFile = Callable[[str], bytes]


def read_chats(path: Path) -> ChatCollection:
    """Read the chat of a file, or all chats of a folder."""
    if path.is_dir():
        return _read_folder(path)
    if path.name in (MESSAGES_FILE, META_FILE) and path.exists():
        return _read_folder(path.absolute().parent, only={MESSAGES_FILE, META_FILE})
    data = read_file(path, MAX_FILE_BYTES)
    return ChatCollection((_parse_file(data, path.name, path.stem),))


def _read_folder(root: Path, only: set[str] | None = None) -> ChatCollection:
    folder = open_folder(root)
    names = [name for name in folder.names if only is None or name in only]
    sessions = {str(PurePosixPath(name).parent) for name in names if PurePosixPath(name).name == MESSAGES_FILE}
    described = {str(PurePosixPath(name).parent) for name in names if PurePosixPath(name).name == META_FILE}
    files = [name for name in names if name.endswith(_ENDING) and PurePosixPath(name).name != MESSAGES_FILE]
    newer, notices = _choose_layout(root, sessions)
    chats: list[Chat] = []
    count = 0
    for place in newer:
        if not folder.read(str(PurePosixPath(place, MESSAGES_FILE))).strip():
            notices.append(message("{label}: nothing is said in it. It is left out.", label=_label(root, place)))
            continue
        chats.append(_parse_session_folder(root, place, folder.read, has_meta=place in described))
        count = _add_count(count, chats[-1], root)
    for name in files:
        chats.append(_parse_file(folder.read(name), name, PurePosixPath(name).stem))
        count = _add_count(count, chats[-1], root)
    for place in sorted(described - sessions):
        notices.append(message("{label}: nothing is said in it. It is left out.", label=_label(root, place)))
    if not chats:
        refuse_unreadable(folder.label, message("there is no chat in it"), message("Name another file."))
    others = sum(not name.endswith(_ENDING) and PurePosixPath(name).name != META_FILE for name in names)
    if others:
        notices.append(
            plural(
                others,
                "{count} other file of the folder was not read.",
                "{count} other files of the folder were not read.",
            )
        )
    return ChatCollection(tuple(chats), tuple(notices))


def _choose_layout(root: Path, sessions: set[str]) -> tuple[list[str], list[Sentence]]:
    """Return the folders of sessions to read; where one is there in both layouts, the newer."""
    chosen: dict[str, str] = {}
    notices: list[Sentence] = []
    for place in sorted(sessions):
        session = _locate(root, place).name
        if session not in chosen:
            chosen[session] = place
        elif _is_newer(root, place) != _is_newer(root, chosen[session]):
            chosen[session] = place if _is_newer(root, place) else chosen[session]
            notices.append(message("{session} is there in both layouts. The newer one was read.", session=session))
        else:
            chosen[place] = place  # the same id in another thread
    return sorted(chosen.values()), notices


def _parse_session_folder(root: Path, place: str, read: ReadFile, *, has_meta: bool) -> Chat:
    path, label = _locate(root, place), _label(root, place)
    lines, notices = parse_lines(read(str(PurePosixPath(place, MESSAGES_FILE))), label)
    meta: JsonObject = {}
    if has_meta:
        meta = parse_json(
            read(str(PurePosixPath(place, META_FILE))), message("{file}, {other}", file=label, other=META_FILE)
        )
        if not isinstance(meta, dict):
            refuse_unreadable(label, message("it is no table of names and values"), CORRECT)
    else:
        notices = (*notices, message("{label}: there is no {other}.", label=label, other=META_FILE))
    thread = path.parents[1].name if _is_newer(root, place) and len(path.parents) > 1 else ""
    chat = parse_session(lines, meta, label, session_id=path.name, thread=thread)
    return replace(chat, notices=(*notices, *chat.notices))


def _parse_file(data: bytes, label: str, title: str) -> Chat:
    if _CARD_FILE.match(data):
        _refuse_card(label)
    if _ONE_OBJECT.match(data):
        _refuse_object(parse_json(data, label), label)
    lines, notices = parse_lines(data, label)
    if not lines:
        refuse_unreadable(label, message("it is empty"), FETCH_AGAIN)
    if not {"spec", *_OF_CARDS, *_OF_LOREBOOKS}.isdisjoint(lines[0][1]) and "mes" not in lines[0][1]:
        _refuse_object(lines[0][1], label)
    if is_session(lines[0][1]):
        chat = replace(parse_session(lines, {}, label), title=clean_name(title))
    else:
        chat = parse_sillytavern(lines, label, title)
    return replace(chat, notices=(*notices, *chat.notices))


def _refuse_object(found: object, label: str) -> NoReturn:
    """Refuse a file that is one object, and say what it is."""
    names = found if isinstance(found, dict) else {}
    is_book = "lorebook" in str(names.get("spec", "")) or not _OF_LOREBOOKS.isdisjoint(names)
    if not _OF_CARDS.isdisjoint(names) and "lorebook" not in str(names.get("spec", "")):
        _refuse_card(label)
    if is_book:
        remedy = advise(
            message("To import it: fabula lorebook import PROJECT FILE"), message("Import it as a lorebook.")
        )
        refuse_unreadable(label, message("it is a lorebook, and no chat"), remedy)
    refuse_unreadable(label, message("it is no chat of SillyTavern and no session"), FETCH_AGAIN)


def _refuse_card(label: str) -> NoReturn:
    remedy = advise(
        message("To import it: fabula participant import PROJECT FILE"),
        message("Import it as a participant with a card."),
    )
    refuse_unreadable(label, message("it is a character card, and no chat"), remedy)


def _locate(root: Path, place: str) -> Path:
    return root.resolve() / place


def _label(root: Path, place: str) -> str:
    return _locate(root, place).name


def _is_newer(root: Path, place: str) -> bool:
    return _locate(root, place).parent.name == SESSIONS_FOLDER


def _add_count(count: int, chat: Chat, root: Path) -> int:
    if count + len(chat.messages) > MAX_MESSAGES:
        refuse_too_large(root.name, message("it has more than {count:,} messages", count=MAX_MESSAGES))
    return count + len(chat.messages)
