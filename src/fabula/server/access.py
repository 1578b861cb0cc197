"""Who may do what: roles, their rights, and `Access`, the one thing that handlers see of a caller (ppl-2).

A route needs one `Right`. A `Role` has rights by the table `RIGHTS`; a person has one role in each project they belong
to, and the owner of a local store has one everywhere. What a prompt may hold is a matter of the principal's `Grants`,
which the workspace checks. A project that a caller does not belong to is refused as one that does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from fabula.context.request import Grants, Principal
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.store.store import LOCAL_USER
from fabula.workspace.grants import refuse_request


class Right(StrEnum):
    """What a route needs. `SIGN_IN` is enough for what belongs to the caller alone."""

    SIGN_IN = "sign_in"
    ASSEMBLE = "assemble"  # prompts and searches within the grants
    PLAY = "play"  # talk in conversations
    READ = "read"
    EDIT = "edit"
    GENERATE = "generate"  # ask a model on behalf of the project, which may cost money
    INSPECT = "inspect"  # look inside of prompts
    MANAGE = "manage"  # settings, jobs, saves, and the project as a whole
    STORE = "store"  # create, import, delete and restore projects, and series


class Role(StrEnum):
    """What a person is in a project."""

    OWNER = "owner"
    EDITOR = "editor"
    READER = "reader"
    PLAYER = "player"
    DEBUGGER = "debugger"


_PLAYER = frozenset({Right.SIGN_IN, Right.ASSEMBLE, Right.PLAY})
_READER = frozenset({Right.SIGN_IN, Right.ASSEMBLE, Right.READ})
RIGHTS: Mapping[Role, frozenset[Right]] = {
    Role.OWNER: frozenset(Right),
    Role.EDITOR: _READER | {Right.PLAY, Right.EDIT, Right.GENERATE},
    Role.READER: _READER,
    Role.PLAYER: _PLAYER,
    Role.DEBUGGER: _READER | {Right.INSPECT},
}


class Membership(Struct, frozen=True):
    """The role of a person in one project. A player's grants name the character, the documents and conversations."""

    role: Role
    grants: Grants = Grants()

    def __post_init__(self) -> None:
        if self.role is Role.PLAYER and self.grants.characters is None:
            raise FabulaError(Code.REQUEST_INVALID, message("A player needs a character to see through."))


class Access(Struct, frozen=True, kw_only=True):
    """A caller: the user, and the role in each project. `everywhere` is the role in all projects and in the store."""

    user: str
    everywhere: Membership | None = None
    memberships: Mapping[str, Membership] = {}  # by the id of the project

    def find_membership(self, project_id: str) -> Membership | None:
        """Return the role in a project; None for one that the caller must not know of."""
        return self.memberships.get(project_id, self.everywhere)

    def has_right(self, right: Right, project_id: str | None = None) -> bool:
        """Whether the caller may do something in a project, or in the store as a whole."""
        membership = self.everywhere if project_id is None else self.find_membership(project_id)
        return right is Right.SIGN_IN or (membership is not None and right in RIGHTS[membership.role])

    def require(self, right: Right, project_id: str | None = None) -> None:
        """Refuse what the caller may not do."""
        if not self.has_right(right, project_id):
            raise refuse_inspection() if right is Right.INSPECT else refuse_request()

    def make_principal(self, project_id: str) -> Principal:
        """Return the caller as a principal of a project; one that the caller does not belong to is not found."""
        membership = self.find_membership(project_id)
        if membership is None:
            raise refuse_project()
        may_inspect = Right.INSPECT in RIGHTS[membership.role]
        return Principal(user=self.user, may_inspect=may_inspect, grants=membership.grants)


OWNER_ACCESS = Access(user=LOCAL_USER, everywhere=Membership(Role.OWNER))


def refuse_project() -> FabulaError:
    """Return the refusal of a project that is not there, or that the caller must not know of."""
    return FabulaError(Code.PROJECT_NOT_FOUND, message("There is no such project. Nothing was changed."))


def refuse_inspection() -> FabulaError:
    """Return the refusal to look inside of a prompt."""
    return FabulaError(
        Code.INSPECT_FORBIDDEN,
        message(
            "To look inside a prompt, you need debug mode and the right to inspect. Ask the owner of this project."
        ),
    )
