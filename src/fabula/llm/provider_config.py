"""Where a model lives: an address, a way of speaking, how long to wait. Keys are not part of it.

Keys come from the environment or from the keyring of the operating system, when they are needed; they are
never in the store, a save, a log or a trace.
"""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct

from fabula.core.errors import Code, FabulaError

SERVICE = "fabula"  # under which the keyring holds our keys

Speaks = Literal["openai", "anthropic", "local", "clipboard"]


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait, and how often to try again what may work the next time."""

    connect_seconds: float = 10.0
    silence_seconds: float = 120.0  # between two pieces, and before the first
    whole_seconds: float = 1800.0
    tries: int = 3
    first_delay: float = 0.5


USUAL = Patience()
SLOW = Patience(silence_seconds=900.0, whole_seconds=3600.0)  # a model on this machine reads for minutes


class Place(Struct, frozen=True, kw_only=True):
    """A provider as configured."""

    name: str
    speaks: Speaks = "openai"
    base_url: str = ""
    key_variable: str = ""  # which variable of the environment holds the key
    needs_key: bool = True
    allow_any_address: bool = False
    proxy: str = "environment"  # or "none", or a proxy's address
    shapes: bool = True  # it holds an answer to a schema without putting that before the prompt
    patience: Patience = USUAL
    model: str = ""  # which one it is asked for, unless somebody says otherwise


PLACES = {
    place.name: place
    for place in (
        Place(name="openai", base_url="https://api.openai.com/v1", key_variable="OPENAI_API_KEY", shapes=False),
        Place(
            name="anthropic", speaks="anthropic", base_url="https://api.anthropic.com", key_variable="ANTHROPIC_API_KEY"
        ),
        Place(name="deepseek", base_url="https://api.deepseek.com/v1", key_variable="DEEPSEEK_API_KEY", shapes=False),
        Place(
            name="openrouter", base_url="https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY", shapes=False
        ),
        Place(name="ollama", base_url="http://127.0.0.1:11434/v1", needs_key=False),
        Place(name="llama.cpp", base_url="http://127.0.0.1:8080/v1", needs_key=False),
        Place(name="vllm", base_url="http://127.0.0.1:8000/v1", needs_key=False),
        Place(name="local", speaks="local", needs_key=False, patience=SLOW),
        Place(name="clipboard", speaks="clipboard", needs_key=False),
    )
}


def key_of(place: Place) -> str:
    """The key of a provider: from the environment, else from the keyring."""
    found = os.environ.get(place.key_variable, "").strip() if place.key_variable else ""
    if not found and (place.needs_key or place.key_variable):
        found = _from_keyring(place.name)
    if not (found.isascii() and found.isprintable()) or " " in found:
        raise FabulaError(
            Code.LLM_NO_KEY,
            f"The key for {place.name} holds white space or other characters that no key has. Copy it again. "
            "Nothing was sent.",
        )
    if not found and place.needs_key:
        where = f"Set {place.key_variable} in the environment" if place.key_variable else "Name its variable"
        raise FabulaError(
            Code.LLM_NO_KEY,
            f"There is no key for {place.name}. {where}, or put it into the keyring under "
            f"{SERVICE!r} / {place.name!r}. Nothing was sent.",
        )
    return found


def _from_keyring(name: str) -> str:
    """What the keyring of the system holds; nothing where there is none or it is locked."""
    try:
        import keyring

        return (keyring.get_password(SERVICE, name) or "").strip()
    except Exception:
        return ""
