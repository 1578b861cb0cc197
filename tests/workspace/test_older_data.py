"""A store and saves made before there was a workspace load, and give the prompts they gave then.

Where prompts change on purpose, `FABULA_GOLDEN=write` writes the expected ones again from the older store, and the
difference is part of the review.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabula.store.save.loading import load_save
from fabula.workspace.workspace import Workspace

BEFORE = Path(__file__).parent.parent / "fixtures" / "before_workspace"
EXPECTED = BEFORE / "prompts.json"
PROMPTS: dict[str, dict[str, Any]] = json.loads(EXPECTED.read_text("utf-8"))
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
    for key in PROMPTS:
        name, document, skill, model, window = key.split("|")
        if name != sample:
            continue
        selection = (10, 80) if skill == "rewrite" else None
        result = project.assemble(
            project.request(document_id=document, skill_id=skill, model=model, window=int(window), selection=selection)
        )
        now = {"prompt": result.prompt, "tokens": result.token_count, "hash": result.stable_prefix_hash}
        if os.environ.get("FABULA_GOLDEN") == "write":
            PROMPTS[key] = now
            EXPECTED.write_text(json.dumps(PROMPTS, ensure_ascii=False, indent=1) + "\n", "utf-8")
        assert now == PROMPTS[key], key


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_older_store_gives_the_same_prompts(upgraded: Workspace, sample: str) -> None:
    assert_same_prompts(upgraded, sample)


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_older_save_gives_the_same_prompts(tmp_path: Path, sample: str) -> None:
    with Workspace.open(tmp_path / "fresh") as workspace:
        load_save(workspace.store, BEFORE / f"{sample}.fabula")
        assert_same_prompts(workspace, sample)
