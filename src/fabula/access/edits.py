"""Add and remove people, their roles, keys and sessions; find the caller by a secret (ppl-2).

All rows belong to the owner of the store: a transaction here is one of `LOCAL_USER`. A key is `fabula-ID-SECRET`; its
row is found by the id, and the hashes of the secrets are compared in constant time.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Row

from fabula.access.model import ApiKey, BrowserSession, Membership, NewKey, Person, Right, Role
from fabula.access.passwords import hash_password, hash_secret, is_password, make_secret
from fabula.access.tables import api_keys, people, sessions, sign_in_failures
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, new_id, parse_timestamp
from fabula.core.messages import message
from fabula.net.networks import name_network
from fabula.store.rows import read_struct
from fabula.store.store import LOCAL_USER
from fabula.store.transaction import ReadTransaction, WriteTransaction

MAX_PEOPLE = 1_000
MAX_KEYS = 100  # of one person, revoked ones not counted
MAX_SESSIONS = 100  # of one person; the oldest end first
KEY_PREFIX = "fabula-"
SESSION_DAYS = 30
LINK_SECONDS = 600
MAX_FAILURES, WAIT_SECONDS = 5, 60  # wrong passwords of an account from one address, and how long that waits then
MAX_COUNTED = 10_000  # wrong passwords that are counted at a time; the oldest are forgotten
_LINK = "link:"  # before the hash of a link's code, so that no code is taken for a session
_SHOWN_HASH = 12
_PERSON = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_KEY = re.compile(rf"{KEY_PREFIX}([0-9a-f]{{20}})-([\w-]{{43}})")
_SECRET = re.compile(rf"({KEY_PREFIX}[0-9a-f]{{20}}-)?[\w-]{{43}}", re.ASCII)


def add_person(tx: WriteTransaction, person_id: str, *, name: str = "", password: str = "") -> Person:
    """Let somebody in; without a password they sign in by the reverse proxy, or by keys alone."""
    ident = person_id.strip().lower()
    if not _PERSON.fullmatch(ident) or ident == LOCAL_USER:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{name!r} cannot be the name of an account: take up to 40 small letters, digits, points, hyphens "
                "or underscores, and not {owner!r}. Nothing was changed.",
                name=person_id,
                owner=LOCAL_USER,
            ),
        )
    if tx.row(people, id=ident) is not None:
        raise FabulaError(
            Code.STORE_DUPLICATE, message("There is an account {name!r} already. Nothing was changed.", name=ident)
        )
    if tx.count(people) >= MAX_PEOPLE:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("A store has at most {count:,} accounts. Nothing was changed.", count=MAX_PEOPLE),
        )
    at = current_timestamp()
    hashed = hash_password(password) if password else ""
    tx.insert(people, {"id": ident, "name": name.strip() or ident, "password": hashed, "made": at, "changed": at})
    return get_person(tx, ident)


def get_person(reading: ReadTransaction, person_id: str) -> Person:
    """Return somebody with their roles."""
    return _read_person(reading.require(people, id=person_id))


def find_person(reading: ReadTransaction, person_id: str) -> Person | None:
    """Return somebody with their roles; None where nobody has this account."""
    row = reading.row(people, id=person_id)
    return None if row is None else _read_person(row)


def list_people(reading: ReadTransaction) -> list[Person]:
    """List everybody by the names they sign in with."""
    return [_read_person(row) for row in reading.rows(people, order=(people.c.id,))]


def list_played_characters(reading: ReadTransaction, project_id: str) -> frozenset[str]:
    """List the characters that people play in a project, by their ids."""
    memberships = (one.memberships.get(project_id) for one in list_people(reading))
    played = (one.grants.characters or frozenset() for one in memberships if one and one.role is Role.PLAYER)
    return frozenset[str]().union(*played)


def list_members(reading: ReadTransaction, project_id: str) -> list[Person]:
    """List those who belong to a project, each with the role there alone."""
    return [_keep_membership(one, project_id) for one in list_people(reading) if project_id in one.memberships]


def find_member(reading: ReadTransaction, person_id: str, project_id: str) -> Person | None:
    """Return somebody with the role in one project alone, if any; None where nobody has this account."""
    person = find_person(reading, person_id)
    return None if person is None else _keep_membership(person, project_id)


def has_other_owner(reading: ReadTransaction, person_id: str, project_id: str) -> bool:
    """Whether somebody else is an owner of a project too."""
    others = (one.memberships[project_id] for one in list_members(reading, project_id) if one.id != person_id)
    return any(one.role is Role.OWNER for one in others)


def remove_person(tx: WriteTransaction, person_id: str) -> None:
    """Let somebody in no more; their keys and sessions end at once."""
    tx.require(people, id=person_id)
    tx.delete_rows(sessions, sessions.c.person == person_id)
    tx.delete_rows(api_keys, api_keys.c.person == person_id)
    tx.delete_rows(people, people.c.id == person_id)


def set_password(tx: WriteTransaction, person_id: str, password: str, *, kept_session: str = "") -> None:
    """Give somebody another password; who is signed in with the old one is signed out, but in the session to keep."""
    tx.update_row(people, {"id": person_id}, {"password": hash_password(password), "changed": current_timestamp()})
    end_other_sessions(tx, person_id, kept_session)


def check_password(reading: ReadTransaction, person_id: str, password: str) -> Person | None:
    """Return whoever signs in with a name and a password; None where the two do not belong together."""
    row = reading.row(people, id=person_id.strip().lower())
    is_right = is_password(password, row.password if row is not None else "")
    return _read_person(row) if is_right and row is not None else None


def set_membership(tx: WriteTransaction, person_id: str, project_id: str, membership: Membership | None) -> Person:
    """Give somebody a role in a project, another one, or none."""
    row = tx.require(people, id=person_id)
    memberships = {name: one for name, one in row.memberships.items() if name != project_id}
    if membership is not None:
        memberships[project_id] = msgspec.to_builtins(membership)
    tx.update_row(people, {"id": person_id}, {"memberships": memberships, "changed": current_timestamp()})
    return get_person(tx, person_id)


def create_key(
    tx: WriteTransaction,
    person_id: str,
    label: str,
    *,
    projects: Collection[str] | None = None,
    rights: Collection[Right] | None = None,
    verbs: Collection[str] | None = None,
) -> NewKey:
    """Make the key of a program that works for somebody, for all their projects and rights or for some.

    One that names verbs and no rights may use these verbs alone.
    """
    if person_id != LOCAL_USER:
        tx.require(people, id=person_id)
    label = label.strip()
    if not label or len(label) > 100:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("Say in up to 100 characters what the key is for. Nothing was changed."),
        )
    if tx.count(api_keys, api_keys.c.person == person_id, api_keys.c.revoked.is_(None)) >= MAX_KEYS:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("An account has at most {count} keys. Revoke one. Nothing was changed.", count=MAX_KEYS),
        )
    ident, secret = new_id(), make_secret()
    values = {
        "person": person_id,
        "label": label,
        "secret": hash_secret(secret),
        "projects": None if projects is None else sorted(projects),
        "rights": None if rights is None else sorted(rights),
        "verbs": None if verbs is None else sorted(verbs),
        "made": current_timestamp(),
    }
    tx.insert(api_keys, {"id": ident, **values})
    return NewKey(_read_key(tx.require(api_keys, id=ident)), f"{KEY_PREFIX}{ident}-{secret}")


def list_keys(reading: ReadTransaction, person_id: str | None = None) -> list[ApiKey]:
    """List keys, the oldest first: of everybody or of one person."""
    where = () if person_id is None else (api_keys.c.person == person_id,)
    return [_read_key(row) for row in reading.rows(api_keys, *where, order=(api_keys.c.made, api_keys.c.id))]


def revoke_key(tx: WriteTransaction, key_id: str) -> ApiKey:
    """Let a key open nothing any more; it stays in the list."""
    row = tx.require(api_keys, id=key_id)
    if row.revoked is None:
        tx.update_rows(api_keys, {"revoked": current_timestamp()}, api_keys.c.id == key_id)
    return _read_key(tx.require(api_keys, id=key_id))


def has_secret_form(text: str) -> bool:
    """Whether a text has the form of a key or of a session's secret; no other needs to be looked for."""
    return _SECRET.fullmatch(text) is not None


