"""The active preset from its row."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.context.recipes import Preset
from fabula.manuscript import projects
from fabula.presets import edits as service
from fabula.presets import snapshot as rows
from fabula.store.store import Store
from tests.presets.test_edits import PRESET, P


def load(store: Store, before: Preset | None = None) -> Preset | None:
    with store.read(project=P) as reading:
        return rows.load(reading, before)


def test_only_the_active_preset_is_in_force(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    assert load(store) is None
    with store.write(project=P) as tx:
        service.put(tx, "Mine", PRESET)
    assert load(store) is None
    with store.write(project=P) as tx:
        service.put(tx, "Other", replace(PRESET, id="other", nodes=()), active=True)
        service.activate(tx, "mine")
    assert load(store) == PRESET


def test_a_preset_that_reads_the_same_is_the_same(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        service.put(tx, "Mine", PRESET, active=True)
    before = load(store)
    with store.write(project=P) as tx:
        service.put(tx, "Other", replace(PRESET, id="other"))
    assert load(store, before) is before
