"""Property tests: no source puts anything into a prompt before its position in the story (ctx-12, cdx-4)."""

from __future__ import annotations

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.codex import Codex, Entry, Level, PinMode, Progression, Relation
from fabula.constraints import Constraint, Constraints
from fabula.core.fragment import Fragment, Layer, Visibility
from fabula.core.story import Perspective, Position, Timeline
from fabula.core.view import Project, View
from fabula.manuscript.model import Document, Manuscript
from fabula.memory.model import Memory, MemoryNote
from fabula.search.corpus import Corpus
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from fabula.workspace.search_corpus import make_corpus
from tests.manuscript.stories import PROJECT, everything

CHAPTERS = 6
WORDS = "the lantern by the harbour and the keeper of the gate"


def secret(kind: str, number: int) -> str:
    """A word that occurs nowhere else, and says where it came from."""
    return f"zq{kind}{string.ascii_lowercase[number]}x"


def entry(name: str, number: int, level: Level) -> Entry:
    """An entry about whom something becomes true, and who gets a name and a relation, in each later chapter."""
    related = tuple(Relation("bram", secret("relation", n), Position(f"ch-{n}")) for n in range(number, CHAPTERS + 1))
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
        relations=(Relation("late", "knows"), Relation("bram", "knows"), *related),
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


def project(levels: list[Level], mode: PinMode | None) -> ProjectHandle:
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
    entries = [entry("Mara", 1, levels[1]), entry("Bram", 2, levels[2]), *late]
    pins = {f"ch-{n}": {one.id: mode for one in entries} for n in range(1, CHAPTERS + 1)} if mode is not None else {}
    rules = [
        Constraint(id=f"r{n}", text=f"{secret('rule', n)} holds.", since=Position(f"ch-{n}"))
        for n in range(1, CHAPTERS + 1)
    ]
    notes = [MemoryNote(f"n{n}", f"{secret('note', n)} {WORDS}.", Position(f"ch-{n}")) for n in range(1, CHAPTERS + 1)]
    snapshots: dict[type, object] = {
        Manuscript: story,
        Corpus: make_corpus(PROJECT, story),
        Codex: Codex(PROJECT, "en", entries, timeline, pins=pins, relation_depth=3),
        Constraints: Constraints(PROJECT, rules),
        Memory: Memory(PROJECT, episodes=notes, working_notes=notes[:2]),
    }
    return open_view(View(Project(id=PROJECT), timeline, snapshots))


LEVELS = st.sampled_from([Level.ALWAYS, Level.WHEN_DETECTED, Level.MANUAL])


@settings(max_examples=40, deadline=None)
@given(
    chapter=st.integers(1, CHAPTERS),
    levels=st.lists(LEVELS, min_size=3, max_size=3),
    mode=st.sampled_from([None, PinMode.INCLUDE]),
    recipe=st.sampled_from(["novel", "chat", "character-chat"]),
    character=st.sampled_from([None, "bram"]),
    after=st.booleans(),
)
def test_no_source_includes_a_later_secret(
    chapter: int, levels: list[Level], mode: PinMode | None, recipe: str, character: str | None, after: bool
) -> None:
    handle = project(levels, mode)
    if after:  # fragments of the last chapter must not be carried over to an earlier one
        last = handle.request(document_id=f"ch-{CHAPTERS}", recipe=recipe, character=character)
        handle.report_answer(handle.assemble(last).assembly_id)
    everybody = ("mara", "bram", "late", *(f"codex:entity:mara#{n}" for n in range(1, CHAPTERS + 1)))
    request = handle.request(
        document_id=f"ch-{chapter}",
        recipe=recipe,
        character=character,
        include=everybody,
        additional_input=f"What of Mara, Bram, Late, {WORDS}?",
    )
    text = everything(handle.assemble(request))
    kinds = ("step", "alias", "relation", "entry", "text", "synopsis", "beat", "rule", "note")
    for number in range(chapter + 1, CHAPTERS + 1):
        assert [kind for kind in kinds if secret(kind, number) in text] == []


@settings(max_examples=30, deadline=None)
@given(
    chapter=st.integers(1, CHAPTERS),
    layer=st.sampled_from([Layer.RULES, Layer.SETTINGS, Layer.RETRIEVED]),
    derived=st.booleans(),
    learnt=st.booleans(),
)
def test_no_lorebook_or_recap_fragment_is_included_before_its_position(
    chapter: int, layer: Layer, derived: bool, learnt: bool
) -> None:
    """Whatever a source offers passes the same gate: by its own terms, or by those of what it was made from."""
    handle = project([Level.MANUAL] * 3, None)
    offered = []
    for number in range(1, CHAPTERS + 1):
        at = Position(f"ch-{number}")
        terms = Visibility("x", learned_at=(("bram", at),)) if learnt else Visibility("x", since=at)
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
    request = handle.request(document_id=f"ch-{chapter}", character="bram")
    text = everything(handle.engine.assemble(request, handle.view, fragments=offered))
    known = [secret("lore", number) in text for number in range(1, CHAPTERS + 1)]
    assert known == [number <= chapter for number in range(1, CHAPTERS + 1)]


def test_every_source_includes_its_secret_once_it_is_known() -> None:
    handle = project([Level.WHEN_DETECTED] * 3, None)
    text = everything(handle.assemble(handle.request(document_id="ch-4", window=32_000)))
    for kind in ("step", "alias", "relation", "entry", "text", "synopsis", "beat", "rule", "note"):
        assert any(secret(kind, number) in text for number in range(1, 5)), kind
    author = handle.request(document_id="ch-1", perspective=Perspective.AUTHOR, window=32_000)
    assert secret("step", 6) in everything(handle.assemble(author))
