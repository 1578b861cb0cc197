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
    character_names: tuple[str, ...] | UnsetType | None = UNSET
    document_titles: tuple[str, ...] | UnsetType | None = UNSET


class AccountInfo(Schema):
    """Somebody whom the owner of the store lets in."""

    id: str
    name: str
    has_password: bool
    created_at: str
    roles: tuple[RoleInfo, ...]


class KeyInfo(Schema):
    """The key of a program; null where it has all projects, or all rights, of its account."""

    id: str
    account: str
    label: str
    projects: tuple[str, ...] | None
    rights: tuple[str, ...] | None
    created_at: str
    revoked_at: str | None
    project_titles: tuple[str, ...] | UnsetType | None = UNSET


class SessionInfo(Schema):
    """Somebody who is signed in with a browser; times are in UTC."""

    id: str
    account: str
    created_at: str
    ends_at: str


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


def _describe_role(
    project: str, role: Membership, titles: Mapping[str, str], names_of: Callable[[str], DisplayNames] | None
) -> RoleInfo:
    characters, documents = role.grants.characters, role.grants.documents
    described = RoleInfo(
        project=project,
        title=titles.get(project, ""),
        role=role.role,
        characters=None if characters is None else tuple(sorted(characters)),
        documents=None if documents is None else tuple(sorted(documents)),
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


def describe_session(session: BrowserSession) -> SessionInfo:
    """Describe who is signed in with a browser."""
    return describe(SessionInfo, session, account=session.person)


def describe_new_key(made: NewKey) -> NewKeyInfo:
    """Describe a key that was just made."""
    return NewKeyInfo(key=describe_key(made.key), secret=made.secret)
