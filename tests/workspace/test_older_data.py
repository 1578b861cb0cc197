"""A store and saves made before there was a workspace load, and give the prompts they gave then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabula.store.save.loading import load_save
from fabula.workspace.workspace import Workspace

BEFORE = Path(__file__).parent.parent / "fixtures" / "before_workspace"
PROMPTS: dict[str, dict[str, Any]] = json.loads((BEFORE / "prompts.json").read_text("utf-8"))
SAMPLES = ("lantern_coast", "wugang")


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[Workspace]:
    """The store of before, brought up to date."""
    (tmp_path / "data").mkdir()
    shutil.copy(BEFORE / "fabula.db", tmp_path / "data" / "fabula.db")
    with Workspace.open(tmp_path / "data") as workspace:
        yield workspace


def assert_same_prompts(workspace: Workspace, sample: str) -> None:
    project = workspace.project(sample)
    for key, before in PROMPTS.items():
        name, document, skill, model, window = key.split("|")
        if name != sample:
            continue
        selection = (10, 80) if skill == "rewrite" else None
        result = project.assemble(
            project.request(document_id=document, skill_id=skill, model=model, window=int(window), selection=selection)
        )
        assert result.prompt == before["prompt"], key
        assert result.token_count == before["tokens"]
        assert result.stable_prefix_hash == before["hash"]


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_older_store_gives_the_same_prompts(upgraded: Workspace, sample: str) -> None:
    assert_same_prompts(upgraded, sample)


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_older_save_gives_the_same_prompts(tmp_path: Path, sample: str) -> None:
    with Workspace.open(tmp_path / "fresh") as workspace:
        load_save(workspace.store, BEFORE / f"{sample}.fabula")
        assert_same_prompts(workspace, sample)
