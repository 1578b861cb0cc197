"""What tests of the MCP server share: a story with secrets, and a client of the SDK in the same process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import anyio
import pytest

from fabula.codex import Entry, Progression, progressions
from fabula.codex import edits as codex
from fabula.codex.entry import Level
from fabula.constraints import Constraint
from fabula.constraints import edits as constraints
from fabula.conversation import edits as talks
from fabula.conversation.model import Message, MessageKind
from fabula.conversation.participants import Participant, save_participant
from fabula.conversation.tables import summaries
from fabula.core.story import Position
from fabula.manuscript import documents, outline, projects
from fabula.manuscript.model import Direction
from fabula.mcp.access import McpAccess
from fabula.mcp.server import make_server
from fabula.memory import edits as memories
from fabula.memory.model import MemoryItem
from fabula.search.need_edits import store_place
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace
from mcp import Client

P, OTHER = "coast", "other"
ARRIVAL = (
    "Mara came to the harbour. Bo waited at the lamp.\n\nMara had never learned to swim since the winter in which her "
    "brother drowned."
)
Result = TypeVar("Result")
Talk = Callable[[Client], Awaitable[Result]]
# Words that Mara must never be told: a chapter that she does not know, entries and facts of others, private notes,
# entries for no model, recaps of talks that she missed, the author's own conversation, and how the author writes:
# rules, beats, memories, style, identity, preset, skills and profile.
AUTHORS = (
    *("cinderwick", "gossamery", "larkspurn", "thistledown", "brindlewood"),
    *("hollowfen", "sablemoth", "ferncastle", "peregrind"),
)
SECRETS = (
    *("zephyrine", "quillwort", "obsidius", "marchpane", "halcyonid", "tamarisk", "vellichor", "susurrus"),
    *AUTHORS,
)


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    """A workspace with two projects: a story in which Mara and Bo know different things, and another one."""
    plant_story(store)
    with Workspace(store) as opened:
        project = opened.project(P)
        project.presets.write_identity("You hear the hollowfen.")
        secret_rule = {"content": "Never name the sablemoth.", "condition": {"modes": ["novel"]}}
        project.presets.write("mine", {"nodes": [secret_rule, {"content": "The sablemoth is near."}]}, active=True)
        project.skills.add("ferncastle", 'title.en = "Ferncastle"\ntemplate.en = "Write of the ferncastle."\n')
        opened.write_profile("I am peregrind.")
        yield opened


def plant_story(store: Store) -> None:
    """Make the two projects."""
    direction = Direction(rules=("Keep the thistledown secret.",), style="Brindlewood prose.")
    projects.create(store, "The Coast", project_id=P, direction=direction)
    projects.create(store, "Elsewhere", project_id=OTHER)
    with store.write(project=OTHER) as tx:
        documents.add(tx, "Nothing here", text="A desert.", document_id="far")
    with store.write(project=P) as tx:
        documents.add(tx, "Arrival", text=ARRIVAL, document_id="ch-1")
        documents.add(tx, "Alone", text="Bo hid the zephyrine ledger.", document_id="ch-2", pov="bo")
        documents.add(tx, "Supper", text="They ate. Mara spoke of the lamp.", document_id="ch-3")
        entries = (
            Entry(id="mara", type="character", name="Mara", description="A pilot.", notes="susurrus"),
            Entry(id="bo", type="character", name="Bo", description="A keeper."),
            Entry(id="lamp", type="item", name="Lamp", description="Old brass."),
            Entry(id="debt", type="lore", name="Debt", description="A quillwort debt.", known_to=frozenset({"bo"})),
            Entry(id="plan", type="lore", name="Plan", description="The obsidius ending.", level=Level.NEVER),
            Entry(id="map", type="item", name="Map", description="A marchpane map.", level=Level.MANUAL),
        )
        for entry in entries:
            codex.create(tx, entry)
        secret = Progression("It hides a halcyonid key.", Position("ch-2"), frozenset({"bo"}), ("Vellichor",))
        progressions.add(tx, "lamp", secret)
        store_place(tx, Position("ch-2", 10), "character:bo", ("Where is the zephyrine ledger?",))
        constraints.create(tx, Constraint(id="rule", text='Never use the word "suddenly".'))
        constraints.create(tx, Constraint(id="name", text="Do not mention Cinderwick before chapter 3."))
        for ident in ("ch-1", "ch-2", "ch-3"):
            outline.add_beat(tx, ident, "Mara finds the gossamery.")
        memories.add_memory(tx, MemoryItem(text="Prefers larkspurn sentences."))
        for ident in ("mara", "bo"):
            save_participant(tx, Participant(id=f"character:{ident}", name=ident.title()))
        talks.start_conversation(tx, "quay", title="On the quay", participants=["character:bo"])
        for text in ("I hid the tamarisk.", "Good."):
            talks.add_message(
                tx, "quay", Message(id="", role="user", content=text, kind=MessageKind.USER, speaker="character:bo")
            )
        talks.join_conversation(tx, "quay", "character:mara")
        row = {"conversation_id": "quay", "text": "Bo hid the tamarisk.", "rounds": [1], "heard": [0, 1]}
        tx.insert(summaries, {"id": "s1", "first_round": 1, "last_round": 1, "made": "2026", **row})


def run_client(workspace: Workspace, talk: Talk[Result], *, mode: str = "auto", **access: Any) -> Result:
    """Let a client talk with a server in the same process."""
    server = make_server(workspace, McpAccess(**{"project_id": P, **access}), watch_seconds=0.05)

    async def connect() -> Result:
        async with Client(server, mode=mode, cache=None) as client:
            return await talk(client)

    return run_async(connect)


def run_async(talk: Callable[[], Awaitable[Result]]) -> Result:
    """Run a function to its end; an error inside task groups is raised as it was."""
    try:
        return anyio.run(talk)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


def call(workspace: Workspace, tool: str, arguments: dict[str, Any] | None = None, **access: Any) -> Any:
    """Call one tool, and return the result."""
    return run_client(workspace, lambda client: client.call_tool(tool, arguments or {}), **access)
