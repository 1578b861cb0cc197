"""A reader at chapter 3 never sees chapter 9, through any path: each path is sent later secrets."""

from __future__ import annotations

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.codex.model import Codex, Entry, Level, Progression, Relation, Wish
from fabula.constraints.model import Constraint, Constraints
from fabula.core.fragment import Fragment, Layer, Terms
from fabula.core.story import Eyes, Position, Timeline
from fabula.core.view import Project, View
from fabula.manuscript.model import Document, Manuscript
from fabula.memory.model import Memory, Note
from fabula.search.corpus import Shelf
from fabula.workspace.project import Fabula
from fabula.workspace.search_corpus import shelf_of
from tests.manuscript.stories import PROJECT, everything

CHAPTERS = 6
WORDS = "the lantern by the harbour and the keeper of the gate"


def secret(kind: str, number: int) -> str:
    """A word that occurs nowhere else, and says where it came from."""
    return f"zq{kind}{string.ascii_lowercase[number]}x"


def entry(name: str, number: int, level: Level) -> Entry:
    """An entry about whom something becomes true, and who gets a name, in each later chapter."""
    steps = tuple(
        Progression(f"{secret('step', n)} {WORDS}.", Position(f"ch-{n}"), aliases=(secret("alias", n),))
        for n in range(number, CHAPTERS + 1)
    )
    return Entry(
        id=name.lower(),
        type="character",
        name=name,
        description="Somebody.",
        level=level,
        relations=(Relation("late", "knows"), Relation("bram", "knows")),
        progressions=steps,
    )


def book() -> Manuscript:
    return Manuscript(
        tuple(
            Document(
                f"ch-{n}",
                f"Chapter {n}",
                f"Mara and Bram and Late spoke of {WORDS}.\n\n{secret('text', n)} was {WORDS}.",
                synopsis=f"{secret('synopsis', n)} and {WORDS}.",
                beats=(f"{secret('beat', n)} happens",),
            )
            for n in range(1, CHAPTERS + 1)
        )
    )


def house(levels: list[Level], wish: Wish | None) -> Fabula:
    story = book()
    timeline: Timeline = story.timeline()
    late = [
        Entry(
            id="late" if n == CHAPTERS else f"late{n}",
            type="item",
            name="Late" if n == CHAPTERS else f"Later{n}",
            aliases=("Mara",),
            level=levels[0],
            description=f"{secret('entry', n)}.",
            since=Position(f"ch-{n}"),
        )
        for n in range(1, CHAPTERS + 1)
    ]
    cast = [entry("Mara", 1, levels[1]), entry("Bram", 2, levels[2]), *late]
    pins = {f"ch-{n}": {one.id: wish for one in cast} for n in range(1, CHAPTERS + 1)} if wish is not None else {}
    rules = [
        Constraint(id=f"r{n}", text=f"{secret('rule', n)} holds.", since=Position(f"ch-{n}"))
        for n in range(1, CHAPTERS + 1)
    ]
    notes = [Note(f"n{n}", f"{secret('note', n)} {WORDS}.", Position(f"ch-{n}")) for n in range(1, CHAPTERS + 1)]
    rooms: dict[type, object] = {
        Manuscript: story,
        Shelf: shelf_of(PROJECT, story),
        Codex: Codex(PROJECT, "en", cast, timeline, pins=pins, relation_depth=3),
        Constraints: Constraints(PROJECT, rules),
        Memory: Memory(PROJECT, episodes=notes, recent=notes[:2]),
    }
    return Fabula(View(Project(id=PROJECT), timeline, rooms))


LEVELS = st.sampled_from([Level.ALWAYS, Level.WHEN_DETECTED, Level.MANUAL])


@settings(max_examples=40, deadline=None)
@given(
    chapter=st.integers(1, CHAPTERS),
    levels=st.lists(LEVELS, min_size=3, max_size=3),
    wish=st.sampled_from([None, Wish.INCLUDE]),
    recipe=st.sampled_from(["novel", "chat", "character-chat"]),
    character=st.sampled_from([None, "bram"]),
    after=st.booleans(),
)
def test_no_path_tells_a_later_secret(
    chapter: int, levels: list[Level], wish: Wish | None, recipe: str, character: str | None, after: bool
) -> None:
    fabula = house(levels, wish)
    if after:  # what was told at the end of the book must not be held over to its beginning
        last = fabula.request(document_id=f"ch-{CHAPTERS}", recipe=recipe, character=character)
        fabula.commit(last, fabula.assemble(last))
    everybody = ("mara", "bram", "late", *(f"codex:entity:mara#{n}" for n in range(1, CHAPTERS + 1)))
    asked = fabula.request(
        document_id=f"ch-{chapter}",
        recipe=recipe,
        character=character,
        include=everybody,
        additional_input=f"What of Mara, Bram, Late, {WORDS}?",
    )
    told = everything(fabula.assemble(asked))
    kinds = ("step", "alias", "entry", "text", "synopsis", "beat", "rule", "note")
    for number in range(chapter + 1, CHAPTERS + 1):
        assert [kind for kind in kinds if secret(kind, number) in told] == []


@settings(max_examples=30, deadline=None)
@given(
    chapter=st.integers(1, CHAPTERS),
    layer=st.sampled_from([Layer.RULES, Layer.SETTINGS, Layer.RETRIEVED]),
    derived=st.booleans(),
    learnt=st.booleans(),
)
def test_nothing_of_a_book_of_lore_or_a_recap_is_told_before_its_time(
    chapter: int, layer: Layer, derived: bool, learnt: bool
) -> None:
    """Whatever a source offers passes the same gate: by its own terms, or by those of what it was made from."""
    fabula = house([Level.MANUAL] * 3, None)
    offered = []
    for number in range(1, CHAPTERS + 1):
        at = Position(f"ch-{number}")
        terms = Terms("x", learnt=(("bram", at),)) if learnt else Terms("x", since=at)
        offered.append(
            Fragment(
                source=f"lorebook:isles#{number}",
                layer=layer,
                text=secret("lore", number),
                project_id=PROJECT,
                since=None if derived or learnt else at,
                derived_from=(terms,) if derived or learnt else (),
            )
        )
    asked = fabula.request(document_id=f"ch-{chapter}", character="bram")
    told = everything(fabula.engine.assemble(asked, fabula.view, fragments=offered))
    known = [secret("lore", number) in told for number in range(1, CHAPTERS + 1)]
    assert known == [number <= chapter for number in range(1, CHAPTERS + 1)]


def test_the_secrets_are_told_in_their_time_so_the_paths_are_open() -> None:
    fabula = house([Level.WHEN_DETECTED] * 3, None)
    told = everything(fabula.assemble(fabula.request(document_id="ch-4", window=32_000)))
    for kind in ("step", "alias", "entry", "text", "synopsis", "beat", "rule", "note"):
        assert any(secret(kind, number) in told for number in range(1, 5)), kind
    author = fabula.request(document_id="ch-1", eyes=Eyes.AUTHOR, window=32_000)
    assert secret("step", 6) in everything(fabula.assemble(author))