def find_key(reading: ReadTransaction, secret: str) -> ApiKey | None:
    """Return the key of a secret; None where there is none, or where it was revoked."""
    parts = _KEY.fullmatch(secret)
    row = reading.row(api_keys, id=parts[1]) if parts is not None else None
    if parts is None or row is None or row.revoked is not None:
        return None
    return _read_key(row) if hmac.compare_digest(row.secret, hash_secret(parts[2])) else None


def create_link(tx: WriteTransaction, person_id: str) -> str:
    """Make the code of a link that begins one session of somebody within ten minutes."""
    code = make_secret()
    tx.delete_rows(sessions, sessions.c.until < current_timestamp())
    _insert_session(tx, _LINK + hash_secret(code), person_id, timedelta(seconds=LINK_SECONDS))
    return code


def find_link(reading: ReadTransaction, code: str) -> str | None:
    """Return whose session the code of a link begins; None where it was used or is too old."""
    return _find_owner(reading, _LINK + hash_secret(code))


def use_link(tx: WriteTransaction, code: str) -> str | None:
    """Begin a session with the code of a link, which then is used up; None where it is not valid."""
    owner = find_link(tx, code)
    tx.delete_rows(sessions, sessions.c.id == _LINK + hash_secret(code))
    return None if owner is None else begin_session(tx, owner)


