"""Who comes or leaves on one branch of a conversation: prompts, search, recaps, replies given again, and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.conversation.recaps.model import RecapRules
from fabula.conversation.recaps.update import refresh_recaps
from fabula.store.save.loading import load_save
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.conversations import describe_conversation
from fabula.workspace.workspace import Workspace
from tests.workspace.chat.scripted import ScriptedProvider, collect, replies
from tests.workspace.test_chat_memory import TALK, P, workspace

__all__ = ["workspace"]
FILLER = "and the wind went on and on over the water. " * 90


@pytest.fixture
def party(workspace: Workspace) -> ProjectHandle:
    """A conversation of Ann, Mara and Bo, in which Bo left on one branch and Cole came, and neither on the other."""
    project = workspace.project(P)
    project.conversations.start(("Ann", "Mara", "Bo"), title=TALK)
    for text in ("Firstword.", "Secondword."):
        say(project, text)
    project.conversations.leave(TALK, "Bo")
    project.conversations.join(TALK, "Cole")
    say(project, "Awayword of the anchor.")
    project.conversations.go_back(TALK, "1")
    say(project, "Backword of the anchor.")
    return project


def say(project: ProjectHandle, text: str, speaker: str = "Ann") -> None:
    project.conversations.record(TALK, text, speaker=speaker)


def prompt_of(project: ProjectHandle, speaker: str, text: str = "What of the anchor?") -> str:
    request = project.request(
        conversation_id=TALK, speaker_id=speaker, additional_input=text, recipe="chat", skill_id="", document_id=""
    )
    return project.inspect(request).prompt


def words_of(project: ProjectHandle, speaker: str) -> set[str]:
    prompt = prompt_of(project, speaker)
    return {word for word in ("Firstword", "Secondword", "Awayword", "Backword") if word in prompt}


def name_present(project: ProjectHandle, conversation: str = TALK) -> list[str]:
    return sorted(one.name for one in project.chat.get(conversation).present)


def test_each_branch_tells_its_own_people_what_was_said_on_it(party: ProjectHandle) -> None:
    assert name_present(party) == ["Ann", "Bo", "Mara"]
    assert words_of(party, "Bo") == {"Firstword", "Backword"}
    assert words_of(party, "Cole") == set()
    assert "Cole" not in prompt_of(party, "Mara"), "who came on another branch is neither present nor away here"
    party.conversations.select(TALK, "3")
    assert name_present(party) == ["Ann", "Cole", "Mara"]
    assert words_of(party, "Bo") == {"Firstword", "Secondword"}
    assert words_of(party, "Cole") == {"Awayword"}
    assert words_of(party, "Mara") == {"Firstword", "Secondword", "Awayword"}


def test_who_is_present_is_that_of_the_active_branch_in_every_list(party: ProjectHandle) -> None:
    def present() -> dict[str, int | None]:
        details = party.conversations.get(TALK)
        return {one.name: one.until for one in describe_conversation(details).presence}

    assert present() == {"Ann": None, "Bo": None, "Mara": None, "Cole": 0}
    party.conversations.select(TALK, "3")
    assert present() == {"Ann": None, "Bo": 2, "Mara": None, "Cole": None}


def test_a_turn_that_is_taken_back_takes_along_who_came_in_it(party: ProjectHandle) -> None:
    party.conversations.select(TALK, "3")
    party.chat.take_back(TALK)
    assert name_present(party) == ["Ann", "Cole", "Mara"], "they came and left before it"
    party.chat.take_back(TALK)
    assert name_present(party) == ["Ann", "Bo", "Mara"]


def test_other_conversations_and_recaps_follow_the_branch_too(party: ProjectHandle) -> None:
    for number in range(8):
        say(party, f"Roundword{number} on the new branch. {FILLER}")
        party.conversations.record(TALK, f"Aye {number}.", speaker="Mara")
    assert party.store is not None
    refresh_recaps(
        party.store,
        P,
        party.conversations.get(TALK).record.id,
        write_recap=lambda given: "Recapword " + " ".join(w for w in given.text.split() if w.startswith("Roundword")),
        rules=RecapRules(max_chars=5000),
    )
    assert "Recapword" in prompt_of(party, "Bo"), "who left on another branch heard all of it"
    assert "Recapword" not in prompt_of(party, "Cole")
    party.conversations.start(("Ann", "Mara", "Bo"), title="Deck")
    party.conversations.record("Deck", "Hello.", speaker="Ann")
    request = party.request(
        conversation_id="Deck", speaker_id="Bo", additional_input="The anchor?", recipe="chat", document_id=""
    )
    told = party.inspect(request).prompt
    assert ("Backword" in told, "Awayword" in told) == (True, False)


def test_a_reply_is_given_again_by_those_who_were_there(workspace: Workspace) -> None:
    project = workspace.project(P)
    project.chat.start(("Mara", "Bo"), title=TALK)
    collect(project.chat.send(TALK, "@Bo, who are you?", model=ScriptedProvider()))
    project.conversations.leave(TALK, "Bo")
    project.conversations.join(TALK, "Cole")
    model = ScriptedProvider(lambda who, _: f"Still {who}.")
    assert replies(collect(project.chat.regenerate(TALK, model=model))) == {"Bo": "Still Bo."}
    assert "Cole" not in model.prompts[-1][1], "who came behind the first reply is not there"
    assert name_present(project) == ["Ann", "Bo", "Mara"]
    heard = project.chat.get(TALK).attendance.find_listeners(project.conversations.get_message(TALK, "last"))
    assert heard == frozenset(one.id for one in project.chat.get(TALK).present)
    project.conversations.select(TALK, "2")
    assert name_present(project) == ["Ann", "Cole", "Mara"]


def find_hearers(project: ProjectHandle, conversation: str) -> dict[str, list[str]]:
    """Who heard each message of any branch, by its first word."""
    chat, found = project.chat.get(conversation), dict[str, list[str]]()
    for one in project.conversations.search("word", conversation=conversation, limit=50):
        heard = chat.attendance.find_listeners(one.message) or frozenset()
        found[one.message.content.split()[0].strip(".")] = sorted(map(chat.people.name_of, heard))
    return found


WORDS = ("Firstword", "Secondword", "Awayword", "Backword")
BOTH, AWAY = ["Ann", "Bo", "Mara"], ["Ann", "Cole", "Mara"]


@pytest.mark.parametrize("active", [3, 4])
def test_files_keep_who_heard_what_on_which_branch(party: ProjectHandle, tmp_path: Path, active: int) -> None:
    expected = dict(zip(WORDS, (BOTH, BOTH, AWAY, BOTH), strict=True))
    for branch in (7 - active, active):
        party.conversations.select(TALK, str(branch))
        party.chat_files.export_file(TALK, tmp_path / "session", append=True)
    present = name_present(party)
    party.chat_files.export_file(TALK, tmp_path / "pier.jsonl")
    party.conversations.delete(TALK)
    (session,) = party.chat_files.import_files(tmp_path / "session").conversations
    assert find_hearers(party, session.id) == expected
    assert name_present(party, session.id) == present
    party.conversations.delete(session.id)
    (chat,) = party.chat_files.import_files(tmp_path / "pier.jsonl").conversations
    heard = find_hearers(party, chat.id)
    assert heard == {word: expected[word] for word in heard}
    assert name_present(party, chat.id) == present


def test_a_save_keeps_who_heard_what_on_which_branch(
    party: ProjectHandle, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("saves")
    party.save(folder / "a.fabula")
    with Workspace.open(folder / "other") as other:
        load_save(other.store, folder / "a.fabula")
        loaded = other.project(P)
        assert find_hearers(loaded, TALK) == dict(zip(WORDS, (BOTH, BOTH, AWAY, BOTH), strict=True))
        assert name_present(loaded) == BOTH
        loaded.conversations.select(TALK, "3")
        assert name_present(loaded) == AWAY
