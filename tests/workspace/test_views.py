"""The library: views of stored projects, shared until something moves."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import ref

import pytest
from sqlalchemy import Connection

from fabula.codex import Codex, Entry
from fabula.codex import edits as codex
from fabula.codex.facts import Facts
from fabula.constraints import Constraint, Constraints
from fabula.constraints import edits as constraints
from fabula.conversation import edits as conversation
from fabula.conversation.model import Conversations, Message
from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.manuscript import documents, projects
from fabula.manuscript.model import Document, Manuscript
from fabula.memory.model import Memory
from fabula.search.corpus import Corpus
from fabula.search.index.index import SearchIndex
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only, read_view
from fabula.workspace.view_copies import copy_view
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace

P = "coast"


@pytest.fixture
def library(store: Store) -> ProjectViews:
    """A library with one sample story in it."""
    view = read_view("sample:lantern_coast")
    assert view is not None
    copy_view(store, view, project_id=P)
    return ProjectViews(store)


@pytest.fixture
def without_collections() -> Iterator[None]:
    """No collection of reference cycles happens."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def manuscript_of(view: View) -> Manuscript:
    found = view.snapshot(Manuscript)
    assert found is not None
    return found


def chapter(view: View, ident: str) -> Document:
    return manuscript_of(view).by_id[ident]


@pytest.mark.parametrize("name", ["lantern_coast", "wugang"])
def test_a_stored_project_gives_the_same_prompts_as_its_folder(store: Store, name: str) -> None:
    view = read_view(f"sample:{name}")
    assert view is not None
    ident = view.project.id
    copy_view(store, view, project_id=ident)
    library = ProjectViews(store)
    folder, stored = open_read_only(f"sample:{name}"), Workspace(library.store).project(ident)
    for document in manuscript_of(view).documents:
        wishes: dict[str, Any] = {"document_id": document.id, "window": 8192}
        first = folder.assemble(folder.request(**wishes))
        second = stored.assemble(stored.request(**wishes))
        assert second.prompt == first.prompt
        assert second.stable_prefix_hash == first.stable_prefix_hash


def test_nothing_moved_means_the_very_same_view(library: ProjectViews) -> None:
    assert library.view(P) is library.view(P)


def test_typing_replaces_one_document_and_shares_the_rest(library: ProjectViews) -> None:
    before = library.view(P)
    codex_before = before.snapshot(Codex)
    assert codex_before is not None
    names = codex_before.name_matcher
    with library.store.write(project=P) as tx:
        documents.write(tx, "ch-03", chapter(before, "ch-03").text + "\n\nAnd the tide turned.")
    after = library.view(P)
    assert after is not before
    assert chapter(after, "ch-03").text.endswith("And the tide turned.")
    for document in manuscript_of(before).documents:
        assert (chapter(after, document.id) is document) == (document.id != "ch-03")
    assert after.timeline is before.timeline
    for kind in (Codex, Constraints, Memory):
        assert after.snapshot(kind) is before.snapshot(kind)
    codex_after = after.snapshot(Codex)
    assert codex_after is not None
    assert codex_after.name_matcher is names, "an autosave does not rebuild the automaton"


def test_a_new_rule_is_in_force_in_the_next_prompt(library: ProjectViews) -> None:
    project = Workspace(library.store).project(P)
    project.assemble(project.request(window=8192))
    story = manuscript_of(project.view)
    with library.store.write(project=P) as tx:
        constraints.create(tx, Constraint(id="no-rain", text="It never rains on the coast."))
    assert "It never rains on the coast." in project.assemble(project.request(window=8192)).prompt
    assert manuscript_of(project.view) is story


def test_an_entry_changed_is_an_entry_replaced(library: ProjectViews) -> None:
    before = library.view(P).snapshot(Codex)
    assert before is not None
    with library.store.write(project=P) as tx:
        codex.put(tx, Entry(id="new-one", type="item", name="Brass whistle", description="It calls no one."))
    after = library.view(P).snapshot(Codex)
    assert after is not None
    assert after.by_id["new-one"].name == "Brass whistle"
    for entry in before.entries:
        assert after.by_id[entry.id] is entry


def test_moving_a_chapter_moves_the_story(library: ProjectViews) -> None:
    before = library.view(P)
    ids = [document.id for document in manuscript_of(before).documents]
    with library.store.write(project=P) as tx:
        documents.move(tx, ids[-1], parent=None, index=0)
    after = library.view(P)
    assert [document.id for document in manuscript_of(after).documents] == [ids[-1], *ids[:-1]]
    assert after.timeline.chapter_number(ids[-1]) == 1
    assert chapter(after, ids[2]).text is chapter(before, ids[2]).text


