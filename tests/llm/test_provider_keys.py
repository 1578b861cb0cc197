"""Keys of providers go into the keyring of the machine, and never come out for anybody to see."""

from __future__ import annotations

import traceback

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.llm.provider_config import (
    BUILT_IN_PROVIDERS,
    delete_api_key,
    find_api_key,
    find_key_place,
    store_api_key,
)

CONFIG = BUILT_IN_PROVIDERS["deepseek"]


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keyring that is empty, in an environment without keys."""
    kept: dict[tuple[str, str], str] = {}
    monkeypatch.setattr("keyring.get_password", lambda service, name: kept.get((service, name)))
    monkeypatch.setattr("keyring.set_password", lambda service, name, key: kept.update({(service, name): key}))
    monkeypatch.setattr("keyring.delete_password", lambda service, name: kept.pop((service, name)))
    monkeypatch.delenv(CONFIG.key_variable, raising=False)
    return kept


def test_a_key_is_stored_found_and_removed(ring: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_key_place(CONFIG) is None
    store_api_key(CONFIG, " sk-secret\n")
    assert ring == {("fabula", "deepseek"): "sk-secret"}
    assert find_key_place(CONFIG) == "keyring"
    assert find_api_key(CONFIG) == "sk-secret"
    monkeypatch.setenv(CONFIG.key_variable, "sk-other")
    assert find_key_place(CONFIG) == "environment"
    monkeypatch.delenv(CONFIG.key_variable)
    delete_api_key(CONFIG)
    assert find_key_place(CONFIG) is None
    with pytest.raises(FabulaError) as refused:
        delete_api_key(CONFIG)
    assert refused.value.code is Code.LLM_NO_KEY


@pytest.mark.parametrize("key", ["", "  ", "sk secret", "sk-sécret", "sk-\x00secret"])
def test_what_is_no_key_is_refused_and_not_repeated(ring: dict[tuple[str, str], str], key: str) -> None:
    with pytest.raises(FabulaError, match="This is no key") as refused:
        store_api_key(CONFIG, key)
    assert "cret" not in "".join(traceback.format_exception(refused.value))
    assert ring == {}


def test_a_machine_without_a_keyring_says_what_to_do_and_does_not_repeat_the_key(
    ring: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(service: str, name: str, key: str) -> None:
        raise RuntimeError(f"no backend for {key}")

    monkeypatch.setattr("keyring.set_password", fail)
    key = "".join(["sk-", "secret"])  # which no line of this test repeats
    with pytest.raises(FabulaError, match=r"no keyring that can be opened. Set DEEPSEEK_API_KEY") as refused:
        store_api_key(CONFIG, key)
    assert key not in "".join(traceback.format_exception(refused.value))
