"""What a project holds: how many chapters, entries, rules and other things."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.codex.tables import entries
from fabula.constraints.tables import constraints
from fabula.conversation.tables import conversations
from fabula.llm.tables import runs
from fabula.lorebook.tables import lorebooks
from fabula.manuscript import projects
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.projects import ProjectSummary
from fabula.manuscript.tables import documents
from fabula.memory.tables import memories
from fabula.store.store import Store
from fabula.store.tables import projects as project_rows
from fabula.workspace.schemas.projects import ProjectContents, describe_project
from fabula.workspace.schemas.schema import describe


def describe_contents(store: Store, project: ProjectSummary) -> ProjectContents:
    """Count what a project holds; the database counts."""
    dated = replace(project, updated_at=max(project.updated_at, store.last_changes().get(project.id, "")))
    info = describe_project(dated, *projects.count_text(store, project.id))
    with store.read(project=project.id) as reading:
        series = reading.require(project_rows).series_id
        counts = {
            "chapters": reading.count(documents, documents.c.kind == DocumentKind.CHAPTER.value),
            "entries": reading.count(entries),
            "constraints": reading.count(constraints),
            "memories": reading.count(memories),
            "lorebooks": reading.count(lorebooks),
            "conversations": reading.count(conversations),
            "runs": reading.count(runs),
        }
    title = "" if series is None else projects.find_project(store, series).title
    return describe(ProjectContents, info, **counts, series=title)