def test_a_conversation_is_there_when_it_is_asked_for(library: ProjectViews) -> None:
    with library.store.write(project=P) as tx:
        conversation.start_conversation(tx, "talk")
        conversation.add_message(tx, "talk", Message(id="m1", role="user", content="Where is the lantern?"))
    talks = library.view(P, conversation="talk").snapshot(Conversations)
    assert talks is not None
    assert [fragment.text for fragment in talks.fragments["talk"]] == ["Where is the lantern?"]
    with library.store.write(project=P) as tx:
        conversation.add_message(tx, "talk", Message(id="m2", role="assistant", content="Under the stairs."))
    more = library.view(P, conversation="talk").snapshot(Conversations)
    assert more is not None
    assert [fragment.text for fragment in more.fragments["talk"]][-1] == "Under the stairs."
    assert more.fragments["talk"][0] is talks.fragments["talk"][0]


def test_what_another_process_writes_is_seen_by_the_next_request(library: ProjectViews, address: str) -> None:
    library.view(P)
    program = (
        "import sys\n"
        "from fabula.store.store import Store\n"
        "from fabula.manuscript import documents\n"
        "store = Store.open(sys.argv[1])\n"
        f"with store.write(project={P!r}) as tx: documents.write(tx, 'ch-01', 'Written elsewhere.')\n"
    )
    subprocess.run([sys.executable, "-c", program, address], check=True)
    assert chapter(library.view(P), "ch-01").text == "Written elsewhere."


def test_a_project_that_is_gone_is_not_found(library: ProjectViews) -> None:
    library.view(P)
    projects.remove(library.store, P)
    with pytest.raises(FabulaError) as refused:
        library.view(P)
    assert refused.value.code is Code.PROJECT_NOT_FOUND


def test_a_new_project_assembles(store: Store) -> None:
    ident = projects.create(store, "Nothing yet")
    project = Workspace(store).project(ident)
    result = project.assemble(project.request(additional_input="Begin."))
    assert result.prompt
    assert result.warnings == ()


def test_projects_nobody_asked_for_lately_leave(store: Store) -> None:
    for name in ("a", "b", "c"):
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            documents.add(tx, "One", text="x" * 1000)
    one = ProjectViews(store)
    one.view("a")
    library = ProjectViews(store, max_bytes=int(2.5 * one.size))
    first = library.view("a")
    library.view("b")
    assert library.view("a") is first
    library.view("c")
    assert library.project_count == 2
    assert library.view("a") is first, "b was the one nobody asked for lately"


def test_nothing_keeps_a_view_that_has_left(store: Store) -> None:
    for name in ("a", "b"):
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            documents.add(tx, "One", text="She went on. " * 100)
            codex.put(tx, Entry(id="she", type="character", name="She"))
    library = ProjectViews(store, max_bytes=1)
    project = Workspace(library.store).project("a")
    project.assemble(project.request(window=8192))
    view = library.view("a")
    held = [ref(view.snapshot(kind)) for kind in (Manuscript, Codex)]
    assert all(one() is not None for one in held)
    del view
    library.view("b")
    gc.collect()
    assert [one() for one in held] == [None, None], "no cache of the engine holds on to it"
    assert library.project_count == 1


def test_the_view_of_a_removed_project_leaves_memory(store: Store) -> None:
    other = Store.open(store.file) if store.file is not None else store
    library, held = ProjectViews(store), []
    for name in ("here", "elsewhere", "stays"):
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            documents.add(tx, "One", text="She went on. " * 100)
        held.append(ref(manuscript_of(library.view(name))))
    projects.remove(store, "here")
    gc.collect()
    assert [one() is None for one in held] == [True, False, False], "at once, without another request"
    projects.remove(other, "elsewhere")
    with store.write(project="stays") as tx:
        documents.add(tx, "Two", text="And on.")
    library.view("stays")
    gc.collect()
    assert [one() is None for one in held[:2]] == [True, True], "another process removed it"
    if other is not store:
        other.close()


def test_an_edit_leaves_one_search_index_alive(library: ProjectViews) -> None:
    project = Workspace(library.store).project(P)
    held: list[ref[SearchIndex]] = []
    for number in range(12):
        with library.store.write(project=P) as tx:
            text = chapter(project.view, "ch-03").text
            documents.write(tx, "ch-03", f"{text}\n\nShe wrote a {number}th paragraph about the lamp.")
        result = project.assemble(project.request(document_id="ch-05", window=8192))
        project.report_answer(result.assembly_id)
        project.inspect(project.request(document_id="ch-03", window=8192))
        assert project.search("the lamp on the rock")
        corpus = project.view.snapshot(Corpus)
        assert corpus is not None
        assert corpus.built is not None
        held.append(ref(corpus.built))
    del corpus, result
    gc.collect()
    assert [one() is not None for one in held] == [*[False] * 11, True]


