"""The library: views of stored projects, shared until something moves."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from fabula.app import Fabula, read_only
from fabula.codex import service as codex
from fabula.codex.model import Codex, Entry
from fabula.constraints import service as constraints
from fabula.constraints.model import Constraint, Constraints
from fabula.conversation import service as conversation
from fabula.conversation.model import Conversations, Message
from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.library import Library, copy_in
from fabula.manuscript import documents, projects
from fabula.manuscript.model import Document, Manuscript
from fabula.memory.model import Memory
from fabula.store.store import Store

P = "coast"


@pytest.fixture
def library(store: Store) -> Library:
    """A library with one sample story in it."""
    view = read_only("sample:lantern_coast")
    assert view is not None
    copy_in(store, view, project_id=P)
    return Library(store)


def room(view: View) -> Manuscript:
    found = view.room(Manuscript)
    assert found is not None
    return found


def chapter(view: View, ident: str) -> Document:
    return room(view).by_id[ident]


@pytest.mark.parametrize("name", ["lantern_coast", "wugang"])
def test_a_stored_project_gives_the_same_prompts_as_its_folder(store: Store, name: str) -> None:
    view = read_only(f"sample:{name}")
    assert view is not None
    ident = view.project.id
    copy_in(store, view, project_id=ident)
    library = Library(store)
    folder, stored = Fabula.open(f"sample:{name}"), Fabula.open(ident, library=library)
    for document in room(view).documents:
        wishes = {"document_id": document.id, "window": 8192, "exclude": ("search:",)}
        first = folder.assemble(folder.request(**wishes))
        second = stored.assemble(stored.request(**wishes))
        passages = [v.source for v in first.trace if v.source.startswith("search:") and v.included]
        if not passages:  # the folder reader searches; the store's search comes with its own index
            assert second.prompt == first.prompt
        assert second.stable_prefix_hash == first.stable_prefix_hash


def test_nothing_moved_means_the_very_same_view(library: Library) -> None:
    assert library.view(P) is library.view(P)


def test_typing_replaces_one_document_and_shares_the_rest(library: Library) -> None:
    before = library.view(P)
    codex_before = before.room(Codex)
    assert codex_before is not None
    names = codex_before.names
    with library.store.write(project=P) as tx:
        documents.write(tx, "ch-03", chapter(before, "ch-03").text + "\n\nAnd the tide turned.")
    after = library.view(P)
    assert after is not before
    assert chapter(after, "ch-03").text.endswith("And the tide turned.")
    for document in room(before).documents:
        assert (chapter(after, document.id) is document) == (document.id != "ch-03")
    assert after.timeline is before.timeline
    for kind in (Codex, Constraints, Memory):
        assert after.room(kind) is before.room(kind)
    codex_after = after.room(Codex)
    assert codex_after is not None
    assert codex_after.names is names, "an autosave does not rebuild the automaton"


def test_a_new_rule_is_in_force_in_the_next_prompt(library: Library) -> None:
    house = Fabula.open(P, library=library)
    house.assemble(house.request(window=8192))
    story = room(house.view)
    with library.store.write(project=P) as tx:
        constraints.create(tx, Constraint(id="no-rain", text="It never rains on the coast."))
    assert "It never rains on the coast." in house.assemble(house.request(window=8192)).prompt
    assert room(house.view) is story


def test_an_entry_changed_is_an_entry_replaced(library: Library) -> None:
    before = library.view(P).room(Codex)
    assert before is not None
    with library.store.write(project=P) as tx:
        codex.put(tx, Entry(id="new-one", type="item", name="Brass whistle", description="It calls no one."))
    after = library.view(P).room(Codex)
    assert after is not None
    assert after.by_id["new-one"].name == "Brass whistle"
    for entry in before.entries:
        assert after.by_id[entry.id] is entry


def test_moving_a_chapter_moves_the_story(library: Library) -> None:
    before = library.view(P)
    ids = [document.id for document in room(before).documents]
    with library.store.write(project=P) as tx:
        documents.move(tx, ids[-1], parent=None, place=0)
    after = library.view(P)
    assert [document.id for document in room(after).documents] == [ids[-1], *ids[:-1]]
    assert after.timeline.chapter(ids[-1]) == 1
    assert chapter(after, ids[2]).text is chapter(before, ids[2]).text


def test_a_conversation_is_there_when_it_is_asked_for(library: Library) -> None:
    with library.store.write(project=P) as tx:
        conversation.start(tx, "talk")
        conversation.say(tx, "talk", Message(id="m1", role="user", content="Where is the lantern?"))
    talks = library.view(P, conversation="talk").room(Conversations)
    assert talks is not None
    assert [fragment.text for fragment in talks.fragments["talk"]] == ["Where is the lantern?"]
    with library.store.write(project=P) as tx:
        conversation.say(tx, "talk", Message(id="m2", role="assistant", content="Under the stairs."))
    more = library.view(P).room(Conversations)
    assert more is not None
    assert [fragment.text for fragment in more.fragments["talk"]][-1] == "Under the stairs."
    assert more.fragments["talk"][0] is talks.fragments["talk"][0]


def test_what_another_process_writes_is_seen_by_the_next_request(library: Library, address: str) -> None:
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


def test_a_project_that_is_gone_is_not_found(library: Library) -> None:
    library.view(P)
    projects.remove(library.store, P)
    with pytest.raises(FabulaError) as refused:
        library.view(P)
    assert refused.value.code is Code.PROJECT_NOT_FOUND


def test_a_new_project_assembles(store: Store) -> None:
    ident = projects.create(store, "Nothing yet")
    house = Fabula.open(ident, library=Library(store))
    result = house.assemble(house.request(additional_input="Begin."))
    assert result.prompt
    assert result.warnings == ()


def test_projects_nobody_asked_for_lately_leave(store: Store) -> None:
    for name in ("a", "b", "c"):
        projects.create(store, name, project_id=name)
        with store.write(project=name) as tx:
            documents.add(tx, "One", text="x" * 1000)
    library = Library(store, most_characters=2500)
    first = library.view("a")
    library.view("b")
    assert library.view("a") is first
    library.view("c")
    assert library.characters == 2000
    assert library.view("a") is first, "b was the one nobody asked for lately"


def test_many_threads_get_one_view_between_them(library: Library) -> None:
    seen: list[View] = []
    threads = [threading.Thread(target=lambda: seen.append(library.view(P))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(view) for view in seen}) == 1
