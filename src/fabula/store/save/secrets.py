"""Secrets: detect keys, tokens and passwords by their names and by their look, so that none enters a save.

Keys live in the OS keyring or in the environment. Where one is among the settings all the same, its name shows it: this
is the only place that knows such names. `max_tokens` and `hot_key` are not secrets, and neither is a yes or no
(`remember_password`).
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Table

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET = re.compile(
    r"\b(?:apikeys?|authorization|bearer|credentials?|passphrase|passwd|passwords?|pwd|secrets?)\b"
    r"|\b(?:access|account|api|auth|client|encryption|master|private|service|signing) keys?\b"
    r"|\b(?:access|api|auth|bot|id|refresh|session) tokens?\b"
    r"|\b(?!conv |hot |shortcut |sort )\w+ key$"
    r"|\btoken$"
)
_SECRET_VALUE = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|r8|xai|pplx|nvapi|glpat|xox[abprs])[-_][A-Za-z0-9_-]{16,}"  # providers' keys
    r"|\bgh[opsu]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bAIza[A-Za-z0-9_-]{30,}|\bAKIA[A-Z0-9]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"  # a JSON web token
    r"|\b[Bb]earer\s+[A-Za-z0-9._~+/-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_CHINESE = re.compile("密码|密钥|口令|令牌")


def is_secret_name(name: str) -> bool:
    """Whether this is a name of a key, a token or a password."""
    words = " ".join(word.lower() for word in _WORD.findall(name))
    return _SECRET.search(words) is not None or _CHINESE.search(name) is not None


def holds_names_and_values(table: Table) -> bool:
    """Whether this is a table of names and arbitrary values, such as the settings."""
    return {"name", "value"} <= set(table.columns.keys())


def is_secret(name: str, value: Any) -> bool:
    """Whether a value with this name looks like a secret."""
    return value is not None and not isinstance(value, bool) and is_secret_name(name)


def is_secret_value(value: Any) -> bool:
    """Whether a value looks like a key whatever its name is, or holds one at any depth."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            if _SECRET_VALUE.search(part):
                return True
        elif isinstance(part, dict):
            stack.extend([*part, *part.values()])
        elif isinstance(part, list):
            stack.extend(part)
    return False


def contains_secret(value: Any) -> bool:
    """Whether something that looks like a secret is inside a value, at any depth."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if any(is_secret(name, inner) for name, inner in part.items()):
                return True
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return False


def remove_secrets(value: Any) -> Any:
    """A copy of a value without the parts that look like secrets, at any depth."""
    if isinstance(value, dict):
        return {name: remove_secrets(part) for name, part in value.items() if not is_secret(name, part)}
    if isinstance(value, list):
        return [remove_secrets(part) for part in value]
    return value
