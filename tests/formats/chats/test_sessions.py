"""Sessions on disk: many writers lose and tear nothing, and a lock outlives no killed program (cht-5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.chats import session_lock
from fabula.formats.chats.files import read_chats
from fabula.formats.chats.session_lock import LOCK_FILE, hold_lock
from fabula.formats.chats.sessions import append_messages

WRITERS, MESSAGES = 8, 12
WRITER = """
import sys
from pathlib import Path
from fabula.core.errors import FabulaError
from fabula.formats.chats.sessions import append_messages

folder, writer, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(count):
    row = {"id": f"{writer}-{number}", "role": "user", "participant_id": f"player:{writer}",
           "content": f"{writer} {number} " + "x" * 5000, "timestamp": ""}
    while True:
        try:
            append_messages(folder, [row])
            break
        except FabulaError as error:
            assert error.code == "EXPORT_REFUSED", error
"""


def make_line(ident: str) -> dict[str, object]:
    return {"id": ident, "role": "user", "participant_id": None, "content": ident, "timestamp": ""}


def read_ids(folder: Path) -> list[str]:
    (chat,) = read_chats(folder).chats
    return [one.id for one in chat.messages]


def test_eight_processes_that_append_to_one_session_lose_and_tear_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "s-1"
    command = [sys.executable, "-c", WRITER, str(folder)]
    writers = [subprocess.Popen([*command, str(writer), str(MESSAGES)]) for writer in range(WRITERS)]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * WRITERS
    lines = (folder / "messages.jsonl").read_bytes().split(b"\n")
    assert lines.pop() == b""
    ids = [json.loads(line)["id"] for line in lines]
    assert sorted(ids) == sorted(f"{writer}-{number}" for writer in range(WRITERS) for number in range(MESSAGES))
    for writer in range(WRITERS):  # each writer's own lines are in their order
        assert [one for one in ids if one.startswith(f"{writer}-")] == [f"{writer}-{n}" for n in range(MESSAGES)]
    assert sorted(one.name for one in folder.iterdir()) == ["messages.jsonl", "meta.json"]
    assert json.loads((folder / "meta.json").read_text())["updated_at"]


def test_a_torn_last_line_is_left_out_with_a_notice_and_put_aside_by_the_next_writer(tmp_path: Path) -> None:
    append_messages(tmp_path, [make_line("a"), make_line("b")])
    with (tmp_path / "messages.jsonl").open("ab") as stream:
        stream.write(b'{"id": "c", "role": "us')
    (chat,) = read_chats(tmp_path).chats
    assert [one.id for one in chat.messages] == ["a", "b"]
    assert any("line 3: the last line ends too early" in str(one) for one in chat.notices)
    (notice,) = append_messages(tmp_path, [make_line("d")])
    assert "messages.jsonl.torn" in str(notice)
    assert read_ids(tmp_path) == ["a", "b", "d"]
    assert (tmp_path / "messages.jsonl.torn").read_bytes() == b'{"id": "c", "role": "us\n'


def test_a_last_line_without_its_end_is_not_torn(tmp_path: Path) -> None:
    (tmp_path / "messages.jsonl").write_bytes(json.dumps(make_line("a")).encode())
    assert append_messages(tmp_path, [make_line("b")]) == ()
    assert read_ids(tmp_path) == ["a", "b"]


def test_a_disk_that_is_full_leaves_no_torn_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_messages(tmp_path, [make_line("a")])
    before = (tmp_path / "messages.jsonl").read_bytes()
    write = os.write

    def write_half(descriptor: int, data: bytes) -> int:
        if len(data) < 40:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: len(data) - 30])

    monkeypatch.setattr(os, "write", write_half)
    with pytest.raises(FabulaError) as refused:
        append_messages(tmp_path, [make_line("b" * 100)])
    assert refused.value.code is Code.EXPORT_REFUSED
    assert (tmp_path / "messages.jsonl").read_bytes() == before
    assert not (tmp_path / LOCK_FILE).exists()


def test_a_lock_that_is_held_is_waited_for_and_then_refused(tmp_path: Path) -> None:
    begin = time.monotonic()
    with hold_lock(tmp_path / LOCK_FILE), pytest.raises(FabulaError) as refused:
        append_messages(tmp_path, [make_line("a")])
    assert refused.value.code is Code.EXPORT_REFUSED
    assert time.monotonic() - begin >= session_lock.WAIT_SECONDS
    assert not (tmp_path / "messages.jsonl").exists()
    append_messages(tmp_path, [make_line("a")])


@pytest.mark.parametrize("clock", [-400 * 86_400, 400 * 86_400])
def test_a_wrong_clock_neither_breaks_a_held_lock_nor_keeps_a_stale_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: int
) -> None:
    path = tmp_path / LOCK_FILE
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + clock)
    with hold_lock(path):
        os.utime(path, (now - clock, now - clock))
        with pytest.raises(FabulaError), hold_lock(path, wait=0.1):
            pass
        held = path.read_bytes()
    path.write_bytes(held)  # as a killed program leaves it
    os.utime(path, (now - clock, now - clock))
    uptime = session_lock._read_uptime
    monkeypatch.setattr(session_lock, "_read_uptime", lambda: uptime() + session_lock.STALE_SECONDS - 5)
    with pytest.raises(FabulaError), hold_lock(path, wait=0.1):
        pass
    monkeypatch.setattr(session_lock, "_read_uptime", lambda: uptime() + session_lock.STALE_SECONDS + 1)
    with hold_lock(path, wait=0.1):
        assert path.read_bytes() != held
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"4711", b'{"pid": 1, "machine": "elsewhere", "token": "x", "since": 1e9}'])
def test_a_lock_of_another_program_is_stale_30_seconds_after_it_was_first_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / LOCK_FILE
    path.write_bytes(content)
    os.utime(path, (1, 1))
    with pytest.raises(FabulaError), hold_lock(path, wait=0.1):
        pass
    uptime = session_lock._read_uptime
    monkeypatch.setattr(session_lock, "_read_uptime", lambda: uptime() + session_lock.STALE_SECONDS + 1)
    with hold_lock(path, wait=0.1):
        pass
    assert not list(tmp_path.iterdir())


def test_one_who_was_declared_stale_does_not_remove_the_lock_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / LOCK_FILE
    uptime = session_lock._read_uptime
    with hold_lock(path):
        monkeypatch.setattr(session_lock, "_read_uptime", lambda: uptime() + session_lock.STALE_SECONDS + 1)
        second = hold_lock(path, wait=0.1)
        second.__enter__()
    assert path.exists()
    second.__exit__(None, None, None)
    assert not path.exists()


def test_the_time_of_the_last_change_never_goes_backwards(tmp_path: Path) -> None:
    tmp_path.joinpath("meta.json").write_text(json.dumps({"updated_at": "2999-01-01T00:00:00.000Z", "mood": "calm"}))
    append_messages(tmp_path, [make_line("a")])
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta == {"updated_at": "2999-01-01T00:00:00.000Z", "mood": "calm"}


def test_a_lock_says_who_holds_it(tmp_path: Path) -> None:
    with hold_lock(tmp_path / LOCK_FILE):
        assert msgspec.json.decode((tmp_path / LOCK_FILE).read_bytes())["pid"] == os.getpid()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of this kind")
def test_a_session_of_a_stranger_neither_stalls_a_writer_nor_leads_one_to_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, own = tmp_path / "session", tmp_path / "diary.txt"
    folder.mkdir()
    own.write_text("Mine.")
    lock, seen = folder / LOCK_FILE, folder / f"{LOCK_FILE}.seen"
    monkeypatch.setattr(session_lock, "WAIT_SECONDS", 0.1)
    os.mkfifo(lock)
    with pytest.raises(FabulaError) as refused:
        append_messages(folder, [make_line("a")])
    assert refused.value.code is Code.EXPORT_REFUSED
    lock.unlink()
    lock.write_bytes(b"somebody")
    for is_link in (True, False):
        seen.unlink(missing_ok=True)
        if is_link:
            seen.symlink_to(own)
        else:
            os.mkfifo(seen)
        with pytest.raises(FabulaError):
            append_messages(folder, [make_line("a")])
        assert own.read_text() == "Mine."
        assert not seen.is_symlink()
        assert seen.is_file()
