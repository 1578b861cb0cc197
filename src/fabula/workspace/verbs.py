"""The base of a project's verbs on one subject: its transactions, and its view.

`project.codex`, `project.constraints` and the like group what a person can do by subject. Each verb is one
transaction, takes and returns plain values, and accepts a thing by whatever a person calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, advise, message
from fabula.core.view import View
from fabula.workspace.arguments import check_verbs
from fabula.workspace.grants import check_unlimited

if TYPE_CHECKING:
    from fabula.store.store import Store
    from fabula.store.transaction import ReadTransaction, WriteTransaction
    from fabula.workspace.project import ProjectHandle

_MAX_NAME = 60  # characters of a thing's name in the label of a change


def require_store(project: ProjectHandle) -> Store:
    """Return the store of a project; one outside it is refused, since nothing can be changed there."""
    if project.store is None:
        raise FabulaError(
            Code.PROJECT_READ_ONLY,
            message(
                "A folder, a file or a sample can be looked at, but not changed. {advice} Nothing was changed.",
                advice=advise(
                    message("Copy it into the store first: fabula new TITLE --from PATH."),
                    message("Copy it into the store first."),
                ),
            ),
        )
    project.store.require_open()
    return project.store


def select_given(fields: Mapping[str, object]) -> dict[str, Any]:
    """Return the keyword arguments of a verb that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def label_addition(what: Sentence, name: str) -> Sentence:
    """Say that something was added, as the label of a change that can be undone."""
    return message("new {what}: {name}", what=what, name=_shorten(name))


def label_change(what: Sentence, name: str) -> Sentence:
    """Say that something was changed, as the label of a change that can be undone."""
    return message("{what} changed: {name}", what=what, name=_shorten(name))


def label_removal(what: Sentence, name: str) -> Sentence:
    """Say that something was removed, as the label of a change that can be undone."""
    return message("{what} removed: {name}", what=what, name=_shorten(name))


def _shorten(name: str) -> str:
    words = " ".join(name.split())
    return words if len(words) <= _MAX_NAME else f"{words[: _MAX_NAME - 1]}…"


Verbs = TypeVar("Verbs", bound="ProjectVerbs")


class LazyVerbs(Generic[Verbs]):
    """The verbs of a subject as an attribute of a project; their module is imported when they are first used.

    The verbs hold the project. The project does not hold the verbs, so that it is freed when nobody uses it any more.
    """

    def __init__(self, class_name: str) -> None:
        self._class_name = class_name

    def __set_name__(self, owner: type, subject: str) -> None:
        self._subject = subject  # the name of the attribute, and of the module

    @overload
    def __get__(self, project: None, owner: type) -> type[Verbs]: ...
    @overload
    def __get__(self, project: ProjectHandle, owner: type | None = None) -> Verbs: ...
    def __get__(self, project: ProjectHandle | None, owner: type | None = None) -> Verbs | type[Verbs]:
        kind: type[Verbs] = getattr(import_module(f"fabula.workspace.{self._subject}"), self._class_name)
        return kind if project is None else kind(project)  # without a project: `help(ProjectHandle.codex)`


class ProjectVerbs:
    """What a person can do with one subject of an open project."""

    needs_all_rights: ClassVar[bool] = True  # verbs that are for principals with limits too check each thing themselves

    def __init_subclass__(cls) -> None:
        check_verbs(cls)

    def __init__(self, project: ProjectHandle) -> None:
        if self.needs_all_rights:
            check_unlimited(project.principal)
        self._project = project

    @property
    def _view(self) -> View:
        return self._project.view

    @property
    def _store(self) -> Store:
        return require_store(self._project)

    def _read(self) -> AbstractContextManager[ReadTransaction]:
        """Read the project and the principal's own rows as they stand at one moment."""
        return self._store.read(project=self._project.id, user=self._project.principal.user)

    def _write(self, undo_label: Sentence | None = None) -> AbstractContextManager[WriteTransaction]:
        """Change the project and the principal's own rows in one transaction, which can be undone if it has a label."""
        return self._store.write(project=self._project.id, user=self._project.principal.user, undo_label=undo_label)