def write_chapter(project: ProjectHandle, number: int) -> None:
    project.chapters.write("ch-03", f"{chapter(project.view, 'ch-03').text}\n\nShe wrote a {number}th paragraph.")


def rename_chapter(project: ProjectHandle, number: int) -> None:
    project.chapters.rename("ch-03", f"The {number}th Lamp")


def edit_entry(project: ProjectHandle, number: int) -> None:
    project.codex.edit(project.codex.list_entries()[0].id, description=f"Seen {number} times.")


def add_constraint(project: ProjectHandle, number: int) -> None:
    project.constraints.add(f"Never count to {number}.")


@pytest.mark.usefixtures("without_collections")
@pytest.mark.parametrize("change", [write_chapter, rename_chapter, edit_entry, add_constraint])
def test_an_earlier_version_is_freed_at_once_and_waits_for_no_garbage_collection(
    library: ProjectViews, change: Callable[[ProjectHandle, int], None]
) -> None:
    """A server sets aside what has survived a collection, so what only a collection frees stays for an hour."""
    project = Workspace(library.store).project(P)
    kinds = (Manuscript, Codex, Constraints, Facts, Corpus)
    held: list[ref[object]] = []
    for number in range(6):
        for document in manuscript_of(project.view).documents:
            result = project.assemble(project.request(document_id=document.id, window=8192))
        project.report_answer(result.assembly_id)
        project.inspect(project.request(document_id="ch-03", window=8192))
        assert project.search("the lamp on the rock")
        held += [ref(project.view), *(ref(project.view.snapshot(kind)) for kind in kinds)]
        del result
        change(project, number)
    present = [project.view, *(project.view.snapshot(kind) for kind in kinds)]
    alive = [found for one in held if (found := one()) is not None]
    assert [type(one).__name__ for one in alive if not any(one is current for current in present)] == []


def test_the_collector_of_cycles_looks_at_nothing_that_a_long_book_has_ten_thousands_of(
    library: ProjectViews, store: Store
) -> None:
    with store.write(project=P) as tx:
        conversation.start_conversation(tx, "c1")
        conversation.add_message(tx, "c1", Message(id="m1", role="user", content="Of Mara."))
    view = library.view(P, conversation="c1")
    entries, facts, said = view.snapshot(Codex), view.snapshot(Facts), view.snapshot(Conversations)
    corpus = view.snapshot(Corpus)
    assert entries is not None
    assert facts is not None
    assert said is not None
    assert corpus is not None
    told = [fact for each in facts.by_entry().values() for fact in each]
    many = {
        "entries": entries.entries,
        "rules": [entry.rules for entry in entries.entries],
        "progressions": [step for entry in entries.entries for step in entry.progressions],
        "relations": [relation for entry in entries.entries for relation in entry.relations],
        "facts": told,
        "paragraphs": [one for document in facts.read() for one in document.paragraphs.values()],
        "messages": said.messages["c1"],
        "passages": corpus.build_index().passages,
    }
    assert all(many.values()), "there are some of each"
    assert [kind for kind, each in many.items() if any(map(gc.is_tracked, each))] == []


def test_a_project_that_nobody_uses_any_more_is_freed_with_the_verbs_that_were_used(
    library: ProjectViews, without_collections: None
) -> None:
    project = Workspace(library.store).project(P)
    project.chapters.list_chapters()
    project.participants.add("Bo", persona="A pilot.")
    project.chat.start(["Bo"])
    held = ref(project)
    del project
    assert held() is None


def start_conversations(store: Store, count: int) -> list[str]:
    names = [f"talk-{number}" for number in range(count)]
    with store.write(project=P) as tx:
        for name in names:
            conversation.start_conversation(tx, name)
            conversation.add_message(tx, name, Message(id=f"in-{name}", role="user", content="Is anybody there?"))
    return names


