"""Continuity by branch: a branch goes on from its own requests and those of its ancestors, never from a sibling's."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.context.continuity import Continuity
from fabula.context.engine import Engine
from fabula.context.request import Request
from fabula.core.story import Vantage
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.continuity import ContinuityKeys, ContinuityStore, ProcessContinuity, StoredContinuity
from fabula.workspace.continuity import continuity_keys as make_keys

P = "p"


def keys(*branch: str, document: str = "") -> ContinuityKeys:
    request = Request(
        project_id=P, recipe="chat", conversation_id="" if document else "talk", document_id=document, model="gpt-4o"
    )
    return make_keys(request, Vantage(), branch[::-1])  # the newest message first


def answer(kept: ContinuityStore, at: ContinuityKeys, word: str) -> None:
    """Assemble at a place and report the answer; the word stands for a timer that a lorebook left."""
    result = Engine().assemble(Request(project_id=P, model="gpt-4o"))
    left = Continuity(document=word, source_state={"lorebook": word.encode()})
    kept.commit(P, kept.record(P, at, replace(result, continuity=left)))


def state(kept: ContinuityStore, at: ContinuityKeys) -> bytes | None:
    return kept.load(P, at).source_state.get("lorebook")


def check(kept: ContinuityStore) -> None:
    answer(kept, keys("a"), "common")
    answer(kept, keys("a", "b"), "storm")
    assert state(kept, keys("a", "b", "reply")) == b"storm"
    assert state(kept, keys("a", "c")) == b"common", "a sibling branch goes on from what both have in common"
    assert state(kept, keys("d")) is None, "a branch that forked before does not inherit the timer"
    answer(kept, keys(document="one"), "chapter")
    assert state(kept, keys(document="two")) == b"chapter", "a new chapter follows on from the last one"
    assert state(kept, keys("d")) is None


def test_a_branch_that_never_said_the_word_does_not_inherit_another_ones_timer() -> None:
    check(ProcessContinuity())


def test_the_same_in_the_store_and_for_another_process(store: Store) -> None:
    projects.create(store, "P", project_id=P)
    first = StoredContinuity(store)
    check(first)
    first.close()
    other = StoredContinuity(store)
    assert state(other, keys("a", "b", "reply")) == b"storm"
    assert state(other, keys("d")) is None
