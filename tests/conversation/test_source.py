"""The conversation source: the latest messages of the request's conversation, in order."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.context.engine import Engine
from fabula.context.recipes import CHAT, RECIPES
from fabula.context.request import Request
from fabula.context.trace import Reason
from fabula.conversation import edits
from fabula.conversation.model import Conversations, Message, MessageKind
from fabula.conversation.participants import Participant, save_participant
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.relevance import NEEDED
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.sources import all_sources
from fabula.workspace.workspace import Workspace
from tests.manuscript.stories import ask, chapter, everything, sources, story


def make_messages(count: int, words: int = 4) -> list[Message]:
    return [
        Message(id=f"m{n}", role="assistant" if n % 2 else "user", content=f"Message {n:04} " + "so " * words + "on.")
        for n in range(count)
    ]


def test_messages_stand_in_their_order_with_their_roles() -> None:
    result = ask(story(chapter(1, "One."), talk=make_messages(3)), conversation_id="desk", recipe="chat")
    spoken = [(message.role, message.content[:12]) for message in result.messages if message.content.startswith("Mess")]
    assert spoken == [("user", "Message 0000"), ("assistant", "Message 0001"), ("user", "Message 0002")]
    assert sources(result, "history:") == ["history:m0", "history:m1", "history:m2"]


def test_they_belong_to_the_immediate_layer_and_stand_behind_the_text() -> None:
    result = ask(story(chapter(1, "One came."), talk=make_messages(2)), conversation_id="desk")
    assert result.prompt.index("One came.") < result.prompt.index("Message 0000")
    assert {v.layer for v in result.trace if v.source.startswith("history:")} == {Layer.IMMEDIATE}


def test_without_a_conversation_nothing_is_told_of_it() -> None:
    fabula = story(chapter(1, "One."), talk=make_messages(3))
    assert "Message 0" not in everything(ask(fabula))


def test_the_newest_messages_stay_and_the_oldest_go() -> None:
    result = ask(
        story(chapter(1, "One."), talk=make_messages(200, 40)), conversation_id="desk", recipe="character-chat"
    )
    kept = sources(result, "history:")
    assert kept == [f"history:m{n}" for n in range(200 - len(kept), 200)]
    assert 1 <= len(kept) < 200
    gone = [v.reason for v in result.trace if v.source.startswith("history:") and not v.included]
    assert gone
    assert set(gone) <= {Reason.HISTORY_CAP, Reason.WINDOW_STEP, Reason.NO_ROOM}


def test_the_window_stops_at_the_first_message_that_does_not_fit() -> None:
    talk = [*make_messages(3), Message(id="long", role="user", content="long " * 20_000), *make_messages(5)[3:]]
    result = ask(story(chapter(1, "One."), talk=talk), conversation_id="desk", recipe="chat", window=8192)
    assert sources(result, "history:") == ["history:m3", "history:m4"]


def test_the_current_input_appears_once_and_last() -> None:
    result = ask(
        story(chapter(1, "One."), talk=make_messages(3)),
        conversation_id="desk",
        recipe="chat",
        additional_input="And now this.",
    )
    assert result.prompt.count("And now this.") == 1
    assert result.prompt.endswith("And now this.")
    assert "And now this." in result.messages[-1].content


def test_a_message_is_listed_by_its_words_and_not_by_the_id_of_its_speaker() -> None:
    fragments = Conversations("p", {"a": [Message(id="m", role="user", content="Hm.", speaker="Mara")]}).fragments["a"]
    assert (fragments[0].source, fragments[0].title, fragments[0].part) == ("history:m", "", Part.HISTORY)


def test_an_empty_message_is_not_sent() -> None:
    talk = [Message(id="a", role="user", content="  \n"), Message(id="b", role="assistant", content="Hm.")]
    result = ask(story(chapter(1, "One."), talk=talk), conversation_id="desk", recipe="chat")
    assert sources(result, "history:") == ["history:b"]
    assert all(message.content.strip() for message in result.messages)


def test_every_recipe_shows_at_most_4000_tokens_of_the_conversation() -> None:
    for recipe in ("novel", "chat"):
        result = ask(
            story(chapter(1, "One."), talk=make_messages(400, 40)), conversation_id="desk", recipe=recipe, window=64_000
        )
        shown = [v for v in result.trace if v.source.startswith("history:") and v.included]
        assert 3_800 < sum(verdict.tokens for verdict in shown) <= 4_000


def test_a_long_conversation_leaves_room_for_needed_lore_in_its_first_prompt() -> None:
    view = story(chapter(1, "One."), talk=make_messages(400, 40)).view
    lore = [
        Fragment(
            source=f"codex:entity:{number}",
            layer=Layer.RETRIEVED,
            text=f"Entry {number}. " + "The lamp burns. " * 40,
            project_id=view.project.id,
            score=NEEDED,
        )
        for number in range(3)
    ]
    request = Request(project_id=view.project.id, conversation_id="desk", recipe="chat", window=4096)
    result = Engine(all_sources()).assemble(request, view, fragments=lore)
    assert len(sources(result, "codex:")) == 3
    assert sources(result, "history:")


def test_steps_on_the_way_to_a_reply_are_shown_with_their_kind_where_a_recipe_wants_them() -> None:
    talk = [
        Message(id="q", role="user", content="Where is the lamp?"),
        Message(id="p", role="assistant", content="Look in the well.", kind=MessageKind.PLAN, final=False),
        Message(id="o", role="assistant", content="It is dry.", kind=MessageKind.OBSERVATION, final=False),
        Message(id="f", role="assistant", content="A broken reply.", final=False),
        Message(id="r", role="assistant", content="Not in the well."),
    ]
    fabula = story(chapter(1, "One."), talk=talk)
    assert sources(ask(fabula, conversation_id="desk", recipe="chat"), "history:") == ["history:q", "history:r"]
    agent = replace(CHAT, name="agent", step_kinds=("plan", "observation", "reply"))
    engine = Engine(all_sources(), recipes={**RECIPES, agent.name: agent})
    request = Request(project_id=fabula.id, conversation_id="desk", recipe="agent", skill_id="chat")
    result = engine.assemble(request, fabula.view_with("desk"))
    assert sources(result, "history:") == ["history:q", "history:p", "history:o", "history:r"]
    assert "[Plan] Look in the well." in result.prompt
    assert "[Observation] It is dry." in result.prompt
    repeated = engine.assemble(
        replace(request, additional_input="Where is the lamp?"),
        story(chapter(1, "One."), talk=talk[:3]).view_with("desk"),
    )
    assert repeated.prompt.count("Where is the lamp?") == 1
    assert "[Plan] Look in the well." in repeated.prompt


@pytest.mark.parametrize("recipe", ["chat", "character-chat"])
def test_a_very_long_message_stops_no_later_prompt(store: Store, recipe: str) -> None:
    projects.create(store, "The Pier", project_id="pier")
    with store.write(project="pier") as tx:
        save_participant(tx, Participant(id="pawn:ann", name="Ann"))
        edits.start_conversation(tx, "talk", participants=["pawn:ann", "player:one"])
        for text in ("Hello.", "灯塔海雾船" * 40_000, "And then?", *(["word " * 39_000] * 5), "Well?"):
            said = Message(id="", role="user", speaker="player:one", content=text)
            edits.add_message(tx, "talk", said)
    with Workspace(store) as workspace:
        project = workspace.project("pier")
        result = project.assemble(project.request(conversation_id="talk", speaker_id="pawn:ann", recipe=recipe))
    assert "Well?" in result.prompt
