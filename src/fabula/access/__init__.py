"""Access: the people whom the owner of a store lets in, their roles in projects, and the keys of their programs."""

from fabula.access.edits import (
    add_person,
    begin_session,
    check_password,
    create_key,
    end_sessions,
    find_key,
    find_person,
    find_session,
    get_person,
    has_secret_form,
    list_keys,
    list_people,
    remove_person,
    revoke_key,
    set_membership,
    set_password,
)
from fabula.access.model import RIGHTS, ApiKey, Membership, NewKey, Person, Right, Role
from fabula.access.passwords import hash_secret

__all__ = [
    "RIGHTS",
    "ApiKey",
    "Membership",
    "NewKey",
    "Person",
    "Right",
    "Role",
    "add_person",
    "begin_session",
    "check_password",
    "create_key",
    "end_sessions",
    "find_key",
    "find_person",
    "find_session",
    "get_person",
    "has_secret_form",
    "hash_secret",
    "list_keys",
    "list_people",
    "remove_person",
    "revoke_key",
    "set_membership",
    "set_password",
]
