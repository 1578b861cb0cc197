"""Uploads: quotas by person in files, bytes and processor time, and files that are read in processes of their own."""

from __future__ import annotations

import os
from pathlib import Path

import httpx2
import pytest

from fabula.access.model import Membership, Role
from fabula.core.errors import Code, FabulaError
from fabula.formats import bounded_import
from fabula.formats.bounded_import import read_bounded, read_in_processes
from fabula.server.access import OWNER_ACCESS, Access
from fabula.server.uploads import UploadQuota, UploadSettings, read_upload_settings
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import run_server

ANN, BOB = Access(user="ann"), Access(user="bob")
LORE = b'{"entries": {"0": {"uid": 0, "key": ["brig"], "content": "Two masts."}}}'


def refuse(quota: UploadQuota, caller: Access, size: int) -> FabulaError:
    with pytest.raises(FabulaError) as refused:
        quota.begin(caller, size)
    assert refused.value.code is Code.HTTP_UPLOAD_QUOTA
    return refused.value


def test_a_person_has_a_number_of_files_and_bytes_within_an_hour() -> None:
    now = [0.0]
    quota = UploadQuota(UploadSettings(files=3, megabytes=2), clock=lambda: now[0])
    for _ in range(3):
        quota.begin(ANN, 100)
    assert refuse(quota, ANN, 1).details["retry_seconds"] == 1_200
    quota.begin(BOB, 1_900_000)
    refuse(quota, BOB, 200_000)
    for _ in range(100):
        quota.begin(OWNER_ACCESS, 10_000_000)
    now[0] += 3_600
    quota.begin(ANN, 100)


def test_processes_of_one_server_share_its_quotas_and_one_file_always_fits() -> None:
    whole = read_upload_settings()
    assert read_upload_settings(4) == UploadSettings(whole.files // 4, whole.megabytes // 4, whole.seconds // 4)
    assert read_upload_settings(10_000) == UploadSettings(1, 50, 1)


def test_reading_that_takes_long_uses_up_the_processor_time() -> None:
    now = [0.0]
    quota = UploadQuota(UploadSettings(seconds=10), clock=lambda: now[0])
    quota.begin(ANN, 1)
    quota.spend(ANN, 30)
    refuse(quota, ANN, 1)
    now[0] += 3_600
    refuse(quota, ANN, 1)  # it used more than an hour has
    now[0] += 3_600 * 2
    quota.begin(ANN, 1)


def read_process_id(path: Path) -> int:
    return os.getpid()


def read_for_ever(path: Path) -> int:
    while True:
        pass


def test_a_small_upload_is_read_in_a_process_that_can_be_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    assert read_bounded(read_process_id, file) == os.getpid()
    with read_in_processes() as cost:
        assert read_bounded(read_process_id, file) != os.getpid()
        before = cost.seconds
        assert before > 0
        monkeypatch.setattr(bounded_import, "MAX_SECONDS", 2)
        with pytest.raises(FabulaError) as refused:
            read_bounded(read_for_ever, file)
        assert refused.value.code is Code.IMPORT_TOO_LARGE
        assert cost.seconds >= before + 2
    assert read_bounded(read_process_id, file) == os.getpid()


def test_an_editor_beyond_the_quota_is_refused_with_a_code_and_the_owner_is_not(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_UPLOADS_PER_HOUR", "1")
    people = {"ann": Access(user="ann", memberships={story.id: Membership(Role.EDITOR)})}
    url = f"/api/projects/{story.id}/lorebooks/import"
    with run_server(workspace, people) as server, server.client("ann") as ann, server.client() as owner:

        def upload(client: httpx2.Client, name: str) -> httpx2.Response:
            return client.post(url, params={"fileName": name}, content=LORE.replace(b"brig", name.encode()))

        assert upload(ann, "one.json").status_code == 201
        refused = upload(ann, "two.json")
        assert (refused.status_code, refused.json()["code"]) == (429, "HTTP_UPLOAD_QUOTA")
        assert int(refused.headers["retry-after"]) > 60
        assert upload(owner, "three.json").status_code == 201
        assert upload(owner, "four.json").status_code == 201
    assert len(story.lorebooks.list_lorebooks()) == 3
