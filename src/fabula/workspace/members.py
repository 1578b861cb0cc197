"""What the owner of a project can do about its members: see them, and give, change and take their roles (ppl-2).

A member is shown with the role in this project alone. Accounts themselves, their passwords and their other projects
belong to the owner of the store and to the people. Everybody is named by the account as it is spelled. A miss names
members who may be meant, and nobody else, because that would tell who has an account.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fabula import access
from fabula.access import Membership, Person, Role
from fabula.context.request import Grants
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Perspective
from fabula.store.store import LOCAL_USER
from fabula.store.transaction import WriteTransaction
from fabula.text.lookup import find_by_whole_name, find_matches, fold_name
from fabula.workspace.arguments import read_choice
from fabula.workspace.names import find_character_ids, find_conversation, find_played_character, find_view_document
from fabula.workspace.project import ProjectHandle
from fabula.workspace.verbs import ProjectVerbs, require_store

log = logging.getLogger("fabula.security")


class MemberVerbs(ProjectVerbs):
    """The people who belong to a project, and their roles in it."""

    def list_members(self) -> list[Person]:
        """List those who belong to the project, each with the role in it."""
        with self._store.read(user=LOCAL_USER) as reading:
            return access.list_members(reading, self._project.id)

    def find(self, person: str) -> Person:
        """Find a member by the name of the account as it is spelled; other spellings are refused with the nearest."""
        return find_by_whole_name(
            self.list_members(),
            person,
            what=message("member"),
            names_of=lambda one: (one.id,),
            other_names_of=lambda one: (one.name,),
        )

    def set_role(
        self,
        person: str,
        role: str,
        *,
        character: str = "",
        documents: Sequence[str] = (),
        conversations: Sequence[str] = (),
    ) -> Person:
        """Give a role in the project to a member, or to somebody by the name of the account.

        A player needs a character, reads the chapters that are named, and the recaps of the conversations that are.
        """
        account = self._find_account(person)
        membership = make_membership(
            self._project, read_choice(role, Role, "role"), character, documents, conversations
        )
        with self._store.write(user=LOCAL_USER) as tx:
            if membership.role is not Role.OWNER:
                self._keep_owner(tx, account)
            access.set_membership(tx, account, self._project.id, membership)
            changed = access.find_member(tx, account, self._project.id)
        caller = self._project.principal.user
        log.info("role given: %s in %s: %s by %s", account, self._project.id, membership.role, caller)
        assert changed is not None
        return changed

    def remove(self, person: str) -> Person:
        """Take a member out of the project; the last owner stays."""
        found = self.find(person)
        with self._store.write(user=LOCAL_USER) as tx:
            self._keep_owner(tx, found.id)
            access.set_membership(tx, found.id, self._project.id, None)
        log.info("role taken: %s in %s by %s", found.id, self._project.id, self._project.principal.user)
        return found

    def _find_account(self, person: str) -> str:
        """Return the account that has exactly this name; a miss names the members who may be meant."""
        account = fold_name(person)
        with self._store.read(user=LOCAL_USER) as reading:
            if access.find_person(reading, account) is not None:
                return account
        if find_matches(self.list_members(), person, names_of=lambda one: (one.id, one.name)):
            return self.find(person).id
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            message(
                "There is no account {name!r}. Write the name to sign in with; the owner of the store lets "
                "people in. Nothing was changed.",
                name=person[:100],
            ),
        )

    def _keep_owner(self, tx: WriteTransaction, account: str) -> None:
        """Refuse to take the role of the last owner, without whom nobody of the project could give roles."""
        member = access.find_member(tx, account, self._project.id)
        own = member.memberships.get(self._project.id) if member is not None else None
        is_owner = own is not None and own.role is Role.OWNER
        if is_owner and not access.has_other_owner(tx, account, self._project.id):
            raise FabulaError(
                Code.ACCESS_LAST_OWNER,
                message(
                    "{account} is the last owner of this project. Make somebody else an owner first. "
                    "Nothing was changed.",
                    account=account,
                ),
            )


def make_membership(
    project: ProjectHandle,
    role: Role,
    character: str = "",
    documents: Sequence[str] = (),
    conversations: Sequence[str] = (),
) -> Membership:
    """Return a role with its grants; a player may look through the character alone, and read only what is named."""
    if role is not Role.PLAYER:
        if character or documents or conversations:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("Only a player has a character, chapters and conversations of its own. Nothing was changed."),
            )
        return Membership(role)
    view = project.view
    if not character:
        return Membership(role)  # which says that a character is missing
    with require_store(project).read(project=project.id) as reading:
        own = find_played_character(view, reading, character)
        granted = frozenset(find_conversation(view, reading, one) for one in conversations)
    return Membership(
        role,
        Grants(
            perspectives=frozenset({Perspective.CHARACTER}),
            characters=frozenset({own, *find_character_ids(view, own)}),
            documents=frozenset(find_view_document(view, one) for one in documents),
            conversations=granted,
            entries=frozenset(),
        ),
    )
