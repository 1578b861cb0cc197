"""Recaps of a conversation, from what was said to what a model made of it."""

from __future__ import annotations

from fabula.codex import Entry, Level
from fabula.codex import edits as codex
from fabula.conversation import edits as service
from fabula.conversation.model import Message, MessageKind
from fabula.conversation.recaps import editing as kept_recaps
from fabula.jobs.model import JobState
from fabula.llm import runs
from fabula.lorebook.edits import Lorebook, save_lorebook
from fabula.store.store import Store
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace
from tests.llm.server import Exchange, ModelServer, openai_answer
from tests.workspace.handlers.background import list_jobs, run_due


def _talk(store: Store, rounds: int, first: int = 0) -> None:
    with store.write(project="p") as tx:
        if not first:
            service.start_conversation(tx, "talk", participants=["player:1", "pawn:ann"])
        for number in range(first, first + rounds):
            service.add_message(
                tx, "talk", Message(id="", role="user", content=f"Question {number}?", speaker="player:1")
            )
            reply = Message(
                id="", role="assistant", content=f"Answer {number}.", speaker="pawn:ann", kind=MessageKind.REPLY
            )
            service.add_message(tx, "talk", reply)


def test_five_rounds_are_told_and_ten_become_a_recap(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    async def script(exchange: Exchange) -> None:
        await openai_answer(f"They talked, part {len(model_server.exchanges)}.")(exchange)

    model_server.script = script
    _talk(store, 4)
    assert "recap:talk" not in list_jobs(store), "four rounds are not enough"
    _talk(store, 6, first=4)
    run_due(store, library)
    assert list_jobs(store)["recap:talk"].state is JobState.DONE
    with store.read(project="p") as reading:
        kept = kept_recaps.list_recaps(reading, "talk")
        assert sorted(one.kind for one in kept) == ["recap", "summary", "summary"]
        assert {one.freshness for one in kept} == {"fresh"}
        assert {(run.skill_id, run.conversation_id, run.outcome) for run in runs.list_runs(reading)} == {
            ("recap", "talk", "used")
        }
    first = "\n".join(message["content"] for message in model_server.exchanges[0].request["messages"])
    assert "Question 0?" in first
    assert "Answer 4." in first
    assert "Question 5?" not in first


def test_without_a_model_nothing_is_made_and_the_job_says_why(store: Store, library: ProjectViews) -> None:
    _talk(store, 5)
    run_due(store, library)
    job = list_jobs(store)["recap:talk"]
    assert job.reason == "RECAP_NO_MODEL"
    assert "no model may work in the background" in job.note
    assert not {"`", ".toml", "budget"} & {mark for mark in ("`", ".toml", "budget") if mark in job.note}, "one reason"
    with store.read(project="p") as reading:
        assert kept_recaps.list_recaps(reading, "talk") == []
        assert service.get_conversation(reading, "talk").message_count == 10, "recording goes on"


def test_a_recap_is_made_without_what_only_the_reader_knows(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    with store.write(project="p") as tx:
        only = frozenset({"reader"})
        codex.put(
            tx, Entry(id="e", type="lore", name="Lamp", level=Level.ALWAYS, description="Coralword", known_to=only)
        )
        entry = {"uid": 0, "key": ["Question"], "content": "Amberword"}
        save_lorebook(tx, Lorebook(id="lore", name="Lore", book={"entries": {"0": entry}}))
    model_server.script = openai_answer("They talked.")
    _talk(store, 5)
    run_due(store, library)
    (exchange,) = model_server.exchanges
    prompt = "\n".join(message["content"] for message in exchange.request["messages"])
    assert "Question 4?" in prompt
    assert "record of a conversation" in prompt
    assert "Coralword" not in prompt
    assert "Amberword" not in prompt


def test_a_sample_that_nobody_touched_waits_for_no_recap(workspace: Workspace) -> None:
    workspace.add_samples()
    kinds = {job.kind for project in workspace.list_jobs() for job in project.jobs}
    assert "recap" not in kinds
    assert kinds, "other work is queued"
