"""A name index made from an earlier one equals one built from scratch."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.codex import Entry, Level, Progression
from fabula.codex.name_index import NameIndex
from fabula.core.story import Position
from fabula.text.names.matcher import NameRules

NAMES = st.sampled_from(["Mara", "Venn", "Mara Venn", "林远", "远山", "Grace", "玄德", "刘备"])
ENTRIES = st.builds(
    Entry,
    id=st.sampled_from("abcdef"),
    type=st.sampled_from(["character", "item"]),
    name=NAMES,
    description=st.sampled_from(["", "Told."]),
    aliases=st.lists(NAMES, max_size=2).map(tuple),
    level=st.sampled_from(Level),
    rules=st.sampled_from([NameRules(), NameRules(without=("Mara Venn",))]),
    progressions=st.sampled_from([(), (Progression("", Position("ch-2"), None, ("the Fox",)),)]),
)
TEXT = "Mara Venn met Grace, the Fox and Venn. 林远看着远山，刘玄德不说话。"
PADDING = [Entry(id=f"pad{n}", type="item", name=f"Padding{n}") for n in range(60)]


@settings(max_examples=40)  # each example fills the segmenter of Chinese words several times
@given(st.lists(st.lists(st.tuples(ENTRIES, st.booleans()), max_size=3), min_size=1, max_size=4))
def test_a_changed_index_equals_a_rebuilt_one(steps: list[list[tuple[Entry, bool]]]) -> None:
    index, expected = NameIndex(PADDING), {entry.id: entry for entry in PADDING}
    for number, step in enumerate(steps):
        current = {entry.id: entry for entry, present in step if present}
        ids = {entry.id for entry, _ in step}
        expected = {**{ident: entry for ident, entry in expected.items() if ident not in ids}, **current}
        before, index = index, index.with_changes(ids, current)
        rebuilt = NameIndex(expected.values())
        assert (index.entries, index.by_id, index.description_length) == (
            rebuilt.entries,
            rebuilt.by_id,
            rebuilt.description_length,
        )
        assert (index.always_entries, index.later_names) == (rebuilt.always_entries, rebuilt.later_names)
        if number % 2:  # otherwise the matcher is never built, and the next index must still reuse the earlier one
            assert index.matcher.find(TEXT) == rebuilt.matcher.find(TEXT)
        assert NameIndex(expected.values()).reuse_matcher(before).matcher.find(TEXT) == rebuilt.matcher.find(TEXT)


def test_unchanged_names_keep_their_matcher() -> None:
    index = NameIndex(PADDING)
    names = index.matcher
    assert index.with_changes({"nobody"}, {}) is index
    reworded = Entry(id="pad1", type="item", name="Padding1", description="Told anew.")
    assert index.with_changes({"pad1"}, {"pad1": reworded}).matcher is names
