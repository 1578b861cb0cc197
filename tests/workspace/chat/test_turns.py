"""One turn of a chat: who answers, what their prompts hold, and what is stored (cht-2)."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing

import pytest

from fabula.access.edits import add_person, set_membership
from fabula.access.model import Membership, Role
from fabula.context.request import Grants
from fabula.conversation.modes import Mode, Step, Turn
from fabula.core.errors import Code, FabulaError
from fabula.llm.providers.clipboard import ClipboardProvider
from fabula.settings.edits import set_value
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.chat import (
    MessageStored,
    PromptHandedOver,
    ReplyDelta,
    ReplyFailed,
    ReplyStored,
    SpeakerStart,
    TurnEnd,
)
from fabula.workspace.project import ProjectHandle
from tests.workspace.chat.scripted import ScriptedProvider, collect, failures, pick, read, replies


def test_all_answer_on_the_history_from_before_the_round(pier: ProjectHandle) -> None:
    model = ScriptedProvider(lambda who, _: f"WORD-{who.upper()}")
    events = collect(pier.chat.send("Pier", "Who lit the lamp?", model=model))
    assert isinstance(events[0], MessageStored)
    assert {event.name for event in pick(events, SpeakerStart)} == {"Mara", "Bo", "Cleo"}
    assert replies(events) == {"Mara": "WORD-MARA", "Bo": "WORD-BO", "Cleo": "WORD-CLEO"}
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].waiting == ()
    for _, prompt in model.prompts:
        assert "WORD-" not in prompt
        assert prompt.count("Who lit the lamp?") == 1
    collect(pier.chat.send("Pier", "And then?", model=model))
    for _, prompt in model.prompts[3:]:
        assert all(prompt.count(f"WORD-{who}") == 1 for who in ("MARA", "BO", "CLEO"))
        assert prompt.count("Who lit the lamp?") == prompt.count("And then?") == 1


def test_the_last_message_is_the_one_that_is_answered_without_the_sign_of_a_mention(pier: ProjectHandle) -> None:
    pier.participants.edit("Mara", persona="PERSONA-MARA ({{lastMessage}}/{{lastUserMessage}})")
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "Good evening.", model=model))
    collect(pier.chat.send("Pier", "@Mara, who lit the lamp?", model=model))
    assert "(Mara, who lit the lamp?/Mara, who lit the lamp?)" in model.prompts[-1][1]


def test_each_prompt_has_its_own_persona_and_the_names_of_all(pier: ProjectHandle) -> None:
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "Hello.", model=model))
    for who, prompt in model.prompts:
        assert f"PERSONA-{who.upper()}" in prompt
        assert prompt.count("PERSONA-") == 1
        assert all(name in prompt for name in ("Ann", "Mara", "Bo", "Cleo"))


def test_mentioned_ones_answer_and_the_prompt_has_the_cleaned_text(pier: ProjectHandle) -> None:
    model = ScriptedProvider()
    events = collect(pier.chat.send("Pier", "@Captain, look at this", model=model))
    assert list(replies(events)) == ["Mara"]
    assert "Ann: Captain, look at this" in model.prompts[0][1]
    assert "@Captain" not in model.prompts[0][1]
    assert read(pier)[0] == "Ann: @Captain, look at this"
    collect(pier.chat.send("Pier", "Go on.", model=model))
    assert all("@Captain" not in prompt for _, prompt in model.prompts)


def test_a_mention_of_oneself_asks_everybody_else(pier: ProjectHandle) -> None:
    events = collect(pier.chat.send("Pier", "@Ann is me", model=ScriptedProvider()))
    assert set(replies(events)) == {"Mara", "Bo", "Cleo"}
    events = collect(pier.chat.send("Pier", "@Bo and @Mara are here", speaker="Bo", model=ScriptedProvider()))
    assert list(replies(events)) == ["Mara"]


def test_no_model_answers_for_a_character_whom_a_person_plays_unless_it_is_asked_to(pier: ProjectHandle) -> None:
    assert pier.store is not None
    with pier.store.write(user=LOCAL_USER) as tx:
        add_person(tx, "ben")
        set_membership(tx, "ben", pier.id, Membership(Role.PLAYER, Grants(characters=frozenset({"persona:Bo"}))))
    events = collect(pier.chat.send("Pier", "Who lit the lamp?", model=ScriptedProvider()))
    assert set(replies(events)) == {"Mara", "Cleo"}
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].waiting == ()
    events = collect(pier.chat.send("Pier", "@Bo, was it you?", model=ScriptedProvider()))
    assert replies(events) == {}
    assert isinstance(events[0], MessageStored)
    assert [f"{note}" for note in events[0].notes] == ["A person plays Bo, and answers without a model."]
    answers = replies(collect(pier.chat.send("Pier", "It was.", speaker="Bo", model=ScriptedProvider())))
    assert set(answers) == {"Mara", "Cleo"}
    assert list(replies(collect(pier.chat.ask("Pier", ["Bo"], model=ScriptedProvider())))) == ["Bo"]
    with pier.store.write(user=LOCAL_USER) as tx:
        set_membership(tx, "ben", pier.id, Membership(Role.READER))
    assert list(replies(collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider())))) == ["Bo"]


def test_deltas_add_up_to_the_reply_and_usage_and_run_come_along(pier: ProjectHandle) -> None:
    events = collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider(lambda *_: "One two three.")))
    assert "".join(event.text for event in pick(events, ReplyDelta)) == "One two three."
    stored = pick(events, ReplyStored)[0]
    assert stored.usage.output_tokens == len("One two three.")
    assert pier.runs.find(stored.run_id).answer == "One two three."
    assert pier.runs.find(stored.run_id).outcome == "used"
    assert stored.message.extra["run"] == stored.run_id


def test_what_one_said_stays_when_another_fails_and_the_failed_one_is_asked_again_alone(pier: ProjectHandle) -> None:
    model = ScriptedProvider(lambda who, _: "Half a sen FAIL" if who == "Bo" else f"WORD-{who.upper()}")
    events = collect(pier.chat.send("Pier", "Who?", model=model))
    assert set(replies(events)) == {"Mara", "Cleo"}
    failed = pick(events, ReplyFailed)[0]
    assert (failed.name, failed.error.code, failed.text) == ("Bo", Code.LLM_REFUSED, "Half a sen")
    assert failed.message is not None
    assert not failed.message.final
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].waiting == ("persona:Bo",)
    again = ScriptedProvider(lambda *_: "Now I can.")
    events = collect(pier.chat.ask("Pier", ["Bo"], model=again))
    assert replies(events) == {"Bo": "Now I can."}
    assert len(again.prompts) == 1
    assert "Who?" in again.prompts[0][1]
    assert "WORD-" not in again.prompts[0][1], "a parallel answer sees the history from before the round"
    assert "Half a sen" not in again.prompts[0][1]
    assert events[-1] == TurnEnd(conversation_id=failed_conversation(pier), mode="free_chat", mode_state={})


def test_a_provider_that_raises_an_error_of_its_own_costs_one_reply(pier: ProjectHandle) -> None:
    def script(who: str, _: str) -> str:
        return "A lot of FAIL" if who == "Bo" else f"I am {who}."

    model = ScriptedProvider(script, ConnectionError("the socket was closed"))
    events = collect(pier.chat.send("Pier", "Hello.", model=model))
    assert failures(events) == {"Bo": Code.LLM_GONE}
    assert replies(events) == {"Mara": "I am Mara.", "Cleo": "I am Cleo."}
    assert [event.text for event in pick(events, ReplyFailed)] == ["A lot of"]
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].waiting == ("persona:Bo",)


def failed_conversation(project: ProjectHandle) -> str:
    return project.chat.get("Pier").record.id


def test_asking_without_names_asks_whoever_is_waited_for(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "Who?", model=ScriptedProvider(lambda who, _: "FAIL" if who != "Bo" else "Me.")))
    events = collect(pier.chat.ask("Pier", model=ScriptedProvider()))
    assert set(replies(events)) == {"Mara", "Cleo"}


def test_somebody_can_be_asked_by_hand(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider()))
    model = ScriptedProvider(lambda *_: "Well.")
    assert replies(collect(pier.chat.ask("Pier", ["Cleo"], model=model))) == {"Cleo": "Well."}
    assert "I am Bo." in model.prompts[0][1]


def test_a_reply_given_again_is_a_sibling_on_the_same_history(pier: ProjectHandle) -> None:
    model = ScriptedProvider(lambda who, _: f"WORD-{who.upper()}")
    collect(pier.chat.send("Pier", "Who?", model=model))
    last = pier.conversations.read_page("Pier").messages[-1]
    again = ScriptedProvider(lambda *_: "Another.")
    events = collect(pier.chat.regenerate("Pier", model=again))
    stored = pick(events, ReplyStored)[0].message
    assert (stored.parent_id, stored.speaker, stored.content) == (last.parent_id, last.speaker, "Another.")
    assert "WORD-" not in again.prompts[0][1]
    assert again.prompts[0][1].count("Who?") == 1
    siblings = pier.conversations.list_siblings("Pier", stored.id)
    assert [one.content for one in siblings] == [last.content, "Another."]
    assert read(pier)[-1].endswith("Another.")


def test_a_failed_second_reply_leaves_the_first(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider()))
    events = collect(pier.chat.regenerate("Pier", model=ScriptedProvider(lambda *_: "FAIL")))
    assert failures(events) == {"Bo": Code.LLM_REFUSED}
    assert read(pier) == ["Ann: @Bo?", "Bo: I am Bo."]


def test_a_reply_of_another_branch_can_be_given_again(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider(lambda *_: "First.")))
    collect(pier.chat.regenerate("Pier", model=ScriptedProvider(lambda *_: "Second.")))
    collect(pier.chat.send("Pier", "@Mara, go on", model=ScriptedProvider()))
    collect(pier.chat.regenerate("Pier", "2", model=ScriptedProvider(lambda *_: "Third.")))
    assert read(pier) == ["Ann: @Bo?", "Bo: Third."]


def test_an_earlier_reply_of_a_parallel_round_given_again_keeps_the_later_ones(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "Who?", model=ScriptedProvider()))
    asked, first, *later = pier.conversations.read_page("Pier").messages
    collect(pier.chat.regenerate("Pier", first.id, model=ScriptedProvider(lambda *_: "Another.")))
    path = pier.conversations.read_page("Pier").messages
    assert [one.content for one in path] == [asked.content, "Another.", *(one.content for one in later)]
    assert [one.speaker for one in path[2:]] == [one.speaker for one in later]
    pier.conversations.select("Pier", first.id)
    assert [one.id for one in pier.conversations.read_page("Pier").messages] == [
        asked.id,
        first.id,
        *(one.id for one in later),
    ]


def test_a_reply_kept_behind_another_one_is_not_heard_by_who_joined_since(pier: ProjectHandle) -> None:
    pier.conversations.leave("Pier", "Cleo")
    collect(pier.chat.send("Pier", "Who?", model=ScriptedProvider(lambda who, _: f"WORD-{who}.")))
    first, later = pier.conversations.read_page("Pier").messages[1:]
    pier.conversations.join("Pier", "Cleo")
    collect(pier.chat.regenerate("Pier", first.id, model=ScriptedProvider(lambda *_: "Another.")))
    assert read(pier)[-1].endswith(later.content)
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "And now?", model=model))
    assert "WORD-" not in model.prompts_of("Cleo")[0], "who joined behind it is there behind its copy too"
    assert later.content in model.prompts_of("Bo")[0]


def test_a_reply_that_heard_the_one_before_is_not_kept_behind_another(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "group")
    collect(pier.chat.send("Pier", "@Mara @Bo?", model=ScriptedProvider()))
    collect(pier.chat.regenerate("Pier", "2", model=ScriptedProvider(lambda *_: "Another.")))
    assert len(read(pier)) == 2


def test_a_reply_goes_on_in_its_place(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider(lambda *_: "It was a dark")))
    model = ScriptedProvider(lambda *_: "Bo: and stormy night.")
    events = collect(pier.chat.continue_reply("Pier", model=model))
    assert read(pier) == ["Ann: @Bo?", "Bo: It was a dark and stormy night."]
    assert "It was a dark" in model.prompts[0][1]
    stored = pick(events, ReplyStored)[0].message
    assert stored.previous_content == "It was a dark"


def list_hearers(project: ProjectHandle, number: str) -> set[str]:
    """The names of those who heard a message."""
    chat = project.chat.get("Pier")
    heard = chat.attendance.find_listeners(project.conversations.get_message("Pier", number))
    return {chat.people.name_of(one) for one in heard or ()}


def list_present(project: ProjectHandle) -> set[str]:
    return {one.name for one in project.chat.get("Pier").present}


def test_a_reply_given_again_is_heard_by_those_of_its_own_branch(pier: ProjectHandle) -> None:
    pier.conversations.leave("Pier", "Bo")
    pier.conversations.leave("Pier", "Cleo")
    collect(pier.chat.send("Pier", "Hello.", model=ScriptedProvider()))  # 1, 2
    pier.conversations.go_back("Pier", "1")
    pier.conversations.join("Pier", "Bo")
    pier.conversations.leave("Pier", "Mara")
    collect(pier.chat.send("Pier", "On the other branch.", model=ScriptedProvider()))  # 3, 4
    assert list_hearers(pier, "4") == {"Ann", "Bo"}
    pier.conversations.select("Pier", "2")
    assert list_present(pier) == {"Ann", "Mara"}
    model = ScriptedProvider()
    collect(pier.chat.regenerate("Pier", model=model))  # 5
    assert list_hearers(pier, "5") == list_present(pier) == {"Ann", "Mara"}
    assert [who for who, _ in model.prompts] == ["Mara"]
    pier.conversations.go_back("Pier", "1")
    assert list_present(pier) == {"Ann", "Mara"}, "whoever heard the message is there when it goes on from there"
    pier.conversations.select("Pier", "3")
    collect(pier.chat.regenerate("Pier", model=ScriptedProvider()))  # 6, beside 4
    assert list_hearers(pier, "6") == {"Ann", "Bo"}


def test_a_first_reply_given_again_keeps_who_came_before_it(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Mara hello.", model=ScriptedProvider()))  # 1, 2
    pier.conversations.go_back("Pier", "1")
    pier.conversations.leave("Pier", "Bo")
    collect(pier.chat.ask("Pier", ["Mara"], model=ScriptedProvider()))  # 3, beside 2
    pier.conversations.go_back("Pier", "1")
    pier.conversations.leave("Pier", "Cleo")
    collect(pier.chat.regenerate("Pier", "3", model=ScriptedProvider()))  # 4
    assert list_hearers(pier, "4") == {"Ann", "Mara", "Cleo"}
    collect(pier.chat.regenerate("Pier", "2", model=ScriptedProvider()))  # 5
    assert list_hearers(pier, "5") == {"Ann", "Mara", "Bo", "Cleo"}


def test_a_reply_given_again_is_told_of_other_conversations_what_all_who_were_there_may_know(
    pier: ProjectHandle, store: Store
) -> None:
    with store.write(project=pier.id) as tx:
        set_value(tx, "History.RelevantHistory", "classic", scope="project")
    quay = pier.conversations.start(["Ann", "Mara"], title="Quay").id
    pier.conversations.record(quay, "The boat is called KITTIWAKE.", speaker="Ann")
    collect(pier.chat.send("Pier", "@Mara hello.", model=ScriptedProvider()))
    pier.conversations.leave("Pier", "Bo")
    pier.conversations.leave("Pier", "Cleo")
    model = ScriptedProvider()
    collect(pier.chat.regenerate("Pier", model=model))
    assert "KITTIWAKE" not in model.prompts[-1][1], "Bo and Cleo are there, and know nothing of the quay"
    pier.conversations.leave("Pier", "Bo")
    pier.conversations.leave("Pier", "Cleo")
    collect(pier.chat.ask("Pier", ["Mara"], model=model))
    assert "KITTIWAKE" in model.prompts[-1][1]
    pier.chat.start(["Mara"], title="Harbour")
    collect(pier.chat.send("Harbour", "Good evening.", model=model))
    assert "KITTIWAKE" in model.prompts[-1][1], "from the first message of a conversation on"


def test_a_turn_that_is_taken_back_leaves_those_there_who_heard_it(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Mara hello.", model=ScriptedProvider()))
    pier.conversations.leave("Pier", "Bo")
    collect(pier.chat.send("Pier", "@Mara is he gone?", model=ScriptedProvider()))
    pier.chat.take_back("Pier")
    assert list_present(pier) == {"Ann", "Mara", "Cleo"}
    pier.changes.undo()
    assert read(pier)[-1] == "Mara: I am Mara."
    assert len(read(pier)) == 4


def test_another_branch_waits_for_nobody_who_was_asked_elsewhere(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Mara first.", model=ScriptedProvider()))  # 1, 2
    failing = ScriptedProvider(lambda who, _: "FAIL" if who == "Bo" else f"I am {who}.")
    collect(pier.chat.send("Pier", "@Mara @Bo second.", model=failing))  # 3, 4
    names = pier.chat.get("Pier").people
    assert [names.name_of(one) for one in pier.chat.get("Pier").round.waiting] == ["Bo"]
    pier.conversations.go_back("Pier", "2")
    assert pier.chat.get("Pier").round.waiting == ()
    model = ScriptedProvider()
    collect(pier.chat.ask("Pier", ["Bo"], model=model))
    assert read(pier) == ["Ann: @Mara first.", "Mara: I am Mara.", "Bo: I am Bo."]
    assert "second" not in model.prompts[0][1]


def test_a_branch_of_the_running_round_waits_for_whoever_has_not_answered_on_it(pier: ProjectHandle) -> None:
    failing = ScriptedProvider(lambda who, _: "FAIL" if who == "Bo" else f"I am {who}.")
    collect(pier.chat.send("Pier", "@Mara @Bo well?", model=failing))
    names = pier.chat.get("Pier").people
    pier.conversations.go_back("Pier", "1")
    assert {names.name_of(one) for one in pier.chat.get("Pier").round.waiting} == {"Mara", "Bo"}
    pier.conversations.select("Pier", "2")
    assert [names.name_of(one) for one in pier.chat.get("Pier").round.waiting] == ["Bo"]
    pier.conversations.go_back("Pier", "1")
    pier.changes.undo()
    assert [names.name_of(one) for one in pier.chat.get("Pier").round.waiting] == ["Bo"]
    collect(pier.chat.ask("Pier", model=ScriptedProvider()))
    assert read(pier) == ["Ann: @Mara @Bo well?", "Mara: I am Mara.", "Bo: I am Bo."]


def test_only_a_reply_can_be_given_again(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "@Bo?", model=ScriptedProvider()))
    with pytest.raises(FabulaError) as refused:
        collect(pier.chat.regenerate("Pier", "1", model=ScriptedProvider()))
    assert refused.value.code is Code.REQUEST_INVALID


def test_closing_the_turn_keeps_what_was_received(pier: ProjectHandle) -> None:
    async def stop_early() -> None:
        model = ScriptedProvider(lambda *_: "one two three four five six")
        async with aclosing(pier.chat.send("Pier", "@Bo, count", model=model)) as events:
            seen = 0
            async for event in events:
                seen += isinstance(event, ReplyDelta)
                if seen == 2:
                    break

    asyncio.run(stop_early())
    kept = pier.conversations.read_page("Pier").messages[-1]
    assert kept.content.startswith("one two")
    assert kept.content != "one two three four five six"
    assert kept.final
    assert kept.extra["ended"] == "stopped"
    assert pier.runs.list_runs()[0].outcome == "stopped"
    assert pier.chat.get("Pier").round.waiting == ()


def test_without_a_model_prompts_are_handed_over_one_by_one_and_answers_are_pasted(
    pier: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    model = ClipboardProvider()
    events = collect(pier.chat.send("Pier", "@Mara @Bo who?", model=model))
    handed = pick(events, PromptHandedOver)
    assert [event.name for event in handed] == ["Mara"]
    assert "Ann: Mara Bo who?" in handed[0].prompt
    assert not handed[0].is_copied
    events = collect(pier.chat.paste("Pier", "Mara: Not me.", model=model))
    assert replies(events) == {"Mara": "Not me."}
    handed = pick(events, PromptHandedOver)
    assert [event.name for event in handed] == ["Bo"]
    assert "Not me." not in handed[0].prompt
    events = collect(pier.chat.paste("Pier", "Nor me.", participant="Bo", model=model))
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].waiting == ()
    assert read(pier) == ["Ann: @Mara @Bo who?", "Mara: Not me.", "Bo: Nor me."]
    with pytest.raises(FabulaError) as refused:
        collect(pier.chat.paste("Pier", "More.", model=model))
    assert refused.value.code is Code.REQUEST_INVALID


def test_a_whisper_is_answered_in_a_whisper_by_those_who_heard_it(pier: ProjectHandle) -> None:
    model = ScriptedProvider(lambda who, _: f"WORD-{who.upper()}")
    events = collect(pier.chat.send("Pier", "SECRET-WORD", audience=("Mara",), model=model))
    assert list(replies(events)) == ["Mara"]
    assert pick(events, ReplyStored)[0].message.audience is not None
    collect(pier.chat.send("Pier", "All hear this.", model=model))
    for who, prompt in model.prompts[1:]:
        assert ("SECRET-WORD" in prompt, "WORD-MARA" in prompt) == (who == "Mara", who == "Mara"), who


def test_a_reply_goes_to_the_branch_where_it_was_asked_for(pier: ProjectHandle) -> None:
    first = collect(pier.chat.send("Pier", "@Bo, first", model=ScriptedProvider()))
    asked = pick(first, MessageStored)[0].message

    def switch(*_: str) -> str:
        pier.conversations.record("Pier", "Elsewhere.", speaker="Ann", after=asked.id)
        return "Late answer."

    collect(pier.chat.send("Pier", "@Bo, second", model=ScriptedProvider(switch)))
    assert read(pier) == ["Ann: @Bo, first", "Ann: Elsewhere."]
    assert [one.message.content for one in pier.conversations.search("Late answer.")] == ["Late answer."]


def test_a_reply_given_again_in_a_round_that_is_not_over_takes_the_place_of_the_first(pier: ProjectHandle) -> None:
    class Listening(Mode):
        """Remembers what it was told when everybody had answered."""

        def proceed(self, turn: Turn) -> Step:
            return Step(state={"heard": [one.content for one in turn.replies]})

    pier.chat.add_mode("listening", Listening())
    pier.chat.set_mode("Pier", "listening")
    model = ScriptedProvider(lambda who, _: "FAIL" if who == "Cleo" else "First.")
    collect(pier.chat.send("Pier", "@Bo @Cleo, speak", model=model))
    assert pier.chat.get("Pier").round.waiting
    collect(pier.chat.regenerate("Pier", model=ScriptedProvider(lambda *_: "Second.")))
    collect(pier.chat.ask("Pier", model=ScriptedProvider(lambda *_: "Third.")))
    assert pier.chat.get("Pier").state["heard"] == ["Second.", "Third."]


def test_what_the_words_of_others_bring_in_is_not_told_to_whoever_was_away(pier: ProjectHandle) -> None:
    book = pier.lorebooks.create("Lore")
    pier.lorebooks.add_entry(book.id, {"key": ["lantern"], "content": "LORE-OF-THE-LANTERN"})
    pier.conversations.leave("Pier", "Cleo")
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "@Bo light the lantern", model=model))
    assert "LORE-OF-THE-LANTERN" in model.prompts_of("Bo")[-1]
    conversation = pier.chat.get("Pier").record.id
    asked = pier.request(conversation_id=conversation, speaker_id="persona:Cleo", skill_id="chat")
    assert "LORE-OF-THE-LANTERN" not in "".join(one.content for one in pier.assemble(asked).messages)


def test_no_prompt_shows_the_sign_of_a_mention_after_a_correction_or_where_a_message_is_repeated(
    pier: ProjectHandle,
) -> None:
    collect(pier.chat.send("Pier", "@Captain where is the barometer?", model=ScriptedProvider()))
    pier.conversations.correct("Pier", "1", "@Captain where is the @old barometer?")
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "@Mara And now?", model=model))
    assert "Captain where is the @old barometer?" in model.prompts_of("Mara")[0]
    assert "@Captain" not in model.prompts_of("Mara")[0]
    pier.chat.start(("Ann", "Mara", "Bo", "Cleo"), title="Quay")
    collect(pier.chat.send("Quay", "@Mara The barometer?", model=model))
    repeated = model.prompts_of("Mara")[1]
    assert "Captain where is the @old barometer?" in repeated
    assert "@Captain" not in repeated
    assert "@Mara" not in repeated


def test_somebody_who_was_away_for_long_goes_on_from_their_last_prompt(pier: ProjectHandle, store: Store) -> None:
    with store.write(project=pier.id) as tx:
        set_value(tx, "maxHistoryTokens", 300, scope="project")

    def ask_bo() -> list[str]:
        model = ScriptedProvider()
        collect(pier.chat.ask("Pier", ["Bo"], model=model))
        return re.findall(r"line \d+", model.prompts[0][1].partition("\n<user> ")[2])  # of the history alone

    for number in range(60):
        pier.conversations.record("Pier", f"This is line {number}, and nothing came of it.", speaker="Ann")
    full = ask_bo()
    before = next(lines for _ in range(9) if len(lines := ask_bo()) < len(full) / 2)  # it moved by a step, with room
    pier.conversations.leave("Pier", "Bo")
    for number in range(60, 160):
        pier.conversations.record("Pier", f"This is line {number}, and nothing came of it.", speaker="Ann")
    pier.conversations.join("Pier", "Bo")
    assert ask_bo() == before


def test_what_the_speaker_alone_is_told_stands_before_the_input_and_else_behind_the_newest_message(
    pier: ProjectHandle,
) -> None:
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "@Mara is the LAMP lit?", model=model))
    prompt = model.prompts[-1][1]
    assert prompt.index("PERSONA-MARA") < prompt.index("LAMP") < prompt.index("speaks next")
    collect(pier.chat.ask("Pier", ["Bo"], model=model))
    prompt = model.prompts[-1][1]
    assert prompt.index("LAMP") < prompt.index("I am Mara.") < prompt.index("PERSONA-BO") < prompt.index("speaks next")
