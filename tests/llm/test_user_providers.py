"""User-defined providers: valid and invalid files."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.llm.user_providers import MAX_FILE_BYTES, load_providers


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "models.toml"
    monkeypatch.setenv("FABULA_MODELS", str(path))
    return path


def test_without_a_file_there_are_the_built_in_providers_and_none_for_background_jobs(file: Path) -> None:
    registry = load_providers()
    assert "anthropic" in registry.providers
    assert registry.background_provider == ""


def test_user_providers_extend_and_replace_the_built_in_ones(file: Path) -> None:
    file.write_text(
        """
background = "lab"

[places.lab]
base_url = "http://127.0.0.1:9000/v1"
needs_key = false
model = "qwen3-8b"
patience = { silence_seconds = 300 }

[places.ollama]
base_url = "http://10.0.0.2:11434/v1"
needs_key = false
"""
    )
    registry = load_providers()
    lab = registry.find("lab")
    assert (lab.name, lab.model, lab.retry_policy.silence_seconds) == ("lab", "qwen3-8b", 300)
    assert registry.find("ollama").base_url == "http://10.0.0.2:11434/v1"
    assert registry.background_provider == "lab"
    assert "openai" in registry.providers


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("places =", "ends too early"),
        ("places = 7", "`places` must be a table of names and values"),
        ("[places.x]\nadress = 'y'", "there is no 'adress'"),
        ("[places.x]\nspeaks = 'french'", "`places.speaks` cannot be 'french'; write"),
        ("[places.x]\nkey = 'sk-secret'", "there is no 'key'"),
        ("background = 'nobody'", "no provider called 'nobody'"),
        ("# " + "x" * MAX_FILE_BYTES, "larger than"),
    ],
)
def test_an_invalid_file_is_refused_with_the_reason(file: Path, content: str, why: str) -> None:
    file.write_text(content)
    with pytest.raises(FabulaError) as refused:
        load_providers()
    assert refused.value.code is Code.SETTING_INVALID
    assert why in refused.value.sentence
    assert "sk-secret" not in refused.value.sentence


def test_a_file_that_is_not_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FabulaError) as refused:
        load_providers()
    assert refused.value.code is Code.SETTING_INVALID
