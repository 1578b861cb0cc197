"""Earlier chapters in short, with the terms of their chapter."""

from __future__ import annotations

import pytest

from fabula.context.trace import Reason
from fabula.core.fragments import Layer
from fabula.core.scale import SYNOPSIS
from fabula.manuscript.model import Document
from tests.manuscript.stories import ask, chapter, everything, reason, sources, story

BOOK = [chapter(n, f"Text of chapter {n}.", synopsis=f"Chapter {n} in a nutshell.") for n in range(1, 8)]


def test_the_last_three_synopses_are_told_in_the_order_of_the_story() -> None:
    result = ask(story(*BOOK), document_id="ch-6")
    assert sources(result, "synopsis:") == ["synopsis:ch-3", "synopsis:ch-4", "synopsis:ch-5"]
    assert [result.prompt.index(f"Chapter {n} in a nutshell.") for n in (3, 4, 5)] == sorted(
        result.prompt.index(f"Chapter {n} in a nutshell.") for n in (3, 4, 5)
    )
    assert all(verdict.layer is Layer.RETRIEVED for verdict in result.trace if verdict.source.startswith("synopsis:"))


def test_nearer_chapters_rank_higher_within_their_range() -> None:
    result = ask(story(*BOOK), document_id="ch-6")
    scores = [v.score for v in result.trace if v.source.startswith("synopsis:") and v.included]
    assert scores == sorted(scores)
    assert SYNOPSIS[0] <= min(scores)
    assert max(scores) == pytest.approx(SYNOPSIS[1])


@pytest.mark.parametrize("here", range(1, 8))
def test_the_synopsis_of_this_chapter_or_a_later_one_is_never_told(here: int) -> None:
    result = ask(story(*BOOK), document_id=f"ch-{here}")
    for number in range(here, 8):
        assert f"Chapter {number} in a nutshell." not in everything(result)
    for number in range(here + 1, 8):
        assert reason(result, f"synopsis:ch-{number}") is Reason.NOT_YET


def test_a_synopsis_told_before_is_not_told_when_the_writer_goes_back() -> None:
    fabula = story(*BOOK)
    later = fabula.request(document_id="ch-7")
    fabula.commit(later, fabula.assemble(later))
    result = ask(fabula, document_id="ch-5")
    assert sorted(sources(result, "synopsis:")) == ["synopsis:ch-2", "synopsis:ch-3", "synopsis:ch-4"]
    assert "Chapter 5 in" not in everything(result)
    assert "Chapter 6 in" not in everything(result)


def test_in_a_flashback_the_synopses_of_what_happens_later_stay_out() -> None:
    book = [*BOOK[:3], chapter(4, "Years before.", when=0.5, synopsis="The flashback in a nutshell."), *BOOK[4:]]
    assert sources(ask(story(*book), document_id="ch-4"), "synopsis:") == []
    assert "synopsis:ch-4" in sources(ask(story(*book), document_id="ch-5"), "synopsis:")


def test_chapters_without_a_synopsis_offer_none() -> None:
    result = ask(story(Document("a", "A", "One."), Document("b", "B", "Two.")))
    assert sources(result, "synopsis:") == []
