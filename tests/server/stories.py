"""A story that has one of everything that the examples of routes name."""

from __future__ import annotations

from fabula.core.story import Position
from fabula.search.need_edits import store_place
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only
from fabula.workspace.workspace import Workspace


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
