"""Entries that may be told from some chapter on, or to some characters: never before, by no path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.context import NOTHING, Engine, Project, Reason, Request, View
from fabula.context.trace import Verdict
from fabula.core.story import Eyes
from fabula.lorebook.books import Lorebooks, Shelved, timed_of
from fabula.lorebook.model import Settings
from fabula.manuscript.model import Document, Manuscript
from fabula.workspace.project import all_sources
from tests.lorebook.books import book, constant, keyed

P = "coast"
RULES = ("exact", "fabula")
CHAPTERS = ("ch-1", "ch-2", "ch-3")


def later(entry: dict[str, Any], **story: Any) -> dict[str, Any]:
    """An entry with terms; from the second chapter on unless something else is said."""
    return {**entry, "story": story or {"since": "ch-2"}}


def view(*entries: dict[str, Any], rules: str = "exact", text: str = "Mara came.", **wishes: Any) -> View:
    """Three chapters that say the same, and a book."""
    manuscript = Manuscript(tuple(Document(name, name, text) for name in CHAPTERS))
    asked = Settings(**{"recursive": True, "budget": 100, **wishes})
    shelf = Lorebooks(P, [Shelved(id="b", name="B", rules=rules, book=book(*entries, name="b"), settings=asked)])
    return View(Project(id=P), manuscript.timeline(), {Manuscript: manuscript, Lorebooks: shelf})


def told(view: View, chapter: str, **wishes: Any) -> list[str]:
    """The texts of entries in the prompt at the end of a chapter."""
    request = Request(project_id=P, document_id=chapter, window=8192, **wishes)
    prompt = Engine(all_sources()).assemble(request, view).prompt
    return sorted(word for word in prompt.split() if word.startswith("E") and word[1:].isdigit())


def verdicts(view: View, chapter: str, **wishes: Any) -> dict[str, Verdict]:
    """What became of each entry."""
    request = Request(project_id=P, document_id=chapter, window=8192, **wishes)
    trace = Engine(all_sources()).inspect(request, view, continuity=NOTHING).trace
    return {verdict.source.removeprefix("lorebook:b."): verdict for verdict in trace if "lorebook:" in verdict.source}


@pytest.mark.parametrize("rules", RULES)
def test_an_entry_is_told_from_its_chapter_on_and_up_to_another(rules: str) -> None:
    one = view(later(keyed("Mara")), later(constant(), since="ch-2", until="ch-3"), constant(), rules=rules)
    assert [told(one, chapter) for chapter in CHAPTERS] == [["E2"], ["E0", "E1", "E2"], ["E0", "E2"]]
    assert [verdicts(one, chapter)["1"].reason for chapter in CHAPTERS] == [
        Reason.NOT_YET,
        Reason.KEPT,
        Reason.NO_LONGER,
    ]


@pytest.mark.parametrize("rules", RULES)
def test_what_may_not_be_told_wakes_nobody(rules: str) -> None:
    one = view(later(keyed("Mara", content="E0 secret")), keyed("secret"), rules=rules)
    assert [told(one, chapter) for chapter in CHAPTERS[:2]] == [[], ["E0", "E1"]]


@pytest.mark.parametrize("rules", RULES)
def test_what_may_not_be_told_takes_no_place_in_a_group_and_no_budget(rules: str) -> None:
    rivals = (later(keyed("Mara", group="g", groupOverride=True, order=9)), keyed("Mara", group="g"))
    assert [told(view(*rivals, rules=rules), chapter) for chapter in CHAPTERS[:2]] == [["E1"], ["E0"]]
    large = later(constant(content="E0" + " long" * 3000, order=9))
    assert told(view(large, constant(), rules=rules, budget_cap=100), "ch-1") == ["E1"]


@pytest.mark.parametrize("rules", RULES)
def test_by_hand_it_does_not_come_in_either_and_sticky_ones_do_not_outlast_a_step_back(rules: str) -> None:
    one = view(later(keyed("Mara", sticky=9, comment="Secret")), rules=rules)
    assert told(one, "ch-1", include=("Secret",)) == []
    request = Request(project_id=P, document_id="ch-2", window=8192)
    left = Engine(all_sources()).assemble(request, one).continuity
    assert timed_of(left.left["lorebook"]).sticky
    back = replace(request, document_id="ch-1")
    assert "E0" not in Engine(all_sources()).assemble(back, one, continuity=left).prompt


@pytest.mark.parametrize("rules", RULES)
def test_who_knows_it_is_told_and_nobody_else(rules: str) -> None:
    one = view(later(constant(), knownTo=["mara"]), later(constant(), knownTo=["reader"]), rules=rules)
    assert told(one, "ch-1") == ["E1"]
    assert told(one, "ch-1", character="mara") == ["E0"]
    assert verdicts(one, "ch-1", character="tom")["0"].reason is Reason.NOT_KNOWN


@pytest.mark.parametrize("rules", RULES)
def test_the_author_is_told_and_warned(rules: str) -> None:
    one = view(later(constant()), rules=rules)
    assert told(one, "ch-1", eyes=Eyes.AUTHOR) == ["E0"]
    assert verdicts(one, "ch-1", eyes=Eyes.AUTHOR)["0"].reason is Reason.NOT_REVEALED


def test_a_chapter_that_is_gone_is_never_reached() -> None:
    one = view(later(constant(), since="gone"), constant())
    assert told(one, "ch-3") == ["E1"]


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
        assert told(view(*rows, rules=rules), chapter, **wishes) == told(view(*bare, rules=rules), chapter, **wishes)


def _allowed(story: dict[str, Any] | None, chapter: int, who: str) -> bool:
    known: Sequence[str] | None = (story or {}).get("knownTo")
    since, until = ((story or {}).get(name) for name in ("since", "until"))
    return (
        (known is None or who in known)
        and (since is None or CHAPTERS.index(since) <= chapter)
        and (until is None or CHAPTERS.index(until) > chapter)
    )
