"""A story that has one of everything that the examples of routes name."""

from __future__ import annotations

from fabula.context.request import Request
from fabula.conversation.tables import recaps
from fabula.core.story import Position
from fabula.jobs import queue
from fabula.responses.streams import StreamEvent, append_events, begin_stream
from fabula.search.need_edits import store_place
from fabula.store.schema import all_tables, table_info
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only
from fabula.workspace.workspace import Workspace

SECRET = "zyxomma"  # a word in every text of the project of somebody else


def prepare(workspace: Workspace) -> ProjectHandle:
    """A story that has one of everything that the examples name."""
    project = workspace.copy_project(open_read_only("sample:lantern_coast").view)
    project.participants.add("Bo", persona="A pilot.")
    conversation = project.conversations.start(["Bo"], title="On the quay")
    project.conversations.record(conversation.id, "Is the lamp lit?", speaker="Bo")
    project.participant_texts.add("prompt", "Bo", "Never lies.")
    project.lorebooks.create("Ships")
    project.lorebooks.add_entry("Ships", {"key": ["brig"], "content": "A brig has two masts."})
    project.presets.write("calm", {"nodes": []})
    project.memory.remember("Short sentences.")
    for beat in project.outline.list_beats("1"):
        project.outline.remove(beat.id)
    project.outline.add("1", "Mara lights the lamp.")
    project.codex.add_progression("Mara", "Knows the page.", since="2")
    project.codex.relate("Mara", "Will", kind="old friend")
    with workspace.store.write(project=project.id) as tx:
        store_place(tx, Position("ch-02", 5), "reader", ("Who lit the lamp?",))
    project.skills.add("shorten", 'title.en = "Shorten"\ntemplate.en = "Shorten it."\n')
    workspace.settings(project.id).set("History.SummaryEveryNRounds", 11)
    workspace.settings().set("llm.provider", "clipboard", scope="person")
    workspace.settings().set("runs.keepPrompts", True, scope="person")
    workspace.create_series("The Coast")
    workspace.people.add("ann", password="a long one")
    workspace.people.set_role("ann", project.id, "reader")
    workspace.people.create_key("my script")
    workspace.create_project("The Old Draft")
    workspace.delete_project("The Old Draft")
    return project


def prepare_foreign(workspace: Workspace) -> ProjectHandle:
    """A project of somebody else that has something of every kind, all of it under ids and names of its own."""
    project = workspace.create_project("Wexcombe Quarry")
    text = f"Jephthah Quince had never learned to swim since the winter in which the {SECRET} drowned."
    chapter = project.chapters.add("Upgang Quarry", text)
    project.chapters.write(chapter.id, f"{text} It rained on the {SECRET}.")
    project.codex.add("Jephthah Quince", kind="character", description=f"A {SECRET}.")
    project.codex.add("Ormund Quince", kind="character")
    project.codex.add("Vybald Quince", kind="character")
    project.codex.add_progression("Jephthah Quince", f"Knows the {SECRET}.", since="1")
    project.codex.relate("Jephthah Quince", "Ormund Quince", kind=SECRET)
    project.codex.set_knowledge("Ormund Quince", "Jephthah Quince", since="1")
    project.codex.rename("Ormund Quince", "Ormond Quince")
    project.codex.remove("Vybald Quince")
    project.constraints.add(f"Nobody names the {SECRET}.")
    project.participants.add("Jubilee", persona=f"A {SECRET}.")
    conversation = project.conversations.start(["Jubilee"], title="Upgang Talk")
    project.conversations.record(conversation.id, f"Have you seen the {SECRET}?", speaker="Jubilee")
    for kind in ("prompt", "biography"):
        project.participant_texts.add(kind, "Jubilee", f"Fears the {SECRET}.")
    project.lorebooks.create("Upgang Book")
    project.lorebooks.add_entry("Upgang Book", {"key": ["quarry"], "content": f"The {SECRET} lives there."})
    project.presets.write("upgangpreset", {"nodes": [{"content": f"Write of the {SECRET}."}]})
    project.memory.remember(f"Fewer words about the {SECRET}.")
    project.outline.add("1", f"The {SECRET} drowns.")
    project.skills.add("upgangskill", f'title.en = "Upgang"\ntemplate.en = "Write of the {SECRET}."\n')
    project.runs.propose("1", f"The {SECRET} swam.", reason=f"It is a {SECRET}.")
    project.assemble(Request(project_id=project.id, document_id=chapter.id, cursor=5))
    with workspace.store.write(project=project.id) as tx:
        store_place(tx, Position(chapter.id, 5), "reader", (f"Who saw the {SECRET}?",))
        queue.enqueue(tx, "test", "upgangjob")
        append_events(tx, begin_stream(tx, "both", "chat.send"), [StreamEvent(1, "delta", f'"{SECRET}"')], ended=True)
        recap = {"id": "upgangrecap", "conversation_id": conversation.id, "text": SECRET, "rounds": [1], "heard": [1]}
        tx.insert(recaps, {**recap, "made": "2026-01-01T00:00:00.000000Z"})
    return project


def list_foreign_names(workspace: Workspace, project: ProjectHandle, others: str) -> dict[str, str]:
    """What names something of a project and nothing of another one: an id of each table, ids of facts, and names."""
    own, known = _read_ids(workspace, project.id), set().union(*_read_ids(workspace, others).values())
    found = {table: next((one for one in ids if one not in known), "") for table, ids in own.items()}
    found["fact"] = project.facts.list_facts("Jephthah Quince")[0].id
    found |= {"project": project.id, "project title": "Wexcombe Quarry", "entry name": "Jephthah Quince"}
    found |= {"chapter title": "Upgang Quarry", "conversation title": "Upgang Talk", "participant name": "Jubilee"}
    found |= {"lorebook name": "Upgang Book", "preset name": "upgangpreset", "skill": "upgangskill"}
    kinds = {value: name for name, value in reversed(found.items()) if value}  # each once
    return {name: value for value, name in kinds.items()}


def _read_ids(workspace: Workspace, project_id: str) -> dict[str, list[str]]:
    """The ids in each table that has some, without mere numbers."""
    found: dict[str, list[str]] = {}
    with workspace.store.read(project=project_id) as reading:
        for table in all_tables():
            if "project_id" in table.c and (column := "id" if "id" in table.c else table_info(table).item):
                ids = (str(getattr(row, column)) for row in reading.rows(table))
                found[table.name] = [one for one in ids if not one.isdecimal()]
    return found
