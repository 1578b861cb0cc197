"""What of a stored project is searched: documents, and all that was said and made of it, by who may know it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import Table

from fabula.conversation import edits as conversation
from fabula.conversation import participants
from fabula.conversation.model import Message
from fabula.conversation.participants import Participant
from fabula.conversation.tables import biographies, fixed_prompts, recaps
from fabula.core.story import Perspective, Position, Vantage
from fabula.core.view import View
from fabula.manuscript import documents, projects
from fabula.search.corpus import Corpus
from fabula.search.find import SearchScope, find_passages, make_search_mask
from fabula.search.model import Query
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace

P = "coast"
MARA, WILL = "pawn:mara", "pawn:will"


@pytest.fixture
def library(store: Store) -> ProjectViews:
    """A project with a chapter, and a conversation that Will joined late."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        documents.add(tx, "One", text="The astrolabe lay on the table.", document_id="ch-1")
        for who in (MARA, WILL):
            participants.save_participant(tx, Participant(id=who, name=who[5:].title()))
        conversation.start_conversation(tx, "talk", participants=[MARA])
        said(tx, "m1", "The sextant is under the stairs.")
        conversation.join_conversation(tx, "talk", WILL)
        said(tx, "m2", "The compass is in the drawer.")
        tx.insert(recaps, {"id": "r1", "conversation_id": "talk", "text": "They spoke of instruments: the quadrant."})
        tx.insert(fixed_prompts, {"id": "f1", "participant_id": MARA, "text": "Mara never sells the barometer."})
        tx.insert(biographies, {"id": "b1", "participant_id": WILL, "text": "Will was born beside the theodolite."})
    return ProjectViews(store)


def said(tx: WriteTransaction, name: str, words: str) -> None:
    conversation.add_message(tx, "talk", Message(id=name, role="user", content=words))


def corpus(view: View) -> Corpus:
    found = view.snapshot(Corpus)
    assert found is not None
    return found


def told(view: View, words: str, who: str | None = None, position: Position | None = None) -> list[str]:
    """What somebody finds."""
    eyes = Perspective.CHARACTER if who else Perspective.READER
    stand = SearchScope(Vantage(eyes, position, who), view.timeline, speaker_id=who or "")
    made = corpus(view).build_index()
    return [
        made.passages[hit.passage_number].source
        for hit in find_passages(made, Query(parts=((words, 1.0),)), make_search_mask(made, stand), 9)
    ]


def test_documents_of_a_store_are_searched(library: ProjectViews) -> None:
    project = Workspace(library.store).project(P)
    with library.store.write(project=P) as tx:
        documents.add(tx, "Two", text="Later.", document_id="ch-2")
    result = project.assemble(project.request(document_id="ch-2", additional_input="Where is the astrolabe?"))
    assert "The astrolabe lay on the table." in result.prompt
    assert result.warnings == ()
    assert [found.document_id for found in project.search("astrolabe")] == ["ch-1"]


@pytest.mark.parametrize(
    ("words", "source", "knowers"),
    [
        ("sextant", "history:m1", {MARA}),
        ("compass", "history:m2", {MARA, WILL}),
        ("quadrant", "recap:r1", {MARA}),
        ("barometer", "fixed:f1", {MARA}),
        ("theodolite", "biography:b1", {WILL}),
    ],
)
def test_what_was_said_and_made_of_it_is_found_by_those_who_may_know_it(
    library: ProjectViews, words: str, source: str, knowers: set[str]
) -> None:
    view = library.view(P)
    for who in (MARA, WILL):
        assert (source in told(view, words, who)) is (who in knowers)
    assert told(view, words) == [], "nobody else"
    assert told(view, words, MARA, Position("ch-1", 9)) == [], "and nobody who stands in the story"


def test_what_is_said_now_is_found_by_the_next_request(library: ProjectViews) -> None:
    before = library.view(P)
    assert told(before, "chronometer", MARA) == []
    with library.store.write(project=P) as tx:
        said(tx, "m3", "The chronometer has stopped.")
    after = library.view(P)
    assert told(after, "chronometer", MARA)[0] == "history:m3"
    assert told(after, "sextant", MARA)[0] == "history:m1"
    with library.store.write(project=P) as tx:
        conversation.correct_message(tx, "m3", "The hourglass has stopped.")
        tx.insert(fixed_prompts, {"id": "f2", "participant_id": WILL, "text": "Will keeps the sundial."})
    last = library.view(P)
    assert told(last, "chronometer", MARA) == []
    assert told(last, "hourglass", MARA)[0] == "history:m3"
    assert told(last, "sundial", WILL)[0] == "fixed:f2"


