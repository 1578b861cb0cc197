"""What people do with summaries and recaps: look, edit, put in order, take away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from fabula.conversation import edits as service
from fabula.conversation.recaps import editing as kept_recaps
from fabula.conversation.tables import recaps, summaries
from fabula.core.errors import Code, FabulaError
from fabula.store.save.loading import load
from fabula.store.save.saving import save
from fabula.store.store import Store
from fabula.store.transaction import Writing
from tests.conversation.talking import TALK, P, Teller, begin, kept, rounds, states, talk, tell


@pytest.fixture
def told(store: Store) -> Store:
    """A conversation of nine rounds: four summaries, two recaps."""
    begin(store)
    talk(store, *rounds(1, 9))
    tell(store)
    return store


def refusal(store: Store, act: Callable[[Writing], object]) -> Code:
    before = store.versions(project=P), kept(store)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert (store.versions(project=P), kept(store)) == before
    return refused.value.code


def test_a_persons_words_stay_whatever_happens(told: Store) -> None:
    summary, recap = kept(told, "summary")[3], kept(told, "recap")[1]
    with told.write(project=P) as tx:
        kept_recaps.edit(tx, summary.id, " My summary.\r\n")
        edited = kept_recaps.edit(tx, recap.id, "My recap.", expected=1)
        assert (edited.origin, edited.state, edited.version, edited.text) == ("hand", "fresh", 2, "My recap.")
        service.correct(tx, "a8", "It was never so.")
    assert [(one.text, one.state) for one in kept(told) if one.origin == "hand"] == [
        ("My summary.", "stale"),
        ("My recap.", "stale"),
    ]
    tell(told)
    tell(told, anew="2199-01-01T00:00:00.000000Z")
    assert [(one.text, one.state) for one in kept(told) if one.origin == "hand"] == [
        ("My summary.", "stale"),
        ("My recap.", "stale"),
    ]
    with told.write(project=P) as tx:
        assert kept_recaps.edit(tx, recap.id, "True again.").state == "fresh"


def test_an_edited_summary_goes_into_the_recap(told: Store) -> None:
    talk(told, "10")
    tell(told)
    with told.write(project=P) as tx:
        kept_recaps.edit(tx, kept(told, "summary")[-1].id, "My summary.")
    talk(told, "11", "12")
    teller = Teller()
    tell(told, teller)
    assert teller.asked[-1].lines[0].text == "My summary."


def test_what_is_taken_away_does_not_come_back_by_itself(told: Store) -> None:
    talk(told, "10")
    tell(told)
    with told.write(project=P) as tx:
        kept_recaps.remove(tx, kept(told, "summary")[-1].id, expected=1)
        kept_recaps.remove(tx, kept(told, "recap")[-1].id, expected=1)
    teller = Teller()
    assert (tell(told, teller).made, teller.asked) == ([], [])
    assert [one.rounds for one in kept(told, "summary")] == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert [one.rounds for one in kept(told, "recap")] == [(1, 2, 3, 4)]
    talk(told, "11", "12")
    assert [one.rounds for one in tell(told, teller).made] == [(11, 12), (9, 10, 11, 12)]
    assert len(teller.asked[-1].lines) == 1


def test_recaps_are_put_in_another_order(told: Store) -> None:
    first, second = (one.id for one in kept(told, "recap"))
    with told.write(project=P) as tx:
        kept_recaps.reorder(tx, TALK, [second, first])
    assert [one.id for one in kept(told, "recap")] == [second, first]
    talk(told, *rounds(10, 12))
    tell(told)
    assert [one.rounds[0] for one in kept(told, "recap")] == [5, 1, 9]
    versions = {one.id: one.version for one in kept(told, "recap")}
    order = list(reversed(versions))
    with told.write(project=P) as tx:
        kept_recaps.reorder(tx, TALK, order, expected=versions)
    assert [one.id for one in kept(told, "recap")] == order
    talk(told, *rounds(13, 16))
    tell(told)
    assert [one.rounds[0] for one in kept(told, "recap")] == [9, 5, 13], "the oldest goes, wherever it stands"


def test_what_makes_no_sense_is_refused(told: Store) -> None:
    summary, recap = kept(told, "summary")[0], kept(told, "recap")[0]
    other = kept(told, "recap")[1]
    assert refusal(told, lambda tx: kept_recaps.edit(tx, recap.id, "  ")) is Code.TEXT_INVALID
    assert refusal(told, lambda tx: kept_recaps.edit(tx, recap.id, "x" * 1201)) is Code.TEXT_INVALID
    assert refusal(told, lambda tx: kept_recaps.edit(tx, recap.id, "xx", longest=1)) is Code.TEXT_INVALID
    assert refusal(told, lambda tx: kept_recaps.edit(tx, recap.id, "a\x00b")) is Code.TEXT_INVALID
    assert refusal(told, lambda tx: kept_recaps.edit(tx, "nobody", "x")) is Code.STORE_NOT_FOUND
    assert refusal(told, lambda tx: kept_recaps.remove(tx, "nobody")) is Code.STORE_NOT_FOUND
    for one in (summary, recap):
        assert refusal(told, partial(kept_recaps.edit, ident=one.id, text="x", expected=7)) is Code.STORE_CONFLICT
        assert refusal(told, partial(kept_recaps.remove, ident=one.id, expected=7)) is Code.STORE_CONFLICT
    for order in ([], [recap.id], [recap.id, recap.id], [recap.id, other.id, "nobody"]):
        reorder = partial(kept_recaps.reorder, conversation_id=TALK, order=order)
        assert refusal(told, reorder) is Code.REQUEST_INVALID
    stale = {recap.id: 7, other.id: 1}
    changed = [other.id, recap.id]
    assert refusal(told, lambda tx: kept_recaps.reorder(tx, TALK, changed, expected=stale)) is Code.STORE_CONFLICT
    assert refusal(told, lambda tx: kept_recaps.reorder(tx, "nowhere", [])) is Code.STORE_NOT_FOUND


def test_a_summary_taken_away_twice_is_gone(told: Store) -> None:
    ident = kept(told, "summary")[0].id
    with told.write(project=P) as tx:
        kept_recaps.remove(tx, ident)
    assert refusal(told, lambda tx: kept_recaps.remove(tx, ident)) is Code.STORE_NOT_FOUND


def test_what_an_older_store_kept_is_listed_and_called_stale(told: Store) -> None:
    with told.write(project=P) as tx:
        tx.add(summaries, {"id": "old-s", "conversation_id": TALK, "text": "They met."})
        tx.add(recaps, {"id": "old-r", "conversation_id": TALK, "text": "So far: fog."})
    found = {one.id: (one.state, one.first_round, one.last_round) for one in kept(told)}
    assert (found["old-s"], found["old-r"]) == (("stale", 0, 0), ("stale", 0, 0))
    assert tell(told).made == []
    tell(told, anew="2199-01-01T00:00:00.000000Z")
    assert {"old-s", "old-r"} <= {one.id for one in kept(told)}


def test_a_save_brings_them_back_as_they_were(told: Store, tmp_path: Path) -> None:
    with told.write(project=P) as tx:
        kept_recaps.edit(tx, kept(told, "recap")[0].id, "My recap.")
        kept_recaps.remove(tx, kept(told, "summary")[0].id)
    before = kept(told)
    save(told, P, tmp_path / "coast.fabula")
    talk(told, *rounds(10, 14))
    tell(told)
    assert states(told, "summary")[-1][0] == (13, 14)
    load(told, tmp_path / "coast.fabula", replace=True)
    assert kept(told) == before
    assert tell(told).made == []
