"""`fabula account`, as the owner of a store types it."""

from __future__ import annotations

import pytest

from fabula.server.accounts import Accounts
from fabula.workspace.workspace import Workspace
from tests.cli.test_codex import Room, room

__all__ = ["room"]


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_PASSWORD", "correct horse")


def test_somebody_is_let_in_given_a_role_and_sent_away(room: Room) -> None:
    assert "nobody yet" in room.run("account", "list")
    assert "ann may sign in" in room.run("account", "add", "ann", "--name", "Ann Tarn")
    assert room.run("account", "role", "Ann", "coast", "editor") == "ann is editor of it now.\n"
    for given in (("role", "Ann Tarn", "Coast", "reader"), ("password", "an"), ("remove", "1"), ("link", "an")):
        assert "There is no account called" in room.run("account", *given, code=2)
    assert "Did you mean ann?" in room.run("account", "remove", "Ann Tarn", code=2)
    assert "Did you mean Coast?" in room.run("account", "role", "ann", "Coas", "reader", code=3)
    assert "editor of Coast" in room.run("account", "list")
    (found,) = room.read("account", "list")
    assert (found["id"], found["roles"][0]["role"], found["hasPassword"]) == ("ann", "editor", True)
    assert room.run("account", "password", "ann") == "ann has another password.\n"
    assert "no role" in room.run("account", "role", "ann", "Coast", "-")
    assert room.run("account", "remove", "ann") == "ann is let in no more.\n"


def test_a_player_is_said_to_read_the_chapters_that_were_named_and_no_others(room: Room) -> None:
    room.run("account", "add", "ann")
    room.run("codex", "add", "Coast", "Reed", "--type", "character")
    given = ("account", "role", "ann", "Coast", "player", "--character", "Reed")
    assert "ann reads no chapter" in room.run(*given)
    (found,) = room.read("account", "list")
    assert found["roles"][0]["documents"] == []
    chapter = room.read("chapter", "list", "Coast")[0]
    assert f"ann reads: {chapter['title']}." in room.run(*given, "--document", chapter["title"])
    (found,) = room.read("account", "list")
    assert found["roles"][0]["documents"] == [chapter["id"]]
    room.run("account", "role", "ann", "Coast", "editor")
    (found,) = room.read("account", "list")
    assert found["roles"][0]["documents"] is None


def test_a_link_signs_the_owner_or_somebody_else_in_at_the_address_that_browsers_use(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert room.run("account", "link").startswith("http://127.0.0.1:8600/open/")
    shown = room.run("account", "link", "--url", "https://stories.example/").strip()
    assert shown.startswith("https://stories.example/open/")
    monkeypatch.setenv("FABULA_HOST", "0.0.0.0")
    monkeypatch.setenv("FABULA_PORT", "8700")
    assert room.run("account", "link").startswith("http://localhost:8700/open/")
    monkeypatch.setenv("FABULA_HOSTS", "Stories.example, other.example")
    room.run("account", "add", "ann")
    other = room.run("account", "link", "ann").strip()
    assert other.startswith("http://stories.example:8700/open/")
    assert "Did you mean" in room.run("account", "link", "annn", code=2)
    with Workspace.open(room.folder / "data") as workspace:
        accounts = Accounts(workspace.store, {})
        for link, user in ((shown, "owner"), (other, "ann")):
            code = link.rpartition("/")[2]
            session = accounts.begin_session(code)
            assert session is not None
            found = accounts.find_access(session)
            assert found is not None
            assert found.user == user
            assert accounts.begin_session(code) is None  # it works once


def test_the_secret_of_a_key_is_shown_once(room: Room) -> None:
    shown = room.run("account", "key", "new", "my script", "--project", "Coast", "--right", "read").splitlines()
    assert shown[-1].startswith("fabula-")
    listed = room.run("account", "key", "list")
    assert "my script" in listed
    assert "Coast" in listed
    assert shown[-1][-20:] not in listed
    assert "Did you mean my script?" in room.run("account", "key", "revoke", "script", code=2)
    assert "opens nothing any more" in room.run("account", "key", "revoke", "my script")
    assert "revoked" in room.run("account", "key", "list")


def test_a_key_may_name_single_verbs(room: Room) -> None:
    made = room.run("account", "key", "new", "search box", "--verb", "project.search", "--right", "read")
    assert made.splitlines()[-1].startswith("fabula-")
    (found,) = room.read("account", "key", "list")
    assert (found["verbs"], found["rights"]) == (["project.search"], ["read"])
    assert "read, project.search" in room.run("account", "key", "list")
    assert "project.search" in room.run("account", "key", "new", "x", "--verb", "project.serch", code=2)


def test_a_player_is_granted_the_recaps_of_conversations(room: Room) -> None:
    room.run("account", "add", "ann")
    room.run("codex", "add", "Coast", "Reed", "--type", "character")
    given = ("account", "role", "ann", "Coast", "player", "--character", "Reed")
    assert "conversation" in room.run(*given, "--conversation", "nowhere", code=2)
    room.run(*given)
    (found,) = room.read("account", "list")
    assert found["roles"][0]["conversations"] == []


def test_changes_of_access_are_noted_in_a_private_log(room: Room) -> None:
    room.run("account", "add", "ann", "--name", "Ann Tarn")
    room.run("account", "role", "ann", "Coast", "editor")
    room.run("account", "list")
    secret = room.run("account", "key", "new", "my script", "--account", "ann").splitlines()[-1]
    code = room.run("account", "link").strip().rpartition("/")[2]
    file = room.folder / "data" / "access.log"
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text("utf-8")
    lines = [line.split(" ", 3)[3] for line in text.splitlines()]
    kinds = ["account added: ann by owner", "role given: ann in ", "key made: ", "link made: owner by owner"]
    assert [line.startswith(kind) for line, kind in zip(lines, kinds, strict=True)] == [True] * 4
    assert lines[2].endswith(" of ann by owner")
    assert not any(one in text for one in (secret, code, "correct horse", "Tarn", "my script"))


def test_a_log_that_cannot_be_written_keeps_no_change_back(room: Room) -> None:
    (room.folder / "data" / "access.log").mkdir()
    assert "ann may sign in" in room.run("account", "add", "ann")
    assert "This enters no log" in room.aside


def test_mistakes_are_explained(room: Room) -> None:
    room.run("account", "add", "ann")
    assert "STORE_DUPLICATE" in room.run("account", "add", "Ann", code=2)
    assert "Did you mean" in room.run("account", "remove", "annn", code=2)
    assert "editor" in room.run("account", "role", "ann", "Coast", "editr", code=2)
    assert "needs a character" in room.run("account", "role", "ann", "Coast", "player", code=2)
    assert "read" in room.run("account", "key", "new", "x", "--right", "reed", code=2)
