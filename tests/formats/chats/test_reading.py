"""Chat files are read within limits, with the line that is wrong, and in all forms of times."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import Code, FabulaError
from fabula.formats.bounded_import import read_bounded
from fabula.formats.chats import files, json_lines, model, sessions, sillytavern
from fabula.formats.chats.files import read_chats
from fabula.formats.chats.timestamps import read_timestamp
from tests.formats.chats.files_of_versions import EARLY, encode

MESSAGE = '{"name": "Mara", "is_user": false, "mes": "Hm."}'


def refuse(path: Path, data: bytes, code: Code = Code.IMPORT_UNREADABLE) -> str:
    path.write_bytes(data)
    with pytest.raises(FabulaError) as refused:
        read_bounded(read_chats, path)
    assert refused.value.code is code
    return refused.value.sentence


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"[1]", "line 2: it is no table"),
        (b"not json", "line 2: it is not JSON"),
        (b'{"mes": null}', "line 2: `mes` must be a text"),
        (b'{"name": "x"}', "line 2: `mes` must be a text"),
        (b'{"mes": "a\\u0000b"}', "line 2: a text in it has the character NUL"),
        (b'{"mes": "a", "swipes": ["a", "\\u0000"], "swipe_id": 0}', "line 2: a text in it has the character NUL"),
        (b'{"mes": "\\ud800"}', "line 2: a text in it has half a character"),
        (b'{"mes": "a", "mes": "b"}', "line 2: the name 'mes' occurs twice"),
        (b'{"mes": "a", "x": NaN}', "line 2: NaN is not a number"),
        (b"\xff\xfe", "line 2: it is not UTF-8"),
    ],
)
def test_a_hostile_line_is_refused_with_its_number(tmp_path: Path, line: bytes, problem: str) -> None:
    assert problem in refuse(tmp_path / "chat.jsonl", MESSAGE.encode() + b"\n" + line + b"\n" + MESSAGE.encode())


def test_lines_messages_and_files_beyond_the_limits_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chat.jsonl"
    deep = b'{"mes": "a", "extra": ' + b"[" * 200 + b"]" * 200 + b"}"
    assert "line 1: it is nested" in refuse(path, deep, Code.IMPORT_TOO_LARGE)
    long = json.dumps({"mes": "x" * 200_001}).encode()
    assert "line 1: a message has more than 200,000" in refuse(path, long, Code.IMPORT_TOO_LARGE)
    monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 100)
    assert "line 2: it is longer" in refuse(path, MESSAGE.encode() + b"\n" + b" " * 101 + b"{}", Code.IMPORT_TOO_LARGE)
    for module in (files, sessions, sillytavern):
        monkeypatch.setattr(module, "MAX_MESSAGES", 2)
    swipes = b'{"mes": "a", "swipe_id": 0, "swipes": ["a", "b", "c"]}'
    assert "more than 2 messages" in refuse(path, swipes, Code.IMPORT_TOO_LARGE)


def test_what_is_no_chat_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    assert "it is empty" in refuse(path, b"\n \n")
    assert "no chat of SillyTavern and no session" in refuse(path, b'{"a": 1}\n{"b": 2}\n')
    assert "nothing is said in it" in refuse(path, encode(EARLY[:1]))
    card = {"spec": "chara_card_v2", "data": {"name": "Mara"}}
    for data in (json.dumps(card), json.dumps(card, indent=2), '{"first_mes": "Hello"}'):
        assert "it is a character card, and no chat. Nothing was imported. Import it as a participant" in refuse(
            path, data.encode()
        )
    books: tuple[dict[str, object], ...] = ({"entries": {}}, {"spec": "lorebook_v3", "data": {"entries": []}})
    for book in books:
        for indent in (None, 2):
            told = refuse(path, json.dumps(book, indent=indent).encode())
            assert "it is a lorebook, and no chat. Nothing was imported. Import it as a lorebook." in told
    assert "no chat of SillyTavern and no session" in refuse(path, b'{\n"a": 1\n}')
    for signature in (b"\x89PNG\r\n\x1a\n", b"PK\x03\x04"):
        assert "Import it as a participant with a card." in refuse(path, signature)
    path.unlink()
    with pytest.raises(FabulaError) as refused:
        read_chats(path)
    assert refused.value.code is Code.FILE_NOT_FOUND
    with pytest.raises(FabulaError, match="there is no chat in it"):
        read_chats(tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    for name in ("chat.jsonl", "messages.jsonl"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(FabulaError) as refused:
            read_bounded(read_chats, tmp_path / name)
        assert refused.value.code is Code.IMPORT_UNREADABLE


def test_a_folder_in_place_of_a_file_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "messages.jsonl").mkdir()
    with pytest.raises(FabulaError) as refused:
        sessions.append_messages(tmp_path, [{"id": "a"}])
    assert refused.value.code is Code.EXPORT_REFUSED


def test_a_torn_last_line_of_a_chat_file_is_left_out_with_a_notice(tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_bytes(encode(EARLY)[:-20])
    (chat,) = read_chats(tmp_path / "chat.jsonl").chats
    assert len(chat.messages) == 5
    assert "line 5: the last line ends too early" in str(chat.notices[0])


LOCAL = [
    ("2023-4-15 @14h 22m 33s 123ms", datetime(2023, 4, 15, 14, 22, 33, 123_000)),
    ("2023-11-5 @4h 2m 3s 7ms", datetime(2023, 11, 5, 4, 2, 3, 7_000)),
    ("2024-05-18@14h22m33s", datetime(2024, 5, 18, 14, 22, 33)),
    ("2025-09-30@14h22m33s123ms", datetime(2025, 9, 30, 14, 22, 33, 123_000)),
    ("2024-05-18 @14h22m", datetime(2024, 5, 18, 14, 22)),
    ("April 26, 2024 6:06am", datetime(2024, 4, 26, 6, 6)),
    ("June 19, 2023 2:20pm", datetime(2023, 6, 19, 14, 20)),
    ("June 19, 2023 14:20pm", datetime(2023, 6, 19, 14, 20)),
    ("January 1, 2024 12:00am", datetime(2024, 1, 1, 0, 0)),
    ("January 1, 2024 12:30 PM", datetime(2024, 1, 1, 12, 30)),
]


@pytest.mark.parametrize(("text", "time"), LOCAL)
def test_times_without_a_zone_are_those_of_the_clock_on_the_wall(text: str, time: datetime) -> None:
    assert datetime.fromisoformat(read_timestamp(text)) == time.astimezone(UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1679321415123, "2023-03-20T14:10:15.123000Z"),
        ("1679321415123", "2023-03-20T14:10:15.123000Z"),
        (1679321415, "2023-03-20T14:10:15.000000Z"),
        ("2025-11-03T12:34:56.789Z", "2025-11-03T12:34:56.789000Z"),
        ("2025-11-03T12:34:56+02:00", "2025-11-03T10:34:56.000000Z"),
        ("some day in spring", "some day in spring"),
        ("February 31, 2024 6:06am", "February 31, 2024 6:06am"),
        (None, ""),
        (True, ""),
        ({"a": 1}, ""),
    ],
)
def test_times_of_all_forms_are_read_and_others_kept(value: object, text: str) -> None:
    assert read_timestamp(value) == text


@given(st.one_of(st.text(max_size=120), st.integers(), st.floats()))
def test_no_time_is_too_odd_to_be_kept(value: object) -> None:
    assert len(read_timestamp(value)) <= 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé", max_size=3), inner, max_size=3),
    max_leaves=8,
)


FIELDS = st.sampled_from(["mes", "name", "swipes", "swipe_id", "extra", "role", "content", "x"])


@given(st.lists(st.dictionaries(FIELDS, JSON), max_size=4))
def test_whatever_a_file_says_it_is_read_or_refused_by_code(rows: list[dict[str, object]]) -> None:
    code = Code.IMPORT_UNREADABLE
    try:
        chat = files._parse_file(encode(rows), "chat.jsonl", "chat")
        assert isinstance(chat, model.Chat)
    except FabulaError as error:
        code = error.code
    assert code.value.startswith("IMPORT_")
