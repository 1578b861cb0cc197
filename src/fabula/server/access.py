"""`Access`, the one thing that handlers see of a caller: who it is, and what it may do in which project (ppl-2).

A route needs one `Right`. A person has one role in each project they belong to, and the owner of the store has one
everywhere; a key may have fewer rights than its person, or name single verbs. A verb that a key names is open where the
role of its person has the right that the verb needs. A project that a caller does not belong to is refused as one that
does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fabula.access.model import RIGHTS, Membership, Right, Role
from fabula.context.request import Principal
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_alternatives, message
from fabula.store.store import LOCAL_USER

if TYPE_CHECKING:
    from fabula.manuscript.projects import ProjectSummary
    from fabula.workspace.workspace import Workspace


class Access(Struct, frozen=True, kw_only=True):
    """A caller: the user, and the role in each project. `everywhere` is the role in all projects and in the store."""

    user: str
    everywhere: Membership | None = None
    memberships: Mapping[str, Membership] = {}  # by the id of the project
    limited_to: frozenset[Right] | None = None  # the rights of a key that has not all of its person's
    verbs: frozenset[str] = frozenset()  # that such a key may use besides
    has_all_projects: bool = True  # of the person; False for a key that names some

    @property
    def is_limited(self) -> bool:
        """Whether the caller is a key that has less than its person."""
        return self.limited_to is not None or not self.has_all_projects

    def limit(
        self, *, rights: frozenset[Right] | None, projects: frozenset[str] | None, verbs: frozenset[str] | None = None
    ) -> Access:
        """Return the caller with some of its rights and verbs, in some of its projects; None leaves all.

        Where verbs are named and no rights, it has these verbs alone.
        """
        if rights is None and verbs is not None:
            rights = frozenset()
        limited = replace(self, limited_to=rights, verbs=verbs or frozenset())
        if projects is None:
            return limited
        known = {one: found for one in projects if (found := self.find_membership(one)) is not None}
        return replace(limited, everywhere=None, memberships=known, has_all_projects=False)

    def find_membership(self, project_id: str) -> Membership | None:
        """Return the role in a project; None for one that the caller must not know of."""
        return self.memberships.get(project_id, self.everywhere)

    def has_right(self, right: Right, project_id: str | None = None, *, verb: str = "") -> bool:
        """Whether the caller may do something in a project, or in the store as a whole; perhaps with one verb."""
        is_given = right is Right.SIGN_IN or right in self._list_role_rights(project_id)
        return is_given and (self.limited_to is None or right in self.limited_to or verb in self.verbs)

    def has_any_right(self, right: Right, project_id: str) -> bool:
        """Whether the caller has a right in a project, or a verb of a key whose person has the right there."""
        is_named = bool(self.verbs) and right in self._list_role_rights(project_id)
        return is_named or self.has_right(right, project_id)

    def list_rights(self, project_id: str | None = None, *, verb: str = "") -> frozenset[Right]:
        """Return what the caller may do in a project, or in the store as a whole; perhaps with one verb."""
        return frozenset(one for one in Right if self.has_right(one, project_id, verb=verb))

    def _list_role_rights(self, project_id: str | None) -> frozenset[Right]:
        membership = self.everywhere if project_id is None else self.find_membership(project_id)
        return frozenset() if membership is None else RIGHTS[membership.role]

    def may_create(self, verb: str) -> bool:
        """Whether somebody without a right in the store as a whole may create projects, where people may at all."""
        is_left = self.limited_to is None or Right.STORE in self.limited_to or verb in self.verbs
        return self.everywhere is None and self.has_all_projects and is_left

    def require_whole(self) -> None:
        """Refuse a key that has less than its person: it must neither see nor make what has more."""
        if self.is_limited:
            raise FabulaError(
                Code.NOT_ALLOWED,
                message(
                    "A key with limits does not reach the account it works for. Sign in, or use a key without limits. "
                    "Nothing was changed."
                ),
            )

    def require(self, right: Right, project_id: str | None = None, *, is_reading: bool = False, verb: str = "") -> None:
        """Refuse what the caller may not do; what every caller has, a key with few rights may read too."""
        if not (is_reading and right is Right.SIGN_IN) and not self.has_right(right, project_id, verb=verb):
            own = None if project_id is None else self.find_membership(project_id)
            if right is Right.INSPECT:
                raise refuse_inspection()
            if right is Right.SIGN_IN or (own is not None and right in RIGHTS[own.role]):
                raise refuse_key(right)
            if own is not None and own.role is Role.PLAYER:
                raise refuse_player()
            raise refuse_in_store(right) if own is None else refuse_role(right, own.role)

    def make_principal(self, project_id: str, *, verb: str = "") -> Principal:
        """Return the caller as a principal of a project; one that the caller does not belong to is not found.

        A key may be allowed to look inside of prompts by one verb alone.
        """
        membership = self.find_membership(project_id)
        if membership is None:
            raise refuse_project()
        may_inspect = self.has_right(Right.INSPECT, project_id, verb=verb)
        return Principal(user=self.user, may_inspect=may_inspect, grants=membership.grants)


def make_store_principal(access: Access) -> Principal:
    """Return the caller as a principal where no project is named."""
    return Principal(user=access.user, may_inspect=False)


OWNER_ACCESS = Access(user=LOCAL_USER, everywhere=Membership(Role.OWNER))


def list_own_projects(workspace: Workspace, access: Access) -> list[ProjectSummary]:
    """List the projects that a caller belongs to, the latest change first.

    Whoever is not the owner of the store has numbers for these alone, in the order in which they were made: their
    numbers in the store would tell of others.
    """
    own = [one for one in workspace.projects() if access.find_membership(one.id) is not None]
    if access.everywhere is not None:
        return own
    numbers = {one.id: number for number, one in enumerate(sorted(own, key=lambda one: one.number), start=1)}
    return [replace(one, number=numbers[one.id]) for one in own]


def refuse_project() -> FabulaError:
    """Return the refusal of a project that is not there, or that the caller must not know of."""
    return FabulaError(Code.PROJECT_NOT_FOUND, message("There is no such project. Nothing was changed."))


def refuse_role(right: Right, role: Role) -> FabulaError:
    """Return the refusal of something that needs a right which the caller's role in a project does not have."""
    return FabulaError(
        Code.NOT_ALLOWED,
        message(
            "This needs the right `{right}`, which the role {role} does not have. An owner of the project can give you "
            "one that has it: {roles}. Nothing was changed.",
            right=right.value,
            role=role.value,
            roles=join_alternatives([one.value for one in Role if right in RIGHTS[one]]),
        ),
    )


