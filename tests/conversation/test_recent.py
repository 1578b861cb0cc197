"""Other recent conversations enter as a title and snippets, for those who may know them (mem-4)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fabula.context.result import Result
from fabula.context.trace import Reason
from fabula.conversation import edits
from fabula.conversation.light_summaries import SNIPPET_CHARS
from fabula.conversation.participants import Participant, save_participant
from fabula.conversation.recent import MAX_RECENT, RecentConversations, load_recent_conversations
from fabula.core.fragment import Layer
from fabula.core.relevance import EPISODE
from fabula.core.story import Perspective
from fabula.manuscript import documents, projects
from fabula.store.store import Store
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace
from tests.conversation.test_edits import P, reply_message, user_message


@pytest.fixture
def coast(store: Store) -> Store:
    """A project without a story, where two conversations were held."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.start_conversation(tx, "plan", title="Plans")
        edits.add_messages(
            tx, "plan", [user_message("Who dies?", "p1"), reply_message("Mira does.\n\nIn " + "the end " * 60, "p2")]
        )
        edits.start_conversation(tx, "now")
        edits.add_messages(tx, "now", [user_message("Hello there.", "n1")])
    return store


def assemble(store: Store, **wishes: Any) -> Result:
    project = Workspace(store).project(P)
    wishes = {"conversation_id": "now", "recipe": "chat", **wishes}
    result = project.inspect(project.request(skill_id="chat", **wishes))
    assert result.prompt == project.assemble(project.request(skill_id="chat", **wishes)).prompt
    return result


def list_recent(result: Result) -> dict[str, Reason]:
    return {verdict.source: verdict.reason for verdict in result.trace if verdict.source.startswith("talk:")}


def test_another_conversation_enters_as_title_and_snippets_and_not_whole(coast: Store) -> None:
    result = assemble(coast)
    assert list_recent(result) == {"talk:plan": Reason.KEPT}, "the one under way is no other"
    (verdict,) = (one for one in result.trace if one.source == "talk:plan")
    assert verdict.text.startswith("[Another recent conversation: Plans] Who dies? / Mira does. In the end")
    assert len(verdict.text) < 100 + 2 * SNIPPET_CHARS
    assert verdict.layer is Layer.RETRIEVED
    assert EPISODE[0] <= verdict.score <= EPISODE[1]


def test_only_a_few_enter_the_latest_first(coast: Store) -> None:
    with coast.write(project=P) as tx:
        for number in range(6):
            edits.start_conversation(tx, f"t{number}")
            edits.add_messages(tx, f"t{number}", [user_message(f"Number {number}?", f"u{number}")])
    assert list(list_recent(assemble(coast))) == ["talk:t5", "talk:t4", "talk:t3"]
    assert list(list_recent(assemble(coast, conversation_id="t5"))) == ["talk:t4", "talk:t3", "talk:t2"]
    assert MAX_RECENT == 3


def test_beside_a_story_the_writers_own_talk_is_for_the_authors_eyes(coast: Store) -> None:
    with coast.write(project=P) as tx:
        documents.add(tx, "One", document_id="ch-1", text="It began.")
    assert list_recent(assemble(coast, document_id="ch-1")) == {"talk:plan": Reason.NOT_KNOWN}
    assert "Mira does" not in assemble(coast, document_id="ch-1").prompt
    assert "Mira does" in assemble(coast, document_id="ch-1", perspective=Perspective.AUTHOR).prompt


