"""A roll that follows on from another finds what a fresh one finds, and stands in the same order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.codex.model import Entry, Level, Progression
from fabula.codex.name_index import Roll
from fabula.core.story import Position
from fabula.text.names.matcher import Rules

NAMES = st.sampled_from(["Mara", "Venn", "Mara Venn", "林远", "远山", "Grace", "玄德", "刘备"])
ENTRIES = st.builds(
    Entry,
    id=st.sampled_from("abcdef"),
    type=st.sampled_from(["character", "item"]),
    name=NAMES,
    description=st.sampled_from(["", "Told."]),
    aliases=st.lists(NAMES, max_size=2).map(tuple),
    level=st.sampled_from(Level),
    rules=st.sampled_from([Rules(), Rules(without=("Mara Venn",))]),
    progressions=st.sampled_from([(), (Progression("", Position("ch-2"), None, ("the Fox",)),)]),
)
TEXT = "Mara Venn met Grace, the Fox and Venn. 林远看着远山，刘玄德不说话。"
PADDING = [Entry(id=f"pad{n}", type="item", name=f"Padding{n}") for n in range(60)]


@settings(max_examples=40)  # each example fills the segmenter of Chinese words several times
@given(st.lists(st.lists(st.tuples(ENTRIES, st.booleans()), max_size=3), min_size=1, max_size=4))
def test_a_roll_that_changed_is_like_a_fresh_one(steps: list[list[tuple[Entry, bool]]]) -> None:
    roll, whole = Roll(PADDING), {entry.id: entry for entry in PADDING}
    for number, step in enumerate(steps):
        fresh = {entry.id: entry for entry, there in step if there}
        ids = {entry.id for entry, _ in step}
        whole = {**{ident: entry for ident, entry in whole.items() if ident not in ids}, **fresh}
        before, roll = roll, roll.changed(ids, fresh)
        new = Roll(whole.values())
        assert (roll.entries, roll.by_id, roll.size) == (new.entries, new.by_id, new.size)
        assert (roll.always, roll.later) == (new.always, new.later)
        if number % 2:  # an automaton that was never asked for is handed on as well
            assert roll.names.find(TEXT) == new.names.find(TEXT)
        assert Roll(whole.values()).following(before).names.find(TEXT) == new.names.find(TEXT)


def test_what_did_not_move_costs_nothing() -> None:
    roll = Roll(PADDING)
    names = roll.names
    assert roll.changed({"nobody"}, {}) is roll
    told = Entry(id="pad1", type="item", name="Padding1", description="Told anew.")
    assert roll.changed({"pad1"}, {"pad1": told}).names is names
