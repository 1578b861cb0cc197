"""Chat files come in and go out without loss: sessions on disk, and those of SillyTavern (cht-5)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabula.conversation.model import GREETING
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace import chat_files
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.formats.chats.files_of_versions import EARLY, GROUP_EARLY, MIDDLE, VERSIONS, decode, encode


@pytest.fixture
def party(store: Store) -> Iterator[ProjectHandle]:
    """A project with a player and a persona."""
    projects.create(store, "Party", project_id="party")
    with Workspace(store) as workspace:
        project = workspace.project("party")
        project.participants.ensure_player("Ann")
        project.participants.add("Mara Venn", aliases=("Mara",))
        yield project


def bring_in(project: ProjectHandle, path: Path, rows: list[dict[str, Any]]) -> str:
    """Import a chat file; return the id of the conversation."""
    path.write_bytes(encode(rows))
    (imported,) = project.chat_files.import_files(path).conversations
    return imported.id


def read_texts(project: ProjectHandle, conversation: str) -> list[str]:
    return [one.content for one in project.conversations.read_page(conversation, limit=1000).messages]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_chat_file_comes_in_and_goes_out_field_by_field(party: ProjectHandle, tmp_path: Path, version: str) -> None:
    rows = VERSIONS[version]
    conversation = bring_in(party, tmp_path / "chat.jsonl", rows)
    report = party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    assert report.warnings == ()
    again = decode((tmp_path / "again.jsonl").read_bytes())
    assert len(again) == len(rows)
    for before, after in zip(rows, again, strict=True):
        assert list(after) == list(before)
        for name, value in before.items():
            assert after[name] == value, name


def test_swipes_are_siblings_and_the_chosen_one_goes_on(party: ProjectHandle, tmp_path: Path) -> None:
    conversation = bring_in(party, tmp_path / "chat.jsonl", EARLY)
    path = party.conversations.read_page(conversation).messages
    assert [one.content for one in path] == ["The lamp is out.", "Who put it out?", "The wind.", "I see."]
    siblings = party.conversations.list_siblings(conversation, path[2].id)
    assert [one.content for one in siblings] == ["Nobody.", "The wind.", "I did.\n*She laughs.*"]
    assert path[3].parent_id == path[2].id
    assert {one.speaker for one in siblings} == {"persona:Mara Venn#1"}


def test_alternate_greetings_are_siblings_at_the_beginning(party: ProjectHandle, tmp_path: Path) -> None:
    conversation = bring_in(party, tmp_path / "chat.jsonl", MIDDLE)
    first = party.conversations.read_page(conversation).messages[0]
    assert first.content == "Good evening."
    greetings = party.conversations.list_siblings(conversation, first.id)
    assert [one.content for one in greetings] == ["Good morning.", "Good evening."]
    assert [one.parent_id for one in greetings] == [None, None]


def test_greetings_are_marked_where_the_card_has_their_text_or_the_file_says_so(
    party: ProjectHandle, tmp_path: Path
) -> None:
    party.participants.edit_card(
        "Mara", first_message="The lamp is out, {{user}}.", alternate_greetings=("Good evening.",)
    )
    greetings = ["The lamp is out, Ann.", "Something new.", "Good evening."]
    row = {"name": "Mara Venn", "is_user": False, "mes": greetings[0], "swipes": greetings, "swipe_id": 0, "extra": {}}
    answer = {"name": "Mara Venn", "is_user": False, "mes": "Good evening.", "extra": {}}
    rows = [row, {"name": "Ann", "is_user": True, "mes": "Why?", "extra": {}}, answer]
    conversation = bring_in(party, tmp_path / "chat.jsonl", rows)

    def list_marked(ident: str) -> list[str]:
        path = party.conversations.read_page(ident).messages
        first = party.conversations.list_siblings(ident, path[0].id)
        return [one.content for one in (*first, *path[1:]) if one.extra.get(GREETING)]

    assert list_marked(conversation) == ["The lamp is out, Ann.", "Good evening."]
    party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    assert decode((tmp_path / "again.jsonl").read_bytes()) == rows, "a file goes out as it came"
    own = party.conversations.start(("Ann", "Mara"), title="Own", greeting="Mara").id
    party.conversations.record(own, "Good day.", speaker="Ann")
    for target in ("own.jsonl", "sessions"):
        report = party.chat_files.export_file(own, tmp_path / target)
        party.conversations.record(own, target, speaker="Ann")  # else it would be the same chat
        party.participants.edit_card("Mara", first_message="Another.", alternate_greetings=())
        (again,) = party.chat_files.import_files(report.path).conversations
        assert "The lamp is out, Ann." in list_marked(again.id), target


def test_another_swipe_chosen_here_is_the_chosen_one_in_the_file(party: ProjectHandle, tmp_path: Path) -> None:
    rows = VERSIONS["late"][:2]
    conversation = bring_in(party, tmp_path / "chat.jsonl", rows)
    party.conversations.select(conversation, "1")
    party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    line = decode((tmp_path / "again.jsonl").read_bytes())[1]
    assert (line["mes"], line["swipe_id"], line["swipes"]) == ("灯亮着。", 0, rows[1]["swipes"])
    assert (line["extra"], line["gen_started"]) == ({"model": "a"}, "x")
    assert line["swipe_info"] == rows[1]["swipe_info"]


def test_a_correction_and_a_new_answer_are_written(party: ProjectHandle, tmp_path: Path) -> None:
    conversation = bring_in(party, tmp_path / "chat.jsonl", EARLY)
    path = party.conversations.read_page(conversation).messages
    party.conversations.correct(conversation, path[2].id, "The tide.")
    party.conversations.record(conversation, "The sea.", speaker="Mara Venn", after=path[1].id)
    party.conversations.select(conversation, path[3].id)
    party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    line = decode((tmp_path / "again.jsonl").read_bytes())[3]
    assert line["mes"] == "The tide."
    assert line["swipes"] == ["Nobody.", "The tide.", "I did.\r\n*She laughs.*", "The sea."]
    assert line["swipe_id"] == 1


def test_what_follows_on_from_other_branches_is_said_to_be_left_out(party: ProjectHandle, tmp_path: Path) -> None:
    conversation = bring_in(party, tmp_path / "chat.jsonl", EARLY)
    other = party.conversations.list_siblings(conversation, "3")[0]
    party.conversations.record(conversation, "Then why?", speaker="You", after=other.id)
    party.conversations.select(conversation, "6")
    report = party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    assert [str(one) for one in report.warnings] == ["1 message of another branch is not in the file."]


def test_hidden_messages_and_the_narrator_are_told_apart(party: ProjectHandle, tmp_path: Path) -> None:
    conversation = bring_in(party, tmp_path / "chat.jsonl", MIDDLE)
    path = party.conversations.read_page(conversation).messages
    assert [(one.role, one.final, bool(one.speaker)) for one in path] == [
        ("assistant", True, True),
        ("user", True, True),
        ("system", True, False),
        ("assistant", False, True),
        ("assistant", True, True),
    ]


def test_whoever_has_hidden_lines_alone_takes_no_part_and_keeps_them(party: ProjectHandle, tmp_path: Path) -> None:
    def line(name: str, text: str, **fields: Any) -> dict[str, Any]:
        return {"name": name, "is_user": False, "is_system": False, "mes": text, "extra": {}, **fields}

    rows = [
        line("Ann", "Who is there?", is_user=True),
        line("System", "The connection was lost.", is_system=True),
        line("Mara Venn", "Me.", is_system=True),
        line("Mara Venn", "And the cat."),
    ]
    conversation = bring_in(party, tmp_path / "chat.jsonl", rows)
    chat = party.chat.get(conversation)
    assert [one.name for one in chat.present] == ["Mara Venn", "Ann"]
    said = party.conversations.read_page(conversation).messages
    assert [chat.people.name_of(one.speaker) for one in said] == ["Ann", "System", "Mara Venn", "Mara Venn"]
    party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    assert decode((tmp_path / "again.jsonl").read_bytes()) == rows


def test_speakers_are_matched_by_their_whole_name_or_added(party: ProjectHandle, tmp_path: Path) -> None:
    party.participants.add("Bobby")
    (tmp_path / "group.jsonl").write_bytes(encode(GROUP_EARLY))
    report = party.chat_files.import_files(tmp_path / "group.jsonl")
    assert report.new_participants == ("Bo",)
    assert report.conversations[0].participants == ("Mara Venn", "Bo", "Ann")
    assert report.conversations[0].alternatives == 1
    assert [one.name for one in party.participants.list_all()].count("Ann") == 1


def test_a_user_and_a_character_of_one_name_stay_two(party: ProjectHandle, tmp_path: Path) -> None:
    rows = [
        {"user_name": "Kit", "character_name": "Kit", "create_date": 1},
        {"name": "Kit", "is_user": False, "mes": "Hello."},
        {"name": "Kit", "is_user": True, "mes": "Hello."},
    ]
    conversation = bring_in(party, tmp_path / "kit.jsonl", rows)
    assert len({one.speaker for one in party.conversations.read_page(conversation).messages}) == 2


def test_a_whisper_and_a_late_comer_stay_secret_through_both_formats(party: ProjectHandle, tmp_path: Path) -> None:
    party.participants.add("Bo")
    party.conversations.start(("Ann", "Mara"), title="Pier")
    party.conversations.record("Pier", "Before Bo came.", speaker="Ann")
    party.conversations.join("Pier", "Bo")
    party.conversations.record("Pier", "For Ann alone.", speaker="Mara", audience=("Ann",))
    party.conversations.record("Pier", "For all.", speaker="Bo")
    before = hear(party, "Pier")
    assert before["Bo"] == ["For all."]
    party.chat_files.export_file("Pier", tmp_path / "pier.jsonl")
    session = Path(party.chat_files.export_file("Pier", tmp_path / "root").path)
    party.conversations.delete("Pier")
    for path in (tmp_path / "pier.jsonl", session):
        (imported,) = party.chat_files.import_files(path).conversations
        assert hear(party, imported.id) == before
        party.conversations.delete(imported.id)


def hear(project: ProjectHandle, conversation: str) -> dict[str, list[str]]:
    """What each participant heard, by name."""
    details = project.conversations.get(conversation)
    heard: dict[str, list[str]] = {}
    for said in project.conversations.read_page(conversation, limit=100).messages:
        for listener in details.attendance.find_listeners(said) or ():
            heard.setdefault(details.participants.name_of(listener), []).append(said.content)
    return heard


def test_a_conversation_made_here_is_a_chat_file_that_can_be_read_again(party: ProjectHandle, tmp_path: Path) -> None:
    party.conversations.start(("Ann", "Mara"), title="Pier")
    party.conversations.record("Pier", "Who lit the lamp?", speaker="Ann")
    party.conversations.record("Pier", "It was me.", speaker="Mara")
    party.chat_files.export_file("Pier", tmp_path / "pier.jsonl")
    header, *rows = decode((tmp_path / "pier.jsonl").read_bytes())
    assert (header["user_name"], header["character_name"]) == ("Ann", "Mara Venn")
    assert [(row["name"], row["is_user"], row["mes"]) for row in rows] == [
        ("Ann", True, "Who lit the lamp?"),
        ("Mara Venn", False, "It was me."),
    ]
    party.conversations.delete("Pier")
    (imported,) = party.chat_files.import_files(tmp_path / "pier.jsonl").conversations
    assert (imported.title, read_texts(party, imported.id)) == ("pier", ["Who lit the lamp?", "It was me."])


def test_the_same_chat_is_not_imported_twice(party: ProjectHandle, tmp_path: Path) -> None:
    bring_in(party, tmp_path / "chat.jsonl", EARLY)
    with pytest.raises(FabulaError) as refused:
        party.chat_files.import_files(tmp_path / "chat.jsonl")
    assert refused.value.code is Code.STORE_DUPLICATE
    (tmp_path / "other.jsonl").write_bytes(encode(MIDDLE))
    report = party.chat_files.import_files(tmp_path)
    assert [one.title for one in report.conversations] == ["other"]
    assert any("the same chat is here already: chat" in str(one) for one in report.warnings)


def test_nothing_is_imported_of_a_folder_with_a_broken_chat(party: ProjectHandle, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(encode(EARLY))
    (tmp_path / "b.jsonl").write_bytes(encode(EARLY[:2]) + b'\n{"mes": 5}\n')
    with pytest.raises(FabulaError) as refused:
        party.chat_files.import_files(tmp_path)
    assert "b.jsonl, line 3: `mes` must be a text" in refused.value.sentence
    assert party.conversations.list_all() == []
    assert [one.name for one in party.participants.list_all()] == ["Mara Venn", "Ann"]


def test_a_chat_of_endless_new_names_is_refused(
    party: ProjectHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_files, "MAX_NEW_PARTICIPANTS", 3)
    (tmp_path / "chat.jsonl").write_bytes(encode([{"name": f"N{n}", "mes": "a"} for n in range(4)]))
    with pytest.raises(FabulaError) as refused:
        party.chat_files.import_files(tmp_path / "chat.jsonl")
    assert refused.value.code is Code.IMPORT_TOO_LARGE
    assert len(party.participants.list_all()) == 2


def test_an_import_can_be_undone(party: ProjectHandle, tmp_path: Path) -> None:
    bring_in(party, tmp_path / "chat.jsonl", EARLY)
    party.changes.undo()
    assert party.conversations.list_all() == []


def test_appending_to_a_chat_file_adds_only_what_is_new(party: ProjectHandle, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    conversation = bring_in(party, path, EARLY)
    assert party.chat_files.export_file(conversation, path, append=True).messages == 0
    assert path.read_bytes() == encode(EARLY)
    party.conversations.record(conversation, "Good night.", speaker="Mara")
    assert party.chat_files.export_file(conversation, path, append=True).messages == 1
    assert path.read_bytes().startswith(encode(EARLY) + b"\n")
    assert [row["mes"] for row in decode(path.read_bytes())[1:]][-1] == "Good night."
    party.conversations.correct(conversation, "1", "The lamp is lit.")
    before = path.read_bytes()
    with pytest.raises(FabulaError) as refused:
        party.chat_files.export_file(conversation, path, append=True)
    assert refused.value.code is Code.EXPORT_REFUSED
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["chat.jsonl"]


def write_session(folder: Path, lines: list[dict[str, Any]], meta: dict[str, Any] | None) -> None:
    folder.mkdir(parents=True)
    (folder / "messages.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    if meta is not None:
        (folder / "meta.json").write_text(json.dumps(meta))


LINES: list[dict[str, Any]] = [
    {
        "id": "m1",
        "role": "user",
        "participant_id": "player:7",
        "content": "早上好",
        "timestamp": "2025-01-02T03:04:05.000Z",
    },
    {
        "id": "m2",
        "role": "assistant",
        "participant_id": "opus",
        "content": "Good morning.",
        "timestamp": "2025-01-02T03:04:06.5Z",
        "usage": {"input": 10, "output": 3},
        "mood": {"cat": "calm"},
    },
    {"id": 3, "role": "tool", "participant_id": None, "content": "42", "timestamp": 1735787047, "tags": ["a"]},
]
META: dict[str, Any] = {
    "title": "Breakfast",
    "mode": "quiz",
    "mode_state": {"scores": {"opus": 2}},
    "created_at": "2025-01-02T03:04:05.000Z",
    "updated_at": "2025-01-02T03:04:06.500Z",
    "parent_thread": "cat-cafe",
    "starred": True,
}


def test_a_session_comes_in_and_goes_out_with_fields_that_are_not_known(party: ProjectHandle, tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "threads" / "cat-cafe" / "sessions" / "s-1"
    write_session(folder, LINES, META)
    (imported,) = party.chat_files.import_files(tmp_path).conversations
    record = party.conversations.get(imported.id).record
    assert (record.id, record.title, record.mode, record.mode_state) == (
        "s-1",
        "Breakfast",
        "quiz",
        {"scores": {"opus": 2}},
    )
    report = party.chat_files.export_file("Breakfast", tmp_path / "out")
    out = tmp_path / "out" / "logs" / "threads" / "cat-cafe" / "sessions" / "s-1"
    assert report.path == str(out)
    again = decode((out / "messages.jsonl").read_bytes())
    for before, after in zip(LINES, again, strict=True):
        assert after == {**after, **before}
        assert after.keys() == before.keys()
    meta = json.loads((out / "meta.json").read_text())
    assert {**meta, **META, "updated_at": meta["updated_at"]} == meta
    assert meta["updated_at"] > META["updated_at"]
    assert not list(out.glob("._*"))


def test_the_newer_layout_wins_and_the_older_one_is_read_too(party: ProjectHandle, tmp_path: Path) -> None:
    threads = tmp_path / "logs" / "threads"
    write_session(threads / "s-1", LINES[:1], META)
    write_session(threads / "cats" / "sessions" / "s-1", LINES, META)
    write_session(threads / "s-2", [{**LINES[0], "id": "m9", "content": "older"}], {})
    report = party.chat_files.import_files(tmp_path)
    assert {one.id: one.messages for one in report.conversations} == {"s-1": 3, "s-2": 1}
    assert any("both layouts" in str(one) for one in report.warnings)
    (imported,) = party.chat_files.import_files(threads / "s-1" / "messages.jsonl").conversations
    assert imported.messages == 1


def test_appending_to_a_session_adds_only_what_is_new_under_its_lock(party: ProjectHandle, tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "s-1"
    write_session(folder, LINES, META)
    party.chat_files.import_files(folder)
    party.conversations.record("Breakfast", "And you?", speaker="player:7")
    before = (folder / "messages.jsonl").read_bytes()
    assert party.chat_files.export_file("Breakfast", folder, append=True).messages == 1
    assert party.chat_files.export_file("Breakfast", folder, append=True).messages == 0
    after = (folder / "messages.jsonl").read_bytes()
    assert after.startswith(before)
    assert decode(after)[-1]["content"] == "And you?"
    assert "parent_id" not in decode(after)[-1]
    (folder / "._session.lock").write_text("")
    with pytest.raises(FabulaError) as refused:
        party.chat_files.export_file("Breakfast", folder, append=True)
    assert refused.value.code is Code.EXPORT_REFUSED


def test_a_branch_that_is_appended_names_its_parent_and_is_read_as_a_branch(
    party: ProjectHandle, tmp_path: Path
) -> None:
    folder = tmp_path / "sessions" / "s-1"
    write_session(folder, LINES, META)
    party.chat_files.import_files(folder)
    party.conversations.record("Breakfast", "Good night.", speaker="opus", after="m1")
    party.conversations.correct("Breakfast", "m1", "早")
    report = party.chat_files.export_file("Breakfast", folder, append=True)
    (notice,) = (str(one) for one in report.warnings if "corrected since" in str(one))
    assert notice.endswith("overwrite the file.")
    assert decode((folder / "messages.jsonl").read_bytes())[-1]["parent_id"] == "m1"
    party.conversations.delete("Breakfast")
    (imported,) = party.chat_files.import_files(folder).conversations
    assert read_texts(party, imported.id) == ["早上好", "Good night."]


def test_a_corrected_line_is_never_written_a_second_time(party: ProjectHandle, tmp_path: Path) -> None:
    party.conversations.start(("Ann", "Mara"), title="Pier")
    first = party.conversations.record("Pier", "Who lit the lamp?", speaker="Ann")
    file = tmp_path / "pier.jsonl"
    for path in (tmp_path / "sessions", file):
        party.chat_files.export_file("Pier", path)
    party.conversations.correct("Pier", first.id, "Who put out the lamp?")
    party.conversations.record("Pier", "Me.", speaker="Mara")
    report = party.chat_files.export_file("Pier", tmp_path / "sessions", append=True)
    (lines,) = (decode(one.read_bytes()) for one in (tmp_path / "sessions").rglob("messages.jsonl"))
    assert (report.messages, [one["content"] for one in lines]) == (1, ["Who lit the lamp?", "Me."])
    before = file.read_bytes()
    with pytest.raises(FabulaError, match="corrected") as refused:
        party.chat_files.export_file("Pier", file, append=True)
    assert (refused.value.code, file.read_bytes()) == (Code.EXPORT_REFUSED, before)
    party.chat_files.export_file("Pier", file, overwrite=True)
    assert "Who put out the lamp?" in file.read_text("utf-8")


def test_a_session_of_another_conversation_is_not_appended_to(party: ProjectHandle, tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "s-1"
    write_session(folder, LINES, META)
    party.conversations.start(("Ann", "Mara"), title="Pier")
    party.conversations.record("Pier", "Who lit the lamp?", speaker="Ann")
    for append in (True, False):
        with pytest.raises(FabulaError) as refused:
            party.chat_files.export_file("Pier", folder, append=append)
        assert refused.value.code is Code.EXPORT_REFUSED
    assert decode((folder / "messages.jsonl").read_bytes()) == LINES


def test_an_import_changes_neither_who_the_player_is_nor_doubles_a_player(
    party: ProjectHandle, store: Store, tmp_path: Path
) -> None:
    ann = party.participants.ensure_player()
    for number in range(6):  # a key made by chance may come before Ann's
        rows: list[dict[str, Any]] = [{"user_name": f"Rolf {number}", "character_name": "Mara Venn"}]
        rows += [{"name": f"Rolf {number}", "is_user": True, "mes": f"Hello {number}."}]
        bring_in(party, tmp_path / f"{number}.jsonl", rows)
    assert party.participants.ensure_player() == ann
    started = party.chat.start(["Mara Venn"])
    assert {one.name for one in started.present} == {"Ann", "Mara Venn"}
    session = party.chat_files.export_file(started.record.id, tmp_path / "sessions").path
    party.conversations.record(started.record.id, "Hello.", speaker="Ann")
    session = party.chat_files.export_file(started.record.id, tmp_path / "sessions", overwrite=True).path
    projects.create(store, "Other", project_id="other")
    with Workspace(store) as workspace:
        other = workspace.project("other")
        own = other.participants.ensure_player("Ann")
        other.chat_files.import_files(session)
        assert [one for one in other.participants.list_all() if one.name == "Ann"] == [own]


def test_a_chat_is_not_exported_to_a_folder_that_is_named_like_a_file(party: ProjectHandle, tmp_path: Path) -> None:
    started = party.chat.start(["Mara Venn"])
    with pytest.raises(FabulaError) as refused:
        party.chat_files.export_file(started.record.id, tmp_path / "hearth.txt")
    assert refused.value.code is Code.REQUEST_INVALID
    assert "ends in .jsonl" in refused.value.sentence
    assert not (tmp_path / "hearth.txt").exists()


def with_note(rows: list[dict[str, Any]], **note: Any) -> list[dict[str, Any]]:
    """A chat file whose first line has an author's note."""
    return [{**rows[0], "chat_metadata": {**rows[0].get("chat_metadata", {}), **note}}, *rows[1:]]


