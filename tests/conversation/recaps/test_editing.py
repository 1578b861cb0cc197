"""List, edit, reorder and remove summaries and recaps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from fabula.conversation import edits
from fabula.conversation.recaps import editing
from fabula.conversation.tables import recaps, summaries
from fabula.core.errors import Code, FabulaError
from fabula.store.save.loading import load_save
from fabula.store.save.saving import save_project
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction
from tests.conversation.recap_fixtures import (
    CONVERSATION,
    FakeWriter,
    P,
    add_rounds,
    create_conversation,
    list_entries,
    list_freshness,
    name_rounds,
    refresh,
)


@pytest.fixture
def recapped(store: Store) -> Store:
    """A conversation of nine rounds: four summaries, two recaps."""
    create_conversation(store)
    add_rounds(store, *name_rounds(1, 9))
    refresh(store)
    return store


def refusal(store: Store, act: Callable[[WriteTransaction], object]) -> Code:
    before = store.versions(project=P), list_entries(store)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert (store.versions(project=P), list_entries(store)) == before
    return refused.value.code


def test_a_persons_words_stay_whatever_happens(recapped: Store) -> None:
    summary, recap = list_entries(recapped, "summary")[3], list_entries(recapped, "recap")[1]
    with recapped.write(project=P) as tx:
        editing.edit_recap(tx, summary.id, " My summary.\r\n")
        edited = editing.edit_recap(tx, recap.id, "My recap.", expected=1)
        assert (edited.origin, edited.freshness, edited.version, edited.text) == ("hand", "fresh", 2, "My recap.")
        edits.correct_message(tx, "a8", "It was never so.")
    assert [(one.text, one.freshness) for one in list_entries(recapped) if one.origin == "hand"] == [
        ("My summary.", "stale"),
        ("My recap.", "stale"),
    ]
    refresh(recapped)
    refresh(recapped, rebuild_before="2199-01-01T00:00:00.000000Z")
    assert [(one.text, one.freshness) for one in list_entries(recapped) if one.origin == "hand"] == [
        ("My summary.", "stale"),
        ("My recap.", "stale"),
    ]
    with recapped.write(project=P) as tx:
        assert editing.edit_recap(tx, recap.id, "True again.").freshness == "fresh"


def test_an_edited_summary_goes_into_the_recap(recapped: Store) -> None:
    add_rounds(recapped, "10")
    refresh(recapped)
    with recapped.write(project=P) as tx:
        editing.edit_recap(tx, list_entries(recapped, "summary")[-1].id, "My summary.")
    add_rounds(recapped, "11", "12")
    teller = FakeWriter()
    refresh(recapped, teller)
    assert teller.inputs[-1].lines[0].text == "My summary."


def test_what_is_taken_away_does_not_come_back_by_itself(recapped: Store) -> None:
    add_rounds(recapped, "10")
    refresh(recapped)
    with recapped.write(project=P) as tx:
        editing.remove_recap(tx, list_entries(recapped, "summary")[-1].id, expected=1)
        editing.remove_recap(tx, list_entries(recapped, "recap")[-1].id, expected=1)
    teller = FakeWriter()
    assert (refresh(recapped, teller).entries, teller.inputs) == ([], [])
    assert [one.rounds for one in list_entries(recapped, "summary")] == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert [one.rounds for one in list_entries(recapped, "recap")] == [(1, 2, 3, 4)]
    add_rounds(recapped, "11", "12")
    assert [one.rounds for one in refresh(recapped, teller).entries] == [(11, 12), (9, 10, 11, 12)]
    assert len(teller.inputs[-1].lines) == 1


def test_recaps_are_put_in_another_order(recapped: Store) -> None:
    first, second = (one.id for one in list_entries(recapped, "recap"))
    with recapped.write(project=P) as tx:
        editing.reorder_recaps(tx, CONVERSATION, [second, first])
    assert [one.id for one in list_entries(recapped, "recap")] == [second, first]
    add_rounds(recapped, *name_rounds(10, 12))
    refresh(recapped)
    assert [one.rounds[0] for one in list_entries(recapped, "recap")] == [5, 1, 9]
    versions = {one.id: one.version for one in list_entries(recapped, "recap")}
    order = list(reversed(versions))
    with recapped.write(project=P) as tx:
        editing.reorder_recaps(tx, CONVERSATION, order, expected=versions)
    assert [one.id for one in list_entries(recapped, "recap")] == order
    add_rounds(recapped, *name_rounds(13, 16))
    refresh(recapped)
    assert [one.rounds[0] for one in list_entries(recapped, "recap")] == [9, 5, 13], (
        "the oldest goes, wherever it stands"
    )


def test_what_makes_no_sense_is_refused(recapped: Store) -> None:
    summary, recap = list_entries(recapped, "summary")[0], list_entries(recapped, "recap")[0]
    other = list_entries(recapped, "recap")[1]
    assert refusal(recapped, lambda tx: editing.edit_recap(tx, recap.id, "  ")) is Code.TEXT_INVALID
    assert refusal(recapped, lambda tx: editing.edit_recap(tx, recap.id, "x" * 1201)) is Code.TEXT_INVALID
    assert refusal(recapped, lambda tx: editing.edit_recap(tx, recap.id, "xx", max_chars=1)) is Code.TEXT_INVALID
    assert refusal(recapped, lambda tx: editing.edit_recap(tx, recap.id, "a\x00b")) is Code.TEXT_INVALID
    assert refusal(recapped, lambda tx: editing.edit_recap(tx, "nobody", "x")) is Code.STORE_NOT_FOUND
    assert refusal(recapped, lambda tx: editing.remove_recap(tx, "nobody")) is Code.STORE_NOT_FOUND
    for one in (summary, recap):
        assert refusal(recapped, partial(editing.edit_recap, ident=one.id, text="x", expected=7)) is Code.STORE_CONFLICT
        assert refusal(recapped, partial(editing.remove_recap, ident=one.id, expected=7)) is Code.STORE_CONFLICT
    for order in ([], [recap.id], [recap.id, recap.id], [recap.id, other.id, "nobody"]):
        reorder = partial(editing.reorder_recaps, conversation_id=CONVERSATION, order=order)
        assert refusal(recapped, reorder) is Code.REQUEST_INVALID
    stale = {recap.id: 7, other.id: 1}
    changed = [other.id, recap.id]
    assert (
        refusal(recapped, lambda tx: editing.reorder_recaps(tx, CONVERSATION, changed, expected=stale))
        is Code.STORE_CONFLICT
    )
    assert refusal(recapped, lambda tx: editing.reorder_recaps(tx, "nowhere", [])) is Code.STORE_NOT_FOUND


def test_a_summary_taken_away_twice_is_gone(recapped: Store) -> None:
    ident = list_entries(recapped, "summary")[0].id
    with recapped.write(project=P) as tx:
        editing.remove_recap(tx, ident)
    assert refusal(recapped, lambda tx: editing.remove_recap(tx, ident)) is Code.STORE_NOT_FOUND


def test_what_an_older_store_kept_is_listed_and_called_stale(recapped: Store) -> None:
    with recapped.write(project=P) as tx:
        tx.insert(summaries, {"id": "old-s", "conversation_id": CONVERSATION, "text": "They met."})
        tx.insert(recaps, {"id": "old-r", "conversation_id": CONVERSATION, "text": "So far: fog."})
    found = {one.id: (one.freshness, one.first_round, one.last_round) for one in list_entries(recapped)}
    assert (found["old-s"], found["old-r"]) == (("stale", 0, 0), ("stale", 0, 0))
    assert refresh(recapped).entries == []
    refresh(recapped, rebuild_before="2199-01-01T00:00:00.000000Z")
    assert {"old-s", "old-r"} <= {one.id for one in list_entries(recapped)}


def test_a_save_brings_them_back_as_they_were(recapped: Store, tmp_path: Path) -> None:
    with recapped.write(project=P) as tx:
        editing.edit_recap(tx, list_entries(recapped, "recap")[0].id, "My recap.")
        editing.remove_recap(tx, list_entries(recapped, "summary")[0].id)
    before = list_entries(recapped)
    save_project(recapped, P, tmp_path / "coast.fabula")
    add_rounds(recapped, *name_rounds(10, 14))
    refresh(recapped)
    assert list_freshness(recapped, "summary")[-1][0] == (13, 14)
    load_save(recapped, tmp_path / "coast.fabula", replace=True)
    assert list_entries(recapped) == before
    assert refresh(recapped).entries == []
