"""Projects outside the store: a sample, a project folder or a single text file, opened to look at (ppl-3).

A server asks this for samples alone: it reads whatever path it is given. Projects of the store are opened by
`Workspace.project`, which never looks at the file system.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.resources import as_file, files
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.context.engine import DEFAULT_SETTINGS, Engine, EngineSettings
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_names, message
from fabula.core.view import View
from fabula.formats.safe.import_errors import refuse_unreadable
from fabula.manuscript.model import Manuscript
from fabula.search.embeddings.choice import EmbeddingChoice
from fabula.skills.files import Skills
from fabula.skills.project_skills import FolderSkills, load_folder_skills, read_folder_skills
from fabula.workspace.continuity import ProcessContinuity
from fabula.workspace.project import ProjectHandle
from fabula.workspace.project_folder import read_project
from fabula.workspace.sources import all_sources

if TYPE_CHECKING:
    from fabula.search.embeddings.semantic_search import SemanticSearch
    from fabula.store.store import Store

SAMPLE = "sample:"


def open_read_only(path: str | Path, *, meaning: SemanticSearch | None = None) -> ProjectHandle:
    """Open a project folder, a text file or `sample:NAME`; what changes a project is refused on it.

    Search goes by meaning too where `search.embedding` says so, or with the given `meaning`.
    """
    return open_view(read_view(path), meaning=meaning)


def is_read_only(name: str | Path) -> bool:
    """Is this a sample, or a path where something lies?"""
    return str(name).startswith(SAMPLE) or exists(name)


def read_view(path: str | Path) -> View:
    """Read a project folder, a text file or `sample:NAME`, with the skills it brings along."""
    name = str(path)
    if not name.startswith(SAMPLE):
        return _read_with_skills(Path(path))
    sample = name.removeprefix(SAMPLE)
    if sample not in sample_names():
        known = join_names(sample_names())
        raise FabulaError(
            Code.PROJECT_NOT_FOUND,
            message("There is no sample {name!r}. There are: {known}.", name=sample, known=known),
        )
    with as_file(files("fabula") / "samples" / sample) as folder:
        return _read_with_skills(folder)


def read_view_to_copy(path: str | Path) -> View:
    """Read what a new project begins with, as `read_view` does; a text file without text is refused."""
    view = read_view(path)
    manuscript = view.snapshot(Manuscript) or Manuscript()
    if Path(path).is_file() and not any(document.text.strip() for document in manuscript.documents):
        refuse_unreadable(Path(path).name, message("it has no text"), message("Name a file with a story in it."))
    return view


class SampleStory(Struct, frozen=True, kw_only=True):
    """A sample story that comes with Fabula: its name, title and language, and how many chapters it has."""

    name: str
    title: str
    language: str
    chapters: int


def list_samples() -> list[SampleStory]:
    """List the sample stories that come with Fabula, without reading them."""
    found = []
    for name in sample_names():
        folder = files("fabula") / "samples" / name
        said = tomllib.loads((folder / "project.toml").read_text("utf-8"))
        chapters = sum(1 for one in (folder / "chapters").iterdir() if one.is_file())
        found.append(SampleStory(name=name, title=said["title"], language=said["language"], chapters=chapters))
    return found


def sample_names() -> list[str]:
    """List the sample stories that come with Fabula."""
    return sorted(entry.name for entry in (files("fabula") / "samples").iterdir() if entry.is_dir())


def _read_with_skills(path: Path) -> View:
    view = read_project(path)
    skills: dict[type, object] = {Skills: load_folder_skills(path), FolderSkills: read_folder_skills(path)}
    return View(view.project, view.timeline, {**view.snapshots, **skills})


def open_view(
    view: View | Callable[[str], View],
    *,
    settings: EngineSettings = DEFAULT_SETTINGS,
    meaning: SemanticSearch | None = None,
    store: Store | None = None,
) -> ProjectHandle:
    """Open a project that is at hand as a view, or as a function that returns one for a conversation.

    What a model writes for it is recorded in `store`, if one is given.
    """
    from fabula.llm.local_model import find_counted_model, load_tokenizer

    embedding = EmbeddingChoice(meaning)
    return ProjectHandle(
        (lambda conversation: view) if isinstance(view, View) else view,
        Engine(all_sources(embedding), settings=settings, tokenizer_for=load_tokenizer, model_for=find_counted_model),
        embedding=embedding,
        continuity=ProcessContinuity(),
        store=store,
        owns_embedding=True,
    )
