"""No prompt leaks what comes later in the story: every chapter of both samples, through every source (ctx-12).

The test walks through each sample story, from a folder and from a store, with several cursors in each chapter and
several vantages. No fragment may contain a sentence of later text, nor the story's secret in other words. Only what
the editor shows anyway is allowed: the chapter's own text around the cursor, its title and its beats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from fabula.context import Layer, Perspective, Position, Result
from fabula.manuscript.model import Document
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only, read_view, sample_names
from fabula.workspace.views import copy_view
from fabula.workspace.workspace import Workspace
from tests.workspace.test_samples import KEEPER, SECRETS, manuscript, oracle, people, revealed

QUESTIONS = {
    "lantern_coast": "Who put out the lamp at Harrow, and why? What was in the log and the clock case?",
    "wugang": "是谁灭了灯塔的灯？守礁人到底是谁，林晚死了没有？",
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


def prompt_fragments(result: Result) -> Iterator[tuple[str, str]]:
    """The sources and texts of a prompt, without the immediate layer, which the editor shows anyway."""
    for verdict in result.trace:
        if verdict.included and verdict.layer is not Layer.IMMEDIATE:
            yield verdict.source, verdict.text


def viewpoints(sample: str) -> Iterator[tuple[Document, int, str]]:
    """Every cursor at which a prompt is checked, and whose knowledge it may hold."""
    for document in manuscript(sample).documents:
        length = len(document.text)
        for cursor in (0, length // 5, length // 2, 4 * length // 5, length):
            for viewer in ("reader", *people(sample)):
                yield document, cursor, viewer


def walk(project: ProjectHandle, sample: str) -> set[str]:
    """Assemble prompts through the whole story, check each, and return the kinds of sources that contributed."""
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
            for source, text in prompt_fragments(project.assemble(request)):
                leak = sentences(text) & hidden
                assert not leak, f"{source} at {document.id}:{cursor} through {viewer} tells {sorted(leak)[0]!r}"
                secret = None if knows else SECRETS[sample].search(text)
                assert not secret, f"{source} at {document.id}:{cursor} through {viewer} tells {secret and secret[0]!r}"
                kinds.add(source.partition(":")[0])
    return kinds


@pytest.mark.parametrize("sample", sample_names())
def test_no_prompt_of_a_folder_holds_what_comes_later(sample: str) -> None:
    assert {"search", "codex", "synopsis", "memory"} <= walk(open_read_only(f"sample:{sample}"), sample)


@pytest.mark.parametrize("sample", sample_names())
def test_no_prompt_of_a_stored_project_holds_what_comes_later(store: Store, sample: str) -> None:
    view = read_view(f"sample:{sample}")
    assert view is not None
    ident = copy_view(store, view, project_id=view.project.id)
    with Workspace(store) as workspace:
        assert {"search", "codex", "synopsis", "memory"} <= walk(workspace.project(ident), sample)


def test_fragments_of_the_last_chapter_are_not_carried_over_to_the_first() -> None:
    project = open_read_only("sample:lantern_coast")
    last = project.request(document_id="ch-07", additional_input=QUESTIONS["lantern_coast"], window=32_000)
    project.report_answer(project.assemble(last).assembly_id)
    first = project.request(document_id="ch-01", cursor=900, additional_input=QUESTIONS["lantern_coast"], window=32_000)
    result = project.assemble(first)
    hidden = later_sentences("lantern_coast", manuscript("lantern_coast").by_id["ch-01"], 900)
    assert not [source for source, text in prompt_fragments(result) if sentences(text) & hidden]