def refuse_key(right: Right) -> FabulaError:
    """Return the refusal of something that the caller may do, and its key may not."""
    return FabulaError(
        Code.NOT_ALLOWED,
        message(
            "This needs the right `{right}`, which your key leaves out. Use a key that has it. Nothing was changed.",
            right=right.value,
        ),
    )


def refuse_in_store(right: Right) -> FabulaError:
    """Return the refusal of something that is not of one project, and for the owner of the store alone."""
    return FabulaError(
        Code.NOT_ALLOWED,
        message(
            "Only the owner of the server may do this, with a key that has the right `{right}` in all projects. "
            "Nothing was changed.",
            right=right.value,
        ),
    )


def refuse_player() -> FabulaError:
    """Return the refusal of something that no player may do, with what players can do."""
    return FabulaError(
        Code.NOT_ALLOWED,
        message(
            "This is not for players. As your character, you can talk in its conversations (`chats`), read the "
            "chapters, entries and recaps that it knows (`reading`), and search. Nothing was changed."
        ),
    )


def refuse_inspection() -> FabulaError:
    """Return the refusal to look inside of a prompt."""
    return FabulaError(
        Code.INSPECT_FORBIDDEN,
        message(
            "To look inside a prompt, you need debug mode and the right to inspect. Ask the owner of this project."
        ),
    )
