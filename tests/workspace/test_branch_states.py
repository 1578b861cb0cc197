"""The state of a mode belongs to a branch: scores, roles, the node of a workflow and the last speaker (cht-4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from fabula.conversation.modes import Mode, Step, Turn
from fabula.conversation.tables import conversations, messages
from fabula.manuscript import projects
from fabula.store.save.loading import load_save
from fabula.store.store import Store
from fabula.workspace.chat import Announced
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.workspace.chat.conftest import pier
from tests.workspace.chat.scripted import ScriptedProvider, collect, pick, read, replies

__all__ = ["pier"]
ROLES = {"coder": "Bo", "reviewer": "Mara", "tester": "Cleo"}
BO, MARA = "persona:Bo", "persona:Mara"


def say(project: ProjectHandle, text: str, script: Any = None, conversation: str = "Pier") -> list[Any]:
    model = ScriptedProvider() if script is None else ScriptedProvider(script)
    return collect(project.chat.send(conversation, text, model=model))


def scores(project: ProjectHandle, conversation: str = "Pier") -> dict[str, int]:
    found: dict[str, int] = project.chat.get(conversation).state["scores"]
    return found


def number_of(project: ProjectHandle, text: str, conversation: str = "Pier") -> str:
    """The number that a message is shown with."""
    (found,) = project.conversations.search(text, conversation=conversation)
    return str((found.message.number or 0) + 1)


@pytest.fixture
def quiz(pier: ProjectHandle) -> ProjectHandle:
    """A quiz in which Bo has 1 point on both branches, and 2 more on one, where Mara has 5 on the other."""
    pier.chat.set_mode("Pier", "quiz")
    say(pier, "@Bo +1")
    say(pier, "@Bo +2")
    pier.conversations.go_back("Pier", number_of(pier, "@Bo +1"))
    say(pier, "@Mara +5")
    return pier


def test_points_count_on_their_own_branch(quiz: ProjectHandle) -> None:
    assert scores(quiz) == {BO: 1, MARA: 5}
    quiz.conversations.select("Pier", number_of(quiz, "@Bo +2"))
    assert scores(quiz) == {BO: 3}
    quiz.conversations.select("Pier", number_of(quiz, "@Mara +5"))
    assert scores(quiz) == {BO: 1, MARA: 5}
    assert [str(one) for one in quiz.chat.explain_mode("Pier")] == ["Scores: Mara 5, Bo 1"]


def test_a_message_recorded_behind_another_one_has_the_state_of_that_place(quiz: ProjectHandle) -> None:
    quiz.conversations.record("Pier", "Here.", speaker="Ann", after=number_of(quiz, "@Bo +1"))
    assert scores(quiz) == {BO: 1}


def test_the_choice_of_a_branch_is_undone_with_its_state(quiz: ProjectHandle) -> None:
    quiz.conversations.select("Pier", number_of(quiz, "@Bo +2"))
    quiz.changes.undo()
    assert scores(quiz) == {BO: 1, MARA: 5}


def test_a_turn_that_is_taken_back_takes_its_points_back_however_long_ago_it_was(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "quiz")
    for _ in range(25):
        say(pier, "@Bo +1")
    for left in range(24, -1, -1):
        pier.chat.take_back("Pier")
        assert scores(pier) == ({BO: left} if left else {})


def test_a_deleted_message_takes_its_points_along_unless_others_follow_it(quiz: ProjectHandle) -> None:
    quiz.conversations.delete_message("Pier", number_of(quiz, "@Mara +5"))
    assert scores(quiz) == {BO: 1, MARA: 5}, "the scores were told behind it"
    quiz.conversations.delete_message("Pier", "last")
    assert scores(quiz) == {BO: 1}
    quiz.changes.undo()
    assert scores(quiz) == {BO: 1, MARA: 5}
    quiz.conversations.delete_message("Pier", number_of(quiz, "@Bo +1"))
    quiz.conversations.select("Pier", number_of(quiz, "@Bo +2"))
    assert scores(quiz) == {BO: 3}
    quiz.chat.take_back("Pier")
    assert scores(quiz) == {BO: 1}, "the branch keeps the state that it had"


def test_the_note_the_mode_and_its_options_are_those_of_every_branch(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "group", state={"choice": "turn"})
    assert list(replies(say(pier, "One."))) == ["Bo"]
    first = number_of(pier, "I am Bo.")
    assert list(replies(say(pier, "Two."))) == ["Cleo"]
    pier.conversations.set_note("Pier", "It rains.")
    pier.chat.set_mode("Pier", "group", state={"max_replies": 2})
    pier.conversations.go_back("Pier", first)
    chat = pier.chat.get("Pier")
    assert (chat.state["last"], chat.state["max_replies"], chat.note["text"]) == (BO, 2, "It rains.")
    assert list(replies(say(pier, "Two again."))) == ["Cleo"], "it is her turn behind Bo"


def test_a_mode_that_began_later_begins_anew_on_an_earlier_branch(pier: ProjectHandle) -> None:
    say(pier, "@Bo hello")
    say(pier, "@Mara hello")
    pier.chat.set_mode("Pier", "werewolf", state={"roles": {BO: "werewolf", MARA: "seer"}})
    say(pier, "Good evening.")
    assert pier.chat.get("Pier").state["roles"]["persona:Cleo"] == "villager"
    pier.conversations.go_back("Pier", "2")
    assert pier.chat.get("Pier").state["roles"] == {BO: "werewolf", MARA: "seer"}
    pier.chat.set_mode("Pier", "quiz")
    say(pier, "@Bo +4")
    pier.conversations.go_back("Pier", "1")
    pier.chat.set_mode("Pier", "werewolf")
    assert pier.chat.get("Pier").state["roles"] == {BO: "werewolf", MARA: "seer"}, "of the mode before, too"
    pier.chat.set_mode("Pier", "quiz")
    assert scores(pier) == {}


def judge(verdict: str) -> Any:
    return lambda who, _: {"Mara": "APPROVED", "Cleo": verdict}.get(who, "Done.")


def test_a_reply_given_again_is_heard_by_the_mode_on_the_state_before_it(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    say(pier, "Write", judge("PASSED"))
    assert pier.chat.get("Pier").state["outcome"] == "passed"
    again = collect(pier.chat.regenerate("Pier", model=ScriptedProvider(judge("REJECTED: no."))))
    chat = pier.chat.get("Pier")
    assert (chat.state["current_node"], chat.state.get("outcome"), chat.round.waiting) == ("coder", None, (BO,))
    assert pick(again, Announced) == []
    events = collect(pier.chat.ask("Pier", model=ScriptedProvider(judge("PASSED"))))
    assert list(replies(events)) == ["Bo", "Mara", "Cleo"]
    assert read(pier)[-1] == "[The work passed in 2 rounds.]"
    pier.conversations.select("Pier", number_of(pier, "[The work passed in 1 round.]"))
    assert pier.chat.get("Pier").state["outcome"] == "passed"


def test_a_reply_in_the_middle_given_again_lets_the_mode_go_on_from_there(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    say(pier, "Write", judge("PASSED"))
    told = collect(pier.chat.regenerate("Pier", "2", model=ScriptedProvider(lambda *_: "Done anew.")))
    assert pick(told, Announced) == []
    assert pier.chat.get("Pier").round.waiting == (MARA,)
    collect(pier.chat.ask("Pier", model=ScriptedProvider(judge("PASSED"))))
    said = ["Ann: Write", "Bo: Done anew.", "Mara: APPROVED", "Cleo: PASSED", "[The work passed in 1 round.]"]
    assert read(pier) == said


def test_a_pasted_reply_in_place_of_another_is_heard_too(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    say(pier, "Write", judge("PASSED"))
    events = collect(pier.chat.paste("Pier", "FAILED: no.", instead_of="4", model=ScriptedProvider()))
    assert pick(events, Announced) == []
    assert pier.chat.get("Pier").state["current_node"] == "coder"


def test_who_spoke_last_in_a_group_is_who_did_on_the_branch(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "group", state={"choice": "turn"})
    assert [list(replies(say(pier, f"Turn {number}."))) for number in (1, 2)] == [["Bo"], ["Cleo"]]
    collect(pier.chat.regenerate("Pier", model=ScriptedProvider(lambda *_: "Once more.")))
    assert list(replies(say(pier, "Turn 3."))) == ["Mara"]
    pier.conversations.go_back("Pier", "2")
    assert list(replies(say(pier, "Turn 2 again."))) == ["Cleo"]


class Vote(Mode):
    """Everybody answers at once, and the state has what they said."""

    def route(self, turn: Turn) -> Step:
        return Step(speakers=turn.ids, state={**turn.state, "asked": turn.text})

    def proceed(self, turn: Turn) -> Step:
        return Step(state={**turn.state, "votes": [one.content for one in turn.replies]})


def test_replies_of_a_parallel_step_that_stay_are_heard_with_the_one_given_again(pier: ProjectHandle) -> None:
    pier.chat.add_mode("vote", Vote())
    pier.chat.set_mode("Pier", "vote")
    say(pier, "Whom?", lambda who, _: f"Not {who}.")
    votes = pier.chat.get("Pier").state["votes"]
    assert sorted(votes) == ["Not Bo.", "Not Cleo.", "Not Mara."]
    collect(pier.chat.regenerate("Pier", "3", model=ScriptedProvider(lambda who, _: "Nobody.")))
    assert pier.chat.get("Pier").state["votes"] == [votes[0], "Nobody.", votes[2]]
    pier.conversations.select("Pier", "3")
    assert pier.chat.get("Pier").state["votes"] == votes


def test_states_of_before_they_were_kept_with_messages_go_on(quiz: ProjectHandle, store: Store) -> None:
    """Of an older conversation the last turns can be taken back, and the state of now is that of its branch."""
    talk = quiz.chat.get("Pier").record.id
    second = quiz.conversations.get_message("Pier", number_of(quiz, "@Mara +5")).id
    with store.write(project="party") as tx:
        stored = dict(tx.require(conversations, id=talk).mode_state)
        stored.pop("begun")
        tx.update_rows(conversations, {"mode_state": {**stored, "earlier": {second: {"scores": {BO: 1}}}}})
        tx.update_rows(messages, {"mode_state": None})
    say(quiz, "@Bo +7")
    assert scores(quiz) == {BO: 8, MARA: 5}
    quiz.chat.take_back("Pier")
    assert scores(quiz) == {BO: 1, MARA: 5}
    quiz.chat.take_back("Pier")
    assert scores(quiz) == {BO: 1}
    assert "earlier" not in quiz.chat.get("Pier").record.mode_state


def test_a_save_keeps_the_states_of_all_branches(quiz: ProjectHandle, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("saves")
    quiz.save(folder / "a.fabula")
    with Workspace.open(folder / "other") as other:
        load_save(other.store, folder / "a.fabula")
        loaded = other.project("party")
        assert scores(loaded) == {BO: 1, MARA: 5}
        loaded.conversations.select("Pier", number_of(loaded, "@Bo +2"))
        assert scores(loaded) == {BO: 3}


@pytest.mark.parametrize("name", ["session", "pier.jsonl"])
def test_a_file_keeps_the_states_along_its_path_with_the_ids_of_here(
    quiz: ProjectHandle, tmp_path: Path, store: Store, name: str
) -> None:
    quiz.chat_files.export_file("Pier", tmp_path / name)
    projects.create(store, "Other", project_id="other")
    with Workspace(store) as workspace:
        other = workspace.project("other")
        other.participants.add("Bo", key="bosun")
        other.chat_files.import_files(tmp_path / name)
        (talk,) = [one.record.id for one in other.conversations.list_all()]
        mara = next(one.id for one in other.participants.list_all() if one.name == "Mara")
        assert scores(other, talk) == {"persona:bosun": 1, mara: 5}
        other.chat.take_back(talk)
        assert scores(other, talk) == {"persona:bosun": 1}
        other.chat.take_back(talk)
        assert scores(other, talk) == {}


def test_only_a_changed_state_is_written_with_a_message(pier: ProjectHandle, store: Store) -> None:
    pier.chat.set_mode("Pier", "quiz")
    say(pier, "@Bo +1")
    asked: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    say(pier, "Which sea is this?")
    event.remove(store.engine, "before_cursor_execute", note)
    assert not any(one.startswith("UPDATE messages") for one in asked)
    with store.read(project="party") as reading:
        kept = [row.content for row in reading.rows(messages, messages.c.mode_state.is_not(None))]
    assert kept == ["@Bo +1"]
