"""What a program without type checks may hand to verbs: refused with a code, or read as what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabula.context import Fragment, FunctionSource, Layer, View
from fabula.context.request import SourceRequest
from fabula.core.errors import Code, FabulaError
from fabula.workspace import ProjectHandle, Workspace
from fabula.workspace.arguments import PositiveInt, check_arguments, check_verbs


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def project(workspace: Workspace) -> ProjectHandle:
    made = workspace.create_project("B")
    made.chapters.add("One", "It rained.")
    made.chapters.add("Two", "The sun came out.")
    made.codex.add("Mara", kind="character")
    made.conversations.start(title="T")
    made.lorebooks.create("H")
    made.lorebooks.add_entry("H", {"key": ["Mara"], "content": "A pilot.", "comment": "Pilot"})
    return made


def refused(call: Callable[[], object], code: Code = Code.REQUEST_INVALID) -> str:
    with pytest.raises(FabulaError) as caught:
        call()
    assert caught.value.code is code, str(caught.value)
    return caught.value.sentence


WRONG: Any = None  # hides the type
CALLS: list[tuple[str, Callable[[ProjectHandle], object]]] = [
    ("title", lambda p: p.chapters.add(WRONG)),
    ("text", lambda p: p.chapters.add("T", WRONG)),
    ("known_to", lambda p: p.codex.add("X", known_to=[WRONG])),
    ("details", lambda p: p.codex.add("X", details=["a"])),  # type: ignore[arg-type]
    ("name", lambda p: p.codex.find(WRONG)),
    ("since", lambda p: p.codex.add_progression("Mara", "x", since=WRONG)),
    ("include", lambda p: p.codex.pin("Mara", "1", "maybe")),  # type: ignore[arg-type]
    ("data", lambda p: p.presets.write("A", WRONG)),
    ("content", lambda p: p.conversations.record("T", WRONG)),
    ("limit", lambda p: p.conversations.read_page("T", limit="5")),  # type: ignore[arg-type]
    ("subset", lambda p: p.conversations.list_all(match="zz")),  # type: ignore[arg-type]
    ("fields", lambda p: p.lorebooks.add_entry("H", WRONG)),
    ("text", lambda p: p.lorebooks.try_text(WRONG)),
    ("words", lambda p: p.search(WRONG)),
    ("place", lambda p: p.place_cursor(p.request(), WRONG)),
    ("now", lambda p: p.working_memory(WRONG)),
    ("request", lambda p: p.assemble(WRONG)),
    ("expected_revision", lambda p: p.chapters.write("One", "x", expected_revision="1")),  # type: ignore[arg-type]
    ("preference", lambda p: p.memory.list_memories(kind="zz")),
    ("confirmed", lambda p: p.memory.list_memories(state="zz")),
    ("preference", lambda p: p.memory.remember("x", kind="zz")),
    ("style", lambda p: p.constraints.list_constraints(kind="zz")),
]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[f"{number}-{name}" for number, (name, _) in enumerate(CALLS)])
def test_a_value_of_another_type_is_refused_with_the_name_of_its_argument(
    project: ProjectHandle, name: str, call: Callable[[ProjectHandle], object]
) -> None:
    before = project.view
    sentence = refused(lambda: call(project))
    assert name in sentence
    assert "Nothing was changed." in sentence
    assert project.view == before


def test_verbs_of_the_workspace_check_their_arguments_too(workspace: Workspace, project: ProjectHandle) -> None:
    assert "title" in refused(lambda: workspace.create_project(WRONG))
    assert "text" in refused(lambda: workspace.write_profile(WRONG))
    assert "alice" in refused(lambda: workspace.project("B", "alice"))  # type: ignore[arg-type]
    refused(lambda: workspace.project(WRONG), Code.PROJECT_NOT_FOUND)


def test_limits_and_threads_are_at_least_one(workspace: Workspace, project: ProjectHandle) -> None:
    for call in (
        lambda: project.conversations.read_page("T", limit=0),
        lambda: project.conversations.search("x", limit=-1),
        lambda: project.conversations.list_all(limit=0),
        lambda: project.search("x", limit=-1),
        lambda: project.runs.list_runs(limit=0),
        lambda: project.lorebooks.try_text("x", context_tokens=-1),
        lambda: workspace.start_worker(threads=0),
        lambda: workspace.run_jobs(threads=-1),
        lambda: workspace.list_jobs(limit=0),
    ):
        assert "must be at least 1" in refused(call)


def test_half_a_surrogate_pair_is_refused_and_not_replaced(project: ProjectHandle) -> None:
    for call in (
        lambda: project.chapters.add("Three", "half \ud800"),
        lambda: project.conversations.record("T", "half \ud800"),
        lambda: project.codex.add("X", aliases=["\udc00"]),
        lambda: project.codex.add("X", details={"age": "\udc00"}),
    ):
        refused(call, Code.TEXT_INVALID)
    assert len(project.chapters.list_chapters()) == 2


def test_a_name_that_a_verb_does_not_have_is_refused_with_those_it_has(project: ProjectHandle) -> None:
    assert "kind, level" in refused(lambda: project.codex.add("X", type="character"))  # type: ignore[call-arg]
    assert "'level'" in refused(lambda: project.codex.add("X", levl="always"))  # type: ignore[call-arg]
    assert "provider, model" in refused(lambda: project.choose_model(zz="zz"))  # type: ignore[call-arg]
    refused(lambda: project.choose_model(base_url="ftp://x"), Code.LLM_ADDRESS_REFUSED)


def test_numbers_stand_for_names_and_one_name_for_a_list(workspace: Workspace, project: ProjectHandle) -> None:
    assert project.chapters.read(1).record.title == "One"  # type: ignore[arg-type]
    entry = project.codex.add("Tom", since=2, known_to="Mara")  # type: ignore[arg-type]
    assert entry.since is not None
    assert len(entry.known_to or ()) == 1
    assert workspace.project(1).id == project.id  # type: ignore[arg-type]


def test_one_struct_does_not_stand_for_a_list_of_them() -> None:
    class Verbs:
        @check_arguments
        def show(self, fragments: list[Fragment]) -> int:
            return len(fragments)

    fragment = Fragment(source="a", layer=Layer.IMMEDIATE, text="b", project_id="p")
    assert Verbs().show([fragment]) == 1
    assert "fragments" in refused(lambda: Verbs().show(fragment))  # type: ignore[arg-type]
    assert "fragments" in refused(lambda: Verbs().show("words"))  # type: ignore[arg-type]


def test_tables_stand_for_checks_and_presets(project: ProjectHandle) -> None:
    made = project.constraints.add("Never mention rain.", check={"kind": "banned", "words": ["rain"]})
    assert made.check is not None
    assert project.presets.write("Brief", {"nodes": [{"content": "Be brief."}]}).nodes[0].content == "Be brief."
    refused(lambda: project.presets.write("Odd", {"nodes": [{"role": "wizard"}]}), Code.PRESET_INVALID)


def test_a_constraint_that_ends_before_it_begins_is_refused(project: ProjectHandle) -> None:
    code = Code.CONSTRAINT_VALIDATION_ERROR
    refused(lambda: project.constraints.add("No rain.", since="Two", until="One"), code)
    project.constraints.add("No rain.", since="Two")
    refused(lambda: project.constraints.edit("1", until="One"), code)
    assert [one.until for one in project.constraints.list_constraints()] == [None]


@pytest.mark.parametrize("kind", ["zz", "banned"])
def test_a_wrong_kind_of_constraint_is_answered_with_kinds_of_constraints_only(
    project: ProjectHandle, kind: str
) -> None:
    sentence = refused(lambda: project.constraints.add("No rain.", kind=kind), Code.CONSTRAINT_VALIDATION_ERROR)
    assert "style" in sentence
    assert "unnamed" not in sentence
    assert "nearest is 'banned'" not in sentence


def test_paths_may_be_texts(workspace: Workspace, project: ProjectHandle, tmp_path: Path) -> None:
    project.export(str(tmp_path / "x.md"))
    saved = project.save(str(tmp_path / "x.fabula"))
    assert saved.path == tmp_path / "x.fabula"
    workspace.inspect_save(str(saved.path))
    workspace.import_manuscript(str(tmp_path / "x.md"), title="Again")
    project.lorebooks.export_file("H", str(tmp_path / "h.json"))
    for call in (
        lambda: workspace.import_manuscript("/nope.md"),
        lambda: workspace.load_save("/nope"),
        lambda: project.lorebooks.import_file("/nope.json"),
    ):
        refused(call, Code.FILE_NOT_FOUND)


def test_the_number_of_an_entry_and_its_book_cannot_be_changed(project: ProjectHandle) -> None:
    for name in ("uid", "book"):
        sentence = refused(lambda name=name: project.lorebooks.edit_entry("H", 0, {name: 50}), Code.LOREBOOK_INVALID)  # type: ignore[misc]
        assert name in sentence


def test_an_entry_of_a_lorebook_goes_by_its_number_and_its_name(project: ProjectHandle) -> None:
    for entry, order in ((0, 1), ("0", 2), ("Pilot", 3), ("pil", 4)):
        stored = project.lorebooks.edit_entry("H", entry, {"order": order})
        assert stored.book["entries"]["0"]["order"] == order
    refused(lambda: project.lorebooks.edit_entry("H", "Harbour", {"order": 1}), Code.LOREBOOK_INVALID)


def test_a_lorebook_is_not_written_into_a_file_of_another_ending(project: ProjectHandle, tmp_path: Path) -> None:
    refused(lambda: project.lorebooks.export_file("H", tmp_path / "h.txt"), Code.EXPORT_REFUSED)
    assert not (tmp_path / "h.txt").exists()


def test_every_verb_of_a_class_is_checked_and_keeps_its_signature() -> None:
    @check_verbs
    class Verbs:
        def count(self, things: list[str], *, least: PositiveInt = 1) -> list[str]:
            """Count."""
            things.append(str(least))
            return things

        def _private(self, text: str) -> str:
            return text

    given = ["a"]
    assert Verbs().count(given, least=2) is given, "a verb may fill the list that it is given"
    assert Verbs.count.__doc__ == "Count."
    assert Verbs()._private(WRONG) is None
    assert check_arguments(Verbs._private)(Verbs(), "x") == "x"
    with pytest.raises(TypeError):
        Verbs().count()  # type: ignore[call-arg]


def test_a_workspace_asks_sources_of_its_own_with_every_recipe(tmp_path: Path) -> None:
    def offer(request: SourceRequest, view: View) -> list[Fragment]:
        fields: Any = {"layer": Layer.RETRIEVED, "project_id": view.project.id, "score": 0.9}
        return [Fragment(source="weather:1", text="A gale.", **fields)]

    weather = FunctionSource(name="weather", function=offer)
    with Workspace.open(tmp_path / "data", sources=[weather]) as workspace:
        project = workspace.create_project("B")
        project.chapters.add("One", "It rained.")
        for recipe in ("novel", "chat"):
            result = project.assemble(project.request(recipe=recipe, additional_input="Go on."))
            assert "A gale." in result.prompt
            assert not any("weather" in warning for warning in result.warnings)