def begin_session(tx: WriteTransaction, person_id: str) -> str:
    """Begin a session of somebody who signed in; return the secret for the cookie."""
    secret = make_secret()
    tx.delete_rows(sessions, sessions.c.until < current_timestamp())
    own = tx.rows(sessions, sessions.c.person == person_id, order=(sessions.c.made.desc(), sessions.c.id))
    for row in own[MAX_SESSIONS - 1 :]:
        tx.delete_rows(sessions, sessions.c.id == row.id)
    _insert_session(tx, hash_secret(secret), person_id, timedelta(days=SESSION_DAYS))
    return secret


def find_session(reading: ReadTransaction, secret: str) -> str | None:
    """Return whose session a secret is; None where it has ended."""
    return _find_owner(reading, hash_secret(secret))


def list_sessions(reading: ReadTransaction, person_id: str | None = None) -> list[BrowserSession]:
    """List who is signed in with browsers, the latest first: everybody or one person."""
    where = () if person_id is None else (sessions.c.person == person_id,)
    now, latest_first = current_timestamp(), (sessions.c.made.desc(), sessions.c.id)
    return [
        BrowserSession(id=row.id[:_SHOWN_HASH], person=row.person, created_at=row.made, ends_at=row.until)
        for row in reading.rows(sessions, *where, order=latest_first)
        if row.until > now and not row.id.startswith(_LINK)
    ]


def count_failure(tx: WriteTransaction, account: str, address: str = "") -> None:
    """Count a wrong password of an account, which need not exist, from an address."""
    failures = sign_in_failures
    tx.delete_rows(failures, failures.c.until < current_timestamp())
    counted = tx.rows(failures, order=(failures.c.made.desc(), failures.c.id), only=("id",))
    for row in counted[MAX_COUNTED - 1 :]:
        tx.delete_rows(failures, failures.c.id == row.id)
    values = {"id": new_id(), "account": _hash_tries(account, address)}
    tx.insert(failures, {**values, **_last_for(timedelta(seconds=WAIT_SECONDS))})


