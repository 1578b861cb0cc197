"""Uploads: quotas by person in files, bytes and processor time, and files that are read in processes of their own."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from fabula.access.model import Membership, Role
from fabula.core.errors import Code, FabulaError
from fabula.formats import bounded_import
from fabula.formats.bounded_import import read_bounded, read_in_processes
from fabula.server import connections
from fabula.server.access import OWNER_ACCESS, Access
from fabula.server.uploads import PERSON_UPLOADS, UPLOADS_AT_ONCE, UploadQuota, UploadSettings, read_upload_settings
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import RunningServer, run_server

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


def test_an_upload_without_a_length_counts_as_the_longest_until_it_is_there() -> None:
    quota = UploadQuota(UploadSettings(megabytes=60), clock=lambda: 0.0)
    counted = quota.begin(ANN, None)
    refuse(quota, ANN, 20_000_000)
    quota.correct(ANN, counted, 1_000)
    quota.begin(ANN, 50_000_000)
    small = UploadQuota(UploadSettings(megabytes=2), clock=lambda: 0.0)
    assert small.begin(ANN, None) == 2_000_000


@contextmanager
def begin_upload(
    server: RunningServer, token: str, path: str, length: str = "Content-Length: 50000000"
) -> Iterator[socket.socket]:
    """Send the headers of an upload, and nothing of its body."""
    host, _, port = server.base_url.removeprefix("http://").partition(":")
    lines = [
        f"POST {path}?fileName=a.json HTTP/1.1",
        f"Host: {host}:{port}",
        f"Authorization: Bearer {token}",
        length,
    ]
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        yield connection


def read_refusal(connections: list[socket.socket]) -> tuple[str, str]:
    """The status and the code of the answer to the only upload that has one, which says when to come back."""
    (answered,), _, _ = select.select(connections, [], [], 30)
    answer = answered.recv(65_536).decode()
    assert "retry-after: " in answer
    return answer.split()[1], answer.partition('"code":"')[2].partition('"')[0]


def make_editors(story: ProjectHandle) -> dict[str, Access]:
    names = [f"ed{number}" for number in range(5)]
    return {name: Access(user=name, memberships={story.id: Membership(Role.EDITOR)}) for name in names}


def test_bounds_are_asked_before_anything_of_an_upload_is_received(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_UPLOAD_MEGABYTES_PER_HOUR", "220")
    path = f"/api/projects/{story.id}/lorebooks/import"
    with run_server(workspace, make_editors(story)) as server, ExitStack() as held:

        def begin(name: str) -> socket.socket:
            return held.enter_context(begin_upload(server, name, path))

        own = [begin("ed0") for _ in range(PERSON_UPLOADS + 1)]
        assert read_refusal(own) == ("429", "HTTP_TOO_MANY_OPEN")
        with server.client("ed1") as other:
            sent = other.post(path, params={"fileName": "b.json"}, content=LORE)
            assert sent.status_code == 201
        others = [begin(name) for name in ("ed1", "ed2", "ed3") for _ in range(PERSON_UPLOADS)]
        assert read_refusal([*others, begin("ed4")]) == ("429", "HTTP_TOO_MANY_OPEN")
        held.close()
        with server.client("ed4") as other:
            ends = time.monotonic() + 30
            while (
                sent := other.post(path, params={"fileName": "c.json"}, content=LORE.replace(b"brig", b"sloop"))
            ).status_code == 429:
                assert time.monotonic() < ends
                time.sleep(0.05)
            assert sent.status_code == 201


def test_the_quota_is_asked_before_anything_of_an_upload_is_received(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_UPLOAD_MEGABYTES_PER_HOUR", "190")
    path = f"/api/projects/{story.id}/lorebooks/import"
    with run_server(workspace, make_editors(story)) as server, ExitStack() as held:
        begun = [held.enter_context(begin_upload(server, "ed0", path)) for _ in range(PERSON_UPLOADS)]
        assert read_refusal(begun) == ("429", "HTTP_UPLOAD_QUOTA")


def test_uploads_that_stall_are_ended_and_count_as_what_has_come(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_UPLOAD_MEGABYTES_PER_HOUR", "220")
    monkeypatch.setattr(connections, "INTERVAL_SECONDS", 0.4)
    path = f"/api/projects/{story.id}/lorebooks/import"
    with run_server(workspace, make_editors(story)) as server, ExitStack() as held:
        for _ in range(PERSON_UPLOADS):
            stalled = held.enter_context(begin_upload(server, "ed0", path, "Transfer-Encoding: chunked"))
            stalled.sendall(b"3\r\nabc\r\n")
            assert stalled.recv(65_536).startswith(b"HTTP/1.1 408 ")
        with server.client("ed0") as client:
            sent = client.post(path, params={"fileName": "b.json"}, content=iter([LORE]))  # its length is not said
            assert sent.status_code == 201, sent.text


def test_many_uploads_at_once_leave_threads_for_other_requests(workspace: Workspace, story: ProjectHandle) -> None:
    path = f"/api/projects/{story.id}/lorebooks/import"
    with run_server(workspace, make_editors(story)) as server, ThreadPoolExecutor(UPLOADS_AT_ONCE) as pool:

        def upload(number: int) -> int:
            with server.client(f"ed{number // PERSON_UPLOADS}") as client:
                content = LORE.replace(b"brig", b"brig %d" % number)
                return client.post(path, params={"fileName": f"{number}.json"}, content=content).status_code

        with server.client(None) as probe:
            with workspace.store.write(project=story.id):  # which every upload waits for
                sent = [pool.submit(upload, number) for number in range(UPLOADS_AT_ONCE)]
                for _ in range(20):
                    assert probe.get("/readyz").status_code == 200
                    time.sleep(0.15)
                assert not any(one.done() for one in sent)
            assert [one.result() for one in sent] == [201] * UPLOADS_AT_ONCE
