"""No prompt leaks what comes later in the story: every chapter of both samples, through every source (ctx-12).

The test walks through each sample story, from a folder and from a store, with several cursors in each chapter and
several vantages, with working memory of the whole book. No fragment of any layer may contain a sentence of later text,
nor the story's secret in other words. Only what the editor shows anyway is allowed: the chapter's own text around the
cursor, its title and its beats. What an earlier prompt held never changes what a prompt of an earlier place holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from fabula.codex import Entry
from fabula.codex import edits as codex
from fabula.codex.entry import Progression, Relation
from fabula.context import Perspective, Position, Result
from fabula.context.trace import Verdict
from fabula.conversation.participants import Participant, save_participant
from fabula.lorebook.edits import Lorebook, RuleSet, save_lorebook
from fabula.manuscript import documents, outline, projects
from fabula.manuscript.model import Document
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY, WorkingMemory
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only, read_view, sample_names
from fabula.workspace.view_copies import copy_view
from fabula.workspace.workspace import Workspace
from tests.workspace.test_samples import KEEPER, SECRETS, manuscript, oracle, people, revealed

QUESTIONS = {
    "lantern_coast": "Who put out the lamp at Harrow, and why? What was in the log and the clock case?",
    "wugang": "是谁灭了灯塔的灯？守礁人到底是谁，林晚死了没有？",
}
# The kinds of sources in each layer that reach the checked prompts: preferences, samples and episodes among them.
KINDS = {
    *(f"{kind} in retrieved" for kind in ("search", "codex", "synopsis", "memory")),
    *(f"{kind} in settings" for kind in ("memory", "style")),
    *(f"{kind} in immediate" for kind in ("skill", "working", "history")),
    *(f"{kind} in rules" for kind in ("project", "constraint")),
}


@cache
def sentences(text: str) -> frozenset[str]:
    """The sentences of a text that are long enough to be unique."""
    return frozenset(s.strip() for s in re.split(r"(?<=[.!?。！？])|\n", text) if len(s.strip()) >= 20)


def later_sentences(sample: str, document: Document, cursor: int) -> set[str]:
    """Every sentence that occurs only in text that is not yet read, or has not yet happened, at the cursor."""
    known: set[str] = set()
    unknown: set[str] = set()
    for other in manuscript(sample).documents:
        if other.id == document.id:
            known |= sentences(other.text[:cursor])
            unknown |= sentences(other.text[cursor:])
        elif oracle(sample).behind(Position(other.id), Position(document.id)):
            known |= sentences(other.text)
        else:
            unknown |= sentences(other.text)
    return unknown - known


def prompt_fragments(result: Result) -> Iterator[Verdict]:
    """What a prompt holds, without what the editor shows anyway, and the question itself."""
    for verdict in result.trace:
        if verdict.included and not verdict.source.startswith(("editor:", "outline:", "input")):
            yield verdict


def session_of(sample: str) -> WorkingMemory:
    """A session in which the end of every chapter was just written, the last chapters last."""
    session = EMPTY_WORKING_MEMORY
    for document in manuscript(sample).documents:
        for sentence in sorted(sentences(document.text), key=document.text.find)[-2:]:
            offset = document.text.find(sentence) + len(sentence)
            session = session.with_edit(document.id, offset, sentence)
    return session


def viewpoints(sample: str) -> Iterator[tuple[Document, int, str]]:
    """Every cursor at which a prompt is checked, and whose knowledge it may hold."""
    for document in manuscript(sample).documents:
        length = len(document.text)
        for cursor in (0, length // 5, length // 2, 4 * length // 5, length):
            for viewer in ("reader", *people(sample)):
                yield document, cursor, viewer


def walk(project: ProjectHandle, sample: str) -> set[str]:
    """Assemble prompts through the whole story, check each, and return the kinds of sources in each layer."""
    kinds: set[str] = set()
    for document, cursor, viewer in viewpoints(sample):
        hidden, here = later_sentences(sample, document, cursor), Position(document.id, cursor)
        knows = viewer == KEEPER[sample] or oracle(sample).behind(revealed(sample), here)
        is_reader = viewer == "reader"
        for recipe, skill in (("novel", "continue"), ("chat", "chat")):
            request = project.request(
                document_id=document.id,
                cursor=cursor,
                window=32_000,
                recipe=recipe,
                skill_id=skill,
                conversation_id="desk",
                additional_input=QUESTIONS[sample],
                perspective=Perspective.READER if is_reader else Perspective.CHARACTER,
                character=None if is_reader else viewer,
            )
            for verdict in prompt_fragments(project.assemble(request, working_memory=session_of(sample))):
                source, text = verdict.source, verdict.text
                leak = sentences(text) & hidden
                assert not leak, f"{source} at {document.id}:{cursor} through {viewer} tells {sorted(leak)[0]!r}"
                secret = None if knows else SECRETS[sample].search(text)
                assert not secret, f"{source} at {document.id}:{cursor} through {viewer} tells {secret and secret[0]!r}"
                kinds.add(f"{source.partition(':')[0]} in {verdict.layer}")
    return kinds


@pytest.mark.parametrize("sample", sample_names())
def test_no_prompt_of_a_folder_holds_what_comes_later(sample: str) -> None:
    assert walk(open_read_only(f"sample:{sample}"), sample) >= KINDS


@pytest.mark.parametrize("sample", sample_names())
def test_no_prompt_of_a_stored_project_holds_what_comes_later(store: Store, sample: str) -> None:
    view = read_view(f"sample:{sample}")
    assert view is not None
    ident = copy_view(store, view, project_id=view.project.id)
    with Workspace(store) as workspace:
        assert walk(workspace.project(ident), sample) >= KINDS


def test_fragments_of_the_last_chapter_are_not_carried_over_to_the_first() -> None:
    project = open_read_only("sample:lantern_coast")
    last = project.request(document_id="ch-07", additional_input=QUESTIONS["lantern_coast"], window=32_000)
    project.report_answer(project.assemble(last).assembly_id)
    first = project.request(document_id="ch-01", cursor=900, additional_input=QUESTIONS["lantern_coast"], window=32_000)
    result = project.assemble(first)
    hidden = later_sentences("lantern_coast", manuscript("lantern_coast").by_id["ch-01"], 900)
    assert not [verdict.source for verdict in prompt_fragments(result) if sentences(verdict.text) & hidden]


@pytest.mark.parametrize("sample", sample_names())
def test_going_back_each_chapter_gets_the_prompt_it_would_get_alone(sample: str) -> None:
    project = open_read_only(f"sample:{sample}")
    for document in reversed(manuscript(sample).documents):
        request = project.request(document_id=document.id, additional_input=QUESTIONS[sample], window=8_000)
        result = project.assemble(request)
        assert result.prompt == open_read_only(f"sample:{sample}").assemble(request).prompt
        project.report_answer(result.assembly_id)


@pytest.fixture
def harbour(store: Store) -> Workspace:
    """A story in which chapter 3 reveals that the Tidekeeper is Ansel, whose brother is Orrin; only Mara knows it."""
    projects.create(store, "The Harbour", project_id="harbour")
    with store.write(project="harbour") as tx:
        for name in ("mara", "bo"):
            codex.create(tx, Entry(id=name, type="character", name=name.title()))
        for name in ("mara", "bo"):
            save_participant(tx, Participant(id=f"pawn:{name}", name=name.title()))
        codex.create(tx, Entry(id="rock", type="location", name="Gull Rock", description="White with salt."))
        codex.create(tx, Entry(id="orrin", type="character", name="Orrin", description="A rope maker."))
        for number, text in enumerate(
            ("The Tidekeeper rowed out.", "It rained.", "The Tidekeeper showed his face at Gull Rock.")
        ):
            only = ["mara"] if number == 2 else None
            title = f"Chapter{' of Hoods' if only else ''} {number + 1}"
            documents.add(tx, title, text=text + " ", document_id=f"ch-{number + 1}", known_to=only)
        outline.add_beat(tx, "ch-3", "He shows the astrolabe.")
        ansel = Entry(
            id="ansel",
            type="character",
            name="Ansel",
            description="A miller.",
            relations=(Relation("orrin", "brother"),),
            progressions=(Progression("He is the Tidekeeper.", Position("ch-3", 10), aliases=("Tidekeeper",)),),
        )
        codex.create(tx, ansel)
    return Workspace(store)


def sources(result: Result) -> set[str]:
    """The sources of what a prompt holds."""
    return {verdict.source for verdict in result.trace if verdict.included}


HIDDEN = {"codex:entity:ansel", "codex:entity:orrin"}


def test_entries_that_a_later_name_brought_in_are_not_held_over_to_an_earlier_place(harbour: Workspace) -> None:
    project = harbour.project("harbour")
    last = project.assemble(project.request(document_id="ch-3", character="mara"))
    assert sources(last) >= HIDDEN
    project.report_answer(last.assembly_id)
    for document, cursor in (("ch-1", None), ("ch-2", None), ("ch-3", 8)):
        request = project.request(document_id=document, cursor=cursor, character="mara")
        assert not sources(project.assemble(request)) & HIDDEN, document


@pytest.mark.parametrize("rules", ["exact", "fabula"])
def test_lore_that_a_later_chapter_brought_in_is_not_held_over_to_an_earlier_place(
    harbour: Workspace, rules: RuleSet
) -> None:
    entries = {"0": {"uid": 0, "key": ["showed his face"], "content": "Hoods are forbidden there.", "sticky": 9}}
    with harbour.store.write(project="harbour") as tx:
        save_lorebook(tx, Lorebook(id="lore", name="Lore", book={"entries": entries}, rules=rules))
    project = harbour.project("harbour")
    last = project.assemble(project.request(document_id="ch-3", character="mara"))
    assert "Hoods are forbidden" in last.prompt
    project.report_answer(last.assembly_id)
    for document, cursor in (("ch-1", None), ("ch-2", None), ("ch-3", 8)):
        request = project.request(document_id=document, cursor=cursor, character="mara")
        assert "Hoods are forbidden" not in project.assemble(request).prompt, document


def test_what_an_earlier_chapter_brought_in_stays_in_the_next_one(harbour: Workspace) -> None:
    project = harbour.project("harbour")
    with harbour.store.write(project="harbour") as tx:
        documents.add(tx, "Chapter 4", text="It rained again.", document_id="ch-4")
    project.report_answer(project.assemble(project.request(document_id="ch-3", character="mara")).assembly_id)
    assert "codex:entity:ansel" in sources(project.assemble(project.request(document_id="ch-4", character="mara")))


def test_a_name_that_is_revealed_later_does_not_lead_the_search(harbour: Workspace) -> None:
    project = harbour.project("harbour")
    with harbour.store.write(project="harbour") as tx:
        documents.add(
            tx, "Before", text="Ansel ground the corn.", document_id="ch-0", index=0, known_to=["mara", "reader"]
        )
    early = project.assemble(project.request(document_id="ch-1"))
    late = project.assemble(project.request(document_id="ch-3", character="mara"))
    assert not any(source.startswith("search:ch-0") for source in sources(early))
    assert any(source.startswith("search:ch-0") for source in sources(late))


@pytest.mark.parametrize("perspective", [None, "author"])
def test_a_speaker_is_told_nothing_of_a_chapter_it_does_not_know(harbour: Workspace, perspective: str | None) -> None:
    project = harbour.project("harbour")
    project.skills.add(
        "stage",
        'works_on = ["cursor"]\nanswer = "insert"\nrecipe = "chat"\n'
        + (f'eyes = "{perspective}"\n' if perspective else "")
        + '[template]\nen = "{{ title }}: {{ beat }} {{ selection }} ({{ chapter }}, {{ pov }})"\nzh = "{{ title }}"\n',
    )
    told = {}
    for speaker in ("mara", "bo"):
        request = project.request(
            document_id="ch-3", skill_id="stage", recipe="chat", speaker_id=speaker, selection=(15, 30)
        )
        told[speaker] = project.assemble(request).prompt
    for word in ("Hoods", "astrolabe", "showed his face", "White with salt"):
        assert (word in told["mara"], word in told["bo"]) == (True, False), word
