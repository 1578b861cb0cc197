"""The workspace: what a person can do with one open store, its projects and series, and the people in it.

Interfaces open it once and ask it for projects. Opening a project looks at the store alone, never at a path. What the
process keeps for the store is in `WorkspaceRuntime`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import ENGLISH, message
from fabula.manuscript import projects, series
from fabula.manuscript.projects import ProjectSummary
from fabula.store.store import LOCAL_USER
from fabula.workspace.arguments import Title, check_arguments, check_verbs
from fabula.workspace.runtime import WorkspaceRuntime

if TYPE_CHECKING:
    from fabula.access.model import Right
    from fabula.context.request import Principal
    from fabula.core.view import View
    from fabula.manuscript.series import SeriesBook
    from fabula.memory.model import WriterProfile
    from fabula.store.copies import StoreCopy
    from fabula.store.save.loading import LoadResult
    from fabula.workspace.account import AccountVerbs
    from fabula.workspace.activity import ActivitySums
    from fabula.workspace.changes import OwnedChange, ReversedChange
    from fabula.workspace.chat import ChatEvent, ChatModel
    from fabula.workspace.deleted_projects import DeletedProject
    from fabula.workspace.people import PeopleVerbs
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.read_only import SampleStory
    from fabula.workspace.schemas.chat import ChatAnswer, ChatRequest
    from fabula.workspace.schemas.projects import ProjectContents, ProjectInfo
    from fabula.workspace.schemas.saves import LoadChoices, SaveInspection
    from fabula.workspace.settings import SettingVerbs
    from fabula.workspace.transfer import ImportReport, Progress, UpdateReport
    from fabula.workspace.writing_options import ModelChoice


@check_verbs
class Workspace(WorkspaceRuntime):
    """An open store with its projects. Threads may share it; close it, or use it in a `with` block."""

    @partial(check_arguments, code=Code.PROJECT_NOT_FOUND)
    def project(self, name: str, principal: Principal | None = None) -> ProjectHandle:
        """Open a project of the store by its id or title, for a principal; for the owner by default."""
        from fabula.context.request import Principal
        from fabula.workspace.project import OWNER_PRINCIPAL

        project_id = name if self.store.has_project(name) else projects.find_project(self.store, name).id
        asking = principal or OWNER_PRINCIPAL
        if not isinstance(asking, Principal):
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("A project is opened for a `Principal`, not for {principal!r}.", principal=principal),
            )
        return self._open_handle(
            lambda conversation: self.views.view(project_id, user=asking.user, conversation=conversation),
            self.engine,
            principal=asking,
            project_id=project_id,
        )

    def projects(self) -> list[ProjectSummary]:
        """List all projects, the one changed last first."""
        return projects.list_projects(self.store)

    def create_project(self, title: Title, *, language: str = "", principal: Principal | None = None) -> ProjectHandle:
        """Make an empty project and open it; without a language it has that of its title."""
        from fabula.workspace.transfer import find_title_language, normalise_language

        chosen = normalise_language(language) or find_title_language(title)
        label = message("new project: {title}", title=title)
        return self.project(projects.create(self.store, title, language=chosen, undo_label=label), principal)

    def copy_project(self, view: View, *, title: str = "", principal: Principal | None = None) -> ProjectHandle:
        """Make a project of everything a view holds (a folder, a file or a sample), in one transaction; open it."""
        from fabula.workspace.view_copies import copy_view

        return self.project(copy_view(self.store, view, title=title), principal)

    def add_samples(self) -> int:
        """Put the sample stories into a store that has no projects; return how many were added."""
        from fabula.workspace.read_only import sample_names

        names = [] if self.store.project_ids() else sample_names()
        for name in names:
            self.copy_sample(name)
        return len(names)

    def list_samples(self) -> list[SampleStory]:
        """List the sample stories that come with Fabula."""
        from fabula.workspace.read_only import list_samples

        return list_samples()

    def copy_sample(self, sample: str, *, principal: Principal | None = None) -> ProjectHandle:
        """Make a project of a sample story, and open it."""
        from fabula.workspace.read_only import SAMPLE, read_view

        return self.copy_project(read_view(f"{SAMPLE}{sample}"), principal=principal)

    def choose_model(
        self, project: str | None = None, *, provider: str | None = None, principal: Principal | None = None
    ) -> ModelChoice:
        """Choose who writes: the provider, else what the settings say, else what this machine has."""
        from fabula.workspace.writing_options import choose_model

        project_id = "" if project is None else projects.find_project(self.store, project).id
        user = _find_user(principal)
        return choose_model(self.store, project_id, user=user, provider=provider)

    def describe_projects(self) -> list[ProjectInfo]:
        """List all projects with the number of their documents and characters."""
        from fabula.workspace.schemas.projects import describe_project

        return [describe_project(one, *projects.count_text(self.store, one.id)) for one in self.projects()]

    def import_manuscript(
        self,
        path: str | Path,
        *,
        into: str | None = None,
        title: Title = "",
        language: str = "",
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import a manuscript as a new project or into one, or a project folder or a ZIP file of it (man-6)."""
        from fabula.workspace.transfer import import_file

        return import_file(self.store, Path(path), into=into, title=title, language=language, progress=progress)

    def update_manuscript(
        self,
        path: str | Path,
        into: str,
        *,
        remove_missing: bool = False,
        preview: bool = False,
        principal: Principal | None = None,
    ) -> UpdateReport:
        """Update a project from a newer file of its manuscript: what matches is changed, nothing is added twice."""
        from fabula.workspace.transfer import update_from_file

        user = _find_user(principal)
        return update_from_file(self.store, Path(path), into, user, remove_missing=remove_missing, preview=preview)

    def inspect_save(
        self, path: str | Path, *, language: str = "en", progress: Progress | None = None
    ) -> SaveInspection:
        """Check a save, and say what it would bring into this store; nothing is changed (sav-2)."""
        from fabula.workspace.saves import inspect_save

        return inspect_save(self.store, Path(path), language=language, progress=progress)

    def load_save(
        self,
        path: str | Path,
        choices: LoadChoices | None = None,
        *,
        principal: Principal | None = None,
        progress: Progress | None = None,
    ) -> LoadResult:
        """Load a save as a new project, or in place of one that is backed up first (sav-2).

        What the series of a book shares is loaded as a new series, or into the one that the choices name.
        """
        from fabula.workspace.saves import load_save
        from fabula.workspace.schemas.saves import LoadChoices

        user = _find_user(principal)
        return load_save(self.store, Path(path), choices or LoadChoices(), user=user, progress=progress)

    def rename_project(self, name: str, title: Title, *, allow_duplicate: bool = False) -> ProjectSummary:
        """Give a project another title; refused where another project has it, unless that is allowed."""
        from fabula.workspace.verbs import label_change

        found = projects.find_project(self.store, name)
        if not allow_duplicate:
            projects.check_title(self.store, title.strip(), projects.ALLOW_DUPLICATE, except_for=found.id)
        label = label_change(message("title"), found.title)
        with self.store.write(project=found.id, user=LOCAL_USER, undo_label=label) as tx:
            projects.rename(tx, title)
        return projects.find_project(self.store, found.id)

    def change_language(self, name: str, language: str) -> ProjectSummary:
        """Say in which language a project is written, `en` or `zh`: its prompts are in that language from now on."""
        from fabula.workspace.transfer import normalise_language
        from fabula.workspace.verbs import label_change

        found = projects.find_project(self.store, name)
        label = label_change(message("language"), found.title)
        with self.store.write(project=found.id, user=LOCAL_USER, undo_label=label) as tx:
            projects.change_language(tx, normalise_language(language))
        return projects.find_project(self.store, found.id)

    def delete_project(self, name: str) -> DeletedProject:
        """Delete a project with everything in it; it is kept as a save for a while, and can be restored."""
        from fabula.workspace.deleted_projects import delete_project

        return delete_project(self.store, projects.find_project(self.store, name).id)

    def list_deleted_projects(self) -> list[DeletedProject]:
        """List the deleted projects that can be restored, the latest first."""
        from fabula.workspace.deleted_projects import list_deleted

        return list_deleted(self.store)

    def restore_project(self, name: str) -> DeletedProject:
        """Bring a deleted project back, by its id or title."""
        from fabula.workspace.deleted_projects import restore_project

        return restore_project(self.store, name)

    def undo(
        self,
        project: str | None = None,
        *,
        step: int | None = None,
        principal: Principal | None = None,
        own_rights: Collection[Right] | None = None,
    ) -> ReversedChange:
        """Take back one's last change of a project, or of any kind; refused if what it changed was changed since.

        With `step`, it is the change of a project with that number, whatever was done after it. A principal takes back
        its own changes, as far as `own_rights` would let it make them; None are all rights.
        """
        from fabula.workspace.changes import undo_change

        return undo_change(self.store, self._find_summary(project), _find_user(principal), own_rights, step)

    def redo(
        self,
        project: str | None = None,
        *,
        step: int | None = None,
        principal: Principal | None = None,
        own_rights: Collection[Right] | None = None,
    ) -> ReversedChange:
        """Make the change again that was taken back last, in a project or anywhere, or one step; as `undo` does."""
        from fabula.workspace.changes import redo_change

        return redo_change(self.store, self._find_summary(project), _find_user(principal), own_rights, step)

    def list_changes(self, project: str | None = None, *, principal: Principal | None = None) -> list[OwnedChange]:
        """List what one can undo and make again: of a project, or of all and the person; the latest first."""
        from fabula.workspace.changes import list_changes

        return list_changes(self.store, self._find_summary(project), _find_user(principal))

    def _find_summary(self, project: str | None) -> ProjectSummary | None:
        return None if project is None else projects.find_project(self.store, project)

    def describe_contents(self, name: str) -> ProjectContents:
        """Say what a project holds."""
        from fabula.workspace.project_contents import describe_contents

        return describe_contents(self.store, projects.find_project(self.store, name))

    def list_backups(self) -> list[StoreCopy]:
        """List the copies of the store with what they hold, the newest state first."""
        from fabula.store.copies import list_copies

        return list_copies(self.store.folder, self.store.file)

    def make_backup(self) -> StoreCopy:
        """Copy the whole store now; a PostgreSQL store is copied by its server."""
        from fabula.store.backup import back_up
        from fabula.store.copies import read_copy

        if self.store.file is None:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("A PostgreSQL store is copied by its server. Save single projects here. Nothing was changed."),
            )
        return read_copy(back_up(self.store.file, reason="asked"))

    def settings(self, project: str | None = None, *, principal: Principal | None = None) -> SettingVerbs:
        """Return the settings of the person and, where one is named, of a project."""
        from fabula.workspace.settings import SettingVerbs

        return SettingVerbs(self.store, project, user=_find_user(principal))

    @property
    def people(self) -> PeopleVerbs:
        """Return what the owner of the store can do about people, roles and keys."""
        from fabula.workspace.people import PeopleVerbs

        return PeopleVerbs(self)

    def account(self, *, principal: Principal | None = None) -> AccountVerbs:
        """Return what a person can do about their own account: password, keys, browsers and new projects."""
        from fabula.workspace.account import AccountVerbs

        return AccountVerbs(self, _find_user(principal))

    def create_series(self, title: Title, *, language: str = "en") -> str:
        """Make a series without books; return its id (man-3)."""
        return series.create(self.store, title, language=language)

    def join_series(self, book: str, name: str) -> tuple[ProjectSummary, ProjectSummary, list[SeriesBook]]:
        """Let a book share the codex of a series, as its last book; return both, and all books in order."""
        joined = projects.find_project(self.store, book, kind="book")
        shared = projects.find_project(self.store, name, kind="series")
        series.add_book(self.store, joined.id, shared.id)
        return joined, shared, series.list_books(self.store, shared.id)

    def leave_series(self, book: str) -> ProjectSummary:
        """Take a book out of its series; return it."""
        left = projects.find_project(self.store, book, kind="book")
        series.remove_book(self.store, left.id)
        return left

    def list_books(self, name: str) -> list[SeriesBook]:
        """List the books of a series in their order."""
        return series.list_books(self.store, projects.find_project(self.store, name, kind="series").id)

    def order_books(self, name: str, books: Sequence[str]) -> list[SeriesBook]:
        """Set the order of the books of a series: what an earlier one tells is known in the later ones."""
        found = projects.find_project(self.store, name, kind="series")
        ids = [projects.find_project(self.store, book, kind="book").id for book in books]
        series.set_order(self.store, found.id, ids)
        return series.list_books(self.store, found.id)

    def chat(
        self, request: ChatRequest, *, principal: Principal | None = None, model: ChatModel = None
    ) -> AsyncGenerator[ChatEvent, None]:
        """Say something in a thread, which is started where none is named, and yield the turn as it goes (cht-1)."""
        from fabula.workspace.chat.requests import stream_chat

        return stream_chat(self, request, principal=principal, model=model)

    async def answer_chat(
        self,
        request: ChatRequest,
        *,
        principal: Principal | None = None,
        model: ChatModel = None,
        language: str = ENGLISH,
    ) -> ChatAnswer:
        """Say something in a thread and return all replies when the turn is over (cht-1); `language` of its notes."""
        from fabula.workspace.chat.requests import answer_chat

        return await answer_chat(self, request, principal=principal, model=model, language=language)

    def read_profile(self, *, principal: Principal | None = None) -> WriterProfile:
        """Return what a person says about themselves (mem-5)."""
        from fabula.memory import edits

        with self.store.read(user=_find_user(principal)) as reading:
            return edits.get_profile(reading)

    def write_profile(
        self, text: str, *, expected_version: int | None = None, principal: Principal | None = None
    ) -> WriterProfile:
        """Write a person's profile; refused if it has another version than the expected one by now."""
        from fabula.memory import edits

        user, label = _find_user(principal), message("your profile changed")
        with self.store.write(user=user, undo_label=label) as tx:
            edits.write_profile(tx, text, expected=expected_version)
            return edits.get_profile(tx)

    def sum_activity(self) -> ActivitySums:
        """Sum up jobs, tokens and costs of all projects, for those who run a server."""
        from fabula.workspace.activity import sum_activity

        return sum_activity(self.store)


def _find_user(principal: Principal | None) -> str:
    return LOCAL_USER if principal is None else principal.user
