"""Tokens of a local server: one for programs, links that work once, and the sessions that such links begin.

Only hashes are kept, and nothing is stored: a server that is started again has a new token. `Accounts` adds the people
and keys of the store.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Protocol

from fabula.access.passwords import hash_secret, make_secret
from fabula.server.access import OWNER_ACCESS, Access

LINK_SECONDS = 600.0
SESSION_SECONDS = 30 * 86_400
_MAX_SESSIONS = 1_000


class Authenticator(Protocol):
    """What finds the caller of a request by a token or by the cookie of a session."""

    def recall(self, secret: str) -> tuple[bool, Access | None]: ...

    def load(self, secret: str) -> Access | None: ...

    def begin_session(self, code: str) -> str | None: ...

    def sign_in(self, account: str, password: str) -> str | None: ...

    def sign_out(self, secret: str) -> None: ...


class LocalTokens:
    """Tokens by hash, codes of links that work once, and sessions; all of this process."""

    def __init__(self, tokens: Mapping[str, Access], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = {hash_secret(token): access for token, access in tokens.items()}
        self._codes: dict[str, tuple[Access, float]] = {}
        self._sessions: dict[str, tuple[Access, float]] = {}
        self._clock = clock
        self._lock = Lock()

    def find_access(self, secret: str) -> Access | None:
        """Return the caller whose token or session this is."""
        hashed = hash_secret(secret)
        if (access := self._tokens.get(hashed)) is not None:
            return access
        session = self._sessions.get(hashed)
        return session[0] if session is not None and session[1] > self._clock() else None

    def recall(self, secret: str) -> tuple[bool, Access | None]:
        """Return that it is known whose secret this is, and the caller."""
        return True, self.find_access(secret)

    def load(self, secret: str) -> Access | None:
        """Return the caller; there is no store to ask."""
        return self.find_access(secret)

    def make_code(self, access: Access = OWNER_ACCESS) -> str:
        """Make the code of a link that begins one session within ten minutes."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[hash_secret(code)] = (access, self._clock() + LINK_SECONDS)
        return code

    def begin_session(self, code: str) -> str | None:
        """Begin a session with the code of a link, which then is used up; None where it is not valid."""
        now = self._clock()
        with self._lock:
            access, until = self._codes.pop(hash_secret(code), (None, 0.0))
            if access is None or until < now:
                return None
            self._sessions = {key: one for key, one in self._sessions.items() if one[1] > now}
            while len(self._sessions) >= _MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            session = make_secret()
            self._sessions[hash_secret(session)] = (access, now + SESSION_SECONDS)
        return session

    def sign_in(self, account: str, password: str) -> str | None:
        """Return nothing: a process has no accounts of its own."""
        return None

    def sign_out(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(hash_secret(secret), None)
