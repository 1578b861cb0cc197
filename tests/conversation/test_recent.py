"""Other recent conversations enter as a title and a snippet or two, before those who may know (mem-4)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fabula.context.result import Result
from fabula.context.trace import Reason
from fabula.conversation import edits as service
from fabula.conversation import recent as light
from fabula.conversation.recent import MOST, SNIPPET, Glimpses
from fabula.core.fragment import Layer
from fabula.core.relevance import EPISODE
from fabula.core.story import Eyes
from fabula.manuscript import documents, projects
from fabula.store.store import Store
from fabula.workspace.project import Fabula
from fabula.workspace.views import Library
from tests.conversation.test_edits import P, reply, user


@pytest.fixture
def coast(store: Store) -> Store:
    """A project without a story, where two conversations were held."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.start(tx, "plan", title="Plans")
        service.say_all(tx, "plan", [user("Who dies?", "p1"), reply("Mira does.\n\nIn " + "the end " * 60, "p2")])
        service.start(tx, "now")
        service.say_all(tx, "now", [user("Hello there.", "n1")])
    return store


def ask(store: Store, **wishes: Any) -> Result:
    house = Fabula.open(P, library=Library(store))
    wishes = {"conversation_id": "now", "recipe": "chat", **wishes}
    result = house.inspect(house.request(skill_id="chat", **wishes))
    assert result.prompt == house.assemble(house.request(skill_id="chat", **wishes)).prompt
    return result


def talks(result: Result) -> dict[str, Reason]:
    return {verdict.source: verdict.reason for verdict in result.trace if verdict.source.startswith("talk:")}


def test_another_conversation_enters_as_title_and_snippets_and_not_whole(coast: Store) -> None:
    result = ask(coast)
    assert talks(result) == {"talk:plan": Reason.KEPT}, "the one under way is no other"
    (verdict,) = (one for one in result.trace if one.source == "talk:plan")
    assert verdict.text.startswith("[Another recent conversation: Plans] Who dies? / Mira does. In the end")
    assert len(verdict.text) < 100 + 2 * SNIPPET
    assert verdict.layer is Layer.RETRIEVED
    assert EPISODE[0] <= verdict.score <= EPISODE[1]


def test_only_a_few_enter_the_latest_first(coast: Store) -> None:
    with coast.write(project=P) as tx:
        for number in range(6):
            service.start(tx, f"t{number}")
            service.say_all(tx, f"t{number}", [user(f"Number {number}?", f"u{number}")])
    assert list(talks(ask(coast))) == ["talk:t5", "talk:t4", "talk:t3"]
    assert list(talks(ask(coast, conversation_id="t5"))) == ["talk:t4", "talk:t3", "talk:t2"]
    assert MOST == 3


def test_beside_a_story_the_writers_own_talk_is_for_the_authors_eyes(coast: Store) -> None:
    with coast.write(project=P) as tx:
        documents.add(tx, "One", document_id="ch-1", text="It began.")
    assert talks(ask(coast, document_id="ch-1")) == {"talk:plan": Reason.NOT_KNOWN}
    assert "Mira does" not in ask(coast, document_id="ch-1").prompt
    assert "Mira does" in ask(coast, document_id="ch-1", eyes=Eyes.AUTHOR).prompt


def test_who_took_part_may_know_and_nobody_else(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.start(tx, "secret", participants=["pawn:mira", "pawn:tom"])
        service.say_all(tx, "secret", [user("Meet me.", "s1"), reply("At nine.", "s2")])
    assert talks(ask(coast, speaker_id="pawn:mira"))["talk:secret"] is Reason.KEPT
    assert talks(ask(coast, speaker_id="pawn:bob"))["talk:secret"] is Reason.NOT_KNOWN
    assert talks(ask(coast))["talk:secret"] is Reason.NOT_KNOWN


def test_who_came_later_or_left_earlier_knows_nothing_of_it(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.start(tx, "secret", participants=["pawn:mira", "pawn:tom"])
        service.say(tx, "secret", user("Meet me.", "s1"))
        service.leave(tx, "secret", "pawn:tom")
        service.join(tx, "secret", "pawn:bob")
        service.say(tx, "secret", reply("At nine.", "s2"))
    known = {who: talks(ask(coast, speaker_id=who))["talk:secret"] for who in ("pawn:mira", "pawn:tom", "pawn:bob")}
    assert known == {"pawn:mira": Reason.KEPT, "pawn:tom": Reason.NOT_KNOWN, "pawn:bob": Reason.NOT_KNOWN}


def test_what_was_whispered_or_is_no_answer_yet_is_in_no_snippet(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.start(tx, "mixed", participants=["pawn:mira"])
        said = [
            user("Aloud.", "m1"),
            replace(user("Whispered.", "m2"), audience=("pawn:tom",)),
            replace(reply("Thinking.", "m3"), final=False),
        ]
        service.say_all(tx, "mixed", said)
    prompt = ask(coast, speaker_id="pawn:mira").prompt
    assert "Aloud." in prompt
    assert "Whispered." not in prompt
    assert "Thinking." not in prompt


def test_what_did_not_move_is_shared_and_what_is_empty_says_nothing(coast: Store) -> None:
    with coast.write(project=P) as tx:
        service.start(tx, "empty", title="Nothing yet")
    library = Library(coast)
    before = library.view(P).room(Glimpses)
    assert before is not None
    assert [fragment.source for fragment in before.alone] == ["talk:now", "talk:plan"]
    with coast.write(project=P) as tx:
        service.say(tx, "now", reply("Hello.", "n2"))
    after = library.view(P).room(Glimpses)
    assert after is not None
    assert {one.id: one for one in after.all}["plan"] is {one.id: one for one in before.all}["plan"]
    with coast.read(project=P) as reading:
        assert light.load(reading, library.view(P).project, after) is after


def test_two_projects_never_hear_each_other(coast: Store) -> None:
    projects.create(coast, "Other", project_id="other")
    found = Library(coast).view("other").room(Glimpses)
    assert found is not None
    assert found.all == ()
