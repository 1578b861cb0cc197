"""Bad input in a chat: coded, explained, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fabula.conversation.modes import Mode, ModeStart, Step, Turn
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.store.store import Store
from fabula.workspace.chat import ChatEvents, MessageStored, ReplyFailed, ReplyStored
from fabula.workspace.project import ProjectHandle
from tests.workspace.chat.scripted import ScriptedProvider, collect, failures, pick, read, replies


def refuse_message(project: ProjectHandle, code: Code, text: str, **more: Any) -> str:
    """Check that a message is refused before anybody is asked, and changes nothing; return the sentence."""
    before, model = (read(project), project.chat.get("Pier").record), ScriptedProvider()
    with pytest.raises(FabulaError) as refused:
        collect(project.chat.send("Pier", text, model=model, **more))
    assert refused.value.code is code
    assert (read(project), project.chat.get("Pier").record) == before
    assert model.prompts == []
    return refused.value.sentence


def test_an_empty_message_is_refused(pier: ProjectHandle) -> None:
    refuse_message(pier, Code.TEXT_INVALID, "")
    refuse_message(pier, Code.TEXT_INVALID, " \n\t ")


def test_a_megabyte_is_refused(pier: ProjectHandle) -> None:
    assert "200,000" in refuse_message(pier, Code.TEXT_INVALID, "x" * 1_000_000)


def test_a_message_beyond_the_window_is_stored_and_each_speaker_says_why(pier: ProjectHandle) -> None:
    events = collect(pier.chat.send("Pier", "@Bo " + "7 x" * 60_000, model=ScriptedProvider()))
    assert len(pick(events, MessageStored)) == 1
    assert failures(events) == {"Bo": Code.INPUT_TOO_LARGE}
    assert len(read(pier)) == 1


def test_unknown_people_and_conversations_are_refused_with_the_nearest(pier: ProjectHandle) -> None:
    assert "Mara" in refuse_message(pier, Code.STORE_NOT_FOUND, "Hello.", speaker="Marra")
    assert "Bo" in refuse_message(pier, Code.STORE_NOT_FOUND, "Hello.", audience=("Boo",))
    with pytest.raises(FabulaError) as refused:
        collect(pier.chat.send("Peir", "Hello.", model=ScriptedProvider()))
    assert refused.value.code is Code.STORE_NOT_FOUND
    assert "Pier" in refused.value.sentence
    with pytest.raises(FabulaError) as refused:
        collect(pier.chat.ask("Pier", ["Boo"], model=ScriptedProvider()))
    assert refused.value.code is Code.STORE_NOT_FOUND


def test_nobody_is_there_to_answer(pier: ProjectHandle) -> None:
    for name in ("Mara", "Bo", "Cleo"):
        pier.conversations.leave("Pier", name)
    assert "Let somebody join" in refuse_message(pier, Code.CHAT_NOBODY_PRESENT, "Hello?")
    for names in ((), ("Bo",)):
        with pytest.raises(FabulaError) as refused:
            collect(pier.chat.ask("Pier", names, model=ScriptedProvider()))
        assert refused.value.code is Code.CHAT_NOBODY_PRESENT


def test_nobody_who_is_away_speaks_by_any_verb(pier: ProjectHandle) -> None:
    model = ScriptedProvider(lambda who, _: "FAIL" if who == "Cleo" else f"I am {who}.")
    collect(pier.chat.send("Pier", "@Cleo @Bo hello", model=model))
    asked = len(model.prompts)
    for name in ("Bo", "Cleo"):
        pier.conversations.leave("Pier", name)
    verbs: list[Callable[[], ChatEvents]] = [
        lambda: pier.chat.continue_reply("Pier", model=model),
        lambda: pier.chat.ask("Pier", ("Bo",), model=model),
        lambda: pier.chat.ask("Pier", ("Cleo",), model=model),  # who is waited for
        lambda: pier.chat.paste("Pier", "I am back.", participant="Bo", model=model),
        lambda: pier.chat.paste("Pier", "I am back.", goes_on_from="last", model=model),
    ]
    before = read(pier)
    for verb in verbs:
        with pytest.raises(FabulaError) as refused:
            collect(verb())
        assert refused.value.code is Code.CHAT_NOBODY_PRESENT
        assert "is not present in this conversation. Let them join first." in str(refused.value)
    collect(pier.chat.ask("Pier", model=model))
    assert read(pier) == before
    assert len(model.prompts) == asked
    assert pier.chat.get("Pier").round.waiting == ()


def test_whoever_leaves_before_it_is_their_turn_is_not_asked(pier: ProjectHandle) -> None:
    def answer(who: str, _: str) -> str:
        if who == "Bo":
            pier.conversations.leave("Pier", "Cleo")
        return f"I am {who}."

    pier.chat.set_mode("Pier", "group")
    model = ScriptedProvider(answer)
    assert replies(collect(pier.chat.send("Pier", "@Bo @Cleo hello", model=model))) == {"Bo": "I am Bo."}


def test_a_player_who_has_left_is_told_so_before_their_line_is_recorded(pier: ProjectHandle) -> None:
    pier.conversations.leave("Pier", "Ann")
    told = refuse_message(pier, Code.REQUEST_INVALID, "Hello?")
    assert told == "Ann has left this conversation. Let them join first, or say who speaks. Nothing was changed."
    assert read(pier) == []


def test_a_prompt_for_somebody_who_is_not_there_has_a_warning(pier: ProjectHandle) -> None:
    pier.participants.add("Old Pike")

    def warn(*, speaker_id: str, conversation_id: str = "") -> list[str]:
        request = pier.request(skill_id="chat", speaker_id=speaker_id, conversation_id=conversation_id)
        return list(pier.assemble(request).warnings)

    assert warn(conversation_id="Pier", speaker_id="Bo") == []
    pier.conversations.leave("Pier", "Bo")
    for fields, why in (
        ({"conversation_id": "Pier", "speaker_id": "Bo"}, "for Bo, who has left this conversation"),
        (
            {"conversation_id": "Pier", "speaker_id": "Old Pike"},
            "for Old Pike, who takes no part in this conversation; let them join, or name somebody who is present: "
            "Ann, Cleo, Mara",
        ),
        ({"speaker_id": "Old Pike"}, "for Old Pike, who speaks in no conversation"),
    ):
        (warning,) = warn(**fields)
        assert warning.startswith(f"{Code.SPEAKER_ABSENT.value}: The prompt is ")
        assert why in warning


def test_a_project_in_which_nobody_has_a_persona_has_nobody_to_talk_to(pier: ProjectHandle) -> None:
    for name in ("Mara", "Bo", "Cleo"):
        pier.participants.edit(name, persona="")
    with pytest.raises(FabulaError) as refused:
        pier.chat.start()
    assert refused.value.code is Code.CHAT_NOBODY_PRESENT
    assert len(pier.conversations.list_all()) == 1


def test_an_unknown_mode_is_refused_with_the_nearest(pier: ProjectHandle) -> None:
    assert "werewolf" in refuse_message(pier, Code.MODE_UNKNOWN, "Hello.", mode="werwolf")
    with pytest.raises(FabulaError) as refused:
        pier.chat.start(mode="quizz")
    assert refused.value.code is Code.MODE_UNKNOWN
    assert len(pier.conversations.list_all()) == 1


def test_a_stored_mode_that_is_not_installed_any_more_is_refused_and_can_be_changed(
    pier: ProjectHandle, store: Store
) -> None:
    with store.write(project="party") as tx:
        tx.update_rows(conversations, {"mode": "gone_mode"})
    refuse_message(pier, Code.MODE_UNKNOWN, "Hello.")
    pier.chat.set_mode("Pier", "free_chat")
    assert len(replies(collect(pier.chat.send("Pier", "Hello.", model=ScriptedProvider())))) == 3


def test_another_mode_in_the_middle_is_refused_and_a_changed_one_keeps_the_old_state(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "quiz")
    collect(pier.chat.send("Pier", "@Bo +3", model=ScriptedProvider()))
    assert "'quiz'" in refuse_message(pier, Code.MODE_CHANGED, "Hello.", mode="free_chat")
    assert "scores" not in pier.chat.set_mode("Pier", "free_chat").state
    collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider(), mode="free_chat"))
    assert pier.chat.set_mode("Pier", "quiz").state["scores"] == {"persona:Bo": 3}


def test_other_roles_in_the_middle_are_refused(pier: ProjectHandle) -> None:
    roles = {"coder": "Bo", "reviewer": "Mara", "tester": "Cleo"}
    pier.chat.set_mode("Pier", "workflow", roles=roles)
    refuse_message(pier, Code.MODE_CHANGED, "Hello.", roles={**roles, "coder": "Cleo"})
    collect(pier.chat.send("Pier", "Hello.", roles=roles, model=ScriptedProvider()))


def test_a_mode_may_change_between_a_message_and_its_answers(pier: ProjectHandle) -> None:
    def change(who: str, _: str) -> str:
        pier.chat.set_mode("Pier", "quiz")
        return f"I am {who}."

    events = collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider(change)))
    assert replies(events) == {"Bo": "I am Bo."}
    assert read(pier) == ["Ann: @Bo?", "Bo: I am Bo."]
    assert pier.chat.get("Pier").mode == "quiz"


class Broken(Mode):
    """Raises wherever it is told to."""

    def __init__(self, where: str) -> None:
        self.where = where

    def _fail(self, where: str) -> None:
        if where == self.where:
            raise ValueError("a fault of the mode")

    def start(self, turn: Turn) -> ModeStart:
        self._fail("start")
        return super().start(turn)

    def route(self, turn: Turn) -> Step:
        self._fail("route")
        return super().route(turn)

    def proceed(self, turn: Turn) -> Step:
        self._fail("proceed")
        return super().proceed(turn)

    def describe_state(self, turn: Turn, speaker: str) -> str:
        self._fail("describe_state")
        return super().describe_state(turn, speaker)


@pytest.mark.parametrize("where", ["start", "route", "proceed", "describe_state"])
def test_a_mode_that_raises_costs_nothing_that_was_said(pier: ProjectHandle, where: str) -> None:
    pier.chat.add_mode("broken", Broken(where))
    if where == "start":
        with pytest.raises(FabulaError) as refused:
            pier.chat.set_mode("Pier", "broken")
        assert refused.value.code is Code.MODE_FAILED
        assert pier.chat.get("Pier").mode == "free_chat"
        return
    pier.chat.set_mode("Pier", "broken")
    model = ScriptedProvider()
    if where == "describe_state":
        assert failures(collect(pier.chat.send("Pier", "@Bo, hello", model=model))) == {"Bo": Code.MODE_FAILED}
    else:
        with pytest.raises(FabulaError) as refused:
            collect(pier.chat.send("Pier", "@Bo, hello", model=model))
        assert refused.value.code is Code.MODE_FAILED
        assert "a fault of the mode" in refused.value.sentence
    said = ["Ann: @Bo, hello", "Bo: I am Bo."] if where == "proceed" else ["Ann: @Bo, hello"]
    assert read(pier) == said
    pier.chat.set_mode("Pier", "free_chat")
    assert "Mara" in replies(collect(pier.chat.send("Pier", "Hello.", model=model)))


class Odd(Mode):
    def __init__(self, step: object) -> None:
        self.step = step

    def route(self, turn: Turn) -> Step:
        return self.step  # type: ignore[return-value]


@pytest.mark.parametrize(
    "step",
    [
        None,
        Step(speakers=("persona:Nobody",)),
        Step(state={"what": object()}),
        Step(state={"round": {}}),
    ],
    ids=["nothing", "stranger", "no JSON", "reserved"],
)
def test_a_mode_that_decides_nonsense_is_refused_and_the_message_stays(pier: ProjectHandle, step: object) -> None:
    pier.chat.add_mode("odd", Odd(step))
    pier.chat.set_mode("Pier", "odd")
    with pytest.raises(FabulaError) as refused:
        collect(pier.chat.send("Pier", "Hello.", model=ScriptedProvider()))
    assert refused.value.code is Code.MODE_FAILED
    assert read(pier) == ["Ann: Hello."]


@pytest.mark.parametrize("stored", [{"round": 3}, {"round": {"waiting": 7}}, {"others": []}, {"scores": "x"}], ids=str)
def test_a_stored_state_that_makes_no_sense_does_not_stop_a_chat(
    pier: ProjectHandle, store: Store, stored: Mapping[str, Any]
) -> None:
    with store.write(project="party") as tx:
        tx.update_rows(conversations, {"mode_state": dict(stored)})
    assert len(replies(collect(pier.chat.send("Pier", "Hello.", model=ScriptedProvider())))) == 3


def test_an_empty_answer_is_a_failure_that_can_be_asked_again(pier: ProjectHandle) -> None:
    events = collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider(lambda *_: "  \n ")))
    assert failures(events) == {"Bo": Code.LLM_ANSWER_EMPTY}
    assert read(pier) == ["Ann: @Bo?"]
    assert replies(collect(pier.chat.ask("Pier", model=ScriptedProvider()))) == {"Bo": "I am Bo."}


def test_an_answer_in_somebody_elses_name_is_refused_and_kept_beside_the_history(pier: ProjectHandle) -> None:
    events = collect(pier.chat.send("Pier", "@Mara?", model=ScriptedProvider(lambda *_: "Bo: It was me.")))
    assert failures(events) == {"Mara": Code.LLM_OTHER_SPEAKER}
    failed = pick(events, ReplyFailed)[0]
    assert "Bo" in failed.error.sentence
    assert failed.message is not None
    assert (failed.message.content, failed.message.final) == ("Bo: It was me.", False)
    model = ScriptedProvider()
    collect(pier.chat.ask("Pier", model=model))
    assert "It was me." not in model.prompts[0][1]


def test_an_answer_ends_where_it_goes_on_in_somebody_elses_name(pier: ProjectHandle) -> None:
    answer = "Mara: Not me.\nBo: It was me.\nMara: See?"
    events = collect(pier.chat.send("Pier", "@Mara?", model=ScriptedProvider(lambda *_: answer)))
    assert replies(events) == {"Mara": "Not me."}
    assert pick(events, ReplyStored)[0].is_cut


def test_a_clock_that_goes_backwards_changes_no_order(pier: ProjectHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(f"2026-11-{day:02}T00:00:00.000000Z" for day in range(28, 0, -1))
    monkeypatch.setattr("fabula.conversation.edits.current_timestamp", lambda: next(times))
    model = ScriptedProvider()
    for number in range(3):
        collect(pier.chat.send("Pier", f"@Bo, line {number}", model=model))
    said = [line for number in range(3) for line in (f"Ann: @Bo, line {number}", "Bo: I am Bo.")]
    assert read(pier) == said
    assert model.prompts[-1][1].index("line 0") < model.prompts[-1][1].index("line 1")


def test_a_message_that_is_deleted_while_it_is_answered_costs_no_answer(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Bo, first", model=ScriptedProvider()))

    def delete(*_: str) -> str:
        pier.conversations.delete_message("Pier", "last")
        return "Late."

    collect(pier.chat.send("Pier", "@Bo, second", model=ScriptedProvider(delete)))
    assert read(pier) == ["Ann: @Bo, first", "Bo: I am Bo.", "Bo: Late."]
    collect(pier.chat.regenerate("Pier", model=ScriptedProvider(lambda *_: "Later.")))
    assert read(pier)[-2:] == ["Bo: I am Bo.", "Bo: Later."]


def test_a_conversation_that_is_deleted_while_it_is_answered_leaves_the_text_in_the_run(pier: ProjectHandle) -> None:
    def delete(*_: str) -> str:
        pier.conversations.delete("Pier")
        return "Too late."

    with pytest.raises(FabulaError) as refused:
        collect(pier.chat.send("Pier", "@Bo, hello", model=ScriptedProvider(delete)))
    assert refused.value.code is Code.STORE_NOT_FOUND
    assert pier.runs.list_runs()[0].answer == "Too late."


def test_a_speaker_who_leaves_while_answering_is_still_heard(pier: ProjectHandle) -> None:
    def leave(*_: str) -> str:
        pier.conversations.leave("Pier", "Bo")
        return "Goodbye."

    events = collect(pier.chat.send("Pier", "@Bo, hello", model=ScriptedProvider(leave)))
    assert replies(events) == {"Bo": "Goodbye."}


def test_who_joins_in_the_middle_of_a_round_is_not_told_what_was_said_before(pier: ProjectHandle) -> None:
    pier.conversations.leave("Pier", "Mara")
    collect(pier.chat.send("Pier", "@Bo, SECRET-WORD", model=ScriptedProvider(lambda *_: "FAIL")))
    pier.conversations.join("Pier", "Mara")
    model = ScriptedProvider()
    assert replies(collect(pier.chat.ask("Pier", ["Mara"], model=model))) == {"Mara": "I am Mara."}
    assert "SECRET-WORD" not in model.prompts[0][1]
