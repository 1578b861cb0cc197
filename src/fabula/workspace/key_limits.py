"""What a key may be limited to: projects, rights, and single verbs of the workspace (ppl-2).

A verb is named as `docs/verbs.md` has it: `project.search`, `codex.add`. A limit never gives anything that the person
whose key it is does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import FunctionType

from fabula.access import Membership, Right
from fabula.access.model import RIGHTS
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_alternatives, join_names, message
from fabula.core.similar_names import find_similar_names
from fabula.workspace.arguments import read_choice


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


def read_key_verbs(verbs: Sequence[str]) -> list[str]:
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


def read_key_rights(
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
