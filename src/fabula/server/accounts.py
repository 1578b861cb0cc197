"""Finds the caller of a request among the tokens of the server and the keys and sessions of the store (ppl-2).

A token belongs to one run of the server, and all its processes have the same. Links that work once and the sessions
that they begin are in the store, so that any process can answer.

What the store says is remembered for a few seconds, so that a request costs no query; a key that is revoked, or a role
that is taken away, ends within that time in every process. After five wrong passwords an account waits a minute.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock

from fabula import access
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.server.access import OWNER_ACCESS, Access
from fabula.store.store import LOCAL_USER, Store
from fabula.store.transaction import ReadTransaction

log = logging.getLogger("fabula.security")

REMEMBERED_SECONDS = 5.0
MAX_FAILURES, WAIT_SECONDS = 5, 60.0  # wrong passwords of an account, and how long it waits then
_MAX_REMEMBERED = 10_000


class Accounts:
    """The callers of a server: its own tokens, and the people and keys that the store has."""

    def __init__(
        self, store: Store, tokens: Mapping[str, Access], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._clock = store, clock
        self._tokens = {access.hash_secret(token): caller for token, caller in tokens.items()}
        self._lock = Lock()
        self._remembered: OrderedDict[str, tuple[float, Access | None]] = OrderedDict()
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()  # by account: how many, and until when

    def find_access(self, secret: str) -> Access | None:
        """Return the caller whose token, key or session this is."""
        if not secret or len(secret) > 200:
            return None
        hashed = access.hash_secret(secret)
        local = self._tokens.get(hashed)
        return local if local is not None else self._remember(hashed, lambda: self._load(secret))

    def make_code(self) -> str:
        """Make the code of a link that begins one session of the owner within ten minutes."""
        with self._store.write(user=LOCAL_USER) as tx:
            return access.create_link(tx, LOCAL_USER)

    def begin_session(self, code: str) -> str | None:
        """Begin a session with the code of a link, which then is used up; None where it is not valid."""
        with self._store.read(user=LOCAL_USER) as reading:  # a wrong code waits for no lock
            if access.find_link(reading, code) is None:
                return None
        with self._store.write(user=LOCAL_USER) as tx:
            return access.use_link(tx, code)

    def sign_in(self, account: str, password: str) -> str | None:
        """Begin a session of whoever has this password; None where name and password do not belong together."""
        name = account.strip().lower()
        with self._lock:
            failures, until = self._failures.get(name, (0, 0.0))
        if failures >= MAX_FAILURES and until > self._clock():
            raise FabulaError(
                Code.ACCESS_TOO_MANY_TRIES,
                message("There were too many wrong passwords for this account. Wait a minute, then try again."),
            )
        with self._store.read(user=LOCAL_USER) as reading:
            person = access.check_password(reading, name, password)
        with self._lock:
            self._failures.pop(name, None)
            if person is None:
                self._failures[name] = (failures + 1, self._clock() + WAIT_SECONDS)
                while len(self._failures) > _MAX_REMEMBERED:
                    self._failures.popitem(last=False)
        if person is None:
            log.warning("sign-in refused")
            return None
        with self._store.write(user=LOCAL_USER) as tx:
            secret = access.begin_session(tx, person.id)
        log.info("signed in: %s", person.id)
        return secret

    def sign_out(self, secret: str) -> None:
        """End a session."""
        with self._store.write(user=LOCAL_USER) as tx:
            owner = access.find_session(tx, secret)
            if owner is not None:
                access.end_sessions(tx, owner, secret)
        with self._lock:
            self._remembered.pop(access.hash_secret(secret), None)

    def _remember(self, key: str, load: Callable[[], Access | None]) -> Access | None:
        now = self._clock()
        with self._lock:
            known = self._remembered.get(key)
        if known is not None and known[0] > now:
            return known[1]
        found = load()
        with self._lock:
            self._remembered[key] = (now + REMEMBERED_SECONDS, found)
            self._remembered.move_to_end(key)
            while len(self._remembered) > _MAX_REMEMBERED:
                self._remembered.popitem(last=False)
        return found

    def _load(self, secret: str) -> Access | None:
        """Find a key or a session in the store."""
        with self._store.read(user=LOCAL_USER) as reading:
            key = access.find_key(reading, secret)
            if key is None:
                owner = access.find_session(reading, secret)
                return None if owner is None else _find_caller(reading, owner)
            found = _find_caller(reading, key.person)
            if found is None:
                return None
        rights = None if key.rights is None else frozenset(key.rights)
        projects = None if key.projects is None else frozenset(key.projects)
        return found.limit(rights=rights, projects=projects)


def _find_caller(reading: ReadTransaction, person_id: str) -> Access | None:
    if person_id == LOCAL_USER:
        return OWNER_ACCESS
    person = access.find_person(reading, person_id)
    return None if person is None else Access(user=person.id, memberships=person.memberships)
