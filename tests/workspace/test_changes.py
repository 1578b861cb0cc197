"""Changes: whatever a person did last can be taken back and made again; deleted projects come back (man-7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabula.conversation import edits
from fabula.conversation.history import record_message
from fabula.conversation.model import Message
from fabula.core.errors import Code, FabulaError
from fabula.store.schema import all_tables, table_info
from fabula.store.store import LOCAL_USER, Store
from fabula.store.tables import undo_steps
from fabula.workspace import deleted_projects
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import read_view
from fabula.workspace.schemas.saves import LoadChoices
from fabula.workspace.workspace import Workspace

Contents = dict[str, list[dict[str, Any]]]


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    opened = Workspace(store)
    opened.copy_project(read_view("sample:lantern_coast"), title="Coast")
    yield opened
    opened.close()


def contents(project: ProjectHandle) -> Contents:
    """Every tracked row of the project and the person, without versions and times of change."""
    assert project.store is not None
    with project.store.read(project=project.id, user=LOCAL_USER) as reading:
        return {
            table.name: [
                {name: value for name, value in row._mapping.items() if name not in ("version", "changed")}
                for row in reading.rows(table, order=[*table.primary_key])
            ]
            for table in all_tables()
            if "table_info" in table.info and table_info(table).tracked
        }


VERBS: dict[str, Callable[[ProjectHandle], object]] = {
    "codex add": lambda p: p.codex.add("Zed", kind="character"),
    "codex edit": lambda p: p.codex.edit(p.codex.list_entries()[0].id, description="Other words."),
    "codex remove": lambda p: p.codex.remove(p.codex.list_entries()[0].id),
    "codex relate": lambda p: p.codex.relate(p.codex.list_entries()[0].id, p.codex.list_entries()[1].id, kind="knows"),
    "codex progression": lambda p: p.codex.add_progression(p.codex.list_entries()[0].id, "Gone.", since="ch-02"),
    "codex pin": lambda p: p.codex.pin(p.codex.list_entries()[0].id, "ch-01"),
    "codex rename": lambda p: p.codex.rename("Mara", "Eleanor", history=True),
    "constraint add": lambda p: p.constraints.add("No cats."),
    "constraint edit": lambda p: p.constraints.edit(p.constraints.list_constraints()[0].constraint.id, text="No dogs."),
    "constraint remove": lambda p: p.constraints.remove(p.constraints.list_constraints()[0].constraint.id),
    "outline add": lambda p: p.outline.add("ch-01", "It rains."),
    "outline done": lambda p: p.outline.set_done(p.outline.list_beats()[0].id),
    "outline remove": lambda p: p.outline.remove(p.outline.list_beats()[0].id),
    "synopsis write": lambda p: p.synopses.write("ch-01", "Rain."),
    "synopsis remove": lambda p: (p.synopses.write("ch-01", "Rain."), p.synopses.remove("ch-01")),
    "preset write": lambda p: p.presets.write("Mine", b'{"nodes": []}'),
    "lorebook create": lambda p: p.lorebooks.create("Gulls"),
    "lorebook entry": lambda p: (p.lorebooks.create("Gulls"), p.lorebooks.add_entry("Gulls", {"content": "Loud."})),
    "memory remember": lambda p: p.memory.remember("She likes rain."),
    "memory of the person": lambda p: p.memory.remember("I like rain.", of_user=True),
    "memory forget": lambda p: p.memory.forget(p.memory.list_memories()[0].item.id),
}


@pytest.mark.parametrize("verb", VERBS)
def test_whatever_was_done_last_is_undone_and_made_again(workspace: Workspace, verb: str) -> None:
    project = workspace.project("Coast")
    steps = [contents(project)]
    VERBS[verb](project)
    after = contents(project)
    assert after != steps[0]
    count = len(project.changes.list_changes()) - 1  # the first one made the project
    for _ in range(count):
        assert project.changes.undo().label.render("zh")
    assert contents(project) == steps[0]
    for _ in range(count):
        project.changes.redo()
    assert contents(project) == after
    assert project.view is not None


def test_a_prompt_after_an_undo_is_the_one_before_the_change(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    before = project.inspect(project.request()).messages
    project.codex.rename("Mara", "Eleanor")
    assert project.inspect(project.request()).messages != before
    project.changes.undo()
    assert project.inspect(project.request()).messages == before


def test_a_setting_of_a_project_is_undone(workspace: Workspace) -> None:
    settings = workspace.settings("Coast")
    settings.set("judge.tries", 3)
    assert "judge.tries" in str(workspace.project("Coast").changes.undo().label)
    assert workspace.settings("Coast").get("judge.tries").value != 3


def test_a_deleted_project_comes_back_whole(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    before, project_id = contents(project), project.id
    deleted = workspace.delete_project("Coast")
    assert workspace.projects() == []
    assert str(workspace.list_changes()[0].step.label) == "Coast deleted"
    assert [one.title for one in workspace.list_deleted_projects()] == ["Coast"]
    assert workspace.restore_project("Coast").id == deleted.id == project_id
    assert contents(workspace.project("Coast")) == before
    assert workspace.list_deleted_projects() == []


def test_deleted_projects_are_kept_in_bounded_number(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleted_projects, "MAX_DELETED", 2)
    for number in range(3):
        workspace.create_project(f"Book {number}")
        workspace.delete_project(f"Book {number}")
    assert [one.title for one in workspace.list_deleted_projects()] == ["Book 2", "Book 1"]
    with pytest.raises(FabulaError) as refused:
        workspace.restore_project("Lost")
    assert refused.value.code is Code.PROJECT_NOT_FOUND


def test_a_project_whose_id_is_taken_again_is_not_overwritten_by_a_restore(workspace: Workspace) -> None:
    deleted = workspace.delete_project("Coast")
    workspace.restore_project("Coast")
    again = workspace.delete_project("Coast")
    assert again.id == deleted.id
    workspace.copy_project(read_view("sample:lantern_coast"), title="Coast")
    workspace.restore_project(again.id)
    assert len(workspace.projects()) == 2


def test_a_title_is_changed_and_an_empty_one_is_refused(workspace: Workspace) -> None:
    assert workspace.rename_project("Coast", " The Lamp ").title == "The Lamp"
    with pytest.raises(FabulaError) as refused:
        workspace.rename_project("The Lamp", "  ")
    assert refused.value.code is Code.PROJECT_INVALID
    workspace.project("The Lamp").changes.undo()
    assert [one.title for one in workspace.projects()] == ["Coast"]


def test_a_language_is_changed_for_prompts_too_and_an_unknown_one_is_refused(workspace: Workspace) -> None:
    assert workspace.change_language("Coast", "zh-Hans").language == "zh"
    assert workspace.project("Coast").view.project.language == "zh"
    with pytest.raises(FabulaError) as refused:
        workspace.change_language("Coast", "fr")
    assert refused.value.code is Code.PROJECT_INVALID
    workspace.project("Coast").changes.undo()
    assert workspace.project("Coast").view.project.language == "en"


def titles(workspace: Workspace) -> list[str]:
    return sorted(one.title for one in workspace.projects())


def test_undo_after_an_import_takes_back_the_import_and_not_an_older_change(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.project("Coast").constraints.add("No cats.")
    (file := tmp_path / "novel.md").write_text("# One\n\nIt rained.\n")
    made = workspace.import_manuscript(file)
    taken_back = workspace.undo()
    assert (taken_back.project_id, taken_back.outcome) == (made.project_id, "deleted")
    assert "novel.md" in str(taken_back.step.label)
    assert titles(workspace) == ["Coast"]
    assert str(workspace.undo().step.label) == "new constraint: No cats."
    assert workspace.undo().outcome == "deleted"
    assert titles(workspace) == []
    with pytest.raises(FabulaError) as refused:
        workspace.undo()
    assert refused.value.code is Code.STORE_NOT_FOUND
    assert workspace.redo().outcome == "restored"
    assert titles(workspace) == ["Coast"]


@pytest.mark.parametrize("way", ["new", "copy", "load", "restore"])
def test_a_project_that_was_just_made_is_taken_back_and_made_again(
    workspace: Workspace, tmp_path: Path, way: str
) -> None:
    before = titles(workspace)
    match way:
        case "new":
            workspace.create_project("Fresh")
        case "copy":
            workspace.copy_project(read_view("sample:lantern_coast"), title="Fresh")
        case "load":
            workspace.project("Coast").save(tmp_path / "coast.fabula")
            workspace.load_save(tmp_path / "coast.fabula", LoadChoices(beside=True))
        case _:
            workspace.delete_project("Coast")
            before = []
            workspace.restore_project("Coast")
    after = titles(workspace)
    assert after != before
    assert workspace.undo().outcome == "deleted"
    assert titles(workspace) == before
    workspace.redo()
    assert titles(workspace) == after


def test_a_project_that_an_undo_removed_is_not_made_again_after_a_new_change_elsewhere(workspace: Workspace) -> None:
    workspace.create_project("Fresh")
    workspace.undo()
    workspace.project("Coast").constraints.add("No cats.")
    with pytest.raises(FabulaError) as refused:
        workspace.redo()
    assert refused.value.code is Code.STORE_NOT_FOUND
    assert titles(workspace) == ["Coast"]
    assert str(workspace.undo().step.label) == "new constraint: No cats."
    workspace.restore_project("Fresh")  # it is still kept


def test_what_was_undone_in_several_projects_is_made_again_in_turn(workspace: Workspace) -> None:
    workspace.create_project("First")
    workspace.project("Coast").constraints.add("No cats.")
    workspace.create_project("Second")
    after, rules = titles(workspace), len(workspace.project("Coast").constraints.list_constraints())
    for _ in range(3):
        workspace.undo()
    assert titles(workspace) == ["Coast"]
    for _ in range(3):
        workspace.redo()
    assert titles(workspace) == after
    assert len(workspace.project("Coast").constraints.list_constraints()) == rules


def test_a_load_that_replaced_a_project_is_taken_back(workspace: Workspace, tmp_path: Path) -> None:
    project = workspace.project("Coast")
    project.save(tmp_path / "coast.fabula")
    loaded = contents(project)
    project.constraints.add("No cats.")
    replaced = contents(project)
    workspace.load_save(tmp_path / "coast.fabula", LoadChoices(replace="Coast"))
    assert contents(project) == loaded
    assert workspace.undo().outcome == "replaced"
    assert contents(project) == replaced
    assert workspace.redo().outcome == "replaced"
    assert contents(project) == loaded
    assert workspace.undo().outcome == "replaced"
    for copy in (project.store.folder / "backups").glob("*.fabula") if project.store else ():
        copy.unlink()
    with pytest.raises(FabulaError) as refused:
        workspace.redo()
    assert refused.value.code is Code.STORE_CONFLICT
    assert contents(project) == replaced


def test_what_belongs_to_the_person_is_taken_back_too(workspace: Workspace) -> None:
    workspace.settings().set("judge.tries", 3, scope="person")
    workspace.write_profile("I like rain.")
    assert str(workspace.undo().step.label) == "your profile changed"
    assert workspace.read_profile().text == ""
    workspace.redo()
    assert workspace.read_profile().text == "I like rain."
    workspace.undo()
    taken_back = workspace.undo()
    assert ("judge.tries" in str(taken_back.step.label), taken_back.project_id) == (True, "")
    assert workspace.settings().get("judge.tries").value != 3
    assert titles(workspace) == ["Coast"]


def test_joining_and_leaving_a_series_is_taken_back(workspace: Workspace) -> None:
    workspace.create_series("The Cycle")
    workspace.join_series("Coast", "The Cycle")
    workspace.undo()
    assert workspace.list_books("The Cycle") == []
    workspace.redo()
    joined = workspace.list_books("The Cycle")
    assert [one.number for one in joined] == [1]
    workspace.leave_series("Coast")
    workspace.undo()
    assert workspace.list_books("The Cycle") == joined


def test_a_change_that_also_writes_the_series_is_one_step(workspace: Workspace) -> None:
    workspace.create_series("The Cycle")
    workspace.project("The Cycle").codex.add("Mara", kind="character", description="Mara keeps the light.")
    workspace.join_series("Coast", "The Cycle")
    project = workspace.project("Coast")
    before, shared = contents(project), contents(workspace.project("The Cycle"))
    project.codex.rename("Mara", "Eleanor")
    assert contents(workspace.project("The Cycle")) != shared
    assert str(workspace.undo().step.label) == "Mara renamed to Eleanor"
    assert (contents(project), contents(workspace.project("The Cycle"))) == (before, shared)
    workspace.redo()
    workspace.project("The Cycle").codex.edit("Eleanor", description="Other words.")
    now = contents(project)
    with pytest.raises(FabulaError) as refused:
        workspace.undo("Coast")
    assert refused.value.code is Code.STORE_CONFLICT
    assert contents(project) == now


def test_a_loaded_book_is_taken_back_with_the_series_it_brought(workspace: Workspace, tmp_path: Path) -> None:
    workspace.create_series("The Cycle")
    workspace.project("The Cycle").codex.add("Zed", kind="character")
    workspace.join_series("Coast", "The Cycle")
    workspace.project("Coast").save(tmp_path / "coast.fabula")
    before = titles(workspace)
    loaded = workspace.load_save(tmp_path / "coast.fabula", LoadChoices(beside=True))
    assert loaded.series is not None
    assert titles(workspace) == sorted([*before, "Coast", "The Cycle (2)"])
    workspace.undo()
    assert titles(workspace) == before
    workspace.load_save(tmp_path / "coast.fabula", LoadChoices(join_series="The Cycle", beside=True))
    workspace.undo()
    assert [one.title for one in workspace.list_books("The Cycle")] == ["Coast"]


def test_an_undo_says_what_was_there_before_and_after(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    record = project.chapters.list_chapters()[0]
    project.chapters.rename(record.id, "Another title")
    (detail,) = workspace.undo().step.details
    assert (detail.before, detail.after) == ("Another title", record.title)
    workspace.project("Coast").constraints.add("No cats.")
    (detail,) = workspace.undo().step.details
    assert (detail.name, detail.after) == ("No cats.", None)


def test_deleting_a_series_leaves_its_id_in_no_book_and_undo_puts_it_back(workspace: Workspace) -> None:
    workspace.create_series("The Coast", language="en")
    for title in ("One", "Two"):
        workspace.create_project(title)
        workspace.join_series(title, "The Coast")
    before = {row.title: row.series_id for row in workspace.store.project_rows()}
    workspace.delete_project("The Coast")
    assert all(row.series_id is None for row in workspace.store.project_rows())
    workspace.restore_project("The Coast")
    assert {row.title: row.series_id for row in workspace.store.project_rows()} == before
    assert [book.title for book in workspace.list_books("The Coast")] == ["One", "Two"]
    workspace.delete_project("The Coast")
    workspace.create_series("Another", language="en")
    workspace.join_series("One", "Another")
    workspace.restore_project("The Coast")
    assert [book.title for book in workspace.list_books("The Coast")] == ["Two"]
    assert [book.title for book in workspace.list_books("Another")] == ["One"]


def test_undoing_a_split_says_that_the_new_chapter_is_gone(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    first = project.chapters.list_chapters()[0]
    project.chapters.split(f"{first.id}@40", "The second half")
    step = workspace.undo().step
    assert (step.details[0].name, step.details[0].after) == ("The second half", None)
    assert not any((one.before or "").isdecimal() for one in step.details)


def test_an_undo_names_nothing_by_its_id(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    mara, chapter = project.codex.find("Mara Venn"), project.chapters.list_chapters()[0]
    ids = {one.id for one in project.codex.list_entries()} | {one.id for one in project.chapters.list_chapters()}
    project.codex.pin(mara.id, chapter.id)
    assert not ids & {detail.name for detail in workspace.undo().step.details}
    project.codex.relate(mara.id, project.codex.list_entries()[-1].id, kind="owes")
    assert not ids & {detail.name for detail in workspace.undo().step.details}
    project.synopses.write(chapter.id, "Rain.")
    first = workspace.list_changes("Coast")[0].step.number
    project.synopses.write(chapter.id, "Snow.")
    with pytest.raises(FabulaError) as refused:
        workspace.undo("Coast", step=first)
    assert refused.value.code is Code.STORE_CONFLICT
    assert f"synopsis changed: {chapter.title}. It was changed or used since: “Rain.”." in refused.value.sentence


def test_an_undo_shows_no_offsets(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    chapter = project.chapters.list_chapters()[0]
    project.codex.add("Zed", kind="character", since=f"{chapter.id}@40")
    project.chapters.write(chapter.id, "Another text.")
    details = workspace.undo().step.details
    assert details
    assert not [one for one in details if (one.before or "").isdecimal() or (one.after or "").isdecimal()]


def test_a_change_is_called_by_the_name_of_what_it_changed_however_that_was_named(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    mara, chapter = project.codex.find("Mara Venn"), project.chapters.list_chapters()[0]
    rule = project.constraints.list_constraints()[0].constraint
    memory = project.memory.list_memories()[0].item
    book = project.lorebooks.create("Gulls")
    project.outline.add(chapter.id, "It rains.")
    beats = [one.id for one in reversed(project.outline.list_beats(chapter.id))]
    talk = project.conversations.start(("Mara Venn", "Hope Tarn"), title="Pier")
    said = project.conversations.record(talk.id, "The lamp is out.", speaker="Mara Venn")
    who = project.participants.get("Mara Venn")
    text = project.participant_texts.add("prompt", who.id, "She never sells the barometer.")
    changes: list[tuple[Callable[[], object], str]] = [
        (lambda: project.codex.edit(mara.id, description="Other words."), mara.name),
        (lambda: project.synopses.write(chapter.id, "Rain."), chapter.title),
        (lambda: project.synopses.remove(chapter.id), chapter.title),
        (lambda: project.constraints.edit(rule.id, priority=9), rule.text),
        (lambda: project.constraints.remove(rule.id), rule.text),
        (lambda: project.memory.edit(memory.id, confidence=0.6), memory.text),
        (lambda: project.memory.forget(memory.id), memory.text),
        (lambda: project.lorebooks.use(book.id, active=False), "Gulls"),
        (lambda: project.lorebooks.remove(book.id), "Gulls"),
        (lambda: project.outline.reorder(chapter.id, beats), chapter.title),
        (lambda: project.conversations.pin(talk.id, said.id), "The lamp is out."),
        (lambda: project.conversations.delete_message(talk.id, said.id), "The lamp is out."),
        (lambda: project.participants.edit(who.id, persona="Quiet."), "Mara Venn"),
        (lambda: project.participant_texts.remove("prompt", who.id, text.id), "She never sells"),
        (lambda: project.codex.remove(mara.id), mara.name),
    ]
    for change, name in changes:
        change()
        label = str(workspace.list_changes("Coast")[0].step.label)
        assert " ".join(name.split())[:15] in label, (name, label)


def test_undoing_a_rename_counts_the_places_that_it_does_not_show(workspace: Workspace) -> None:
    workspace.project("Coast").codex.rename("Mara", "Eleanor")
    step = workspace.undo().step
    assert len(step.details) == 3
    assert step.more > 10


def talk(tmp_path: Path) -> tuple[Workspace, ProjectHandle]:
    workspace = Workspace.open(tmp_path / "data")
    project = workspace.create_project("Chat")
    project.participants.add("Ann", namespace="user")
    return workspace, project


def test_starting_a_conversation_is_a_step_of_its_own(tmp_path: Path) -> None:
    workspace, project = talk(tmp_path)
    with workspace:
        project.conversations.start(["Ann"], title="Evening")
        assert str(workspace.undo().step.label) == "new conversation: Evening"
        assert project.conversations.list_all() == []
        workspace.redo()
        assert [one.record.title for one in project.conversations.list_all()] == ["Evening"]


def test_what_was_said_is_not_jumped_over_by_undo(tmp_path: Path) -> None:
    workspace, project = talk(tmp_path)
    with workspace:
        project.conversations.start(["Ann"], title="Evening")
        project.conversations.record("Evening", "Hello.", speaker="Ann")
        with pytest.raises(FabulaError) as caught:
            workspace.undo()
        assert caught.value.code is Code.STORE_CONFLICT
        assert "Evening" in caught.value.sentence
        assert len(project.conversations.read_page("Evening").messages) == 1


def test_a_participant_who_has_spoken_and_a_project_with_conversations_are_not_taken_back(tmp_path: Path) -> None:
    workspace, project = talk(tmp_path)
    with workspace:
        with workspace.store.write(project=project.id) as tx:  # as an import does, without a step
            ann = project.participants.get("Ann").id
            conversation = edits.start_conversation(tx, participants=[ann], title="Evening")
            record_message(tx, conversation, Message(id="", role="user", content="Hello.", speaker=ann))
        with pytest.raises(FabulaError) as caught:
            workspace.undo()
        assert caught.value.code is Code.STORE_CONFLICT
        assert "Ann" in caught.value.sentence
        with workspace.store.write(project=project.id) as tx:
            tx.delete_rows(undo_steps, undo_steps.c.number > 1)
        with pytest.raises(FabulaError) as caught:
            workspace.undo()
        assert caught.value.code is Code.STORE_CONFLICT
        assert "a conversation since" in caught.value.sentence
        assert workspace.projects()


def test_the_number_of_an_undone_step_never_means_a_later_change(workspace: Workspace) -> None:
    project = workspace.create_project("Harrow")
    project.memory.remember("She is left-handed.")
    step = workspace.list_changes(project.id)[0].step.number
    workspace.undo(project.id, step=step)
    project.memory.remember("She is tall.")
    with pytest.raises(FabulaError) as retried:
        workspace.undo(project.id, step=step)
    assert retried.value.code is Code.STORE_NOT_FOUND
    assert [one.item.text for one in project.memory.list_memories()] == ["She is tall."]


def test_a_step_is_taken_back_by_its_number_whatever_was_done_after_it(workspace: Workspace) -> None:
    project = workspace.create_project("Harrow")
    chapter = project.chapters.add("One", text="It rained.").id
    project.memory.remember("She is left-handed.")
    step = workspace.list_changes(project.id)[0].step.number
    project.chapters.write(chapter, "It rained. She ran.")
    taken_back = workspace.undo(project.id, step=step)
    assert taken_back.step.number == step
    assert project.memory.list_memories() == []
    assert project.chapters.read(chapter).text == "It rained. She ran."
    with pytest.raises(FabulaError) as twice:
        workspace.undo(project.id, step=step)
    assert twice.value.code is Code.STORE_NOT_FOUND
    workspace.redo(project.id, step=step)
    assert [one.item.text for one in project.memory.list_memories()] == ["She is left-handed."]
    with pytest.raises(FabulaError) as unnamed:
        workspace.undo(step=step)
    assert unnamed.value.code is Code.REQUEST_INVALID
    created = workspace.list_changes(project.id)[-1].step.number
    with pytest.raises(FabulaError) as whole:
        workspace.undo(project.id, step=created)  # it would take everything along
    assert whole.value.code is Code.STORE_CONFLICT