def test_of_a_conversation_that_goes_on_only_new_messages_are_read(
    library: ProjectViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(library.view(P), "sextant", MARA)[0] == "history:m1"
    read: list[str] = []

    def refuse(reading: ReadTransaction, conversation_id: str, *rest: object) -> tuple[Message, ...]:
        read.append(conversation_id)
        return ()

    monkeypatch.setattr("fabula.workspace.search_corpus.load_newest_messages", refuse)
    with library.store.write(project=P) as tx:
        said(tx, "m3", "The chronometer has stopped.")
    after = library.view(P)
    assert told(after, "chronometer", MARA)[0] == "history:m3"
    assert told(after, "sextant", MARA)[0] == "history:m1"
    assert not read
    with library.store.write(project=P) as tx:
        conversation.correct_message(tx, "m3", "The hourglass has stopped.")
    told(library.view(P), "hourglass", MARA)
    assert read == ["talk"]


def test_messages_beyond_the_searched_ones_are_left_out_in_steps(
    library: ProjectViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as passages are only added, the index grows by them; else it would be made anew with every message."""
    monkeypatch.setattr("fabula.workspace.search_corpus.MAX_MESSAGES", 4)
    monkeypatch.setattr("fabula.workspace.search_corpus.WINDOW_STEP", 3)
    found: list[list[str]] = []
    for number in range(3, 13):
        with library.store.write(project=P) as tx:
            said(tx, f"m{number}", f"The chart {number} is in the chest.")
        made = corpus(library.view(P)).build_index()
        found.append([one.source.removeprefix("history:m") for one in made.by_id["talk:talk"].passages])
        assert told(library.view(P), f"chart {number}", MARA)[0] == f"history:m{number}"
    assert [len(one) for one in found] == [3, 4, 5, 6, 7, 4, 5, 6, 7, 4]
    assert all(one[-1] == str(number) for number, one in enumerate(found, start=3))
    assert sum(later[: len(one)] != one for one, later in pairwise(found)) == 2


def test_a_conversation_that_is_gone_is_found_no_more(library: ProjectViews) -> None:
    told(library.view(P), "sextant", MARA)
    with library.store.write(project=P) as tx:
        conversation.remove_conversation(tx, "talk")
    assert told(library.view(P), "sextant compass quadrant", MARA) == []


def test_only_the_path_that_is_followed_is_searched(library: ProjectViews) -> None:
    with library.store.write(project=P) as tx:
        conversation.add_message(
            tx, "talk", Message(id="m2b", role="user", content="The compass was sold.", parent_id="m1")
        )
    assert "history:m2" not in told(library.view(P), "compass", MARA)


def test_opening_a_project_reads_no_messages_for_search(library: ProjectViews, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def newest(*given: object) -> tuple[Message, ...]:
        read.append("messages")
        return ()

    monkeypatch.setattr("fabula.workspace.search_corpus.load_newest_messages", newest)
    view = library.view(P)
    assert read == []
    corpus(view).build_index()
    assert read == ["messages"]


def test_typing_shares_the_threads_of_everything_else(library: ProjectViews) -> None:
    before = corpus(library.view(P)).build_index()
    with library.store.write(project=P) as tx:
        documents.write(tx, "ch-1", "The astrolabe was gone.")
    after = corpus(library.view(P)).build_index()
    for old, new in zip(before.documents, after.documents, strict=True):
        assert (old is new) == (old.id != "ch-1")


def test_nothing_of_an_index_is_in_the_store_or_a_save(library: ProjectViews) -> None:
    version = library.store.versions(project=P, user="owner")
    corpus(library.view(P)).build_index()
    assert library.store.versions(project=P, user="owner") == version


def test_whoever_spoke_is_called_by_name_and_found_by_it(library: ProjectViews) -> None:
    with library.store.write(project=P) as tx:
        for number, who in enumerate([MARA, WILL, "persona:Ghost#3", "tool:dice", ""]):
            conversation.add_message(
                tx, "talk", Message(id=f"s{number}", role="user", content="The barometer fell again.", speaker=who)
            )

    def passages() -> dict[str, tuple[str, str]]:
        made = corpus(library.view(P)).build_index()
        return {p.source: (p.title, p.speaker) for p in made.passages if p.source.startswith("history:s")}

    def said_first(question: str) -> str:
        return next(source for source in told(library.view(P), question, MARA) if source.startswith("history:"))

    assert passages() == {
        "history:s0": ("Mara", "Mara"),
        "history:s1": ("Will", "Will"),
        "history:s2": ("Ghost", "Ghost"),
        "history:s3": ("dice", "dice"),
        "history:s4": ("user", ""),
    }
    assert said_first("What did Mara say of the barometer?") == "history:s0"
    with library.store.write(project=P) as tx:
        participants.save_participant(tx, Participant(id=WILL, name="Captain Tarn"))
    assert passages()["history:s1"] == ("Captain Tarn", "Captain Tarn")
    assert said_first("What did Captain Tarn say of the barometer?") == "history:s1"


def test_after_a_new_message_in_an_open_conversation_the_others_are_not_counted_again(
    library: ProjectViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    plain = ReadTransaction.sum_values

    def count(self: ReadTransaction, table: Table, *rest: Any) -> int:
        counted.append(table.name)
        return plain(self, table, *rest)

    monkeypatch.setattr(ReadTransaction, "sum_values", count)
    before = corpus(library.view(P, conversation="talk")).conversations.characters
    with library.store.write(project=P) as tx:
        said(tx, "m3", "The chart is in the chest.")
    counted.clear()
    after = corpus(library.view(P, conversation="talk")).conversations.characters
    assert counted == []
    assert after == before * 3 // 2
    with library.store.write(project=P) as tx:
        conversation.start_conversation(tx, "other")
        conversation.add_message(tx, "other", Message(id="o1", role="user", content="Elsewhere."))
    assert corpus(library.view(P, conversation="talk")).conversations.characters == before * 2
    assert counted == ["conversations"]