def place_note(project: ProjectHandle, conversation: str, note: str) -> tuple[str, int] | None:
    """The role of the note in a prompt, and how many messages of the conversation follow it."""
    request = project.request(
        conversation_id=conversation, speaker_id="persona:Mara Venn", recipe="character-chat", document_id=""
    )
    sent = project.assemble(request).messages
    texts = read_texts(project, conversation)
    for number, one in enumerate(sent):
        if note in one.content:
            return one.role, sum(any(text in later.content for later in sent[number + 1 :]) for text in texts)
    return None


@pytest.mark.parametrize(("depth", "role"), [(0, 0), (1, 0), (2, 1), (3, 2)])
def test_the_note_of_an_author_is_told_at_its_depth_and_goes_out_as_it_came(
    party: ProjectHandle, tmp_path: Path, depth: int, role: int
) -> None:
    fields = {"note_prompt": "{{char}} whispers.", "note_interval": 1, "note_position": 1}
    rows = with_note(EARLY, **fields, note_depth=depth, note_role=role, another="kept")
    conversation = bring_in(party, tmp_path / "chat.jsonl", rows)
    expected = ("system", "user", "assistant")[role]
    found = place_note(party, conversation, "Mara Venn whispers.")
    assert found is not None
    assert found[1] == depth
    assert found[0] == expected
    party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    assert decode((tmp_path / "again.jsonl").read_bytes())[0] == rows[0]


