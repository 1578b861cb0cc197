"""What a client of the MCP server may do: in all projects or in one, reading only, through the eyes of a character.

Every call opens its project for a principal. One that sees through a character's eyes is made anew each time, because
the character learns things while the story is written.
"""

from __future__ import annotations

from msgspec import Struct

from fabula.access.model import Right
from fabula.context.request import Principal
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import advise, message
from fabula.manuscript.projects import ProjectSummary
from fabula.workspace.grants import has_limits, limit_to_character, refuse_request
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace


class McpAccess(Struct, frozen=True, kw_only=True):
    """The rights of a client; by default it may do everything in every project."""

    project_id: str | None = None  # None for all projects
    is_read_only: bool = False
    character: str | None = None  # by any name; only with a project
    principal: Principal = Principal()
    rights: frozenset[Right] = frozenset(Right)
    verbs: frozenset[str] = frozenset()  # that the client may use besides, where the role has their right
    role_rights: frozenset[Right] = frozenset()

    def __post_init__(self) -> None:
        if self.has_limits and self.project_id is None:  # limits name the ids of one project
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "A character belongs to a project. {advice}",
                    advice=advise(message("Name the project too: --project PROJECT"), message("Name the project too.")),
                ),
            )

    @property
    def has_limits(self) -> bool:
        """Whether it may know less than everything, and therefore change nothing."""
        return self.character is not None or has_limits(self.principal)

    def may_use(self, right: Right, verb: str) -> bool:
        """Whether the client may use a verb that needs a right."""
        return right in self.rights or (verb in self.verbs and right in self.role_rights)

    def choose_project(self, workspace: Workspace, name: str | None) -> McpAccess:
        """Return what the client may do in the project that a call names, as far as that depends on the project."""
        return self

    def list_projects(self, workspace: Workspace) -> list[ProjectSummary]:
        """List the projects that the client may use, in an order that changes do not change."""
        found = (one for one in workspace.projects() if self.project_id in (None, one.id))
        return sorted(found, key=lambda one: (one.number, one.id))

    def find_only_project(self, workspace: Workspace) -> str | None:
        """Return the id of the project that a call means which names none; None where there are several."""
        if self.project_id is not None:
            return self.project_id
        own = self.list_projects(workspace)
        return own[0].id if len(own) == 1 else None

    def open_project(self, workspace: Workspace, name: str | None = None) -> ProjectHandle:
        """Open a project by its title, number or id; a server of one project opens that one and refuses others.

        Where there is only one project, no name is needed.
        """
        if self.project_id is None:
            name = name or self.find_only_project(workspace)
            if not name:
                raise FabulaError(
                    Code.REQUEST_INVALID,
                    message("Name the project: its title, number or id, as the list of projects has them."),
                )
            return workspace.project(name, self.principal)
        own = next((one for one in workspace.projects() if one.id == self.project_id), None)
        if own is None or (name and name not in (own.id, own.title, str(own.number))):
            raise refuse_request()
        if self.character is None:
            return workspace.project(own.id, self.principal)
        return workspace.project(own.id, limit_to_character(workspace.project(own.id), self.character))
