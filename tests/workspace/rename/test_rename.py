"""Rename everywhere: seen first, done in one step, and taken back exactly (man-4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.codex import Entry, Progression
from fabula.codex import edits as service
from fabula.constraints import edits as constraints
from fabula.constraints.model import Constraint, ForbiddenNames
from fabula.conversation import edits as conversation
from fabula.conversation.model import Message
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import documents, outline, projects, revisions
from fabula.manuscript.model import Direction
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.tables import documents as document_rows
from fabula.manuscript.tables import marks
from fabula.memory import edits as memory
from fabula.memory.model import MemoryItem
from fabula.store.schema import all_tables, table_info
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction
from fabula.workspace.rename import rename
from fabula.workspace.rename.edits import apply_edits, invert_edits, is_inside_edit, move_offset

P = "coast"
ONE = "Mara came. MARA! The Maras, Mara's lamp; Marathon, Tomorrow, Mara Lake.\n\nThen he slept. End."
OFTEN = {"version", "changed", "made", "at"}


@pytest.fixture
def coast(store: Store) -> Store:
    """A project in which Mara is written everywhere."""
    projects.create(store, "The Coast", project_id=P, direction=Direction(world=("Mara rules.",)))
    with store.write(project=P) as tx:
        documents.add(tx, "Mara comes", text=ONE, document_id="ch-1", notes="Ask Mara.")
        documents.add(tx, "Nobody", text="Nobody came.", document_id="ch-2")
        outline.add_beat(tx, "ch-1", "Mara lights the lamp")
        synopses.write_synopsis(tx, "ch-1", "Mara comes home.")
        documents.mark_accepted(tx, "ch-1", ONE.index("Mara's"), ONE.index("End."))
        service.put_all(
            tx,
            (
                Entry(
                    id="mara",
                    type="character",
                    name="Mara Venn",
                    aliases=("Mara", "Keeper"),
                    description="Mara keeps the light.",
                    details={"motto": "Mara first"},
                    notes="Mara did it.",
                    progressions=(Progression("Mara left.", Position("ch-1", ONE.index("End.")), None, ("Red Mara",)),),
                ),
                Entry(id="lake", type="location", name="Mara Lake", description="A lake, not Mara."),
            ),
        )
        constraints.create(
            tx,
            Constraint(
                id="c", text="Do not name Mara.", check=ForbiddenNames(names=("Mara",)), until=Position("ch-1", 2)
            ),
        )
        memory.add_memory(tx, MemoryItem(id="m", text="Likes Mara.", evidence=("Mara again",)))
        conversation.start_conversation(tx, "desk", title="About Mara")
        note = {"text": "Mara is tired. It rains.", "depth": 2, "role": "system"}
        conversation.update_conversation(tx, "desk", {"mode_state": {"author_note": note, "score": "Mara"}})
        conversation.add_message(tx, "desk", Message(id="m1", role="user", content="Where is Mara?"))
    return store


def contents(reading: ReadTransaction) -> dict[str, list[str]]:
    """Every row of the project, but for times, versions and what is kept of the past."""
    found: dict[str, list[str]] = {}
    for table in all_tables():
        if (
            "table_info" in table.info
            and table_info(table).owner == "project"
            and table.name not in ("revisions", "renames")
        ):
            rows = ({k: v for k, v in row._mapping.items() if k not in OFTEN} for row in reading.rows(table))
            found[table.name] = sorted(map(repr, rows))
    return found


def written(store: Store, ident: str = "ch-1") -> str:
    with store.read(project=P) as reading:
        return str(reading.require(document_rows, id=ident).text)


def refusal(store: Store, *names: str) -> Code:
    before = store.versions(project=P)
    with pytest.raises(FabulaError) as refused, store.write(project=P) as tx:
        rename.apply_rename(tx, *names)
    assert "Nothing was changed" in refused.value.sentence
    assert store.versions(project=P) == before
    return refused.value.code


def test_a_preview_shows_every_place_with_its_context_and_changes_nothing(coast: Store) -> None:
    before = coast.versions(project=P)
    with coast.read(project=P) as reading:
        places = rename.preview_rename(reading, "Mara", "Nora")
    assert coast.versions(project=P) == before
    areas = {area: [place for place in places if place.area == area] for area in {place.area for place in places}}
    assert set(areas) == {"project", "manuscript", "codex", "constraints", "memory"}
    text = [place for place in areas["manuscript"] if str(place.label) == "Mara comes, text"]
    assert [(ONE[place.start : place.end], place.replacement) for place in text] == [
        ("Mara", "Nora"),
        ("MARA", "NORA"),
        ("Mara", "Nora"),
        ("Mara", "Nora"),
    ]
    assert (text[1].before, text[1].after[:2]) == ("Mara came. ", "! ")
    labels = {str(place.label) for place in areas["codex"]}
    assert labels >= {
        "Mara Venn, name",
        "Mara Venn, aliases 1",
        "Mara Venn, details 1",
        "Mara Venn, progression",
    }
    assert "Mara Lake, name" not in labels
    assert "Mara Lake, description" in labels


def test_history_is_renamed_only_when_that_is_asked_for(coast: Store) -> None:
    for history, expected in ((False, "Where is Mara?"), (True, "Where is Nora?")):
        with coast.write(project=P) as tx:
            seen = {place.area for place in rename.preview_rename(tx, "Mara", "Nora", history=history)}
            assert ("conversation" in seen) is history
            rename.apply_rename(tx, "Mara", "Nora", history=history)
            assert conversation.get_message(tx, "m1").content == expected
            rename.undo_rename(tx)
            assert conversation.get_message(tx, "m1").content == "Where is Mara?"


def test_a_rename_changes_every_place_and_keeps_endings_and_capitals(coast: Store) -> None:
    with coast.write(project=P) as tx:
        rename.apply_rename(tx, "Mara", "Nora")
        assert rename.preview_rename(tx, "Mara", "Nora") == []
        entry, lake = service.get(tx, "mara").entry, service.get(tx, "lake").entry
        rule = constraints.get(tx, "c").constraint
        project, direction, _ = projects.load_project(tx)
    assert written(coast) == (
        "Nora came. NORA! The Noras, Nora's lamp; Marathon, Tomorrow, Mara Lake.\n\nThen he slept. End."
    )
    assert (entry.name, entry.aliases, entry.description) == ("Nora Venn", ("Nora", "Keeper"), "Nora keeps the light.")
    assert entry.details == {"motto": "Nora first"}
    assert entry.progressions[0].aliases == ("Red Nora",)
    assert (lake.name, lake.description) == ("Mara Lake", "A lake, not Nora.")
    assert (rule.text, rule.check) == ("Do not name Nora.", ForbiddenNames(names=("Nora",)))
    assert (project.title, direction.world) == ("The Coast", ("Nora rules.",))


def test_marks_of_the_story_and_on_the_text_go_where_their_words_went(coast: Store) -> None:
    with coast.write(project=P) as tx:
        rename.apply_rename(tx, "Mara", "Margarethe")
        text = tx.require(document_rows, id="ch-1").text
        assert service.get(tx, "mara").entry.progressions[0].since == Position("ch-1", text.index("End."))
        (mark,) = tx.rows(marks)
        assert text[mark.start : mark.end].startswith("Margarethe's lamp")
        assert text[mark.end :] == "End."
        assert constraints.get(tx, "c").constraint.until == Position("ch-1", 0), "it stood inside the name"
        assert [kept.state for kept in synopses.list_synopses(tx) if kept.text] == ["fresh"]


def test_a_revision_is_kept_of_each_text_that_changed(coast: Store) -> None:
    with coast.write(project=P) as tx:
        rename.apply_rename(tx, "Mara", "Nora")
        assert [kept.cause for kept in revisions.list_revisions(tx, "ch-1")] == ["renamed"]
        assert revisions.load_text(tx, "ch-1", 1) == ONE
        assert revisions.list_revisions(tx, "ch-2") == []


@pytest.mark.parametrize("new", ["Nora", "M", "Margarethe von Trotta", "林远"])
def test_undo_restores_everything_exactly(coast: Store, new: str) -> None:
    with coast.read(project=P) as reading:
        before = contents(reading)
    with coast.write(project=P) as tx:
        ident = rename.apply_rename(tx, "Mara", new, history=True)
        assert contents(tx) != before
    with coast.write(project=P) as tx:
        back = rename.undo_rename(tx, ident)
        assert (back.old, back.new) == ("Mara", new)
        assert contents(tx) == before
        assert [kept.state for kept in synopses.list_synopses(tx) if kept.text] == ["fresh"]
    with pytest.raises(FabulaError) as refused, coast.write(project=P) as tx:
        rename.undo_rename(tx)
    assert refused.value.code is Code.STORE_NOT_FOUND


def test_the_note_of_a_conversation_is_renamed_and_restored_whatever_else_its_state_says(coast: Store) -> None:
    with coast.read(project=P) as reading:
        assert not [one for one in rename.preview_rename(reading, "Mara", "Nora") if one.area == "conversation"]
        places = rename.preview_rename(reading, "Mara", "Nora", history=True)
    assert [str(one.label) for one in places if "author" in str(one.label)] == ["About Mara, author's note"]

    def read_state() -> dict[str, object]:
        with coast.read(project=P) as reading:
            return dict(conversation.get_conversation(reading, "desk").mode_state)

    with coast.write(project=P) as tx:
        ident = rename.apply_rename(tx, "Mara", "Nora", history=True)
    note = {"text": "Nora is tired. It rains.", "depth": 2, "role": "system"}
    assert read_state() == {"author_note": note, "score": "Mara"}
    with coast.write(project=P) as tx:  # a turn was played since
        conversation.update_conversation(tx, "desk", {"mode_state": {"author_note": note, "round": {"is_ended": True}}})
    with coast.write(project=P) as tx:
        rename.undo_rename(tx, ident)
    restored = {**note, "text": "Mara is tired. It rains."}
    assert read_state() == {"author_note": restored, "round": {"is_ended": True}}


def test_undo_is_refused_where_something_was_changed_since_and_leaves_all_as_it_is(coast: Store) -> None:
    with coast.write(project=P) as tx:
        rename.apply_rename(tx, "Mara", "Nora")
    with coast.write(project=P) as tx:
        documents.write(tx, "ch-2", "Somebody came.")
    with coast.write(project=P) as tx:
        service.update(tx, "mara", {"description": "Nora sold the light."})
    with coast.read(project=P) as reading:
        before = contents(reading)
    with pytest.raises(FabulaError) as refused, coast.write(project=P) as tx:
        rename.undo_rename(tx)
    assert refused.value.code is Code.STORE_CONFLICT
    assert "description of mara" in refused.value.sentence
    with coast.read(project=P) as reading:
        assert contents(reading) == before


def test_what_was_written_elsewhere_in_the_meantime_stays_when_a_rename_is_taken_back(coast: Store) -> None:
    with coast.write(project=P) as tx:
        rename.apply_rename(tx, "Mara", "Nora")
        documents.write(tx, "ch-2", "Nora came.")
        rename.undo_rename(tx)
    assert (written(coast), written(coast, "ch-2")) == (ONE, "Nora came.")


def test_a_chinese_name_is_renamed_where_it_is_a_name(store: Store) -> None:
    projects.create(store, "雾港", language="zh", project_id=P)
    text = "林远走进树林远处的屋子。“林远！”沈默说，林远的灯亮了。"
    with store.write(project=P) as tx:
        documents.add(tx, "一", text=text, document_id="ch-1")
        service.put(tx, Entry(id="lin", type="character", name="林远"))
        rename.apply_rename(tx, "林远", "周明远")
    assert written(store) == "周明远走进树林远处的屋子。“周明远！”沈默说，周明远的灯亮了。"


def test_a_name_that_is_a_pattern_is_taken_literally(store: Store) -> None:
    projects.create(store, "Odd", project_id=P)
    with store.write(project=P) as tx:
        documents.add(tx, "One", text="He saw K.9 and KX9.", document_id="ch-1")
        rename.apply_rename(tx, "K.9", r"\1")
    assert written(store) == r"He saw \1 and KX9."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "x"),
        ("Mara", " "),
        ("Mara", "Mara"),
        ("Mara", "No\nra"),
        ("Mara", "x" * 10_000),
        ("Mara", "a\x00"),
        ("Zed", "Zoe"),
    ],
)
def test_a_rename_that_makes_no_sense_is_refused_whole(coast: Store, old: str, new: str) -> None:
    assert refusal(coast, old, new) is Code.CODEX_INVALID


def test_ten_thousand_places_are_renamed_in_a_moment(store: Store) -> None:
    projects.create(store, "Long", project_id=P)
    with store.write(project=P) as tx:
        for number in range(10):
            documents.add(tx, str(number), text="Mara came to the light. " * 1_000, document_id=f"ch-{number}")
        rename.apply_rename(tx, "Mara", "Nora")
        assert written_in(tx).count("Nora") == 1_000
        assert rename.undo_rename(tx).count == 10_000


def written_in(reading: ReadTransaction) -> str:
    return str(reading.require(document_rows, id="ch-3").text)


@given(st.text("ab ", max_size=30), st.data())
def test_edits_lead_there_and_back(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    edits = [(start, end, data.draw(st.text("xyz", max_size=4))) for start, end in spans]
    fresh, back = apply_edits(text, edits), invert_edits(text, edits)
    assert apply_edits(fresh, back) == text
    for offset in range(len(text) + 1):
        there = move_offset(offset, edits, to_end=True)
        assert 0 <= there <= len(fresh)
        if not is_inside_edit(offset, edits) and all(end > start and new for start, end, new in edits):
            assert move_offset(there, back, to_end=True) == offset


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        (
            "Jones",
            "Smith",
            "Jones, the Joneses, Jones' lamp, Jones’s hat",
            "Smith, the Smiths, Smith's lamp, Smith’s hat",
        ),
        ("Watson", "Fox", "the Watsons' lamp, WATSONS, Watson's", "the Foxes' lamp, FOXES, Fox's"),
        ("Fairy", "Elf", "a Fairy and two Fairies", "a Elf and two Elves"),
        ("Wolf", "Bear", "Wolf, Wolves", "Bear, Bears"),
        ("O'Brien", "Mara", "O’Brien came, O'Brien's lamp", "Mara came, Mara's lamp"),
    ],
)
def test_endings_become_those_of_the_new_name(coast: Store, old: str, new: str, before: str, after: str) -> None:
    with coast.write(project=P) as tx:
        documents.write(tx, "ch-2", before)
        rename.apply_rename(tx, old, new)
    assert written(coast, "ch-2") == after
    with coast.write(project=P) as tx:
        rename.undo_rename(tx)
    assert written(coast, "ch-2") == before
