"""Hashes of passwords (argon2), which take time on purpose, and of secrets that nobody can guess."""

from __future__ import annotations

import secrets
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_PASSWORD, MAX_PASSWORD = 8, 200  # characters


def hash_password(password: str) -> str:
    """Hash a password; one that is too short or too long is refused."""
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "A password has {least} to {most} characters. Nothing was changed.",
                least=MIN_PASSWORD,
                most=MAX_PASSWORD,
            ),
        )
    return _hasher().hash(password)


def is_password(password: str, hashed: str) -> bool:
    """Whether a password has this hash. It takes as long where there is no hash."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return _hasher().verify(hashed or _no_hash(), password[: MAX_PASSWORD + 1]) and bool(hashed)
    except (VerificationError, InvalidHashError):
        return False


def make_secret() -> str:
    """Make a secret that nobody guesses."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """Hash a secret that nobody guesses; it needs no slow hash."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _no_hash() -> str:
    """The hash of a password that nobody has."""
    return _hasher().hash(make_secret())
