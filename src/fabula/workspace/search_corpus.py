"""What of a project can be searched, as search reads it.

Rooms do not know each other: here the manuscript becomes texts, and conversations, recaps, fixed prompts and
biographies become threads. Those of a store are read when the index is made, not when a project is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from msgspec import Struct

from fabula.conversation.model import Conversations, Message
from fabula.conversation.snapshot import newest
from fabula.conversation.tables import biographies, conversations, fixed_prompts, participants, presence, recaps
from fabula.manuscript.model import Manuscript
from fabula.search.corpus import NOTHING_SAID, TALK, Shelf, Talks
from fabula.search.index.passages import Text
from fabula.search.model import Passage, Thread
from fabula.store.store import Store
from fabula.store.transaction import Reading

MOST_SAID = 20_000  # messages of one conversation, the newest
_MESSAGE = 200  # characters, at a guess
ROOMS = ("conversation", "recaps", "people")


def texts_of(manuscript: Manuscript) -> list[Text]:
    """The documents of the story; notes are no part of it."""
    return [Text(document.id, document.title, document.text, document.witnesses) for document in manuscript.documents]


def shelf_of(
    project_id: str, manuscript: Manuscript, talks: Talks = NOTHING_SAID, before: Shelf | None = None
) -> Shelf:
    """Everything of a project that can be searched."""
    return Shelf(project_id, texts_of(manuscript), talks, before)


def talks_of(said: Conversations | None) -> Talks:
    """The conversations of a snapshot."""
    if said is None or not any(said.messages.values()):
        return NOTHING_SAID
    threads = [_talk(name, path, (), {}) for name, path in said.messages.items()]
    return Talks(sum(len(message.content) for path in said.messages.values() for message in path), lambda: threads)


def _talk(conversation: str, path: Iterable[Message], seats: Sequence[Seat], names: Mapping[str, str]) -> Thread:
    """One conversation: what was finally said in it, each message known to whoever was there to hear it."""
    return Thread(
        TALK + conversation,
        tuple(
            Passage(
                f"history:{message.id}",
                message.content,
                called(message.speaker, names) or message.role,
                known_to=_heard(message, seats),
                at=message.timestamp,
                speaker=called(message.speaker, names),
            )
            for message in path
            if message.final and message.content.strip()
        ),
    )


def called(speaker: str, names: Mapping[str, str]) -> str:
    """What somebody is called: by their name where they have one, else by their id without its namespace."""
    plain = speaker.partition("#")[0] if speaker.startswith("persona:") else speaker
    return names.get(plain) or plain.partition(":")[2] or plain


class Seat(Struct, frozen=True):
    """Somebody was there from one message on, up to another or still."""

    participant: str
    since: int
    until: int | None


def _heard(message: Message, seats: Sequence[Seat]) -> frozenset[str] | None:
    """Who heard a message; None where nobody was counted."""
    if message.audience is not None:
        return frozenset(message.audience)
    if not seats:
        return None
    number = message.number or 0
    return frozenset(s.participant for s in seats if s.since <= number and (s.until is None or number < s.until))


class StoredTalks:
    """The conversations of a stored project with all that was made of them, read when first needed.

    What did not move since is taken over from the one before, thread by thread.
    """

    def __init__(self, store: Store, project_id: str) -> None:
        self._store = store
        self._project = project_id
        self._stale: dict[str, set[str] | None] = dict.fromkeys(ROOMS)  # by room: what moved; None for all of it
        self._talks: dict[str, Thread] = {}
        self._names: dict[str, str] = {}  # of all who take part
        self._rest: tuple[Thread, ...] = ()
        self._threads: tuple[Thread, ...] | None = None

    def following(self, moved: Mapping[str, Set[str] | None]) -> StoredTalks:
        """The same after something moved: by room, which items, or None for all of them."""
        after = StoredTalks(self._store, self._project)
        after._talks, after._rest, after._names = self._talks, self._rest, self._names
        after._stale = {room: set() for room in ROOMS} if self._threads is not None else dict(self._stale)
        for room, items in moved.items():
            known = after._stale[room]
            after._stale[room] = None if items is None or known is None else known | items
        return after

    def size(self, reading: Reading) -> Talks:
        """How much there is, and how to get at it."""
        said = reading.total(conversations, conversations.c.said)
        return Talks(said * _MESSAGE, self.threads) if said or reading.count(fixed_prompts) else NOTHING_SAID

    def threads(self) -> Sequence[Thread]:
        """Every thread, as the store has them when this is first asked."""
        if self._threads is None:
            with self._store.read(project=self._project) as reading:
                self._read(reading)
            self._threads = (*self._talks.values(), *self._rest)
        return self._threads

    def _read(self, reading: Reading) -> None:
        moved = self._stale["conversation"]
        people = reading.rows(participants, only=("id", "name"))
        names = {row.id: row.name for row in people if row.name}
        if names != self._names:  # whoever is called otherwise now said the same things
            moved, self._names = None, names
        rows = reading.rows(conversations, order=(conversations.c.id,), only=("id", "leaf_id"))
        self._talks = {
            row.id: self._talks[row.id]
            if moved is not None and row.id not in moved and row.id in self._talks
            else _talk(row.id, newest(reading, row.id, row.leaf_id, MOST_SAID), _seats(reading, row.id), names)
            for row in rows
        }
        if any(stale is None or stale for stale in self._stale.values()):
            self._rest = (*_recaps(reading), *_people(reading, names))


def _seats(reading: Reading, conversation: str) -> list[Seat]:
    rows = reading.rows(presence, presence.c.conversation_id == conversation)
    return [Seat(row.participant_id, row.since_number, row.until_number) for row in rows]


def _recaps(reading: Reading) -> list[Thread]:
    """What was made of conversations, known to those who were there all along."""
    found: dict[str, list[Passage]] = {}
    there: dict[str, frozenset[str] | None] = {}
    for row in reading.rows(recaps, order=(recaps.c.conversation_id, recaps.c.place)):
        name = row.conversation_id
        if name not in there:
            seats = _seats(reading, name)
            there[name] = frozenset(s.participant for s in seats if not s.since and s.until is None) if seats else None
        found.setdefault(name, []).append(Passage(f"recap:{row.id}", row.text, "", known_to=there[name], at=row.made))
    return [Thread(f"{TALK}{name}#recaps", tuple(items)) for name, items in found.items()]


def _people(reading: Reading, names: Mapping[str, str]) -> list[Thread]:
    """What is kept of participants: fixed prompts and biographies, known to themselves."""
    found: dict[str, list[Passage]] = {}
    for table, kind in ((fixed_prompts, "fixed"), (biographies, "biography")):
        for row in reading.rows(table, order=(table.c.participant_id, table.c.place)):
            who = row.participant_id
            found.setdefault(who, []).append(
                Passage(f"{kind}:{row.id}", row.text, called(who, names), known_to=frozenset({who}))
            )
    return [Thread(f"{TALK}{who}#kept", tuple(items)) for who, items in found.items()]