def find_wait(reading: ReadTransaction, account: str, address: str = "") -> float:
    """Return how many seconds an address waits after too many wrong passwords of an account; 0 where it does not.

    Other addresses do not wait, so that nobody can keep somebody else from signing in.
    """
    failures = sign_in_failures
    own = (failures.c.account == _hash_tries(account, address), failures.c.until > current_timestamp())
    ends = [row.until for row in reading.rows(failures, *own, order=(failures.c.until.desc(),), only=("until",))]
    last = parse_timestamp(ends[0]) if len(ends) >= MAX_FAILURES else None
    return 0.0 if last is None else (last - datetime.now(UTC)).total_seconds()


def check_tries(reading: ReadTransaction, account: str, address: str = "") -> None:
    """Refuse to look at another password where there were too many wrong ones."""
    if (wait := find_wait(reading, account, address)) > 0:
        raise FabulaError(
            Code.ACCESS_TOO_MANY_TRIES,
            message("There were too many wrong passwords for this account. Wait a minute, then try again."),
            retry_seconds=ceil(wait),
        )


def forget_failures(tx: WriteTransaction, account: str, address: str = "") -> None:
    """Forget the wrong passwords of an account from an address, because the right one came from there."""
    tx.delete_rows(sign_in_failures, sign_in_failures.c.account == _hash_tries(account, address))


def end_sessions(tx: WriteTransaction, person_id: str, secret: str | None = None) -> None:
    """Sign somebody out: everywhere, or in one session."""
    where = () if secret is None else (sessions.c.id == hash_secret(secret),)
    tx.delete_rows(sessions, sessions.c.person == person_id, *where)


def find_session_id(secret: str) -> str:
    """Return the id by which the session of a secret is shown."""
    return hash_secret(secret)[:_SHOWN_HASH] if secret else ""


def end_shown_session(tx: WriteTransaction, person_id: str, session_id: str) -> bool:
    """End the session of somebody that is shown with an id; whether there was one."""
    if all(one.id != session_id for one in list_sessions(tx, person_id)):
        return False
    tx.delete_rows(sessions, sessions.c.person == person_id, sessions.c.id.startswith(session_id, autoescape=True))
    return True


def end_other_sessions(tx: WriteTransaction, person_id: str, session_id: str = "") -> None:
    """End all sessions of somebody, and the links that would begin one, but the one that is shown with an id."""
    kept = () if not session_id else (~sessions.c.id.startswith(session_id, autoescape=True),)
    tx.delete_rows(sessions, sessions.c.person == person_id, *kept)


def _hash_tries(account: str, address: str) -> str:
    """Hash the name of an account and an address: no name is stored, and all have one length."""
    return hash_secret(f"{account}\0{name_network(address)}" if address else account)


def _insert_session(tx: WriteTransaction, ident: str, person_id: str, length: timedelta) -> None:
    tx.insert(sessions, {"id": ident, "person": person_id, **_last_for(length)})


def _last_for(length: timedelta) -> dict[str, str]:
    """When something was made, and until when it counts."""
    until = (datetime.now(UTC) + length).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"made": current_timestamp(), "until": until}


def _find_owner(reading: ReadTransaction, ident: str) -> str | None:
    row = reading.row(sessions, id=ident)
    return row.person if row is not None and row.until > current_timestamp() else None


def _keep_membership(person: Person, project_id: str) -> Person:
    own = person.memberships.get(project_id)
    return replace(person, memberships={} if own is None else {project_id: own})


def _read_person(row: Row[Any]) -> Person:
    return Person(
        id=row.id,
        name=row.name,
        memberships=msgspec.convert(row.memberships, dict[str, Membership]),
        has_password=bool(row.password),
        created_at=row.made,
    )


def _read_key(row: Row[Any]) -> ApiKey:
    return read_struct(ApiKey, row)
