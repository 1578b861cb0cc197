"""What everybody who is signed in can do about their own account: password, keys, browsers, and new projects (ppl-2).

Nothing here reaches the account of somebody else. A new password needs the old one and ends the other sessions; wrong
old ones are counted like those of signing in. A key never has more than its person.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fabula import access
from fabula.access import ApiKey, BrowserSession, Membership, NewKey, Person, Role
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.manuscript import projects
from fabula.settings.values import SettingValues
from fabula.store.slugs import mark_slug
from fabula.store.store import LOCAL_USER
from fabula.text.lookup import find_by_whole_name
from fabula.workspace import keys
from fabula.workspace.arguments import Title, check_verbs

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.workspace import Workspace

log = logging.getLogger("fabula.security")

CREATION_SETTING = "server.projectsPerPerson"
_TRIES = "old password"  # in place of an address: wrong old passwords keep nobody from signing in


@check_verbs
class AccountVerbs:
    """The account of one person, as that person can change it."""

    def __init__(self, workspace: Workspace, user: str = LOCAL_USER) -> None:
        self._workspace, self._store, self._user = workspace, workspace.store, user

    def describe(self) -> Person:
        """Return who is signed in, with their roles; the owner of the store has none and needs none."""
        if self._user == LOCAL_USER:
            return Person(id=LOCAL_USER, name=LOCAL_USER)
        with self._store.read(user=LOCAL_USER) as reading:
            return access.get_person(reading, self._user)

    def set_password(self, password: str, *, old_password: str, own_session: str = "") -> None:
        """Take another password; it needs the old one, and ends all sessions but the one that asks."""
        person = self.describe()
        if not person.has_password:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("You sign in without a password. The owner of the store can give you one."),
            )
        with self._store.read(user=LOCAL_USER) as reading:
            access.check_tries(reading, person.id, _TRIES)
            is_right = access.check_password(reading, person.id, old_password) is not None
        with self._store.write(user=LOCAL_USER) as tx:
            if is_right:
                access.forget_failures(tx, person.id, _TRIES)
                access.set_password(tx, person.id, password, kept_session=own_session)
            else:
                access.count_failure(tx, person.id, _TRIES)
        if not is_right:
            log.warning("password not changed: %s gave a wrong old one", person.id)
            raise FabulaError(
                Code.ACCESS_PASSWORD_WRONG, message("The old password is not the right one. Nothing was changed.")
            )
        log.info("password changed: %s by %s", person.id, person.id)

    def list_keys(self) -> list[ApiKey]:
        """List one's own keys."""
        return keys.list_keys(self._store, self._user)

    def create_key(
        self,
        label: Title,
        *,
        projects: Sequence[str] = (),
        rights: Sequence[str] = (),
        verbs: Sequence[str] = (),
    ) -> NewKey:
        """Make the key of a program that works for oneself, with all one may do or with less.

        It is for some projects or all, with rights, single verbs or both.
        """
        memberships = None if self._user == LOCAL_USER else self.describe().memberships
        ids = [self._find_own_project(name, memberships) for name in projects]
        return keys.create_key(
            self._store,
            self._user,
            label,
            memberships=memberships,
            projects=ids,
            rights=rights,
            verbs=verbs,
            caller=self._user,
        )

    def revoke_key(self, key: str) -> ApiKey:
        """Let one of one's own keys open nothing any more."""
        return keys.revoke_key(self._store, key, owner=self._user, caller=self._user)

    def list_sessions(self) -> list[BrowserSession]:
        """List the browsers in which one is signed in."""
        with self._store.read(user=LOCAL_USER) as reading:
            return access.list_sessions(reading, self._user)

    def end_session(self, session: str) -> None:
        """Sign oneself out in one browser."""
        with self._store.write(user=LOCAL_USER) as tx:
            if not access.end_shown_session(tx, self._user, session):
                raise FabulaError(
                    Code.STORE_NOT_FOUND, message("You are not signed in with such a browser. Nothing was changed.")
                )
        log.info("signed out: %s by %s", self._user, self._user)

    def end_other_sessions(self, *, own_session: str = "") -> None:
        """Sign oneself out in all browsers but the one that asks."""
        with self._store.write(user=LOCAL_USER) as tx:
            access.end_other_sessions(tx, self._user, own_session)
        log.info("signed out: %s by %s", self._user, self._user)

    def count_creatable_projects(self) -> int | None:
        """Return how many projects one may still create; None where there is no limit."""
        if self._user == LOCAL_USER:
            return None
        with self._store.read(user=LOCAL_USER) as reading:
            person = access.find_person(reading, self._user)
        return 0 if person is None else self._count_creatable(person)

    def create_project(self, title: Title, *, language: str = "") -> ProjectHandle:
        """Make an empty project and become its owner, where the server lets people create projects."""
        from fabula.workspace.transfer import find_title_language, normalise_language

        if self._user == LOCAL_USER:
            return self._workspace.create_project(title, language=language)
        chosen, project_id = normalise_language(language) or find_title_language(title), new_id()
        with self._store.write(project=project_id, user=LOCAL_USER) as tx:
            if self._count_creatable(access.get_person(tx, self._user)) <= 0:
                raise FabulaError(
                    Code.NOT_ALLOWED,
                    message(
                        "You own as many projects as people may create here. Delete one, or ask the owner of the "
                        "server. Nothing was changed."
                    ),
                )
            projects.insert(tx, project_id, title=title, language=chosen)
            tx.set_slug(mark_slug(title, project_id))  # a plain one would tell of a project of somebody else
            access.set_membership(tx, self._user, project_id, Membership(Role.OWNER))
        log.info("role given: %s in %s: %s by %s", self._user, project_id, Role.OWNER, self._user)
        return self._workspace.project(project_id)

    def _count_creatable(self, person: Person) -> int:
        own = {project for project, one in person.memberships.items() if one.role is Role.OWNER}
        most: int = SettingValues()[CREATION_SETTING]
        return max(0, most - len(own.intersection(self._store.project_ids())))

    def _find_own_project(self, name: str, memberships: Mapping[str, Membership] | None) -> str:
        """Return the id of a project that a key is for, among one's own; others are not there."""
        if memberships is None:
            return projects.find_whole_project(self._store, name).id
        own = [one for one in self._workspace.projects() if one.id in memberships]
        what, code = message("project"), Code.PROJECT_NOT_FOUND
        return find_by_whole_name(own, name, what=what, names_of=lambda one: (one.title,), code=code).id
