"""Copy everything in a view into a new project of a store."""

from __future__ import annotations

from fabula.codex import Codex
from fabula.codex import edits as codex_service
from fabula.constraints import Constraints
from fabula.constraints import edits as constraint_service
from fabula.context.recipes.preset import Preset
from fabula.conversation import edits as conversation_service
from fabula.conversation.model import Conversations
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.core.view import View
from fabula.manuscript import documents, projects
from fabula.manuscript.model import Direction, Manuscript
from fabula.memory import edits as memory_service
from fabula.memory.model import Memory
from fabula.presets import edits as preset_service
from fabula.skills.project_skills import FolderSkills, save_project_skill
from fabula.store.store import Store


def copy_view(store: Store, view: View, *, title: str = "", project_id: str | None = None) -> str:
    """Copy everything in a view into a new project of the store, in one transaction; return the project's id."""
    ident = project_id or new_id()
    project = view.project
    label = message("new project: {title}", title=title or project.title or project.id)
    with store.write(project=ident, undo_label=label) as tx:
        projects.insert(
            tx,
            ident,
            title=title or project.title or project.id,
            language=project.language,
            identity=projects.store_identity(project.identity),
            direction=view.snapshot(Direction),
        )
        documents.copy_manuscript(tx, view.snapshot(Manuscript) or Manuscript())
        if (codex := view.snapshot(Codex)) is not None:
            codex_service.put_all(tx, codex.entries)
        if (constraints := view.snapshot(Constraints)) is not None:
            constraint_service.put_all(tx, constraints.constraints)
        if (memory := view.snapshot(Memory)) is not None:
            memory_service.save_snapshot(tx, memory)
        if (conversations := view.snapshot(Conversations)) is not None:
            conversation_service.save_conversations(tx, conversations)
        if (preset := view.snapshot(Preset)) is not None:
            preset_service.put(tx, project.title or ident, preset, active=True)
        if (folder_skills := view.snapshot(FolderSkills)) is not None:
            for name, text in folder_skills.texts.items():
                save_project_skill(tx, name, text)
    return ident
