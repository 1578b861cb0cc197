"""What looks like a secret never enters a save.

Keys live in the keyring or in the environment. Should one stand among the settings all the same, its name
gives it away: this is the one place that knows such names. `max_tokens` and `hot_key` are no secrets, and
neither is a yes or a no (`remember_password`).
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
_CHINESE = re.compile("密码|密钥|口令|令牌")


def secret_name(name: str) -> bool:
    """Is this what people call a key, a token or a password?"""
    words = " ".join(word.lower() for word in _WORD.findall(name))
    return _SECRET.search(words) is not None or _CHINESE.search(name) is not None


def pairs(table: Table) -> bool:
    """Is this a table of names and values, where anything could stand?"""
    return {"name", "value"} <= set(table.columns.keys())


def is_secret(name: str, value: Any) -> bool:
    """Does something of this name and value look like a secret?"""
    return value is not None and not isinstance(value, bool) and secret_name(name)


def holds_secret(value: Any) -> bool:
    """Does something that looks like a secret stand somewhere inside?"""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if any(is_secret(name, inner) for name, inner in part.items()):
                return True
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return False


def without_secrets(value: Any) -> Any:
    """A value without the parts that look like secrets, however deep they stand."""
    if isinstance(value, dict):
        return {name: without_secrets(part) for name, part in value.items() if not is_secret(name, part)}
    if isinstance(value, list):
        return [without_secrets(part) for part in value]
    return value
