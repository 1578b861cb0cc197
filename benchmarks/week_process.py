"""The process of `benchmarks.week` that talks: it goes on from what is stored, and says what it has stored.

A message takes a tenth of a second here and a minute in a week of 10,000. So recaps do not wait for a pause of ten
seconds: they are written while the next message is on its way, as they would be in that week.

python -m benchmarks.week_process FOLDER MESSAGES SEED
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from benchmarks.week import AWAY, CHARACTERS, PLAYER, PLAYER_WORD, plan_message, read_number
from fabula.conversation.tables import conversations, messages, recaps, summaries
from fabula.jobs.triggers import messages as triggers
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.chat import ChatEvents, MessageStored, ReplyFailed, ReplyStored
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from fabula.workspace.writing_options import ModelChoice, choose_model

PROJECT, TITLE = "week", "Pier"


def prepare(workspace: Workspace) -> tuple[ProjectHandle, str]:
    """Open the project and its conversation; each step that a killed process left undone is done now."""
    store = workspace.store
    if PROJECT not in store.project_ids():
        projects.create(store, "A Week", project_id=PROJECT)
    project = workspace.project(PROJECT)
    known = {one.name for one in project.participants.list_all()}
    project.participants.ensure_player(PLAYER)
    for name in CHARACTERS:
        if name not in known:
            project.participants.add(name, persona=f"{name} keeps a stall at the pier and speaks in short sentences.")
    with store.read(project=PROJECT) as reading:
        started = [row.id for row in reading.rows(conversations, conversations.c.title == TITLE, only=("id",))]
    ident = started[0] if started else project.chat.start(CHARACTERS, mode="group", title=TITLE).record.id
    return project, ident


def find_next(project: ProjectHandle, ident: str) -> int:
    """Return the number of the player's next message."""
    newest = project.conversations.read_page(ident, limit=100).messages
    numbers = [read_number(word) for one in newest for word in PLAYER_WORD.findall(one.content) if one.role == "user"]
    return max(numbers, default=-1) + 1


def tell(kind: str, rest: str) -> None:
    """Acknowledge something to the process that watches."""
    sys.stdout.write(f"{kind} {rest}\n")
    sys.stdout.flush()


def tell_recaps(store: Store, ident: str) -> None:
    """Tell which summaries and recaps are stored."""
    with store.read(project=PROJECT) as reading:
        for kind, table in (("summary", summaries), ("recap", recaps)):
            for row in reading.rows(table, table.c.conversation_id == ident):
                tell(kind, f"{row.id} {json.dumps(row.rounds)}")


async def follow(events: ChatEvents) -> None:
    """Run a turn to its end; what failed ends the process."""
    async for event in events:
        if isinstance(event, MessageStored | ReplyStored):
            tell("stored", event.message.id)
        elif isinstance(event, ReplyFailed):
            raise event.error


async def talk(workspace: Workspace, wanted: int, seed: int) -> None:
    """Talk until there are so many messages."""
    project, ident = prepare(workspace)
    model = choose_model(workspace.store, PROJECT, provider="week", judge="off")
    tell_recaps(workspace.store, ident)
    if not project.chat.get(ident).round.is_ended:
        await follow(project.chat.ask(ident, model=model))
    number = find_next(project, ident)
    while project.chat.get(ident).record.message_count < wanted:
        await say(project, ident, number, seed, model)
        number += 1
        if number % 50 == 0:
            tell_recaps(workspace.store, ident)


async def say(project: ProjectHandle, ident: str, number: int, seed: int, model: ModelChoice) -> None:
    """Send the next planned message, with those present who shall be."""
    planned = plan_message(number, seed)
    state = project.chat.get(ident)
    is_present = any(one.name == AWAY for one in state.present)
    if is_present and AWAY not in planned.present:
        project.conversations.leave(ident, AWAY)
    elif not is_present and AWAY in planned.present:
        project.conversations.join(ident, AWAY)
    await follow(project.chat.send(ident, planned.text, audience=planned.audience, model=model))


def main() -> None:
    folder, wanted, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    triggers.PAUSE = triggers.MAX_DELAY = 0.0
    store = Store.open(folder / "store")
    with Workspace(store) as workspace:
        workspace.start_worker(threads=1)
        asyncio.run(talk(workspace, wanted, seed))
        workspace.run_jobs()
        _, ident = prepare(workspace)
        tell_recaps(store, ident)
        with store.read(project=PROJECT) as reading:
            rows = reading.rows(messages, messages.c.conversation_id == ident, only=("id",))
        tell("final", json.dumps([row.id for row in rows]))


if __name__ == "__main__":
    main()
