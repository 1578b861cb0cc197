"""Provider configuration: address, API style, timeouts and retries; API keys are looked up apart from it.

Keys come from the environment or from the keyring of the operating system at the moment they are needed. They are
never in the store, a save, a log or a trace. The names of fields on disk (`models.toml`) are older than those in code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Literal

from msgspec import Struct, field

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message

KEYRING_SERVICE = "fabula"  # the service name of our keys in the keyring

KeyPlace = Literal["environment", "keyring"]
ApiStyle = Literal["openai", "anthropic", "local", "clipboard", "demo"]


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """Timeouts of a call, and how often it is attempted."""

    connect_seconds: float = 10.0
    silence_seconds: float = 120.0  # before the first chunk and between two
    total_seconds: float = field(default=1800.0, name="whole_seconds")
    max_attempts: int = field(default=3, name="tries")
    first_delay: float = 0.5  # seconds before the second attempt; doubles from there


DEFAULT_RETRY_POLICY = RetryPolicy()
# A model on this machine may read the prompt for minutes.
LOCAL_RETRY_POLICY = RetryPolicy(silence_seconds=900.0, total_seconds=3600.0)


class ProviderConfig(Struct, frozen=True, kw_only=True):
    """The configuration of one provider."""

    name: str
    api_style: ApiStyle = field(default="openai", name="speaks")
    base_url: str = ""
    key_variable: str = ""  # the environment variable with the key
    needs_key: bool = True
    allow_any_address: bool = False
    proxy: str = "environment"  # or "none", or the address of a proxy
    supports_schema: bool = field(default=True, name="shapes")  # enforces a schema without changing the prompt prefix
    retry_policy: RetryPolicy = field(default=DEFAULT_RETRY_POLICY, name="patience")
    model: str = ""  # the default model


def _hosted(name: str, base_url: str, api_style: ApiStyle = "openai") -> ProviderConfig:
    """A vendor's service. Vendors that enforce schemas put them before the prompt, which would change its prefix."""
    key_variable = f"{name.upper()}_API_KEY"
    return ProviderConfig(
        name=name, base_url=base_url, api_style=api_style, key_variable=key_variable, supports_schema=False
    )


BUILT_IN_PROVIDERS = {
    config.name: config
    for config in (
        _hosted("openai", "https://api.openai.com/v1"),
        _hosted("anthropic", "https://api.anthropic.com", "anthropic"),
        _hosted("deepseek", "https://api.deepseek.com/v1"),
        _hosted("openrouter", "https://openrouter.ai/api/v1"),
        ProviderConfig(name="ollama", base_url="http://127.0.0.1:11434/v1", needs_key=False),
        ProviderConfig(name="llama.cpp", base_url="http://127.0.0.1:8080/v1", needs_key=False),
        ProviderConfig(name="vllm", base_url="http://127.0.0.1:8000/v1", needs_key=False),
        ProviderConfig(name="local", api_style="local", needs_key=False, retry_policy=LOCAL_RETRY_POLICY),
        ProviderConfig(name="clipboard", api_style="clipboard", needs_key=False),
        ProviderConfig(name="demo", api_style="demo", needs_key=False, model="demo"),
    )
}


def find_api_key(config: ProviderConfig) -> str:
    """Find the API key of a provider in the environment, else in the keyring."""
    key = os.environ.get(config.key_variable, "").strip() if config.key_variable else ""
    if not key and (config.needs_key or config.key_variable):
        key = _read_keyring(config.name)
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise FabulaError(
            Code.LLM_NO_KEY,
            message(
                "The key for {provider} contains white space or other characters that no key has. Copy it again. "
                "Nothing was sent.",
                provider=config.name,
            ),
        )
    if not key and config.needs_key:
        variable = config.key_variable or message("the variable that `key_variable` names")
        raise FabulaError(
            Code.LLM_NO_KEY,
            message(
                "There is no key for {provider}. Set {variable} in the environment, or put the key into the keyring "
                "under {service!r} / {provider!r}. Nothing was sent.",
                provider=config.name,
                variable=variable,
                service=KEYRING_SERVICE,
            ),
        )
    return key


def find_key_place(config: ProviderConfig) -> KeyPlace | None:
    """Say where the key of a provider is, without showing it; None where there is none."""
    if config.key_variable and os.environ.get(config.key_variable, "").strip():
        return "environment"
    return "keyring" if (config.needs_key or config.key_variable) and _read_keyring(config.name) else None


def store_api_key(config: ProviderConfig, key: str) -> None:
    """Put the key of a provider into the keyring of the operating system, in place of the one before."""
    key = key.strip()
    if not key or not (key.isascii() and key.isprintable()) or " " in key:
        raise FabulaError(
            Code.LLM_NO_KEY,
            message("This is no key: it is empty, or has characters that no key has. Nothing was changed."),
        )
    with _open_keyring(config) as keyring:
        keyring.set_password(KEYRING_SERVICE, config.name, key)


def delete_api_key(config: ProviderConfig) -> None:
    """Take the key of a provider out of the keyring."""
    if not _read_keyring(config.name):
        raise FabulaError(
            Code.LLM_NO_KEY,
            message("The keyring has no key for {provider}. Nothing was changed.", provider=config.name),
        )
    with _open_keyring(config) as keyring:
        keyring.delete_password(KEYRING_SERVICE, config.name)


@contextmanager
def _open_keyring(config: ProviderConfig) -> Iterator[ModuleType]:
    """Change the keyring, or say that this machine has none which can be opened; its errors may hold the key."""
    try:
        import keyring

        yield keyring
    except Exception:
        variable = config.key_variable or message("the variable that `key_variable` names")
        raise FabulaError(
            Code.LLM_NO_KEY,
            message(
                "This machine has no keyring that can be opened. Set {variable} in the environment before you start "
                "Fabula. Nothing was changed.",
                variable=variable,
            ),
        ) from None


def _read_keyring(name: str) -> str:
    """The key in the system keyring; empty where there is no keyring or it is locked."""
    try:
        import keyring

        return (keyring.get_password(KEYRING_SERVICE, name) or "").strip()
    except Exception:
        return ""
