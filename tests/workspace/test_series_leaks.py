"""No prompt of a series leaks what a later book tells: every book, chapter, cursor and vantage (ctx-12, man-3).

Each book has progressions of shared entries at random places, some known to a few people only. The expectation is
computed from the order of the books alone, without the codex, the timeline or the gate.
"""

from __future__ import annotations

from random import Random

import pytest

from fabula.codex import Entry, Level, Progression, edits, knowledge
from fabula.codex.knowledge import KnownFact
from fabula.context import Perspective
from fabula.core.ids import new_id
from fabula.core.story import Position, Timeline, TimelineEntry, name_earlier_document
from fabula.manuscript import documents, projects, series
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace

BOOKS, CHAPTERS, PEOPLE = 3, 3, ("mara", "will", "cole")
TEXT = "Mara, Will and Cole came down to the harbour again. " * 4
Step = tuple[int, int, int, str, frozenset[str] | None]  # book, chapter, offset, text, known to


def make_series(store: Store, random: Random) -> tuple[list[str], list[Step]]:
    """A series of books whose documents have the same ids, with progressions in each book."""
    series_id = series.create(store, "The Coast", project_id=new_id())
    with store.write(project=series_id) as tx:
        edits.put_all(tx, [Entry(id=one, type="character", name=one.title(), level=Level.ALWAYS) for one in PEOPLE])
    book_ids, steps = [], []
    for book in range(BOOKS):
        book_ids.append(projects.create(store, f"Book {book + 1}", project_id=new_id()))
        with store.write(project=book_ids[-1]) as tx:
            for chapter in range(CHAPTERS):
                documents.add(tx, f"Chapter {chapter + 1}", text=TEXT, document_id=f"ch-{chapter}")
            own: dict[str, list[Progression]] = {one: [] for one in PEOPLE}
            for number in range(4):
                chapter, offset = random.randrange(CHAPTERS), random.randrange(len(TEXT))
                knowers = random.choice([None, None, frozenset({"will"}), frozenset({"reader", "mara"})])
                text = f"Event {book}-{number} happened."
                steps.append((book, chapter, offset, text, knowers))
                own[random.choice(PEOPLE)].append(Progression(text, Position(f"ch-{chapter}", offset), knowers))
            edits.put_all(
                tx,
                [
                    Entry(id=one, type="character", name=one.title(), level=Level.ALWAYS, progressions=tuple(found))
                    for one, found in own.items()
                ],
            )
        series.add_book(store, book_ids[-1], series_id)
    random.shuffle(order := list(range(BOOKS)))
    series.set_order(store, series_id, [book_ids[book] for book in order])
    places = {book: place for place, book in enumerate(order)}
    moved = [(places[book], chapter, offset, text, knowers) for book, chapter, offset, text, knowers in steps]
    return [book_ids[book] for book in order], moved


@pytest.mark.parametrize("seed", range(3))
def test_no_prompt_of_a_book_holds_what_a_later_book_tells(store: Store, seed: int) -> None:
    book_ids, steps = make_series(store, Random(seed))
    with Workspace(store) as workspace:
        for book, book_id in enumerate(book_ids):
            project = workspace.project(book_id)
            for chapter in range(CHAPTERS):
                for cursor in (0, len(TEXT) // 2, len(TEXT)):
                    for viewer in ("reader", *PEOPLE):
                        is_reader = viewer == "reader"
                        request = project.request(
                            document_id=f"ch-{chapter}",
                            cursor=cursor,
                            window=32_000,
                            perspective=Perspective.READER if is_reader else Perspective.CHARACTER,
                            character=None if is_reader else viewer,
                        )
                        result = project.assemble(request)
                        told = "\n".join(one.text for one in result.trace if one.included)
                        here = (book, chapter, cursor)
                        for *place, text, knowers in steps:
                            expected = tuple(place) <= here and (knowers is None or viewer in knowers)
                            assert (text in told) is expected, (text, place, here, viewer)


def test_who_learned_of_something_in_book_one_knows_it_in_book_two(store: Store) -> None:
    series.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        edits.put(tx, Entry(id="mara", type="character", name="Mara"))
        edits.put(tx, Entry(id="cole", type="character", name="Cole"))
        edits.put(tx, Entry(id="will", type="character", name="Will", description="A spy.", known_to=frozenset()))
    for book in ("one", "two"):
        projects.create(store, book.title(), project_id=book)
        with store.write(project=book) as tx:
            for number in (1, 2):
                documents.add(tx, str(number), text="Mara and Will came.", document_id=f"ch-{number}")
        series.add_book(store, book, "coast")
    with store.write(project="one") as tx:
        edits.put(tx, Entry(id="will", type="character", name="Will"))
        knowledge.put(tx, KnownFact(fact="codex:entity:will", knower="mara", since=Position("ch-2", 5)))
    with Workspace(store) as workspace:
        known = {
            (book, chapter, character): "A spy."
            in (project := workspace.project(book))
            .assemble(project.request(document_id=f"ch-{chapter}", character=character))
            .prompt
            for book in ("one", "two")
            for chapter in (1, 2)
            for character in ("mara", "cole")
        }
    assert [place for place, knows in known.items() if knows] == [
        ("one", 2, "mara"),
        ("two", 1, "mara"),
        ("two", 2, "mara"),
    ]


def test_what_a_book_hides_with_its_own_entry_stays_hidden_in_the_next(store: Store) -> None:
    series.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        edits.put(tx, Entry(id="mara", type="character", name="Mara", level=Level.ALWAYS))
    for book in ("one", "two"):
        projects.create(store, book.title(), project_id=book)
        with store.write(project=book) as tx:
            documents.add(tx, "1", text="Mara came.", document_id="ch-1")
            edits.put(tx, Entry(id="local", type="character", name=f"Local {book}"))
        series.add_book(store, book, "coast")
    step = Progression("She burned the mill.", Position("ch-1", 0))
    with Workspace(store) as workspace:
        for known_to in (frozenset[str](), frozenset({"local"})):  # the Local of book two is somebody else
            own = Entry(id="mara", type="character", name="Mara", known_to=known_to, progressions=(step,))
            with store.write(project="one") as tx:
                edits.put(tx, own)
            for character in (None, "mara", "local"):
                project = workspace.project("two")
                prompt = project.assemble(project.request(document_id="ch-1", character=character)).prompt
                assert "She burned the mill." not in prompt


def test_a_chapter_before_its_book_begins_knows_nothing_of_earlier_books() -> None:
    earlier = {name_earlier_document("one", "a"): TimelineEntry(name_earlier_document("one", "a"))}
    mark = Position(name_earlier_document("one", "a"))
    for times, expected in (
        ([None, None, None], [True, True, True]),
        ([-20.0, None, 2.5], [False, True, True]),
        ([None, 0.5, None], [True, False, True]),
        ([1838.0, 1815.0, 1839.0], [True, False, True]),
    ):
        entries = [TimelineEntry(f"{number}", when) for number, when in enumerate(times)]
        timeline = Timeline(entries, earlier=earlier)
        assert [timeline.has_reached(mark, Position(one.document)) for one in entries] == expected
        assert not timeline.has_reached(Position("one/gone"), Position("2"))
        assert not timeline.has_reached(Position("2"), mark)
