"""Providers of one's own: a file of this machine, read with care."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.llm.user_providers import LARGEST, own_models


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "models.toml"
    monkeypatch.setenv("FABULA_MODELS", str(found))
    return found


def test_without_a_file_there_is_what_comes_with_the_house_and_nobody_works_behind_ones_back(file: Path) -> None:
    own = own_models()
    assert "anthropic" in own.places
    assert own.background == ""


def test_a_place_of_ones_own_stands_beside_the_others_or_in_place_of_one(file: Path) -> None:
    file.write_text(
        """
background = "house"

[places.house]
base_url = "http://127.0.0.1:9000/v1"
needs_key = false
model = "qwen3-8b"
patience = { silence_seconds = 300 }

[places.ollama]
base_url = "http://10.0.0.2:11434/v1"
needs_key = false
"""
    )
    own = own_models()
    house = own.place("house")
    assert (house.name, house.model, house.patience.silence_seconds) == ("house", "qwen3-8b", 300)
    assert own.place("ollama").base_url == "http://10.0.0.2:11434/v1"
    assert own.background == "house"
    assert "openai" in own.places


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("places =", "Invalid value"),
        ("places = 7", "Expected `object`"),
        ("[places.x]\nadress = 'y'", "unknown field `adress`"),
        ("[places.x]\nspeaks = 'french'", "Invalid enum value"),
        ("[places.x]\nkey = 'sk-secret'", "unknown field `key`"),
        ("background = 'nobody'", "no provider called 'nobody'"),
        ("# " + "x" * LARGEST, "larger than"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_the_reason(file: Path, said: str, why: str) -> None:
    file.write_text(said)
    with pytest.raises(FabulaError) as refused:
        own_models()
    assert refused.value.code is Code.SETTING_INVALID
    assert why in refused.value.sentence
    assert "sk-secret" not in refused.value.sentence


def test_a_file_that_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FabulaError) as refused:
        own_models()
    assert refused.value.code is Code.SETTING_INVALID
