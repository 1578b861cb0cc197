"""A manuscript is updated from a newer file: matched by text and title, nothing twice, nothing lost (man-6)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.manuscript import documents, projects
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from fabula.manuscript.tables import documents as rows
from fabula.manuscript.updating import ManuscriptUpdate, apply_update, preview_update
from fabula.store.store import Store


def chapter(title: str, text: str = "", *children: DocumentDraft) -> DocumentDraft:
    kind = DocumentKind.PART if children else DocumentKind.CHAPTER
    return DocumentDraft(title=title, text=text, children=children, kind=kind)


def prose(name: str, sentences: int = 8) -> str:
    return " ".join(f"Sentence {number} of {name} has its own words." for number in range(sentences))


def book(*drafts: DocumentDraft) -> ManuscriptDraft:
    return ManuscriptDraft(drafts=drafts)


@pytest.fixture
def imported(store: Store) -> Store:
    """A store with a book of three chapters."""
    projects.create(store, "Book", project_id="p")
    with store.write(project="p") as tx:
        documents.add_draft(tx, book(*(chapter(f"Chapter {n}", prose(f"text {n}")) for n in (1, 2, 3))))
    return store


def update(store: Store, newer: ManuscriptDraft, *, remove_missing: bool = False) -> ManuscriptUpdate:
    with store.read(project="p") as reading:
        preview = preview_update(reading, newer)
    with store.write(project="p") as tx:
        done = apply_update(tx, newer, remove_missing=remove_missing)
    assert preview == done
    return done


def said(done: ManuscriptUpdate) -> list[tuple[str, str]]:
    return [(one.kind.value, one.title) for one in done.updates]


def titles(store: Store) -> list[str]:
    with store.read(project="p") as reading:
        return [draft.title for draft in documents.make_draft(reading).walk()]


def ids(store: Store) -> dict[str, str]:
    with store.read(project="p") as reading:
        return {row.title: row.id for row in reading.rows(rows)}


def test_the_same_file_again_changes_and_duplicates_nothing(imported: Store) -> None:
    before = ids(imported)
    done = update(imported, book(*(chapter(f"Chapter {n}", prose(f"text {n}")) for n in (1, 2, 3))))
    assert (done.updates, done.unchanged) == ((), 3)
    assert titles(imported) == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert ids(imported) == before


def test_a_chapter_that_is_put_in_renumbers_the_others_and_they_keep_their_ids(imported: Store) -> None:
    old = ids(imported)
    done = update(
        imported,
        book(
            chapter("Chapter 1", prose("text 1")),
            chapter("Chapter 2", prose("a new one")),
            chapter("Chapter 3", prose("text 2") + " One more."),
            chapter("Chapter 4", prose("text 3")),
        ),
    )
    assert said(done) == [("new", "Chapter 2"), ("changed", "Chapter 3"), ("changed", "Chapter 4")]
    new = ids(imported)
    assert (new["Chapter 3"], new["Chapter 4"]) == (old["Chapter 2"], old["Chapter 3"])
    assert titles(imported) == ["Chapter 1", "Chapter 2", "Chapter 3", "Chapter 4"]


def test_a_chapter_that_was_rewritten_is_matched_by_its_title(imported: Store) -> None:
    old = ids(imported)
    chapters = [chapter(f"Chapter {n}", prose(f"text {n}") if n != 2 else "Quite another text.") for n in (1, 2, 3)]
    assert said(update(imported, book(*chapters))) == [("changed", "Chapter 2")]
    assert ids(imported) == old
    with imported.read(project="p") as reading:
        assert reading.require(rows, id=old["Chapter 2"]).text == "Quite another text."


def test_moved_chapters_are_moved_and_missing_ones_stay_unless_asked(imported: Store) -> None:
    newer = book(chapter("Chapter 3", prose("text 3")), chapter("Chapter 1", prose("text 1")))
    kinds = [kind for kind, _ in said(update(imported, newer))]
    assert kinds == ["moved", "missing"]
    assert sorted(titles(imported)) == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert titles(imported).index("Chapter 3") < titles(imported).index("Chapter 1")
    update(imported, newer, remove_missing=True)
    assert titles(imported) == ["Chapter 3", "Chapter 1"]


def test_chapters_are_put_into_parts(imported: Store) -> None:
    old = ids(imported)
    one, two, three = (chapter(f"Chapter {n}", prose(f"text {n}")) for n in (1, 2, 3))
    done = update(imported, book(chapter("Part One", "", one), chapter("Part Two", "", two, three)))
    assert ("new", "Part One") in said(done)
    assert titles(imported) == ["Part One", "Chapter 1", "Part Two", "Chapter 2", "Chapter 3"]
    assert {title: ident for title, ident in ids(imported).items() if title in old} == old


names = st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"])


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(names, unique=True, min_size=1), second=st.lists(names, unique=True, min_size=1))
def test_any_update_ends_with_the_files_chapters_once_and_loses_none(
    store: Store, first: list[str], second: list[str]
) -> None:
    if "p" in store.project_ids():
        projects.remove(store, "p")
    projects.create(store, "Book", project_id="p")
    with store.write(project="p") as tx:
        documents.add_draft(tx, book(*(chapter(name, prose(name)) for name in first)))
    old = ids(store)
    newer = book(*(chapter(name, prose(name)) for name in second))
    done = update(store, newer)
    found = titles(store)
    assert sorted(found) == sorted({*first, *second})
    assert [name for name in found if name in second] == second
    assert {name: ident for name, ident in ids(store).items() if name in old} == old
    assert {one.title for one in done.updates if one.kind == "missing"} == set(first) - set(second)
    assert set(update(store, newer).updates) == {one for one in done.updates if one.kind == "missing"}
    update(store, newer, remove_missing=True)
    assert titles(store) == second
