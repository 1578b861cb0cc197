"""Conversations at size: find them, record into them, page through one, and assemble a speaker's prompt.

100,000 conversations with a million messages, one conversation of a million, and one of 50,000. Recording goes through
the workspace, with everything that follows from it: triggers, change feed, subscribers. It is compared with a bare
transaction of the same database library that inserts the same message as one row and syncs it to disk. A speaker's
prompt is assembled after each new message, and searched once the index is made.

    python -m benchmarks.history [--small] [--json]
"""

from __future__ import annotations

import gc
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.figures import arguments, loop_ms, milliseconds, percentile, report, show
from fabula.context.engine import Engine
from fabula.context.recipes import CHAT
from fabula.conversation import edits
from fabula.conversation.history import find_conversations
from fabula.conversation.model import MessageKind, hash_content
from fabula.conversation.participants import Participant, conv_key, save_participant
from fabula.conversation.recaps.model import RecapRules
from fabula.conversation.tables import conversations, messages, participants, presence
from fabula.manuscript import projects
from fabula.search.corpus import Corpus
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.sources import all_sources
from fabula.workspace.workspace import Workspace

MANY, LONG, CHAT_PROJECT = "many", "long", "chat"
PLAYER = "player:one"
Thing = TypeVar("Thing")
SPEAKERS = tuple(f"pawn:p{number}" for number in range(4))
_BATCH = 20_000  # rows in one transaction
_WORDS = ("lamp", "pier", "fog", "boat", "letter", "captain", "harbour", "stair", "window", "gull", "rope", "keeper")


class Sizes(Struct, frozen=True):
    """How much is filled in, and how often each thing is timed."""

    conversations: int = 100_000
    messages_each: int = 10
    people: int = 2_000
    long_messages: int = 1_000_000
    chat_messages: int = 50_000
    repeats: int = 300


SMALL = Sizes(conversations=300, messages_each=3, people=40, long_messages=600, chat_messages=400, repeats=5)


def make_text(random: Random, words: int = 18) -> str:
    """A sentence of common words."""
    return f"{' '.join(random.choices(_WORDS, k=words)).capitalize()}."


