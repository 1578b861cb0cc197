"""Finds the caller of a request among the tokens of the server and the keys and sessions of the store (ppl-2).

A token belongs to one run of the server, and all its processes have the same. Links that work once and the sessions
that they begin are in the store, so that any process can answer.

What the store says is remembered for a few seconds, so that a request costs no query; a key that is revoked, or a role
that is taken away, ends within that time in every process. After five wrong passwords of an account, the address that
sent them waits a minute; others do not. They are counted in the store, so whichever process is asked.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock

from fabula import access
from fabula.server.access import OWNER_ACCESS, Access
from fabula.store.store import LOCAL_USER, Store
from fabula.store.transaction import ReadTransaction

log = logging.getLogger("fabula.security")

REMEMBERED_SECONDS = 5.0
_MAX_REMEMBERED, _MAX_REFUSED = 10_000, 1_000


class Accounts:
    """The callers of a server: its own tokens, and the people and keys that the store has."""

    def __init__(
        self, store: Store, tokens: Mapping[str, Access], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._clock = store, clock
        self._tokens = {access.hash_secret(token): caller for token, caller in tokens.items()}
        self._lock = Lock()
        self._remembered: OrderedDict[str, tuple[float, Access]] = OrderedDict()  # by hash: until when, and who it is
        self._refused: OrderedDict[str, float] = OrderedDict()  # hashes that nobody has, and until when

    def find_access(self, secret: str) -> Access | None:
        """Return the caller whose token, key or session this is."""
        is_known, found = self.recall(secret)
        return found if is_known else self.load(secret)

    def recall(self, secret: str) -> tuple[bool, Access | None]:
        """Return whether it is known, without the store, whose secret this is, and the caller.

        A caller who is not known any more, because the store must be asked again, is returned too.
        """
        hashed = access.hash_secret(secret[:200])
        local = self._tokens.get(hashed)
        if local is not None or not access.has_secret_form(secret):
            return True, local
        return self._recall(hashed)

    def load(self, secret: str) -> Access | None:
        """Ask the store whose secret this is, and remember it for a few seconds."""
        until, found = self._clock() + REMEMBERED_SECONDS, self._load(secret)
        return self._remember(access.hash_secret(secret), until, found)

    def find_named(self, account: str) -> Access | None:
        """Return the caller whom a trusted proxy names."""
        is_known, found = self.recall_named(account)
        return found if is_known else self.load_named(account)

    def recall_named(self, account: str) -> tuple[bool, Access | None]:
        """Return whether it is known, without the store, whom a trusted proxy names, and the caller."""
        return self._recall(f"account:{account[:100]}")

    def load_named(self, account: str) -> Access | None:
        """Ask the store for somebody whom a trusted proxy names; the owner of the store is never named."""
        until = self._clock() + REMEMBERED_SECONDS
        with self._store.read(user=LOCAL_USER) as reading:
            person = access.find_person(reading, account[:100])
        found = None if person is None else Access(user=person.id, memberships=person.memberships)
        return self._remember(f"account:{account[:100]}", until, found)

    def _recall(self, key: str) -> tuple[bool, Access | None]:
        now = self._clock()
        with self._lock:
            until, found = self._remembered.get(key, (0.0, None))
            return until > now or self._refused.get(key, 0.0) > now, found

    def _remember(self, key: str, until: float, found: Access | None) -> Access | None:
        with self._lock:
            self._remembered.pop(key, None)
            self._refused.pop(key, None)
            if found is not None:
                self._remembered[key] = (until, found)
            else:
                self._refused[key] = until
            for remembered, most in ((self._remembered, _MAX_REMEMBERED), (self._refused, _MAX_REFUSED)):
                while len(remembered) > most:
                    remembered.popitem(last=False)
        return found

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

    def sign_in(self, account: str, password: str, *, address: str = "") -> str | None:
        """Begin a session of whoever has this password; None where name and password do not belong together.

        The log names the address and, where there is such an account, its name: others may be passwords.
        """
        name = account.strip().lower()
        with self._store.read(user=LOCAL_USER) as reading:
            access.check_tries(reading, name, address)
            known = "-" if access.find_person(reading, name) is None else name
            person = access.check_password(reading, name, password)
        with self._store.write(user=LOCAL_USER) as tx:
            if person is None:
                access.count_failure(tx, name, address)
            else:
                access.forget_failures(tx, name, address)
                secret = access.begin_session(tx, person.id)
        if person is None:
            log.warning("sign-in refused: account=%s address=%s", known, address or "-")
            return None
        log.info("signed in: %s address=%s", person.id, address or "-")
        return secret

    def sign_out(self, secret: str) -> None:
        """End a session."""
        with self._store.write(user=LOCAL_USER) as tx:
            owner = access.find_session(tx, secret)
            if owner is not None:
                access.end_sessions(tx, owner, secret)
        with self._lock:
            self._remembered.pop(access.hash_secret(secret), None)

    def forget(self) -> None:
        """Ask the store again for everybody, because access was changed in this process."""
        with self._lock:
            self._remembered.clear()
            self._refused.clear()

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
        verbs = None if key.verbs is None else frozenset(key.verbs)
        return found.limit(rights=rights, projects=projects, verbs=verbs)


def _find_caller(reading: ReadTransaction, person_id: str) -> Access | None:
    if person_id == LOCAL_USER:
        return OWNER_ACCESS
    person = access.find_person(reading, person_id)
    return None if person is None else Access(user=person.id, memberships=person.memberships)
