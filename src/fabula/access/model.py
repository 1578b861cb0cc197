"""Types of access: roles and their rights, people with their roles in projects, and keys of programs (ppl-2).

A `Role` has rights by the table `RIGHTS`; a person has one role in each project they belong to. What a prompt may hold
is a matter of the `Grants` of a membership, which the workspace checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from fabula.context.request import UNLIMITED, Grants
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message


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
    MEMBERS = "members"  # who belongs to the project, and with which role
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
    grants: Grants = UNLIMITED

    def __post_init__(self) -> None:
        if self.role is Role.PLAYER and self.grants.characters is None:
            raise FabulaError(Code.REQUEST_INVALID, message("A player needs a character to see through."))


class Person(Struct, frozen=True, kw_only=True):
    """Somebody whom the owner of the store lets in, with the role in each project."""

    id: str  # the name to sign in with
    name: str
    memberships: Mapping[str, Membership] = {}  # by the id of the project
    has_password: bool = False
    created_at: str = ""


class ApiKey(Struct, frozen=True, kw_only=True):
    """The key of a program that works for a person, within what that person may do."""

    id: str
    person: str
    label: str
    projects: tuple[str, ...] | None = None  # None: all of the person's
    rights: tuple[Right, ...] | None = None  # None: all of the person's, or none but the verbs where it names verbs
    verbs: tuple[str, ...] | None = None  # that it may use besides what its rights open
    created_at: str = field(default="", name="made")
    revoked_at: str | None = field(default=None, name="revoked")


class BrowserSession(Struct, frozen=True, kw_only=True):
    """Somebody who is signed in with a browser, since when and until when."""

    id: str  # the beginning of the hash, which opens nothing
    person: str
    created_at: str
    ends_at: str


class NewKey(Struct, frozen=True):
    """A key that was just made. The secret is shown once, and only its hash is kept."""

    key: ApiKey
    secret: str