def fill(store: Store, sizes: Sizes, random: Random) -> list[tuple[str, ...]]:
    """Fill the three projects; return who takes part in each of the many conversations.

    The player takes part in two of three, and few of the others take part in much.
    """
    for project in (MANY, LONG, CHAT_PROJECT):
        projects.create(store, project, project_id=project)
    people = [f"pawn:n{number}" for number in range(sizes.people)]
    with store.write(project=MANY) as tx:
        tx.insert(participants, *({"id": one, "name": one.partition(":")[2].title()} for one in (PLAYER, *people)))
    weights = [1 / (number + 1) for number in range(sizes.people)]
    casts = []
    for _ in range(sizes.conversations):
        cast = {*random.choices(people, weights, k=random.randint(1, 5))}
        casts.append(tuple(sorted(cast | {PLAYER} if random.random() < 0.67 else cast)))
    texts = [make_text(random) for _ in range(1000)]
    for batch in _batches(list(enumerate(casts)), _BATCH // sizes.messages_each):
        with store.write(project=MANY) as tx:
            tx.insert(conversations, *(_conversation_row(number, cast, sizes) for number, cast in batch))
            tx.insert(
                presence,
                *({"conversation_id": f"c{number}", "participant_id": one} for number, cast in batch for one in cast),
            )
            said = [
                _message_row(f"c{number}", place, cast[place % len(cast)], texts[(number + place) % len(texts)])
                for number, cast in batch
                for place in range(sizes.messages_each)
            ]
            tx.insert(messages, *said)
    _fill_one(store, LONG, sizes.long_messages, texts)
    _fill_one(store, CHAT_PROJECT, sizes.chat_messages, texts)
    with store.write(project=CHAT_PROJECT) as tx:
        for one in (PLAYER, *SPEAKERS):
            save_participant(tx, Participant(id=one, name=one.partition(":")[2].title(), persona="Speaks little."))
    return casts


def _batches(things: Sequence[Thing], size: int) -> Iterator[Sequence[Thing]]:
    return (things[start : start + size] for start in range(0, len(things), size))


def _fill_one(store: Store, project: str, count: int, texts: Sequence[str]) -> None:
    cast = (PLAYER, *SPEAKERS)
    with store.write(project=project) as tx:
        edits.start_conversation(tx, project, participants=cast)
    for batch in _batches(range(count), _BATCH):
        with store.write(project=project) as tx:
            rows = [_message_row(project, n, cast[n % len(cast)], texts[n % len(texts)]) for n in batch]
            tx.insert(messages, *rows)
    with store.write(project=project) as tx:
        tx.change_row(conversations, {"id": project}, _count_said(project, count))


def _conversation_row(number: int, cast: tuple[str, ...], sizes: Sizes) -> dict[str, object]:
    at = f"2026-01-01T00:00:00.{number:06}Z"
    row = {"id": f"c{number}", "conv_key": conv_key(cast), "made": at, "changed": at}
    return {**row, **_count_said(f"c{number}", sizes.messages_each)}


def _count_said(conversation: str, count: int) -> dict[str, object]:
    """The counters of a conversation whose rounds are all summarised."""
    rules, rounds, tokens = RecapRules(), count // 2, count * 30
    return {
        "leaf_id": f"{conversation}-{count - 1}",
        "said": count,
        "rounds": rounds,
        "tokens": tokens,
        "recap_due": rounds + rules.rounds_per_summary,
        "said_due": count + rules.max_messages + 1,
        "tokens_due": tokens + rules.shown_tokens + 1,
    }


def _message_row(conversation: str, number: int, speaker: str, text: str) -> dict[str, object]:
    role = "user" if speaker == PLAYER else "assistant"
    return {
        "id": f"{conversation}-{number}",
        "conversation_id": conversation,
        "parent_id": f"{conversation}-{number - 1}" if number else None,
        "number": number,
        "kind": (MessageKind.USER if role == "user" else MessageKind.REPLY).value,
        "role": role,
        "speaker": speaker,
        "content": text,
        "content_hash": hash_content(text),
        "at": "2026-01-01T00:00:00.000000Z",
    }


def time_subsets(
    workspace: Workspace, casts: Sequence[tuple[str, ...]], repeats: int, random: Random
) -> tuple[list[float], list[float]]:
    """The times to list the first page of the conversations of one to three who take part in one, and to find them.

    The list is what every interface shows: with who took part, how each begins, and its number in the list of all.
    """
    wanted = [random.sample(cast, random.randint(1, min(3, len(cast)))) for cast in random.choices(casts, k=repeats)]
    project = workspace.project(MANY)
    project.conversations.list_page(wanted[0])  # the view of the project is made once
    listed = [milliseconds(partial(_list, project, some)) for some in wanted]
    return listed, [milliseconds(partial(_find, workspace.store, some)) for some in wanted]


def _list(project: ProjectHandle, participants: Sequence[str]) -> None:
    assert project.conversations.list_page(participants).conversations


def _find(store: Store, participants: Sequence[str]) -> None:
    with store.read(project=MANY) as reading:
        assert find_conversations(reading, participants, "subset", limit=101)


def time_recording(
    project: ProjectHandle, folder: Path, repeats: int, random: Random
) -> tuple[list[float], list[float]]:
    """The times to record a message, and of a bare durable transaction with the same row, in turn."""
    told: list[str] = []
    project.conversations.subscribe(lambda event: told.append(event.message.id))
    recorded, bare = [], []
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as connection:
        for pragma in ("journal_mode=wal", "synchronous=full", "foreign_keys=on"):
            connection.execute(f"PRAGMA {pragma}")
        row = _message_row(CHAT_PROJECT, 0, PLAYER, "")
        connection.execute(f"CREATE TABLE said ({', '.join(row)}, PRIMARY KEY (conversation_id, id))")
        for number in range(repeats + 10):
            speaker = SPEAKERS[number % 4] if number % 2 else PLAYER
            text = make_text(random)
            recorded.append(milliseconds(partial(project.conversations.record, CHAT_PROJECT, text, speaker=speaker)))
            row = _message_row(CHAT_PROJECT, number, speaker, text)
            bare.append(milliseconds(partial(_insert, connection, tuple(row.values()))))
    assert len(told) == repeats + 10
    return recorded[10:], bare[10:]


def _insert(connection: sqlite3.Connection, row: Sequence[object]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"INSERT INTO said VALUES ({', '.join('?' * len(row))})", row)
    connection.execute("COMMIT")


def time_speakers(workspace: Workspace, repeats: int, random: Random, *, search: bool) -> list[float]:
    """The times to assemble a prompt for the next speaker, each after one more message."""
    names = tuple(name for name in CHAT.sources if search or name != "search")
    sources = [source for source in all_sources() if source.name in names]
    workspace.engine = Engine(sources, recipes={CHAT.name: replace(CHAT, sources=names)})
    project = workspace.project(CHAT_PROJECT)
    corpus = project.view.snapshot(Corpus)
    if search and corpus is not None:
        corpus.build_index()
    times = []
    for number in range(repeats + 5):
        speaker = SPEAKERS[number % 4]
        said = project.conversations.record(CHAT_PROJECT, make_text(random), speaker=PLAYER)
        workspace.flush()  # as long as an answer takes, the background has written what it had to
        times.append(milliseconds(partial(_assemble, project, speaker, said.content)))
    return times[5:]


def _assemble(project: ProjectHandle, speaker: str, text: str) -> None:
    request = project.request(
        conversation_id=CHAT_PROJECT, speaker_id=speaker, skill_id="chat", additional_input=text, window=8192
    )
    project.report_answer(project.assemble(request).assembly_id)


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    """All figures."""
    random = Random(7)
    store = Store.open(folder / "store")
    figures: dict[str, float] = {}
    casts: list[tuple[str, ...]] = []
    figures["fill_s"] = milliseconds(lambda: casts.extend(fill(store, sizes, random))) / 1000
    figures["loop_ms"] = loop_ms()
    gc.collect()
    gc.freeze()  # what the benchmark made to fill the store is no concern of the collector of a program
    with Workspace(store) as workspace:
        project = workspace.project(CHAT_PROJECT)
        listed, found = time_subsets(workspace, casts, sizes.repeats, random)
        figures |= {"subset_p50_ms": percentile(listed, 0.5), "subset_p95_ms": percentile(listed, 0.95)}
        figures["subset_find_p95_ms"] = percentile(found, 0.95)
        recorded, bare = time_recording(project, folder, sizes.repeats, random)
        figures |= {"record_p95_ms": percentile(recorded, 0.95), "bare_p95_ms": percentile(bare, 0.95)}
        figures["record_ratio"] = figures["record_p95_ms"] / figures["bare_p95_ms"]
        long = workspace.project(LONG)
        pages = [milliseconds(partial(long.conversations.read_page, LONG)) for _ in range(20)]
        figures["page_ms"] = max(pages)
        figures["speaker_p50_ms"] = percentile(time_speakers(workspace, sizes.repeats, random, search=False), 0.5)
        with_search = time_speakers(workspace, min(sizes.repeats, 50), random, search=True)
        figures["speaker_search_p50_ms"] = percentile(with_search, 0.5)
    return figures


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--small", action="store_true", help="a slice that takes a few seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fabula-history-") as folder:
        figures = measure(Path(folder), SMALL if options.small else Sizes())
    show("conversations", ("figure", "value"), list(figures.items()))
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