def test_any_number_of_conversations_go_on_and_no_view_is_made_twice(
    library: ProjectViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = start_conversations(library.store, 60)
    views = [library.view(P, conversation=name) for name in names]
    for name, view in zip(names, views, strict=True):
        talks = view.snapshot(Conversations)
        assert talks is not None
        assert [*talks.messages] == [name], "those of others are not read"
        assert view.snapshot(Codex) is views[0].snapshot(Codex)
    monkeypatch.setattr(library, "_build", lambda *_: pytest.fail("nothing changed"))
    for _ in range(3):
        for name, view in zip(names, views, strict=True):
            assert library.view(P, conversation=name) is view


def test_a_message_costs_the_same_however_many_conversations_go_on(
    library: ProjectViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, counts = start_conversations(library.store, 60), []
    for name in names:
        library.view(P, conversation=name)
    for held in (60, 1):
        if held == 1:
            library = ProjectViews(library.store)
            library.view(P, conversation=names[0])
        with library.store.write(project=P) as tx:
            said = Message(id=f"more-{held}", role="user", content="Yes, I am here.")
            conversation.add_message(tx, names[0], said)
        with monkeypatch.context() as patch:
            queries = count_queries(patch)
            view = library.view(P, conversation=names[0])
        talks = view.snapshot(Conversations)
        assert talks is not None
        assert talks.messages[names[0]][-1].id == f"more-{held}"
        counts.append(len(queries))
    assert counts[0] == counts[1]


def count_queries(patch: pytest.MonkeyPatch) -> list[str]:
    """The queries that transactions make from now on."""
    made: list[str] = []
    execute = Connection.execute

    def count(self: Connection, statement: Any, *args: Any, **options: Any) -> Any:
        made.append(str(statement))
        return execute(self, statement, *args, **options)

    patch.setattr(Connection, "execute", count)
    return made


def test_a_conversation_that_was_left_for_long_is_brought_up_to_date(library: ProjectViews) -> None:
    first, second = start_conversations(library.store, 2)
    library.view(P, conversation=first)
    for number in range(5):
        for name in (first, second):
            with library.store.write(project=P) as tx:
                conversation.add_message(tx, name, Message(id=f"{name}-{number}", role="user", content=f"No. {number}"))
        library.view(P, conversation=second)
    for library_of in (library, ProjectViews(library.store)):
        talks = library_of.view(P, conversation=first).snapshot(Conversations)
        assert talks is not None
        assert [one.content for one in talks.messages[first]] == ["Is anybody there?", *(f"No. {n}" for n in range(5))]


def test_conversations_that_were_used_longest_ago_leave_first(library: ProjectViews) -> None:
    names = start_conversations(library.store, 12)
    library.view(P)
    base = library.size
    library.view(P, conversation=names[0])
    each = library.size - base
    small = ProjectViews(library.store, max_bytes=base + 4 * each)
    whole = small.view(P)
    kept = {name: small.view(P, conversation=name) for name in names}
    assert small.size <= base + 4 * each
    assert small.view(P) is whole, "the project that goes on stays"
    for name in reversed(names[-4:]):
        assert small.view(P, conversation=name) is kept[name]
    assert small.view(P, conversation=names[0]) is not kept[names[0]]
    assert small.size <= base + 4 * each


def test_hundreds_of_projects_stay_within_the_bound_and_opening_one_reads_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"p{number}" for number in range(40)]
    for name in names:
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            documents.add(tx, "One", text="She went on. " * 500)
    one = ProjectViews(store)
    one.view(names[0])
    library = ProjectViews(store, max_bytes=10 * one.size)
    opened: list[str | None] = []
    read = store.read

    def note(*, project: str | None = None, user: str | None = None) -> Any:
        opened.append(project)
        return read(project=project, user=user)

    monkeypatch.setattr(store, "read", note)
    for _ in range(2):
        for name in names:
            library.view(name)
            assert library.size <= 10 * one.size
    assert opened == names * 2, "each was read when it was asked for, and no other with it"
    opened.clear()
    for name in names[-10:]:
        library.view(name)
    assert opened == [], "those used last are still there"


def test_what_is_gone_is_not_held_and_what_never_was_leaves_no_trace(library: ProjectViews) -> None:
    library.view(P)
    projects.remove(library.store, P)
    for name in (P, "never-was"):
        with pytest.raises(FabulaError) as refused:
            library.view(name)
        assert refused.value.code is Code.PROJECT_NOT_FOUND
    assert library.project_count == 0


def test_a_project_that_takes_the_id_of_one_that_is_gone_begins_anew(library: ProjectViews) -> None:
    library.view(P, conversation="desk")
    projects.remove(library.store, P)
    projects.create(library.store, "Something else", project_id=P)
    view = library.view(P, conversation="desk")
    assert view.project.title == "Something else"
    assert manuscript_of(view).documents == ()
    entries, rules, talks = view.snapshot(Codex), view.snapshot(Constraints), view.snapshot(Conversations)
    assert entries is not None
    assert rules is not None
    assert talks is not None
    assert (entries.entries, rules.constraints, talks.messages) == ((), (), {})


def test_threads_that_look_at_several_projects_never_make_a_view_twice(
    library: ProjectViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects.create(library.store, "Other", project_id="other")
    views = {name: library.view(name) for name in (P, "other")}
    made: list[str] = []
    monkeypatch.setattr("fabula.workspace.views.load_view", lambda *_: made.append("again"))

    def look() -> None:
        for _ in range(200):
            for name, view in views.items():
                assert library.view(name) is view

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(look) for _ in range(8)]:
            done.result()
    assert made == []


def test_many_threads_get_one_view_between_them(library: ProjectViews) -> None:
    seen: list[View] = []
    threads = [threading.Thread(target=lambda: seen.append(library.view(P))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(view) for view in seen}) == 1
