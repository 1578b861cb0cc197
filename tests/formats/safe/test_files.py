"""Folders: links are not followed, and sizes and depths are bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.archives import ArchiveLimits
from fabula.core.errors import Code, FabulaError
from fabula.formats.safe.files import open_folder


def test_a_folder_does_not_follow_links_and_stays_in_its_bounds(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("x")
    (tmp_path / "secret.txt").write_text("y")
    (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "secret.txt")
    folder = open_folder(tmp_path / "in")
    assert folder.names == ("a.txt",)
    with pytest.raises(FabulaError):
        folder.read("../secret.txt")
    with pytest.raises(FabulaError) as raised:
        open_folder(tmp_path, ArchiveLimits(max_entries=1))
    assert raised.value.code is Code.IMPORT_TOO_LARGE


def test_folders_nested_without_end_are_refused(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 60)
    deep.mkdir(parents=True)
    with pytest.raises(FabulaError) as raised:
        open_folder(tmp_path)
    assert raised.value.code is Code.IMPORT_TOO_LARGE
