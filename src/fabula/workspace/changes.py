"""Take back the last change of any kind, and make it again (man-7).

Most changes are steps of rows (`store.undo`), of a project or of the person. Three concern a whole project: one that
was created, imported or loaded is deleted again, one that was replaced by a save is loaded from the copy made before,
and one that was deleted is brought back. What is taken back is always said, with the project it is in. Everybody
takes back their own changes, and needs the right that such a change needs.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fabula.access.model import Right
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import advise, message, plural
from fabula.manuscript.projects import ProjectSummary, list_projects
from fabula.settings.registry import is_reserved
from fabula.settings.tables import budgets, settings, user_settings
from fabula.store import undo
from fabula.store.backup import BACKUP_FOLDER
from fabula.store.save.loading import load_save
from fabula.store.store import LOCAL_USER, Store
from fabula.store.tables import projects
from fabula.store.undo import UndoStep
from fabula.workspace.deleted_projects import delete_project, list_deleted, restore_project
from fabula.workspace.grants import refuse_request
from fabula.workspace.verbs import ProjectVerbs

_TITLE = (projects.name, "title")
_OF_SERIES = frozenset((projects.name, name) for name in ("kind", "series_id", "book_order"))


class OwnedChange(Struct, frozen=True, kw_only=True):
    """A change that can be undone or made again, and whose it is: of a project, or of the person (no project)."""

    step: UndoStep
    project_id: str = ""
    title: str = ""


class ReversedChange(OwnedChange, frozen=True, kw_only=True):
    """A change that was taken back or made again, and what that did to the project as a whole."""

    outcome: Literal["changed", "deleted", "replaced", "restored"] = "changed"


class ChangeVerbs(ProjectVerbs):
    """The last changes of an open project."""

    def list_changes(self) -> list[UndoStep]:
        """List the changes that can be undone, then those that can be made again; the latest first."""
        with self._read() as reading:
            return undo.list_steps(reading)

    def undo(self) -> UndoStep:
        """Take back the last change; refused if what it changed was changed since."""
        return _reverse(self._store, self._project.id, self._project.principal.user, is_undo=True)[0]

    def redo(self) -> UndoStep:
        """Make the change again that was undone last."""
        return _reverse(self._store, self._project.id, self._project.principal.user, is_undo=False)[0]


def find_right(step: UndoStep) -> Right:
    """Return the right that a change needed, which taking it back or making it again needs too."""
    if step.creates_project or step.backup or step.touched & _OF_SERIES:
        return Right.STORE
    is_managed = any(
        table in (budgets.name, user_settings.name)
        or (table == settings.name and not is_reserved(name))
        or (table, name) == _TITLE
        for table, name in step.touched
    )
    return Right.MANAGE if is_managed else Right.EDIT


def list_changes(store: Store, project: ProjectSummary | None, user: str = LOCAL_USER) -> list[OwnedChange]:
    """List a person's changes of a project, or of the person and all projects, the latest first; deleted ones too.

    A project that an undo removed can be made again only while nothing else was changed since.
    """
    found: list[OwnedChange] = []
    for one in list_projects(store) if project is None else [project]:
        with store.read(project=one.id, user=user) as reading:
            steps = undo.list_steps(reading)
        found += [OwnedChange(step=step, project_id=one.id, title=one.title) for step in steps]
    if project is not None:
        return found
    with store.read(user=user) as reading:
        found += [OwnedChange(step=step) for step in undo.list_steps(reading)]
    new = [one.step.made for one in found if not one.step.is_undone and not one.step.is_redone]
    all_deleted = list_deleted(store)
    latest = max([*new, *(one.deleted_at for one in all_deleted if not one.by_undo)], default="")
    for deleted in all_deleted:
        if deleted.by_undo and deleted.deleted_at < latest:
            continue
        label = message("{title} deleted", title=deleted.title)
        step = UndoStep(number=0, label=label, made=deleted.deleted_at, is_undone=deleted.by_undo)
        found.append(OwnedChange(step=step, project_id=deleted.id, title=deleted.title))
    return sorted(found, key=lambda one: one.step.made, reverse=True)


def undo_change(
    store: Store,
    project: ProjectSummary | None,
    user: str = LOCAL_USER,
    own_rights: Collection[Right] | None = None,
    number: int | None = None,
) -> ReversedChange:
    """Take back a person's last change, or the one with that number; refused where they may not make it."""
    if number is not None:
        return _reverse_step(store, project, user, own_rights, number, is_undo=True)
    return _reverse_last(store, project, user, own_rights, is_undo=True)


