"""Edits of stored presets: only usable ones are stored, and at most one is active (inj-1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.context.recipes import InjectionStrategy, Node, Preset
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.presets import edits
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

P = "coast"
PRESET = Preset(
    id="mine",
    title="Mine",
    nodes=(
        Node(id="top", content="Be brief."),
        Node(type="chat_history", role="user"),
        Node(id="deep", role="user", content="Remember.", injection_strategy=InjectionStrategy(depth=2, order=7)),
        Node(id="off", content="Not now.", enabled=False, injection_strategy=InjectionStrategy(anchor_target="rules")),
    ),
)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and one preset in it."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.put(tx, "Mine", PRESET)
    return store


def refusal(store: Store, act: Callable[[WriteTransaction], object]) -> Code:
    """The error code of a refused action, which must leave the store unchanged."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_stored_preset_is_read_back_unchanged(coast: Store) -> None:
    with coast.read(project=P) as reading:
        stored = edits.get(reading, "mine")
        assert (stored.preset, stored.is_active, stored.version) == (PRESET, False, 1)
        assert edits.list_presets(reading) == [stored]


def test_a_preset_without_an_id_gets_one_and_one_with_an_id_is_replaced(coast: Store) -> None:
    with coast.write(project=P) as tx:
        new = edits.put(tx, "Other", replace(PRESET, id="", title=""))
        assert edits.get(tx, new).preset.title == "Other"
        assert edits.put(tx, "Mine too", replace(PRESET, nodes=()), expected=1) == "mine"
        stored = edits.get(tx, "mine")
        assert (stored.preset.title, stored.preset.nodes, stored.version) == ("Mine too", (), 2)
        assert [one.preset.title for one in edits.list_presets(tx)] == ["Mine too", "Other"]


def test_at_most_one_is_active(coast: Store) -> None:
    def active(tx: WriteTransaction) -> list[str]:
        return [stored.preset.id for stored in edits.list_presets(tx) if stored.is_active]

    with coast.write(project=P) as tx:
        second = edits.put(tx, "Second", replace(PRESET, id="second"), active=True)
        assert active(tx) == [second]
        edits.activate(tx, "mine")
        assert active(tx) == ["mine"]
        edits.put(tx, "Mine", replace(PRESET, nodes=()))
        assert active(tx) == ["mine"], "an edit leaves it as active as it was"
        edits.activate(tx, None)
        assert active(tx) == []
        edits.activate(tx, "mine")
        edits.remove(tx, "mine")
        assert active(tx) == []


def layers(*names: str) -> Preset:
    return Preset(id="odd", nodes=tuple(Node(type="placeholder", id=name) for name in names))


@pytest.mark.parametrize(
    ("preset", "code"),
    [
        (layers("settings", "rules"), Code.PRESET_LAYER_ORDER),
        (layers("rules", "rules"), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content="x", injection_strategy=InjectionStrategy(depth=-1)),)), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content="x", role=cast("Any", "bard")),)), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content="half \ud800"),)), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content=cast("Any", object())),)), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content="x"),) * 1001), Code.PRESET_INVALID),
        (replace(PRESET, id="a b"), Code.PRESET_INVALID),
    ],
)
def test_a_preset_that_could_not_be_used_is_refused(coast: Store, preset: Preset, code: Code) -> None:
    assert refusal(coast, lambda tx: edits.put(tx, "Odd", preset)) is code


def test_a_preset_needs_a_name(coast: Store) -> None:
    assert refusal(coast, lambda tx: edits.put(tx, " ", replace(PRESET, title=""))) is Code.PRESET_INVALID


def test_stale_edits_and_missing_presets_are_refused(coast: Store) -> None:
    assert refusal(coast, lambda tx: edits.put(tx, "x", PRESET, expected=4)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: edits.put(tx, "x", layers(), expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: edits.remove(tx, "mine", expected=4)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: edits.remove(tx, "none")) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: edits.activate(tx, "none")) is Code.STORE_NOT_FOUND


def load_active(store: Store, previous: Preset | None = None) -> Preset | None:
    with store.read(project=P) as reading:
        return edits.load_active(reading, previous)


def test_only_the_active_preset_is_in_force(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    assert load_active(store) is None
    with store.write(project=P) as tx:
        edits.put(tx, "Mine", PRESET)
    assert load_active(store) is None
    with store.write(project=P) as tx:
        edits.put(tx, "Other", replace(PRESET, id="other", nodes=()), active=True)
        edits.activate(tx, "mine")
    assert load_active(store) == PRESET


def test_an_unchanged_active_preset_is_the_same_object(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        edits.put(tx, "Mine", PRESET, active=True)
    before = load_active(store)
    with store.write(project=P) as tx:
        edits.put(tx, "Other", replace(PRESET, id="other"))
    assert load_active(store, before) is before


def test_a_text_of_a_preset_that_no_save_could_hold_is_refused(coast: Store) -> None:
    preset = Preset(id="p", title="P", nodes=(Node(id="top", content="x" * 1_000_001),))
    assert refusal(coast, lambda tx: edits.put(tx, "P", preset)) is Code.TEXT_INVALID
