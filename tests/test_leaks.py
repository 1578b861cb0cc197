"""Zero leaks: every chapter of both sample stories, several cursors in each, folder and store, through every source.

Nothing that stands later in the story than the cursor is in any fragment, whoever offers it: not a sentence of later
text, not the secret in other words. Allowed is only what the desk shows anyway: the chapter's own text before the
cursor, a little after it, and its own title and beats. The oracle is the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from fabula.context import Eyes, Layer, Position, Result
from fabula.manuscript.model import Document
from fabula.store.store import Store
from fabula.workspace.project import Fabula, read_only, sample_names
from fabula.workspace.views import Library, copy_in
from tests.workspace.test_samples import KEEPER, SECRETS, manuscript, oracle, people, revealed

ASKED = {
    "lantern_coast": "Who put out the lamp at Harrow, and why? What was in the log and the clock case?",
    "wugang": "是谁灭了灯塔的灯？守礁人到底是谁，林晚死了没有？",
}


@cache
def sentences(text: str) -> frozenset[str]:
    """Sentences long enough to be told from one another."""
    return frozenset(s.strip() for s in re.split(r"(?<=[.!?。！？])|\n", text) if len(s.strip()) >= 20)


def later(sample: str, document: Document, cursor: int) -> set[str]:
    """Every sentence that stands only in what is not behind the cursor, read and happened."""
    behind: set[str] = set()
    ahead: set[str] = set()
    for other in manuscript(sample).documents:
        if other.id == document.id:
            behind |= sentences(other.text[:cursor])
            ahead |= sentences(other.text[cursor:])
        elif oracle(sample).behind(Position(other.id), Position(document.id)):
            behind |= sentences(other.text)
        else:
            ahead |= sentences(other.text)
    return ahead - behind


def told(result: Result) -> Iterator[tuple[str, str]]:
    """What is in the prompt, except what the desk shows: the text around the cursor and the talk of this hour."""
    for verdict in result.trace:
        if verdict.included and verdict.layer is not Layer.IMMEDIATE:
            yield verdict.source, verdict.text


def stops(sample: str) -> Iterator[tuple[Document, int, str]]:
    for document in manuscript(sample).documents:
        length = len(document.text)
        for cursor in (0, length // 5, length // 2, 4 * length // 5, length):
            for eyes in ("reader", *people(sample)):
                yield document, cursor, eyes


def walk(house: Fabula, sample: str) -> set[str]:
    """Go through the whole story; the kinds of things that were told on the way."""
    kinds: set[str] = set()
    for document, cursor, eyes in stops(sample):
        hidden, here = later(sample, document, cursor), Position(document.id, cursor)
        knows = eyes == KEEPER[sample] or oracle(sample).behind(revealed(sample), here)
        through = {"eyes": Eyes.READER} if eyes == "reader" else {"eyes": Eyes.CHARACTER, "character": eyes}
        for recipe, skill in (("novel", "continue"), ("chat", "chat")):
            request = house.request(
                document_id=document.id,
                cursor=cursor,
                window=32_000,
                recipe=recipe,
                skill_id=skill,
                conversation_id="desk",
                additional_input=ASKED[sample],
                **through,
            )
            for source, text in told(house.assemble(request)):
                leak = sentences(text) & hidden
                assert not leak, f"{source} at {document.id}:{cursor} through {eyes} tells {sorted(leak)[0]!r}"
                secret = None if knows else SECRETS[sample].search(text)
                assert not secret, f"{source} at {document.id}:{cursor} through {eyes} tells {secret and secret[0]!r}"
                kinds.add(source.partition(":")[0])
    return kinds


@pytest.mark.parametrize("sample", sample_names())
def test_nothing_that_comes_later_is_told_from_a_folder(sample: str) -> None:
    assert {"search", "codex", "synopsis", "memory"} <= walk(Fabula.open(f"sample:{sample}"), sample)


@pytest.mark.parametrize("sample", sample_names())
def test_nothing_that_comes_later_is_told_from_a_store(store: Store, sample: str) -> None:
    view = read_only(f"sample:{sample}")
    assert view is not None
    ident = copy_in(store, view, project_id=view.project.id)
    assert {"search", "codex", "synopsis", "memory"} <= walk(Fabula.open(ident, library=Library(store)), sample)


def test_what_is_told_at_the_end_is_not_held_over_to_the_beginning() -> None:
    house = Fabula.open("sample:lantern_coast")
    last = house.request(document_id="ch-07", additional_input=ASKED["lantern_coast"], window=32_000)
    house.commit(last, house.assemble(last))
    first = house.request(document_id="ch-01", cursor=900, additional_input=ASKED["lantern_coast"], window=32_000)
    result = house.assemble(first)
    hidden = later("lantern_coast", manuscript("lantern_coast").by_id["ch-01"], 900)
    assert not [source for source, text in told(result) if sentences(text) & hidden]
