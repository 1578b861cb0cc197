"""Which conversation the messages of a client go on, and the id of each of them (ppl-2).

A client sends its whole history with every request. A message is known by everything that was said up to it, so its id
is the hash of the path to it, and the conversation has its id by how it begins. Many clients leave out the oldest
messages once their window is full. Where the beginning of a request is not known, the newest of its messages that end a
known path say where it goes on: at least `COMPARED` of them must be the same, and only one path may end with them.
Else the request begins a conversation. System messages are instructions of the client: they decide nothing.

A path is known where it is recorded, or where this process was sent it lately.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import TypeVar

from msgspec import Struct
from sqlalchemy import desc

from fabula.conversation.model import Message, hash_content
from fabula.conversation.tables import conversations, messages
from fabula.store.transaction import ReadTransaction
from fabula.workspace.schemas.completions import ClientMessage

COMPARED = 3  # messages that must be the same where a path goes on
_LOOKED_AT = 64  # of the newest messages of a request, where its beginning is not known
_MAX_CONVERSATIONS, _MAX_MESSAGES = 20, 2_000  # that are looked through, the latest
_MAX_KNOWN = 20_000

Part = TypeVar("Part")
SpokenMessage = tuple[ClientMessage, Message]  # as the client sent it, and as it would be stored


class PathPlace(Struct, frozen=True):
    """A place of a known path: its conversation, and the newest messages up to there."""

    conversation_id: str
    ids: tuple[str, ...] = ()

    def means_the_same(self, other: PathPlace) -> bool:
        """Whether another place is behind the same message."""
        return (self.conversation_id, self.ids[-1:]) == (other.conversation_id, other.ids[-1:])


class ClientPath(Struct, frozen=True):
    """The conversation that the messages of a request belong to, and their ids in order."""

    conversation_id: str
    ids: tuple[str, ...]


class KnownPaths:
    """Where the messages belong that clients sent to this process lately."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._places: OrderedDict[str, PathPlace | None] = OrderedDict()  # None: several messages are meant

    def find(self, key: str) -> tuple[bool, PathPlace | None]:
        """Return whether a key is known, and the message that it means; None where it means several."""
        with self._lock:
            return key in self._places, self._places.get(key)

    def add(self, places: Mapping[str, PathPlace]) -> None:
        """Remember what keys mean."""
        with self._lock:
            for key, place in places.items():
                before = self._places.get(key, place)
                self._places[key] = place if before is not None and before.means_the_same(place) else None
                self._places.move_to_end(key)
            while len(self._places) > _MAX_KNOWN:
                self._places.popitem(last=False)


def find_path(
    reading: ReadTransaction | None,
    known: KnownPaths,
    project_id: str,
    user: str,
    character: str,
    spoken: Sequence[SpokenMessage],
) -> ClientPath:
    """Find the conversation of a request, which is one person's, with one character, in one project."""
    prefix = f"client-{_hash(user, character)[:12]}-"
    clients = [client for client, _ in spoken]
    beginning = prefix + (hash_message(clients[0], "")[:16] if clients else "")
    keys = [_hash(project_id, prefix, *(hash_message(one, "") for one in part)) for part in _list_ends(clients)]
    beginning_key = _hash(project_id, beginning)
    path = ClientPath(beginning, _name(clients, beginning, {}))
    is_recorded = reading is not None and reading.row(conversations, id=beginning) is not None
    if not is_recorded and not known.find(beginning_key)[0]:
        found = _find_known(known, keys)
        if found is None and reading is not None:
            found = _find_recorded(reading, prefix, [message for _, message in spoken])
        if found is not None:
            conversation_id, ids = found
            path = ClientPath(conversation_id, _name(clients, conversation_id, ids))
        else:
            known.add({beginning_key: PathPlace(beginning)})
    ends = zip(keys, _list_ends(path.ids), strict=True)
    known.add({key: PathPlace(path.conversation_id, ids) for key, ids in [*ends][-_LOOKED_AT:]})
    return path


def hash_message(client: ClientMessage, parent: str) -> str:
    """Return the id of a message behind another; white space at its edges is no difference, since clients cut it."""
    return _hash(parent, client.role, client.name or "", client.tool_call_id or "", client.text.strip())[:32]


def _hash(*parts: str) -> str:
    return sha256("\x1e".join(parts).encode(errors="replace")).hexdigest()


def _list_ends(path: Sequence[Part]) -> list[tuple[Part, ...]]:
    """The newest parts up to each place of a path, where there are enough before it."""
    return [tuple(path[at - COMPARED : at]) for at in range(COMPARED, len(path) + 1)]


def _name(clients: Sequence[ClientMessage], conversation_id: str, ids: Mapping[int, str]) -> tuple[str, ...]:
    """Name all messages of a path: those whose ids are known, and the others behind them."""
    named: list[str] = []
    for at, client in enumerate(clients):
        named.append(ids.get(at) or hash_message(client, named[-1] if named else conversation_id))
    return tuple(named)


def _find_known(known: KnownPaths, keys: Sequence[str]) -> tuple[str, dict[int, str]] | None:
    """Find the newest place up to which a path is known; return its conversation, and ids by place in the request."""
    ids: dict[int, str] = {}
    conversation_id = ""
    for at in reversed(range(max(0, len(keys) - _LOOKED_AT), len(keys))):
        is_known, place = known.find(keys[at])
        if not ids:
            if is_known and place is None:
                return None
            conversation_id = "" if place is None else place.conversation_id
        if place is not None and place.conversation_id == conversation_id:
            ends = ((at + number, ident) for number, ident in enumerate(place.ids))
            ids |= {number: ident for number, ident in ends if number not in ids and ident not in ids.values()}
    return (conversation_id, ids) if ids else None


def _find_recorded(reading: ReadTransaction, prefix: str, path: Sequence[Message]) -> tuple[str, dict[int, str]] | None:
    """Find the newest message that a recorded path leads to; return the same as `_find_known`."""
    contents = [(one.role, hash_content(one.content)) for one in path]
    start = max(0, len(contents) - _LOOKED_AT)
    latest = reading.rows(
        conversations,
        conversations.c.id.startswith(prefix, autoescape=True),
        order=(desc(conversations.c.changed), conversations.c.id),
        limit=_MAX_CONVERSATIONS,
        only=("id",),
    )
    if not latest or len(path) < COMPARED:
        return None
    found = reading.rows(
        messages,
        messages.c.conversation_id.in_([row.id for row in latest]),
        messages.c.content_hash.in_(sorted({content for _, content in contents[start:]})),
        order=(desc(messages.c.number), messages.c.id),
        limit=_MAX_MESSAGES,
        only=("id", "parent_id", "conversation_id", "role", "content_hash"),
    )
    rows = {row.id: row for row in found}
    ends = defaultdict(list)
    for row in found:
        ends[row.role, row.content_hash].append(row)
    for last in reversed(range(start, len(contents))):
        matches: list[list[str]] = []
        for end in ends[contents[last]]:
            ids, here = list[str](), rows.get(end.id)
            while (
                here is not None
                and len(ids) <= last - start
                and contents[last - len(ids)] == (here.role, here.content_hash)
            ):
                ids.append(here.id)
                here = rows.get(here.parent_id)
            matches.append(ids)
        longest = max(map(len, matches), default=0)
        if longest >= COMPARED:
            best = [one for one in matches if len(one) == longest]
            conversation_id: str = rows[best[0][0]].conversation_id
            return (conversation_id, {last - back: one for back, one in enumerate(best[0])}) if len(best) == 1 else None
    return None
