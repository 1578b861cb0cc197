"""Keys of programs: made with limits, listed and revoked, by the owner of a store or by a person (ppl-2).

A key may be limited to projects, rights, and single verbs of the workspace. A verb is named as `docs/verbs.md` has it:
`project.search`, `codex.add`. A limit never gives anything that the person whose key it is does not have.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from types import FunctionType

from fabula import access
from fabula.access import ApiKey, Membership, NewKey, Right
from fabula.access.model import RIGHTS
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_alternatives, join_names, message
from fabula.core.similar_names import find_similar_names
from fabula.store.store import LOCAL_USER, Store
from fabula.text.lookup import find_by_whole_name
from fabula.workspace.arguments import read_choice

log = logging.getLogger("fabula.security")


def list_keys(store: Store, owner: str | None = None) -> list[ApiKey]:
    """List the keys of everybody, or of one person."""
    with store.read(user=LOCAL_USER) as reading:
        return access.list_keys(reading, owner)


def create_key(
    store: Store,
    owner: str,
    label: str,
    *,
    memberships: Mapping[str, Membership] | None,
    projects: Sequence[str] = (),
    rights: Sequence[str] = (),
    verbs: Sequence[str] = (),
    caller: str,
) -> NewKey:
    """Make the key of a program that works for its owner; `projects` are ids, and `caller` is named in the log.

    Without memberships, the owner has all rights everywhere. Without projects, or without rights and verbs, the key is
    as wide as its owner.
    """
    named, single = _read_rights(rights, owner, memberships, projects), _read_verbs(verbs)
    with store.write(user=LOCAL_USER) as tx:
        made = access.create_key(
            tx, owner, label, projects=projects or None, rights=named or None, verbs=single or None
        )
    log.info("key made: %s of %s by %s", made.key.id, owner, caller)
    return made


def revoke_key(store: Store, key: str, *, owner: str | None = None, caller: str) -> ApiKey:
    """Let a key open nothing any more, by its id or whole label: of anybody, or of one person."""
    found = find_by_whole_name(list_keys(store, owner), key, what=message("key"), names_of=lambda one: (one.label,))
    with store.write(user=LOCAL_USER) as tx:
        revoked = access.revoke_key(tx, found.id)
    log.info("key revoked: %s of %s by %s", revoked.id, revoked.person, caller)
    return revoked


@cache
def list_key_verbs() -> tuple[str, ...]:
    """List the verbs that a key can name, as `SUBJECT.NAME`."""
    from fabula.workspace.docs import list_subjects, list_verbs

    named = ((path.rpartition(".")[2].partition("(")[0], kind) for path, kind in list_subjects().items())
    return tuple(
        f"{subject}.{name}"
        for subject, kind in named
        for name, value in list_verbs(kind).items()
        if isinstance(value, FunctionType)
    )


def _read_verbs(verbs: Sequence[str]) -> list[str]:
    """Return the verbs that a key names; an unknown one is refused with the nearest."""
    known = list_key_verbs()
    for one in verbs:
        if one not in known:
            near = find_similar_names(one, known) or [name for name in known if name.endswith(f".{_last(one)}")][:3]
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "There is no verb {name!r}. Did you mean {names}? Nothing was changed.",
                    name=one[:100],
                    names=join_alternatives(near),
                )
                if near
                else message(
                    "There is no verb {name!r}. Verbs are named as `project.search` and `codex.add`. "
                    "Nothing was changed.",
                    name=one[:100],
                ),
            )
    return sorted(set(verbs))


def _last(verb: str) -> str:
    return verb.rpartition(".")[2]


def _read_rights(
    rights: Sequence[str], account: str, memberships: Mapping[str, Membership] | None, projects: Sequence[str]
) -> list[Right]:
    """Return the rights of a key; one that the account has in none of the key's projects is refused.

    Without memberships, the account has all rights everywhere.
    """
    named = [read_choice(one, Right, "right") for one in rights]
    if memberships is None:
        return named
    own = [one for project, one in memberships.items() if not projects or project in projects]
    given = {Right.SIGN_IN}.union(*(RIGHTS[one.role] for one in own))
    missing = [one.value for one in named if one not in given]
    if missing:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{account} does not have the right {rights} there, so a key with it would open nothing. Give a "
                "role that has it first, or leave it out. Nothing was changed.",
                account=account,
                rights=join_names(f"`{one}`" for one in missing),
            ),
        )
    return named
