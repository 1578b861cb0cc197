"""Schemas of accounts, roles and keys (ppl-2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET, UnsetType

from fabula.access import ApiKey, BrowserSession, Membership, NewKey, Person
from fabula.workspace.schemas.display_names import DisplayNames
from fabula.workspace.schemas.schema import Schema, describe


class SignInRequest(Schema):
    """The name of an account and its password."""

    account: str
    password: str


class RoleInfo(Schema):
    """The role of somebody in a project; a player's characters and the chapters that it may read, by their ids."""

    project: str
    title: str
    role: str
    characters: tuple[str, ...] | None
    documents: tuple[str, ...] | None  # of a player; null where all may be read
    conversations: tuple[str, ...] | None  # of a player, whose recaps it may read
    character_names: tuple[str, ...] | UnsetType | None = UNSET
    document_titles: tuple[str, ...] | UnsetType | None = UNSET


class MemberInfo(Schema):
    """Somebody who belongs to a project, with the role there and nothing of other projects."""

    id: str
    name: str
    role: RoleInfo


class AccountInfo(Schema):
    """Somebody whom the owner of the store lets in."""

    id: str
    name: str
    has_password: bool
    created_at: str
    roles: tuple[RoleInfo, ...]


class OwnAccountInfo(Schema):
    """The caller's own account: who is signed in, and what the caller may do beside their projects."""

    id: str
    name: str
    has_password: bool
    is_store_owner: bool  # who has a role in no project, and all rights in each
    creatable_projects: int | None  # how many the caller may still create; null for the owner of the store
    roles: tuple[RoleInfo, ...]


class KeyInfo(Schema):
    """The key of a program; null where it has all projects, or all rights, of its account.

    One that names verbs may use these besides its rights; where its rights are null, these alone.
    """

    id: str
    account: str
    label: str
    projects: tuple[str, ...] | None
    rights: tuple[str, ...] | None
    verbs: tuple[str, ...] | None
    created_at: str
    revoked_at: str | None
    project_titles: tuple[str, ...] | UnsetType | None = UNSET


class SessionInfo(Schema):
    """Somebody who is signed in with a browser; times are in UTC."""

    id: str
    account: str
    created_at: str
    ends_at: str
    is_current: bool = False  # whether it is the one that asks


class NewKeyInfo(Schema):
    """A key that was just made, with its secret, which is never shown again."""

    key: KeyInfo
    secret: str


def describe_account(
    person: Person, titles: Mapping[str, str], names_of: Callable[[str], DisplayNames] | None = None
) -> AccountInfo:
    """Describe an account; `titles` are those of projects, by id, and `names_of` finds the names in one of them."""
    ordered = sorted(person.memberships.items(), key=lambda item: titles.get(item[0], ""))
    roles = [_describe_role(project, one, titles, names_of) for project, one in ordered]
    return describe(AccountInfo, person, roles=roles)


def describe_member(
    person: Person, project: str, title: str, names_of: Callable[[str], DisplayNames] | None = None
) -> MemberInfo:
    """Describe a member of a project."""
    role = _describe_role(project, person.memberships[project], {project: title}, names_of)
    return MemberInfo(id=person.id, name=person.name, role=role)


def describe_own_account(
    person: Person,
    titles: Mapping[str, str],
    *,
    is_store_owner: bool,
    creatable_projects: int | None,
    names_of: Callable[[str], DisplayNames] | None = None,
) -> OwnAccountInfo:
    """Describe the account of the caller."""
    return describe(
        OwnAccountInfo,
        describe_account(person, titles, names_of),
        is_store_owner=is_store_owner,
        creatable_projects=creatable_projects,
    )


def _describe_role(
    project: str, role: Membership, titles: Mapping[str, str], names_of: Callable[[str], DisplayNames] | None
) -> RoleInfo:
    characters, documents, heard = role.grants.characters, role.grants.documents, role.grants.conversations
    described = RoleInfo(
        project=project,
        title=titles.get(project, ""),
        role=role.role,
        characters=None if characters is None else tuple(sorted(characters)),
        documents=None if documents is None else tuple(sorted(documents)),
        conversations=None if heard is None else tuple(sorted(heard)),
    )
    if names_of is not None and project in titles and (characters or documents):
        names = names_of(project)
        described.character_names = names.name_entries(characters)
        described.document_titles = None if documents is None else tuple(map(names.name_document, sorted(documents)))
    return described


def describe_key(key: ApiKey, titles: Mapping[str, str] | None = None) -> KeyInfo:
    """Describe a key, perhaps with the `titles` of projects, by id."""
    own = None if key.projects is None else tuple(sorted(key.projects))
    named = UNSET if titles is None else own and tuple(titles.get(one, one) for one in own)
    return describe(KeyInfo, key, account=key.person, projects=own, project_titles=named)


def describe_session(session: BrowserSession, own_session: str = "") -> SessionInfo:
    """Describe who is signed in with a browser; `own_session` is the one that asks."""
    return describe(SessionInfo, session, account=session.person, is_current=session.id == own_session)


def describe_new_key(made: NewKey) -> NewKeyInfo:
    """Describe a key that was just made."""
    return NewKeyInfo(key=describe_key(made.key), secret=made.secret)
