"""Presets in the store: kept when they can be used, and at most one of them active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabula.context.recipes import Injection, Node, Preset
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.presets import edits as service
from fabula.store.store import Store
from fabula.store.transaction import Writing

P = "coast"
PRESET = Preset(
    id="mine",
    title="Mine",
    nodes=(
        Node(id="top", content="Be brief."),
        Node(type="chat_history", role="user"),
        Node(id="deep", role="user", content="Remember.", injection_strategy=Injection(depth=2, order=7)),
        Node(id="off", content="Not now.", enabled=False, injection_strategy=Injection(anchor_target="rules")),
    ),
)


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project and one preset in it."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.put(tx, "Mine", PRESET)
    return store


def refusal(store: Store, act: Callable[[Writing], object]) -> Code:
    """The code with which something is refused; nothing may have moved."""
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        act(tx)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_preset_comes_back_as_it_was_put(coast: Store) -> None:
    with coast.read(project=P) as reading:
        kept = service.get(reading, "mine")
        assert (kept.preset, kept.active, kept.version) == (PRESET, False, 1)
        assert service.listed(reading) == [kept]


def test_one_without_an_id_gets_one_and_one_with_an_id_is_replaced(coast: Store) -> None:
    with coast.write(project=P) as tx:
        new = service.put(tx, "Other", replace(PRESET, id="", title=""))
        assert service.get(tx, new).preset.title == "Other"
        assert service.put(tx, "Mine too", replace(PRESET, nodes=()), expected=1) == "mine"
        kept = service.get(tx, "mine")
        assert (kept.preset.title, kept.preset.nodes, kept.version) == ("Mine too", (), 2)
        assert [one.preset.title for one in service.listed(tx)] == ["Mine too", "Other"]


def test_at_most_one_is_active(coast: Store) -> None:
    def active(tx: Writing) -> list[str]:
        return [kept.preset.id for kept in service.listed(tx) if kept.active]

    with coast.write(project=P) as tx:
        second = service.put(tx, "Second", replace(PRESET, id="second"), active=True)
        assert active(tx) == [second]
        service.activate(tx, "mine")
        assert active(tx) == ["mine"]
        service.put(tx, "Mine", replace(PRESET, nodes=()))
        assert active(tx) == ["mine"], "an edit leaves it as active as it was"
        service.activate(tx, None)
        assert active(tx) == []
        service.activate(tx, "mine")
        service.remove(tx, "mine")
        assert active(tx) == []


def layers(*names: str) -> Preset:
    return Preset(id="odd", nodes=tuple(Node(type="placeholder", id=name) for name in names))


@pytest.mark.parametrize(
    ("preset", "code"),
    [
        (layers("settings", "rules"), Code.PRESET_LAYER_ORDER),
        (layers("rules", "rules"), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content="x", injection_strategy=Injection(depth=-1)),)), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content="x", role=cast("Any", "bard")),)), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content="half \ud800"),)), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content=cast("Any", object())),)), Code.PRESET_INVALID),
        (Preset(nodes=(Node(content="x"),) * 1001), Code.PRESET_INVALID),
        (replace(PRESET, id="a b"), Code.PRESET_INVALID),
    ],
)
def test_a_preset_that_could_not_be_used_is_refused(coast: Store, preset: Preset, code: Code) -> None:
    assert refusal(coast, lambda tx: service.put(tx, "Odd", preset)) is code


def test_a_preset_needs_a_name(coast: Store) -> None:
    assert refusal(coast, lambda tx: service.put(tx, " ", replace(PRESET, title=""))) is Code.PRESET_INVALID


def test_stale_edits_and_what_is_not_there_are_refused(coast: Store) -> None:
    assert refusal(coast, lambda tx: service.put(tx, "x", PRESET, expected=4)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: service.put(tx, "x", layers(), expected=1)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: service.remove(tx, "mine", expected=4)) is Code.STORE_CONFLICT
    assert refusal(coast, lambda tx: service.remove(tx, "none")) is Code.STORE_NOT_FOUND
    assert refusal(coast, lambda tx: service.activate(tx, "none")) is Code.STORE_NOT_FOUND