def test_who_took_part_may_know_and_nobody_else(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.start_conversation(tx, "secret", participants=["pawn:mira", "pawn:tom"])
        edits.add_messages(tx, "secret", [user_message("Meet me.", "s1"), reply_message("At nine.", "s2")])
        save_participant(tx, Participant(id="pawn:bob"))
    assert list_recent(assemble(coast, speaker_id="pawn:mira"))["talk:secret"] is Reason.KEPT
    assert list_recent(assemble(coast, speaker_id="pawn:bob"))["talk:secret"] is Reason.NOT_KNOWN
    assert list_recent(assemble(coast))["talk:secret"] is Reason.NOT_KNOWN


def test_who_came_later_or_left_earlier_knows_nothing_of_it(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.start_conversation(tx, "secret", participants=["pawn:mira", "pawn:tom"])
        edits.add_message(tx, "secret", user_message("Meet me.", "s1"))
        edits.leave_conversation(tx, "secret", "pawn:tom")
        edits.join_conversation(tx, "secret", "pawn:bob")
        edits.add_message(tx, "secret", reply_message("At nine.", "s2"))
    known = {
        who: list_recent(assemble(coast, speaker_id=who))["talk:secret"]
        for who in ("pawn:mira", "pawn:tom", "pawn:bob")
    }
    assert known == {"pawn:mira": Reason.KEPT, "pawn:tom": Reason.NOT_KNOWN, "pawn:bob": Reason.NOT_KNOWN}


def test_what_was_whispered_or_is_no_answer_yet_is_in_no_snippet(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.start_conversation(tx, "mixed", participants=["pawn:mira"])
        said = [
            user_message("Aloud.", "m1"),
            replace(user_message("Whispered.", "m2"), audience=("pawn:tom",)),
            replace(reply_message("Thinking.", "m3"), final=False),
        ]
        edits.add_messages(tx, "mixed", said)
    prompt = assemble(coast, speaker_id="pawn:mira").prompt
    assert "Aloud." in prompt
    assert "Whispered." not in prompt
    assert "Thinking." not in prompt


def test_what_did_not_move_is_shared_and_what_is_empty_says_nothing(coast: Store) -> None:
    with coast.write(project=P) as tx:
        edits.start_conversation(tx, "empty", title="Nothing yet")
    library = ProjectViews(coast)
    before = library.view(P).snapshot(RecentConversations)
    assert before is not None
    assert [fragment.source for fragment in before.chat_fragments] == ["talk:now", "talk:plan"]
    with coast.write(project=P) as tx:
        edits.add_message(tx, "now", reply_message("Hello.", "n2"))
    after = library.view(P).snapshot(RecentConversations)
    assert after is not None
    assert {one.id: one for one in after.all}["plan"] is {one.id: one for one in before.all}["plan"]
    with coast.read(project=P) as reading:
        assert load_recent_conversations(reading, library.view(P).project, after) is after


def test_two_projects_never_hear_each_other(coast: Store) -> None:
    projects.create(coast, "Other", project_id="other")
    found = ProjectViews(coast).view("other").snapshot(RecentConversations)
    assert found is not None
    assert found.all == ()


def test_a_conversation_of_characters_reaches_no_place_of_the_story(coast: Store) -> None:
    with coast.write(project=P) as tx:
        documents.add(tx, "One", text="It rained.", document_id="ch-1")
        edits.start_conversation(tx, "later", participants=["pawn:mira"])
        edits.add_message(tx, "later", replace(user_message("The lamp went out.", "l1"), speaker="pawn:mira"))
    heard = assemble(coast, speaker_id="pawn:mira", document_id="")
    assert list_recent(heard)["talk:later"] is Reason.KEPT
    beside = assemble(coast, speaker_id="pawn:mira", document_id="ch-1")
    assert list_recent(beside)["talk:later"] is Reason.NOT_KNOWN, "what they spoke of may happen later"
    as_author = assemble(coast, document_id="ch-1", perspective=Perspective.AUTHOR)
    assert list_recent(as_author)["talk:later"] is Reason.KEPT


def test_the_conversation_of_a_chapter_is_named_apart_from_the_chapter(coast: Store) -> None:
    with coast.write(project=P) as tx:
        documents.add(tx, "Chapter 3", text="Rain.", document_id="ch-3")
        edits.start_conversation(tx, "document:ch-3", title="Chapter 3")
        edits.add_messages(tx, "document:ch-3", [user_message("Make it drier.", "d1"), reply_message("Done.", "d2")])
    titles = {one.source: one.title for one in assemble(coast).trace if one.source.startswith("talk:")}
    assert titles == {"talk:plan": "Plans", "talk:document:ch-3": "Conversation about Chapter 3"}


def test_people_are_told_of_their_own_last_talk_whatever_others_spoke_of_since(coast: Store) -> None:
    """Neither newer conversations with others nor those of chapters take a place."""
    with coast.write(project=P) as tx:
        documents.add(tx, "Chapter 3", text="Rain.", document_id="ch-3")
        for name, people in (("own", ["player:1", "pawn:mira"]), ("half", ["player:1", "pawn:mira"])):
            edits.start_conversation(tx, name, participants=people)
            edits.add_message(tx, name, replace(user_message(f"We two, {name}.", f"{name}1"), speaker="player:1"))
        edits.start_conversation(tx, "left", participants=["player:1", "pawn:mira"])
        edits.leave_conversation(tx, "left", "pawn:mira")
        edits.add_message(tx, "left", replace(user_message("She is gone.", "l1"), speaker="player:1"))
        for number in range(MAX_RECENT + 2):
            edits.start_conversation(tx, f"t{number}", participants=["player:1", "pawn:tom"])
            edits.add_message(tx, f"t{number}", replace(user_message("Tom?", f"u{number}"), speaker="player:1"))
        edits.start_conversation(tx, "document:ch-3", title="Chapter 3")
        edits.add_messages(tx, "document:ch-3", [user_message("Make it drier.", "d1"), reply_message("Done.", "d2")])
        edits.start_conversation(tx, "again", participants=["player:1", "pawn:mira"])
        edits.add_message(tx, "again", replace(user_message("Here again.", "a1"), speaker="player:1"))
    told = list_recent(assemble(coast, conversation_id="again", speaker_id="pawn:mira", document_id=""))
    assert [one for one, reason in told.items() if reason is Reason.KEPT] == ["talk:half", "talk:own"]
    assert not told.keys() & {"talk:left", *(f"talk:t{number}" for number in range(MAX_RECENT + 2))}
