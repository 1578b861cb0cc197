"""Our own terms in other programs' books: in an extension, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.codex.validation import checked
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.formats.lore.read_write import DIALECTS, add, as_world_info, drop, parse, patch
from fabula.formats.lore.to_codex import codex_entries, lost_as_entries
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import Story
from tests.formats.lore.files import ENTRY, V3, same

BOOKS: dict[str, dict[str, Any]] = {
    "sillytavern": {"entries": {"4": {"uid": 4, "key": ["Mara"], "content": "x", "z": 1}, "5": {"uid": 5}}},
    "character_book": {"entries": [{**ENTRY, "id": 4}], "extensions": {}},
    "lorebook_v3": {"spec": "lorebook_v3", "data": {"entries": [{**ENTRY, "id": 4}]}},
    "card": V3,
    "risu": {"type": "risu", "ver": 1, "data": [{"key": "Mara", "content": "x", "insertorder": 1}]},
    "novelai": {"lorebookVersion": 5, "entries": [{"text": "x", "keys": ["Mara"], "id": "a"}]},
    "agnai": {"kind": "memory", "name": "b", "entries": [{"keywords": ["Mara"], "entry": "x", "weight": 1}]},
}
STORY = Story(since="ch-2", until="ch-9", known_to=("mara",))


def kept(name: str) -> Lorebook:
    return Lorebook(id="b", name="b", format=name, book=BOOKS[name])


def test_every_format_is_tried() -> None:
    assert set(BOOKS) == {dialect.name for dialect in DIALECTS}


@pytest.mark.parametrize("name", BOOKS)
def test_terms_are_kept_read_and_taken_away_without_a_trace(name: str) -> None:
    book = kept(name)
    uid = parse(book).book.entries[0].uid
    told = patch(book, uid, story=STORY)
    assert parse(told).book.entries[0].story == STORY
    assert same(patch(told, uid, story=Story()).book, book.book)
    assert same(patch(told, uid, story=None).book, book.book)
    world, _ = as_world_info(told)
    row = next(iter(world.book["entries"].values()))
    assert same(row["extensions"]["fabula"]["story"], {"since": "ch-2", "until": "ch-9", "knownTo": ["mara"]})
    assert "story" not in row


@pytest.mark.parametrize("name", BOOKS)
def test_entries_are_added_and_taken_out_and_the_rest_stays(name: str) -> None:
    book = kept(name)
    made, uid = add(book, key=["Tom"], content="Tom rows.", order=3)
    found = parse(made).book.entries
    assert (found[-1].uid, found[-1].key, found[-1].content, found[-1].order) == (uid, ("Tom",), "Tom rows.", 3)
    assert len(found) == len(parse(book).book.entries) + 1
    assert same(drop(made, uid).book, book.book)
    for broken in (lambda: add(book, colour="red"), lambda: drop(book, 99), lambda: add(book, order="much")):
        with pytest.raises(FabulaError) as refusal:
            broken()
        assert refusal.value.code is Code.LOREBOOK_INVALID


@pytest.mark.parametrize("odd", [3, "x", {"since": 3}, {"knownTo": "mara"}, {"from": "ch-2"}])
def test_terms_of_the_wrong_kind_are_refused_by_name(odd: object) -> None:
    row = {"uid": 0, "extensions": {"fabula": {"story": odd}}}
    with pytest.raises(FabulaError, match=r"extensions\.fabula\.story") as refusal:
        parse(Lorebook(name="b", format="sillytavern", book={"entries": {"0": row}}))
    assert refusal.value.code is Code.LOREBOOK_INVALID


@pytest.mark.parametrize("theirs", [3, [], "x", {"fabula": 3}, {"other": {"story": 1}}, None])
def test_what_others_keep_in_extensions_is_none_of_our_business(theirs: object) -> None:
    row = {"uid": 0, "extensions": theirs}
    book = Lorebook(name="b", format="sillytavern", book={"entries": {"0": row}})
    assert parse(book).book.entries[0].story is None
    if theirs and not isinstance(theirs, dict):
        with pytest.raises(FabulaError, match="no object"):
            patch(book, 0, story=STORY)


def test_terms_go_along_into_the_codex() -> None:
    (made, *_) = codex_entries(patch(kept("sillytavern"), 4, story=STORY, caseSensitive=True))
    assert (made.since, made.known_to, made.rules.case) == (Position("ch-2"), frozenset({"mara"}), "exact")
    assert checked(made) == made
    assert any("an end in the story" in line for line in lost_as_entries(patch(kept("sillytavern"), 4, story=STORY)))