def test_a_note_of_a_group_is_told_to_each_who_takes_part_and_to_nobody_else(
    party: ProjectHandle, tmp_path: Path
) -> None:
    rows = with_note(VERSIONS["late group"], note_prompt="It rains.", note_depth=1)
    conversation = bring_in(party, tmp_path / "chat.jsonl", rows)
    here = party.conversations.get(conversation).attendance.participants
    stranger = party.participants.add("Zed").id
    for one in (*here, stranger):
        request = party.request(conversation_id=conversation, speaker_id=one, recipe="character-chat", document_id="")
        prompt = "\n".join(said.content for said in party.assemble(request).messages)
        assert ("It rains." in prompt) == (one in here)
    party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    assert decode((tmp_path / "again.jsonl").read_bytes())[0] == rows[0]


def test_a_report_says_what_becomes_of_a_note(party: ProjectHandle, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"

    def report(**note: Any) -> list[str]:
        path.write_bytes(encode(with_note(EARLY, note_prompt="It rains.", **note)))
        report = party.chat_files.import_files(path)
        party.conversations.delete(report.conversations[0].id)
        return [str(one) for one in report.warnings]

    told = "chat.jsonl: the author's note stands in every prompt, at depth 4."
    assert report(note_interval=1) == [told]
    assert report(note_interval=3)[1:] == [
        "chat.jsonl: in SillyTavern the note is told once every 3 messages. An export writes that again."
    ]
    assert report(note_interval=0) == [
        "chat.jsonl: the author's note is switched off. It is kept, and reaches no prompt."
    ]
    assert report(note_interval="x", note_depth=-1, note_role=9, note_position=None) == [told]


def test_a_note_that_is_switched_off_or_taken_away_reaches_no_prompt(party: ProjectHandle, tmp_path: Path) -> None:
    rows = with_note(EARLY, note_prompt="It rains.", note_interval=0)
    conversation = bring_in(party, tmp_path / "chat.jsonl", rows)
    assert place_note(party, conversation, "It rains.") is None
    party.conversations.set_note(conversation, "It snows.", depth=2)
    assert place_note(party, conversation, "It snows.") == ("system", 2)
    party.chat_files.export_file(conversation, tmp_path / "again.jsonl")
    metadata = decode((tmp_path / "again.jsonl").read_bytes())[0]["chat_metadata"]
    assert (metadata["note_prompt"], metadata["note_depth"], metadata["note_interval"]) == ("It snows.", 2, 1)
    party.chat.set_mode(conversation, "quiz")
    assert place_note(party, conversation, "It snows.") == ("system", 2)
    party.conversations.set_note(conversation, "")
    assert place_note(party, conversation, "It snows.") is None
    with pytest.raises(FabulaError, match="cannot be the note"):
        party.conversations.set_note(conversation, "x" * 20_001)


@pytest.mark.parametrize("target", ["sessions", "night.jsonl"])
def test_the_roles_of_a_game_come_back_with_it(party: ProjectHandle, tmp_path: Path, target: str, store: Store) -> None:
    for name in ("Bo", "Cleo", "Dan"):
        party.participants.add(name, namespace="agent")
    party.chat.start(["Bo", "Cleo", "Dan"], mode="werewolf", title="night")
    before = party.chat.get("night")
    party.conversations.record("night", "Good evening.", speaker="Ann")
    party.chat_files.export_file("night", tmp_path / target)
    projects.create(store, "Other", project_id="other")
    with Workspace(store) as workspace:
        other = workspace.project("other")
        for name in ("Dan", "Cleo", "Bo"):
            other.participants.add(name, namespace="agent")
        other.chat_files.import_files(tmp_path / target)
        after = other.chat.get("night")
        assert after.mode == "werewolf"
        assert after.is_begun
        dealt = {before.people.name_of(one): role for one, role in before.state["roles"].items()}
        assert {after.people.name_of(one): role for one, role in after.state["roles"].items()} == dealt
        assert set(after.state["roles"]) <= after.attendance.present
        whispers = [one for one in other.conversations.read_page("night").messages if one.audience is not None]
        assert len(whispers) == 3
        assert all(one.speaker == "" and one.kind == "knowledge" for one in whispers)
        assert {one.name for one in other.participants.list_all()} == {"Ann", "Bo", "Cleo", "Dan"}
        other.chat.set_mode("night", "free_chat")
        other.chat_files.export_file("night", tmp_path / "later.jsonl")
        (header, *_) = decode((tmp_path / "later.jsonl").read_bytes())
        assert header["chat_metadata"].get("fabula", {}).get("mode", "free_chat") == "free_chat"


def test_the_roles_of_a_game_are_in_a_save(party: ProjectHandle, tmp_path: Path) -> None:
    for name in ("Bo", "Cleo", "Dan"):
        party.participants.add(name, namespace="agent")
    before = party.chat.start(["Bo", "Cleo", "Dan"], mode="werewolf", title="night").state
    party.save(tmp_path / "party.fabula")
    with Workspace.open(tmp_path / "other") as workspace:
        loaded = workspace.load_save(tmp_path / "party.fabula")
        assert workspace.project(loaded.project_id).chat.get("night").state == before
