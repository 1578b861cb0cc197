"""What the owner of a store can do about people: let them in, give them roles, and make and revoke keys (ppl-2).

A person has a role in each project they belong to. A player sees through one character. Accounts, keys and projects
are named by their ids or whole names here, since a part of a name may mean another one when a change is sent twice.
Keys are for programs that work for a person; their secret is shown once. Passwords and secrets are kept as hashes, and
enter no save.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fabula import access
from fabula.access import ApiKey, BrowserSession, Membership, NewKey, Person, Role
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.manuscript import projects
from fabula.store.store import LOCAL_USER
from fabula.text.lookup import find_by_whole_name
from fabula.workspace import keys
from fabula.workspace.arguments import Title, check_verbs, read_choice
from fabula.workspace.members import make_membership

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.workspace import Workspace

log = logging.getLogger("fabula.security")


@check_verbs
class PeopleVerbs:
    """The people, roles and keys of a store."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._store = workspace, workspace.store
        self.caller = LOCAL_USER  # whom the log names beside a change

    def list_all(self) -> list[Person]:
        """List everybody whom the owner of the store lets in."""
        with self._store.read(user=LOCAL_USER) as reading:
            return access.list_people(reading)

    def find(self, person: str) -> Person:
        """Find somebody by the name of their account as it is spelled; other spellings are refused with the nearest."""
        return find_by_whole_name(
            self.list_all(),
            person,
            what=message("account"),
            names_of=lambda one: (one.id,),
            other_names_of=lambda one: (one.name,),
        )

    def add(self, account: str, *, name: Title = "", password: str = "") -> Person:
        """Let somebody in; without a password they come through the reverse proxy, or by keys alone."""
        with self._store.write(user=LOCAL_USER) as tx:
            added = access.add_person(tx, account, name=name, password=password)
        log.info("account added: %s by %s", added.id, self.caller)
        return added

    def remove(self, person: str) -> Person:
        """Let somebody in no more; their keys and sessions end at once."""
        found = self.find(person)
        with self._store.write(user=LOCAL_USER) as tx:
            access.remove_person(tx, found.id)
        log.info("account removed: %s by %s", found.id, self.caller)
        return found

    def set_password(self, person: str, password: str) -> None:
        """Give somebody another password; who is signed in with the old one is signed out."""
        found = self.find(person)
        with self._store.write(user=LOCAL_USER) as tx:
            access.set_password(tx, found.id, password)
        log.info("password changed: %s by %s", found.id, self.caller)

    def set_role(
        self,
        person: str,
        project: str,
        role: str,
        *,
        character: str = "",
        documents: Sequence[str] = (),
        conversations: Sequence[str] = (),
    ) -> Person:
        """Give somebody a role in a project. A player needs a character, and reads the chapters that are named.

        Without any, a player talks as its character and reads no chapter. It reads the recaps of the conversations
        that are named.
        """
        found, handle = self.find(person), self._open_project(project)
        membership = make_membership(handle, read_choice(role, Role, "role"), character, documents, conversations)
        with self._store.write(user=LOCAL_USER) as tx:
            changed = access.set_membership(tx, found.id, handle.id, membership)
        log.info("role given: %s in %s: %s by %s", found.id, handle.id, membership.role, self.caller)
        return changed

    def remove_role(self, person: str, project: str) -> Person:
        """Take somebody out of a project."""
        found, handle = self.find(person), self._open_project(project)
        if handle.id not in found.memberships:
            raise FabulaError(
                Code.STORE_NOT_FOUND,
                message("{name} has no role in this project. Nothing was changed.", name=found.name),
            )
        with self._store.write(user=LOCAL_USER) as tx:
            changed = access.set_membership(tx, found.id, handle.id, None)
        log.info("role taken: %s in %s by %s", found.id, handle.id, self.caller)
        return changed

    def create_link(self, person: str) -> str:
        """Make the code of a link that signs somebody in with one browser, once and within ten minutes."""
        found = self.find(person)
        with self._store.write(user=LOCAL_USER) as tx:
            code = access.create_link(tx, found.id)
        log.info("link made: %s by %s", found.id, self.caller)
        return code

    def list_sessions(self, person: str | None = None) -> list[BrowserSession]:
        """List who is signed in with a browser: everybody, or one person."""
        owner = None if person is None else self._find_owner(person)
        with self._store.read(user=LOCAL_USER) as reading:
            return access.list_sessions(reading, owner)

    def end_sessions(self, person: str) -> None:
        """Sign somebody out in all browsers."""
        owner = self._find_owner(person)
        with self._store.write(user=LOCAL_USER) as tx:
            access.end_sessions(tx, owner)
        log.info("signed out: %s by %s", owner, self.caller)

    def list_keys(self, person: str | None = None) -> list[ApiKey]:
        """List the keys of everybody, or of one person."""
        owner = None if person is None else self._find_owner(person)
        return keys.list_keys(self._store, owner)

    def create_key(
        self,
        label: Title,
        *,
        person: str = LOCAL_USER,
        projects: Sequence[str] = (),
        rights: Sequence[str] = (),
        verbs: Sequence[str] = (),
    ) -> NewKey:
        """Make the key of a program; by default for the owner of the store, all projects and all rights.

        One that names verbs may use these, and besides what its rights open; without rights, these alone.
        """
        owner = self._find_owner(person)
        memberships = None if owner == LOCAL_USER else self.find(owner).memberships
        ids = [self._find_key_project(owner, memberships, name) for name in projects]
        return keys.create_key(
            self._store,
            owner,
            label,
            memberships=memberships,
            projects=ids,
            rights=rights,
            verbs=verbs,
            caller=self.caller,
        )

    def revoke_key(self, key: str) -> ApiKey:
        """Let a key open nothing any more."""
        return keys.revoke_key(self._store, key, caller=self.caller)

    def _open_project(self, name: str) -> ProjectHandle:
        return self._workspace.project(projects.find_whole_project(self._store, name).id)

    def _find_key_project(self, owner: str, memberships: Mapping[str, Membership] | None, name: str) -> str:
        """Return the id of a project that a key is for, to which the key's owner must belong."""
        project = self._open_project(name)
        if memberships is not None and project.id not in memberships:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "{account} has no role in {title!r}, so a key for it would open nothing. Give the role first. "
                    "Nothing was changed.",
                    account=owner,
                    title=project.view.project.title,
                ),
            )
        return project.id

    def _find_owner(self, person: str) -> str:
        return LOCAL_USER if person == LOCAL_USER else self.find(person).id
