"""Entries limited to a part of the story or to some characters never leak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.context import NO_CONTINUITY, Engine, Project, Reason, Request, View
from fabula.context.trace import Verdict
from fabula.core.story import Perspective
from fabula.lorebook.model import LorebookSettings
from fabula.lorebook.snapshot import ActiveLorebook, Lorebooks, decode_timed_effects
from fabula.manuscript.model import Document, Manuscript
from fabula.workspace.sources import all_sources
from tests.lorebook.books import constant_entry, keyed_entry, make_book

P = "coast"
RULES = ("exact", "fabula")
CHAPTERS = ("ch-1", "ch-2", "ch-3")


def limit_entry(entry: dict[str, Any], **story: Any) -> dict[str, Any]:
    """An entry with terms; from the second chapter on unless something else is said."""
    return {**entry, "story": story or {"since": "ch-2"}}


def make_view(*entries: dict[str, Any], rules: str = "exact", text: str = "Mara came.", **wishes: Any) -> View:
    """Three chapters that say the same, and a book."""
    manuscript = Manuscript(tuple(Document(name, name, text) for name in CHAPTERS))
    asked = LorebookSettings(**{"recursive": True, "budget": 100, **wishes})
    lorebooks = Lorebooks(
        P, [ActiveLorebook(id="b", name="B", rules=rules, parsed=make_book(*entries, name="b"), settings=asked)]
    )
    return View(Project(id=P), manuscript.timeline(), {Manuscript: manuscript, Lorebooks: lorebooks})


def list_texts(view: View, chapter: str, **wishes: Any) -> list[str]:
    """The texts of entries in the prompt at the end of a chapter."""
    request = Request(project_id=P, document_id=chapter, window=8192, **wishes)
    prompt = Engine(all_sources()).assemble(request, view).prompt
    return sorted(word for word in prompt.split() if word.startswith("E") and word[1:].isdigit())


def list_verdicts(view: View, chapter: str, **wishes: Any) -> dict[str, Verdict]:
    """What became of each entry."""
    request = Request(project_id=P, document_id=chapter, window=8192, **wishes)
    trace = Engine(all_sources()).inspect(request, view, continuity=NO_CONTINUITY).trace
    return {verdict.source.removeprefix("lorebook:b."): verdict for verdict in trace if "lorebook:" in verdict.source}


@pytest.mark.parametrize("rules", RULES)
def test_an_entry_is_told_from_its_chapter_on_and_up_to_another(rules: str) -> None:
    one = make_view(
        limit_entry(keyed_entry("Mara")),
        limit_entry(constant_entry(), since="ch-2", until="ch-3"),
        constant_entry(),
        rules=rules,
    )
    assert [list_texts(one, chapter) for chapter in CHAPTERS] == [["E2"], ["E0", "E1", "E2"], ["E0", "E2"]]
    assert [list_verdicts(one, chapter)["1"].reason for chapter in CHAPTERS] == [
        Reason.NOT_YET,
        Reason.KEPT,
        Reason.NO_LONGER,
    ]


@pytest.mark.parametrize("rules", RULES)
def test_what_may_not_be_told_wakes_nobody(rules: str) -> None:
    one = make_view(limit_entry(keyed_entry("Mara", content="E0 secret")), keyed_entry("secret"), rules=rules)
    assert [list_texts(one, chapter) for chapter in CHAPTERS[:2]] == [[], ["E0", "E1"]]


@pytest.mark.parametrize("rules", RULES)
def test_what_may_not_be_told_takes_no_place_in_a_group_and_no_budget(rules: str) -> None:
    rivals = (limit_entry(keyed_entry("Mara", group="g", groupOverride=True, order=9)), keyed_entry("Mara", group="g"))
    assert [list_texts(make_view(*rivals, rules=rules), chapter) for chapter in CHAPTERS[:2]] == [["E1"], ["E0"]]
    large = limit_entry(constant_entry(content="E0" + " long" * 3000, order=9))
    assert list_texts(make_view(large, constant_entry(), rules=rules, budget_cap=100), "ch-1") == ["E1"]


@pytest.mark.parametrize("rules", RULES)
def test_by_hand_it_does_not_come_in_either_and_sticky_ones_do_not_outlast_a_step_back(rules: str) -> None:
    one = make_view(limit_entry(keyed_entry("Mara", sticky=9, comment="Secret")), rules=rules)
    assert list_texts(one, "ch-1", include=("Secret",)) == []
    request = Request(project_id=P, document_id="ch-2", window=8192)
    left = Engine(all_sources()).assemble(request, one).continuity
    assert decode_timed_effects(left.source_state["lorebook"]).sticky
    back = replace(request, document_id="ch-1")
    assert "E0" not in Engine(all_sources()).assemble(back, one, continuity=left).prompt


@pytest.mark.parametrize("rules", RULES)
def test_who_knows_it_is_told_and_nobody_else(rules: str) -> None:
    one = make_view(
        limit_entry(constant_entry(), knownTo=["mara"]), limit_entry(constant_entry(), knownTo=["reader"]), rules=rules
    )
    assert list_texts(one, "ch-1") == ["E1"]
    assert list_texts(one, "ch-1", character="mara") == ["E0"]
    assert list_verdicts(one, "ch-1", character="tom")["0"].reason is Reason.NOT_KNOWN


@pytest.mark.parametrize("rules", RULES)
def test_the_author_is_told_and_warned(rules: str) -> None:
    one = make_view(limit_entry(constant_entry()), rules=rules)
    assert list_texts(one, "ch-1", perspective=Perspective.AUTHOR) == ["E0"]
    assert list_verdicts(one, "ch-1", perspective=Perspective.AUTHOR)["0"].reason is Reason.NOT_REVEALED


def test_a_chapter_that_is_gone_is_never_reached() -> None:
    one = make_view(limit_entry(constant_entry(), since="gone"), constant_entry())
    assert list_texts(one, "ch-3") == ["E1"]


_some = st.lists(st.sampled_from(["Mara", "king", "gate", "E"]), max_size=2)
_stories = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "since": st.sampled_from(CHAPTERS),
            "until": st.sampled_from(CHAPTERS),
            "knownTo": st.lists(st.sampled_from(["mara", "reader"]), max_size=2),
        },
    ),
)
_entries = st.lists(
    st.fixed_dictionaries(
        {"key": _some, "story": _stories},
        optional={
            "constant": st.booleans(),
            "group": st.sampled_from(["g", "h"]),
            "sticky": st.integers(0, 3),
            "delayUntilRecursion": st.integers(0, 2),
            "position": st.sampled_from([0, 4]),
        },
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(entries=_entries, rules=st.sampled_from(RULES), character=st.sampled_from([None, "mara"]))
def test_the_answer_is_that_of_the_book_without_what_may_not_be_told(
    entries: list[dict[str, Any]], rules: str, character: str | None
) -> None:
    for number, chapter in enumerate(CHAPTERS):
        rows = [{**entry, "uid": uid, "content": f"E{uid} king gate"} for uid, entry in enumerate(entries)]
        allowed = [row for row in rows if _allowed(row["story"], number, character or "reader")]
        bare = [{**row, "story": None} for row in allowed]
        wishes: dict[str, Any] = {"character": character}
        assert list_texts(make_view(*rows, rules=rules), chapter, **wishes) == list_texts(
            make_view(*bare, rules=rules), chapter, **wishes
        )


def _allowed(story: dict[str, Any] | None, chapter: int, who: str) -> bool:
    known: Sequence[str] | None = (story or {}).get("knownTo")
    since, until = ((story or {}).get(name) for name in ("since", "until"))
    return (
        (known is None or who in known)
        and (since is None or CHAPTERS.index(since) <= chapter)
        and (until is None or CHAPTERS.index(until) > chapter)
    )
