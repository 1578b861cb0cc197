"""What a person can do with participants and conversations (cnv-1…5)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, get_args

import msgspec
import pytest
from sqlalchemy import event

from fabula.access.edits import add_person
from fabula.context.request import Principal
from fabula.conversation import edits, history, message_search
from fabula.conversation.edits import MessageEvent
from fabula.conversation.history import ParticipantMatch
from fabula.conversation.model import Message
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.jobs.queue import list_jobs
from fabula.manuscript import projects
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.views import CachedView, ProjectViews
from fabula.workspace.workspace import Workspace

MATCHES: tuple[ParticipantMatch, ...] = get_args(ParticipantMatch)


@pytest.fixture
def party(store: Store) -> Iterator[ProjectHandle]:
    """A project with a player, two personas and a conversation of all three."""
    projects.create(store, "Party", project_id="party")
    with Workspace(store) as workspace:
        project = workspace.project("party")
        project.participants.ensure_player("Ann")
        project.participants.add("Mara", aliases=("Captain Venn",), persona="Speaks little.")
        project.participants.add("Bo")
        project.conversations.start(("Ann", "Mara", "Bo"), title="Pier")
        yield project


def say(project: ProjectHandle, speaker: str, text: str, after: str | None = None) -> str:
    return project.conversations.record("Pier", text, speaker=speaker, after=after).id


def read(project: ProjectHandle) -> list[str]:
    return [one.content for one in project.conversations.read_page("Pier").messages]


def refuse(project: ProjectHandle, code: Code, act: object) -> str:
    """Check that an act is refused with a code and changes nothing; return the sentence."""
    before = read(project)
    assert callable(act)
    with pytest.raises(FabulaError) as refused:
        act()
    assert refused.value.code is code
    assert read(project) == before
    return refused.value.sentence


def test_the_player_of_a_chinese_project_has_a_chinese_name(store: Store) -> None:
    projects.create(store, "雾港", project_id="fog", language="zh")
    with Workspace(store) as workspace:
        fog = workspace.project("fog")
        fog.participants.add("林远", persona="寡言。")
        assert [one.name for one in fog.chat.start(title="码头").present if one.id.startswith("player:")] == ["作者"]
        assert fog.participants.ensure_player().name == "作者"


def test_whoever_has_an_account_talks_under_its_name_and_the_owner_as_the_writer(store: Store) -> None:
    projects.create(store, "Coast", project_id="coast")
    with store.write(user=LOCAL_USER) as tx:
        for ident, name in (("bob", "Bob Reed"), ("cy", "Cy")):
            add_person(tx, ident, name=name)
    with Workspace(store) as workspace:

        def find_name(user: str, title: str) -> str:
            project = workspace.project("coast", Principal(user=user))
            return next(one.name for one in project.chat.start(("Mara",), title=title).present if "player:" in one.id)

        workspace.project("coast").participants.add("Mara", persona="Dry.")
        assert [find_name("bob", "One"), find_name("cy", "Two"), find_name("bob", "Three")] == [
            "Bob Reed",
            "Cy",
            "Bob Reed",
        ]
        projects.create(store, "Pier", project_id="pier")
        assert workspace.project("pier").participants.ensure_player().name == "Writer"
        assert workspace.project("pier", Principal(user="bob")).participants.ensure_player().name == "Writer"


def test_the_player_is_made_once(party: ProjectHandle) -> None:
    first = party.participants.ensure_player()
    assert (first.name, party.participants.ensure_player("Other")) == ("Ann", first)


def test_a_participant_is_found_by_alias_and_an_edited_persona_is_a_revision(party: ProjectHandle) -> None:
    assert party.participants.get("captain venn").id == "persona:Mara"
    changed = party.participants.edit("Mara", persona="Speaks a lot.")
    assert (changed.revision, changed.name) == (2, "Mara")
    assert party.conversations.record("Pier", "Well.", speaker="Mara").speaker == "persona:Mara#2"


def test_a_revision_that_spoke_and_was_undone_is_never_another_persona(party: ProjectHandle) -> None:
    party.participants.edit("Mara", persona="Speaks a lot.")
    edited = party.changes.list_changes()[0].number
    party.conversations.record("Pier", "Well.", speaker="Mara")
    assert party.store is not None
    Workspace(party.store).undo(party.id, step=edited)
    assert party.participants.get("Mara").revision == 1
    assert party.participants.edit("Mara", persona="Sings.").revision == 3
    assert party.conversations.record("Pier", "La.", speaker="Mara").speaker == "persona:Mara#3"
    assert [one.revision for one in party.participants.list_personas("Mara")] == [3, 1]


def test_the_role_follows_from_who_speaks(party: ProjectHandle) -> None:
    assert party.conversations.record("Pier", "Hello?", speaker="Ann").role == "user"
    assert party.conversations.record("Pier", "Aye.", speaker="Mara").role == "assistant"


def test_a_character_of_the_codex_is_in_a_new_conversation_as_a_participant(party: ProjectHandle) -> None:
    party.codex.add("Hope Tarn", kind="character")
    party.codex.add("The Pier", kind="location")
    party.conversations.start(("Ann", "Hope Tarn"), title="Quay")
    said = party.conversations.record("Quay", "I keep the chandlery.", speaker="Hope Tarn")
    hope = party.participants.get("Hope Tarn")
    assert said.speaker.startswith(hope.id)
    assert hope.id in party.conversations.get("Quay").attendance.everybody
    sentence = refuse(party, Code.STORE_NOT_FOUND, lambda: party.conversations.start(("Ann", "Hope Tarm")))
    assert "Hope Tarn" in sentence
    refuse(party, Code.STORE_NOT_FOUND, lambda: party.conversations.start(("Ann", "The Pier")))


def test_a_conversation_begins_with_a_mode_that_there_is(party: ProjectHandle) -> None:
    sentence = refuse(party, Code.MODE_UNKNOWN, lambda: party.conversations.start(("Ann", "Mara"), mode="quizz"))
    assert "quiz" in sentence
    assert party.conversations.start(("Ann", "Mara"), mode="quiz").mode == "quiz"


def test_history_is_read_page_by_page_to_its_beginning(party: ProjectHandle) -> None:
    for number in range(25):
        say(party, "Ann", f"line {number}")
    lines: list[str] = []
    before = None
    while True:
        page = party.conversations.read_page("Pier", before=before, limit=10)
        lines = [*(one.content for one in page.messages), *lines]
        before = page.before
        if before is None:
            break
    assert lines == [f"line {number}" for number in range(25)]


def test_a_branch_is_made_listed_and_chosen(party: ProjectHandle) -> None:
    say(party, "Ann", "Who?")
    say(party, "Mara", "Not me.")
    say(party, "Mara", "Perhaps me.", after="1")
    assert read(party) == ["Who?", "Perhaps me."]
    siblings = party.conversations.list_siblings("Pier", "2")
    assert [one.content for one in siblings] == ["Not me.", "Perhaps me."]
    assert party.conversations.list_branches("Pier") == siblings
    party.conversations.select("Pier", "2")
    assert read(party) == ["Who?", "Not me."]


def test_a_choice_goes_on_to_the_newest_message_of_its_branch(party: ProjectHandle) -> None:
    say(party, "Ann", "Who?")
    say(party, "Mara", "Not me.")
    say(party, "Ann", "Sure?")
    say(party, "Mara", "Perhaps me.", after="1")
    assert party.conversations.select("Pier", "2").content == "Sure?"


def test_a_deleted_message_leaves_no_gap_and_can_be_brought_back(party: ProjectHandle) -> None:
    for text in ("one", "two", "three"):
        say(party, "Ann", text)
    party.conversations.delete_message("Pier", "2")
    assert read(party) == ["one", "three"]
    party.changes.undo()
    assert read(party) == ["one", "two", "three"]
    party.conversations.delete_message("Pier", "last")
    assert read(party) == ["one", "two"]


def test_a_correction_can_be_taken_back(party: ProjectHandle) -> None:
    say(party, "Ann", "Helo.")
    party.conversations.correct("Pier", "1", "Hello.")
    assert read(party) == ["Hello."]
    party.changes.undo()
    assert read(party) == ["Helo."]


def test_earlier_personas_are_kept_listed_restored_and_undone(party: ProjectHandle) -> None:
    people = party.participants
    said = say(party, "Mara", "Aye.")
    people.edit("Mara", persona="Speaks a lot.")
    people.edit("Mara", aliases=("Keeper",))
    assert party.conversations.get_message("Pier", said).speaker == "persona:Mara#1"
    assert [(one.revision, one.persona) for one in people.list_personas("Mara")] == [
        (2, "Speaks a lot."),
        (1, "Speaks little."),
    ]
    assert [bool(one.replaced) for one in people.list_personas("Mara")] == [False, True]
    restored = people.restore_persona("Mara", 1)
    assert (restored.revision, restored.persona, restored.aliases) == (3, "Speaks little.", ("Keeper",))
    assert [one.revision for one in people.list_personas("Mara")] == [3, 2, 1]
    with pytest.raises(FabulaError) as refused:
        people.restore_persona("Mara", 7)
    assert refused.value.code is Code.STORE_NOT_FOUND
    assert "Known are 3, 2, 1." in str(refused.value)
    party.changes.undo()
    assert [one.revision for one in people.list_personas("Mara")] == [2, 1]
    people.edit("Mara", persona="Sings.")
    assert [one.persona for one in people.list_personas("Mara")] == ["Sings.", "Speaks a lot.", "Speaks little."]


def test_conversations_are_found_by_set_subset_and_intersection(party: ProjectHandle) -> None:
    party.conversations.start(("Ann", "Mara"), title="Two")
    party.conversations.start(("Ann",), title="One")

    def find(match: ParticipantMatch, *names: str) -> set[str]:
        return {one.record.title for one in party.conversations.list_all(names, match=match)}

    assert find("exact", "Ann", "Mara") == {"Two"}
    assert find("subset", "Ann", "Mara") == {"Two", "Pier"}
    assert find("intersection", "Bo", "Mara") == {"Two", "Pier"}
    assert find("subset", "Ann") == {"Two", "Pier", "One"}


def test_messages_are_found_by_their_words_in_any_case(party: ProjectHandle) -> None:
    say(party, "Ann", "The LAMP is out.")
    say(party, "Mara", "100 % sure?")
    assert [one.message.content for one in party.conversations.search("the lamp")] == ["The LAMP is out."]
    assert [one.message.content for one in party.conversations.search("%")] == ["100 % sure?"]


def test_a_search_wants_all_words_in_any_order_whatever_their_case_and_accents(party: ProjectHandle) -> None:
    """The same on both databases: neither of them folds letters."""
    texts = ("The harbour lamp is out.", "Élan, and a lamp.", "Где МАЯК?", "港口的灯灭了。", "A harbour.\n\nNo lamp.")
    for text in texts:
        say(party, "Ann", text)

    def search(words: str, *, limit: int = 20) -> list[int]:
        everywhere = [one.message.content for one in party.conversations.search(words, limit=limit)]
        assert everywhere == [
            one.message.content for one in party.conversations.search(words, conversation="Pier", limit=limit)
        ]
        return [texts.index(text) for text in everywhere]

    assert search("lamp harbour") == [4, 0]
    assert search("lamp harbour", limit=1) == [4]
    assert search('"harbour lamp"') == search("“Harbour  Lamp”") == [0]
    assert search('"no lamp" HARBOUR') == [4]
    assert search("elan") == search("ÉLAN") == search("e\u0301lan") == [1]
    assert search("маяк") == [2]
    assert search("灯 港口") == search("港口的灯") == [3]
    assert search("灯港口") == search("lamp boat") == []


def test_a_search_reads_a_bounded_number_of_conversations_at_once_also_of_empty_ones(
    party: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_search, "_CONVERSATIONS", 2)
    say(party, "Ann", "lamp 0")
    for number in range(6):
        party.conversations.start(("Ann",), title=f"Empty {number}")
    counts: list[int] = []

    def note(_1: Any, _2: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "messages.conversation_id IN" in statement:
            counts.append(len(parameters))

    assert party.store is not None
    event.listen(party.store.engine, "before_cursor_execute", note)
    found = party.conversations.search("lamp")
    event.remove(party.store.engine, "before_cursor_execute", note)
    assert [one.message.content for one in found] == ["lamp 0"]
    assert counts == [3, 3, 3]  # the project and two conversations; the last one is read alone


def test_a_search_of_all_conversations_finds_the_newest_messages_first(party: ProjectHandle) -> None:
    say(party, "Ann", "lamp 0")
    party.conversations.start(("Ann",), title="Quay")
    for number in range(1, 4):
        party.conversations.record("Quay" if number % 2 else "Pier", f"lamp {number}", speaker="Ann")
    found = party.conversations.search("LAMP", limit=3)
    assert [(one.message.content, one.title) for one in found] == [
        ("lamp 3", "Quay"),
        ("lamp 2", "Pier"),
        ("lamp 1", "Quay"),
    ]


def test_wrong_names_and_absent_people_are_refused(party: ProjectHandle) -> None:
    say(party, "Ann", "Hello.")
    assert "Mara" in refuse(party, Code.STORE_NOT_FOUND, lambda: say(party, "Marra", "Hm."))
    assert "which has 1" in refuse(party, Code.STORE_NOT_FOUND, lambda: party.conversations.select("Pier", "7"))
    refuse(party, Code.TEXT_INVALID, lambda: say(party, "Ann", "  "))
    refuse(party, Code.TEXT_INVALID, lambda: say(party, "Ann", "x" * 1_000_000))
    party.conversations.leave("Pier", "Bo")
    refuse(party, Code.REQUEST_INVALID, lambda: say(party, "Bo", "Hm."))
    refuse(
        party,
        Code.REQUEST_INVALID,
        lambda: party.conversations.record("Pier", "Psst.", speaker="Ann", audience=("Bo",)),
    )
    with pytest.raises(FabulaError) as refused:
        party.conversations.read_page("Peir")
    assert refused.value.code is Code.STORE_NOT_FOUND


def test_every_recorded_message_is_an_event_to_subscribers(party: ProjectHandle) -> None:
    told: list[tuple[str, str]] = []
    end = party.conversations.subscribe(lambda event: told.append((event.message.speaker, event.message.content)))
    say(party, "Ann", "Hello.")
    assert told == [(party.participants.ensure_player().id, "Hello.")]
    refuse(party, Code.TEXT_INVALID, lambda: say(party, "Ann", " "))
    end()
    say(party, "Ann", "Anybody?")
    assert len(told) == 1


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_recording_a_message_takes_five_statements_and_a_reply_up_to_four_more(party: ProjectHandle) -> None:
    assert party.store is not None
    ident = party.conversations.list_all()[0].record.id
    ann, bo = party.participants.ensure_player().id, "pawn:bo"
    with party.store.write(project="party") as tx:
        edits.join_conversation(tx, ident, bo)
    asked: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked.append(statement)

    def count(speaker: str) -> int:
        asked.clear()
        party.conversations.record(ident, "Well.", speaker=speaker)
        return len(asked)

    event.listen(party.store.engine, "before_cursor_execute", note)
    counts = [(count(ann), count(bo)) for _ in range(40)]
    event.remove(party.store.engine, "before_cursor_execute", note)
    with party.store.read(project="party") as reading:
        assert [job.kind for job in list_jobs(reading)] == ["recap"]
    assert counts[0] == (5, 9), "with the rules for recaps"
    assert counts[-1][0] == 5
    assert counts[-1][1] in (7, 8), "with the job that waits, which is put off once a second"


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_recording_a_message_changes_seven_pages(party: ProjectHandle) -> None:
    assert party.store is not None
    assert party.store.file is not None
    log = Path(f"{party.store.file}-wal")
    say(party, "Ann", "Hello.")
    changed = []
    for number in range(10):
        before = log.stat().st_size
        say(party, "Ann", f"Hello {number}.")
        changed.append((log.stat().st_size - before) // 4120)  # a page and its header
    assert min(changed) <= 7, "a page of each table and index, but not of what a message leaves as it is"


def test_a_speakers_request_after_a_new_message_reads_what_changed_once(
    party: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    plain = ProjectViews._build

    def build(views: ProjectViews, key: tuple[str, str], cached: CachedView | None, conversation: str) -> CachedView:
        built.append(conversation)
        return plain(views, key, cached, conversation)

    monkeypatch.setattr(ProjectViews, "_build", build)
    ident = party.conversations.list_all()[0].record.id
    for number in range(3):
        said = party.conversations.record(ident, f"Well, {number}.", speaker="Ann").content
        built.clear()
        request = party.request(
            conversation_id=ident, speaker_id="persona:Mara", skill_id="chat", additional_input=said
        )
        party.report_answer(party.assemble(request).assembly_id)
        assert built == [ident]
        party.conversations.record(ident, f"So, {number}.", speaker="Mara")
        built.clear()
        sent = {"projectId": "party", "conversationId": ident, "speakerId": "persona:Mara", "skillId": "chat"}
        party.assemble(party.read_request(msgspec.json.encode(sent)))
        assert built == [ident]


def test_a_subscriber_that_raises_harms_nothing(party: ProjectHandle) -> None:
    told: list[MessageEvent] = []

    def fail(event: MessageEvent) -> None:
        raise RuntimeError(event.message.content)

    party.conversations.subscribe(fail)
    party.conversations.subscribe(told.append)
    say(party, "Ann", "Hello.")
    assert read(party) == [event.message.content for event in told] == ["Hello."]


def test_one_set_of_participants_has_several_conversations(party: ProjectHandle) -> None:
    party.conversations.start(("Bo", "Mara", "Ann"), title="Later")
    found = party.conversations.list_all(("Ann", "Bo", "Mara"), match="exact")
    assert {one.record.title for one in found} == {"Pier", "Later"}


def test_conversations_are_found_the_same_way_among_few_and_among_many(
    party: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(3)
    people = ["Ann", "Mara", "Bo", *(party.participants.add(f"P{number}").name for number in range(12))]
    for number in range(40):
        party.conversations.start(random.sample(people, random.randint(1, 5)), title=f"c{number}")

    def find() -> list[list[str]]:
        wanted = Random(4)
        return [
            [one.record.id for one in party.conversations.list_all(some, match=match, limit=limit)]
            for some in (wanted.sample(people, wanted.randint(1, 3)) for _ in range(30))
            for match in MATCHES
            for limit in (1, 3, 50)
        ]

    few = find()
    monkeypatch.setattr(history, "_MAX_SORTED", 2)
    for latest in (3, 10, 1000):
        monkeypatch.setattr(history, "_LATEST", latest)
        assert find() == few


def test_a_deleted_parent_and_a_cyclic_branch_are_refused(party: ProjectHandle) -> None:
    first, second = say(party, "Ann", "one"), say(party, "Ann", "two")
    party.conversations.delete_message("Pier", second)
    refuse(party, Code.STORE_NOT_FOUND, lambda: say(party, "Ann", "three", after=second))

    def add_cycle() -> None:
        assert party.store is not None
        with party.store.write(project=party.id) as tx:
            edits.add_message(
                tx,
                party.conversations.get("Pier").record.id,
                Message(id="own", role="user", content="Me.", parent_id="own"),
            )

    refuse(party, Code.STORE_NOT_FOUND, add_cycle)
    assert [one.id for one in party.conversations.read_page("Pier").messages] == [first]


def test_history_keeps_its_order_when_the_clock_goes_back(
    party: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(party, "Ann", "one")
    monkeypatch.setattr(edits, "current_timestamp", lambda: "1999-01-01T00:00:00.000000Z")
    say(party, "Ann", "two")
    assert read(party) == ["one", "two"]
    assert party.conversations.read_page("Pier", before="2").messages[0].content == "one"


def test_nobody_speaks_where_everyone_is_absent(party: ProjectHandle) -> None:
    for name in ("Ann", "Mara", "Bo"):
        party.conversations.leave("Pier", name)
    refuse(party, Code.REQUEST_INVALID, lambda: say(party, "Ann", "Anybody?"))


def test_recording_and_paging_build_no_view(party: ProjectHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_view(*_: object, **__: object) -> View:
        raise AssertionError("the project was read")

    monkeypatch.setattr(ProjectViews, "view", refuse_view)
    assert say(party, "Ann", "one")
    assert len(party.conversations.read_page("Pier").messages) == 1


def test_a_deletion_is_undone_by_one_verb_for_ten_seconds(
    party: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        say(party, "Ann", f"word {number}")
    party.conversations.correct("Pier", "1", "WORD 0")
    party.conversations.delete_message("Pier", "2")
    assert read(party) == ["WORD 0", "word 2"]
    party.conversations.undo_delete()
    assert read(party) == ["WORD 0", "word 1", "word 2"]
    party.changes.undo()
    assert read(party)[0] == "word 0", "the change before it can still be taken back"
    party.conversations.delete("Pier")
    assert not party.conversations.list_all()
    party.conversations.undo_delete()
    assert read(party) == ["word 0", "word 1", "word 2"]
    party.conversations.delete_message("Pier", "2")
    monkeypatch.setattr("fabula.workspace.conversations.UNDO_TIME", timedelta(seconds=-1))
    refuse(party, Code.STORE_CONFLICT, party.conversations.undo_delete)
    party.changes.undo()
    assert read(party) == ["word 0", "word 1", "word 2"]


def test_another_change_is_not_taken_back_as_a_deletion(party: ProjectHandle) -> None:
    say(party, "Ann", "word")
    party.conversations.correct("Pier", "1", "other")
    refuse(party, Code.STORE_CONFLICT, party.conversations.undo_delete)


def test_conversations_are_listed_page_by_page(party: ProjectHandle) -> None:
    for number in range(6):
        party.conversations.start(("Ann", "Bo"), title=f"Talk {number}")
    cases: list[tuple[tuple[str, ...], ParticipantMatch]] = [
        ((), "subset"),
        (("Ann",), "subset"),
        (("Ann", "Mara"), "intersection"),
    ]
    for participants, match in cases:
        expected = [one.record.id for one in party.conversations.list_all(participants, match=match)]
        seen, page = list[str](), 1
        while True:
            found = party.conversations.list_page(participants, match=match, page=page, limit=3)
            seen += [one.record.id for one in found.conversations]
            if not found.has_more:
                break
            page += 1
        assert (seen, page) == (expected, 3)


def test_a_conversation_without_a_title_has_its_first_words(party: ProjectHandle) -> None:
    ident = party.conversations.start(("Ann", "Mara")).id
    assert party.conversations.get(ident).opening == ""
    party.conversations.record(ident, "Only for you, Mara.", speaker="Ann", audience=["Mara"])
    party.conversations.record(ident, "Good\n\nevening, captain. " + "How was the sea? " * 10, speaker="Ann")
    (found,) = [one for one in party.conversations.list_all() if one.record.id == ident]
    assert found.opening.startswith("Good evening, captain. How was")
    assert len(found.opening) <= 60
    assert "Only for you" not in found.opening
    party.conversations.rename(ident, "The captain")
    assert party.conversations.get(ident).opening == ""


def test_a_page_of_some_conversations_has_their_numbers_in_the_list_of_all(party: ProjectHandle) -> None:
    """Also where several changed at the same moment; and each says who was there, on its own branch."""
    for number in range(12):
        party.conversations.start(("Ann", "Mara") if number % 3 else ("Ann", "Bo"), title=f"Talk {number}")
    party.conversations.record("Talk 4", "One.", speaker="Ann")
    party.conversations.leave("Talk 4", "Mara")
    party.conversations.record("Talk 4", "Two.", speaker="Ann")
    party.conversations.record(
        "Talk 4", "Three.", speaker="Mara", after=party.conversations.get_message("Talk 4", "1").id
    )
    assert party.store is not None
    with party.store.write(project="party") as tx:
        for number in (1, 2, 3, 7):
            tx.update_rows(
                conversations, {"changed": "2026-01-01T00:00:00.000000Z"}, conversations.c.title == f"Talk {number}"
            )
    everything = party.conversations.list_page(limit=100)
    numbers = {one.record.id: number for number, one in enumerate(everything.conversations, start=1)}
    assert everything.numbers == numbers
    found = party.conversations.list_page(("Mara",), limit=5)
    pages = [found, party.conversations.list_page(("Mara",), limit=5, page=2)]
    assert {ident: number for page in pages for ident, number in page.numbers.items()} == {
        one.record.id: numbers[one.record.id]
        for one in everything.conversations
        if "persona:Mara" in one.record.conv_key
    }
    for one in everything.conversations:
        assert one.attendance.equals(party.conversations.get(one.record.id).attendance)
        assert party.conversations.get(str(numbers[one.record.id])).record.id == one.record.id
