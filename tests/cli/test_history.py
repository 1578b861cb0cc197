"""`fabula history` and `fabula participant`, as a person types them."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tests.cli.test_projects import Desk, desk
from tests.formats.chats.files_of_versions import EARLY, decode, encode

__all__ = ["desk"]


@pytest.fixture
def pier(desk: Desk) -> Desk:
    """A project with three people in a conversation, one of whom was whispered to."""
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    desk.run("participant", "add", "Coast", "Ann", "--kind", "player")
    desk.run("participant", "add", "Coast", "Mara Venn", "--kind", "pawn", "--key", "mara")
    desk.run("participant", "add", "Coast", "Tom", "--alias", "Tommy")
    desk.run("history", "start", "Coast", "--with", "Ann", "--with", "Mara Venn", "--with", "Tommy", "--title", "Pier")
    desk.run("history", "record", "Coast", "Pier", "Who lit the lamp?", "--as", "Ann")
    desk.run("history", "record", "Coast", "Pier", "It was me.", "--as", "Mara Venn", "--to", "Ann")
    return desk


def test_a_conversation_is_shown_with_names_and_whispers(pier: Desk) -> None:
    assert pier.run("history", "show", "Coast", "Pier").splitlines() == [
        "1. Ann: Who lit the lamp?",
        "2. Mara Venn (to Ann only): It was me.",
    ]
    page = json.loads(pier.run("history", "show", "Coast", "Pier", "--json"))
    assert [one["audience"] for one in page["messages"]] == [None, page["messages"][1]["audience"]]
    assert page["before"] is None


def test_a_search_says_what_was_whispered(pier: Desk) -> None:
    assert "Mara Venn (to Ann only)" in pier.run("history", "search", "Coast", "It was me")


def test_a_participant_is_the_character_of_the_codex(pier: Desk) -> None:
    assert "Knows what Mara Venn of the codex knows." in pier.run("participant", "show", "Coast", "Mara")


def test_messages_are_corrected_deleted_and_brought_back(pier: Desk) -> None:
    pier.run("history", "edit", "Coast", "Pier", "1", "Who put the lamp out?")
    assert "Who put the lamp out?" in pier.run("history", "show", "Coast", "Pier")
    pier.run("history", "delete", "Coast", "Pier", "last")
    assert "It was me." not in pier.run("history", "show", "Coast", "Pier")
    pier.run("undo", "Coast")
    assert "It was me." in pier.run("history", "show", "Coast", "Pier")


def test_conversations_are_listed_by_who_takes_part(pier: Desk) -> None:
    assert "Pier" in pier.run("history", "list", "Coast", "--with", "Tom")
    assert "Pier" not in pier.run("history", "list", "Coast", "--with", "Tom", "--only")


def test_wrong_names_are_refused_with_the_nearest(pier: Desk) -> None:
    assert "Did you mean Pier?" in pier.run("history", "show", "Coast", "Peer", code=2)
    assert "Tom" in pier.run("history", "record", "Coast", "Pier", "Hm.", "--as", "Tam", code=2)


def test_a_chat_of_sillytavern_is_imported_and_exported(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    (desk.folder / "mara.jsonl").write_bytes(encode(EARLY))
    printed = desk.run("history", "import", "Coast", "mara.jsonl").splitlines()
    assert printed[:3] == [
        "mara: 6 messages, with You, Mara.",
        "- 2 of them are alternatives: fabula history branch",
        "New participants: You, Mara",
    ]
    assert desk.run("history", "export", "Coast", "mara", "out.jsonl").strip() == (
        "mara: 4 messages written to out.jsonl"
    )
    assert decode((desk.folder / "out.jsonl").read_bytes()) == EARLY
    assert "There is already a file" in desk.run("history", "export", "Coast", "mara", "out.jsonl", code=2)
    written = json.loads(desk.run("history", "export", "Coast", "mara", "out.jsonl", "--append", "--json"))
    assert (written["format"], written["messages"]) == ("sillytavern", 0)
    assert "sillytavern, session" in desk.run("history", "export", "Coast", "mara", "x", "--format", "st", code=2)


def test_what_a_narrator_tells_is_not_said_by_a_model(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    rows = [
        {"name": "You", "is_user": True, "is_system": False, "mes": "Hello?", "extra": {}},
        {"name": "System", "is_user": False, "is_system": False, "mes": "Night fell.", "extra": {"type": "narrator"}},
    ]
    (desk.folder / "told.jsonl").write_bytes(encode(rows))
    desk.run("history", "import", "Coast", "told.jsonl")
    assert "2. narrator: Night fell." in desk.run("history", "show", "Coast", "told")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"/branch\n")))
    shown = desk.run("chat", "Coast", "--conversation", "told", "--provider", "demo")
    assert "narrator: Night fell." in shown
    assert "model" not in shown


def test_a_session_is_exported_and_imported(pier: Desk) -> None:
    written = json.loads(pier.run("history", "export", "Coast", "Pier", "out", "--json"))
    assert written["path"].startswith("out/logs/threads/Coast/sessions/")
    pier.run("history", "delete", "Coast", "Pier")
    imported = json.loads(pier.run("history", "import", "Coast", "out", "--json"))
    (conversation,) = imported["conversations"]
    assert (conversation["title"], sorted(conversation["participants"])) == ("Pier", ["Ann", "Mara Venn", "Tom"])
    assert imported["newParticipants"] == []
    assert pier.run("history", "show", "Coast", "Pier").splitlines()[1] == "2. Mara Venn (to Ann only): It was me."


def test_a_prompt_is_for_a_speaker_of_a_conversation(pier: Desk) -> None:
    asked = ("assemble", "Coast", "--conversation", "Pier", "--quiet", "--speaker")
    assert "It was me." in pier.run(*asked, "Mara Venn")
    of_tom = pier.run(*asked, "Tommy")
    assert "Who lit the lamp?" in of_tom
    assert "It was me." not in of_tom
    assert "Continue the text" not in of_tom
    assert "Tom" in pier.run(*asked, "Tam", code=2)


def test_the_recipe_of_a_chat_has_the_skill_of_a_chat(pier: Desk) -> None:
    asked = ("assemble", "Coast", "--conversation", "Pier", "--quiet", "--recipe", "character-chat")
    assert "Continue the text" not in pier.run(*asked)
    assert "Continue the text" in pier.run(*asked, "--skill", "continue")
    assert "Continue the text" in pier.run("assemble", "Coast", "--quiet")
    request = {"projectId": pier.only_project()["id"], "conversationId": "Pier", "recipe": "character-chat"}
    (pier.folder / "request.json").write_text(json.dumps(request))
    assert "Continue the text" not in pier.run("assemble", "Coast", "--quiet", "--request", "request.json")


def test_a_note_is_shown_set_and_taken_away(pier: Desk) -> None:
    assert pier.run("history", "note", "Coast", "Pier") == "This conversation has no author's note.\n"
    assert pier.run("history", "note", "Coast", "Pier", "It rains.", "--depth", "2") == (
        "In every prompt, at depth 2: It rains.\n"
    )
    assert "It rains." in pier.run("history", "note", "Coast", "Pier")
    assert "author's note" in pier.run("inspect", "Coast", "--conversation", "Pier", "--speaker", "Tom")
    assert "'chorus' is no role" in pier.run("history", "note", "Coast", "Pier", "Hm.", "--role", "chorus", code=2)
    assert "Leave out the text." in pier.run("history", "note", "Coast", "Pier", "Hm.", "--off", code=2)
    assert pier.run("history", "note", "Coast", "Pier", "--off") == "This conversation has no author's note.\n"


def test_a_card_is_no_chat_and_the_refusal_names_its_own_command(pier: Desk) -> None:
    card = {"spec": "chara_card_v2", "data": {"name": "Zed", "first_mes": "Hm."}}
    (pier.folder / "zed.json").write_text(json.dumps(card))
    refused = pier.run("history", "import", "Coast", "zed.json", code=2)
    assert "To import it: fabula participant import PROJECT FILE" in refused
    assert "lorebook" not in refused
    assert "Zed can take part in conversations now." in pier.run("participant", "import", "Coast", "zed.json")
    assert "Zed has this card already. Nothing was changed." in pier.run("participant", "import", "Coast", "zed.json")
    card["data"] = {"name": "Zed", "first_mes": "What?"}
    (pier.folder / "zed.json").write_text(json.dumps(card))
    told = pier.run("participant", "import", "Coast", "zed.json", code=2)
    assert "To put the file in its place: --replace" in told
    assert "To keep both, rename the first one: fabula participant edit" in told