def redo_change(
    store: Store,
    project: ProjectSummary | None,
    user: str = LOCAL_USER,
    own_rights: Collection[Right] | None = None,
    number: int | None = None,
) -> ReversedChange:
    """Make the change again that was taken back last, or the one with that number; refused as an undo is."""
    if number is not None:
        return _reverse_step(store, project, user, own_rights, number, is_undo=False)
    return _reverse_last(store, project, user, own_rights, is_undo=False)


def _reverse_last(
    store: Store, project: ProjectSummary | None, user: str, own_rights: Collection[Right] | None, *, is_undo: bool
) -> ReversedChange:
    changes = [one for one in list_changes(store, project, user) if one.step.is_undone is not is_undo]
    if not changes:
        nothing = message("There is nothing to redo here. Nothing was changed.")
        if is_undo:
            nothing = message("There is nothing to undo here. Nothing was changed.")
        raise FabulaError(Code.STORE_NOT_FOUND, nothing)
    last = changes[0]
    if last.step.number == 0:
        _check_right(Right.STORE, own_rights)
        restored = restore_project(store, last.project_id)
        return ReversedChange(step=last.step, project_id=restored.id, title=restored.title, outcome="restored")
    step, outcome = _reverse(store, last.project_id, user, own_rights, is_undo=is_undo)
    return ReversedChange(step=step, project_id=last.project_id, title=last.title, outcome=outcome)


def _reverse_step(
    store: Store,
    project: ProjectSummary | None,
    user: str,
    own_rights: Collection[Right] | None,
    number: int,
    *,
    is_undo: bool,
) -> ReversedChange:
    if project is None:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("A step number belongs to a project. Name the project. Nothing was changed."),
        )
    step, outcome = _reverse(store, project.id, user, own_rights, number, is_undo=is_undo)
    return ReversedChange(step=step, project_id=project.id, title=project.title, outcome=outcome)


def _reverse(
    store: Store,
    project_id: str,
    user: str,
    own_rights: Collection[Right] | None = None,
    number: int | None = None,
    *,
    is_undo: bool,
) -> tuple[UndoStep, Literal["changed", "deleted", "replaced"]]:
    """Take back the last step of a project, or of the person where no project is named; or make it again.

    With a number it is that step. One that made or replaced the whole project must be the last one all the same.
    """
    owner = project_id or None
    find = undo.find_undo if is_undo else undo.find_redo
    with store.read(project=owner, user=user) as reading:
        step = find(reading, number)
        is_whole = step.creates_project or bool(step.backup)
        if is_whole and step.number != find(reading).number:
            raise FabulaError(
                Code.STORE_CONFLICT,
                message(
                    "This cannot be taken back or made again: {label}. The project was changed since. "
                    "Nothing was changed.",
                    label=step.label,
                ),
            )
    _check_right(find_right(step), own_rights)
    if step.creates_project and is_undo:
        _check_unused(store, project_id, step)
        delete_project(store, project_id, by_undo=True)
        return step, "deleted"
    if step.backup:
        path = store.folder / BACKUP_FOLDER / step.backup
        if not path.is_file():
            raise FabulaError(
                Code.STORE_CONFLICT,
                message(
                    "This cannot be taken back or made again: {label}. The copy {file} is gone. Nothing was changed.",
                    label=step.label,
                    file=step.backup,
                ),
            )
        load_save(
            store,
            path,
            project_id=project_id,
            replace=True,
            is_trusted=True,
            undo_label=step.label,
            is_undo=is_undo,
            is_redo=not is_undo,
        )
        return replace(step, is_undone=is_undo), "replaced"
    with store.write(project=owner, user=user) as tx:
        step = undo.undo(tx, number) if is_undo else undo.redo(tx, number)
        _check_right(find_right(step), own_rights)  # another change may have come in between
    return step, "changed"


def _check_right(right: Right, own_rights: Collection[Right] | None) -> None:
    """Refuse what needs a right that somebody has not; None has all."""
    if own_rights is not None and right not in own_rights:
        raise refuse_request()


def _check_unused(store: Store, project_id: str, step: UndoStep) -> None:
    """Refuse to take back a project in which somebody talked since: what was said is no step of its own."""
    with store.read(project=project_id) as reading:
        used = reading.rows(conversations, conversations.c.changed > step.made, only=("title",))
    if used:
        raise FabulaError(
            Code.STORE_CONFLICT,
            plural(
                len(used),
                "This cannot be taken back: {label}. It has a conversation since. Nothing was changed. {advice}",
                "This cannot be taken back: {label}. It has {count} conversations since. Nothing was changed. {advice}",
                label=step.label,
                advice=advise(
                    message("To remove it with everything in it: fabula project delete"),
                    message("Delete the project to remove it with everything in it."),
                ),
            ),
        )
