"""Who is meant where a name belongs to several."""

from __future__ import annotations

from fabula.text.names.disambiguation import Mention, resolve_mentions
from fabula.text.names.matcher import NameMatcher

NAMES = {"tom": ["Tom Bright", "the Captain"], "ann": ["Ann Lowe", "the Captain"], "sue": ["Sue"]}


def owners(text: str) -> list[tuple[str, ...]]:
    return [mention.owners for mention in resolve_mentions(NameMatcher(NAMES).find(text))]


def test_a_name_of_one_person_means_that_person() -> None:
    (mention,) = resolve_mentions(NameMatcher(NAMES).find("Sue came."))
    assert mention == Mention("Sue", 0, 3, ("sue",))
    assert mention.is_certain


def test_of_several_whoever_was_named_last_comes_first() -> None:
    assert owners("Tom Bright met Ann Lowe. the Captain laughed.")[-1] == ("ann", "tom")
    assert owners("Ann Lowe met Tom Bright. the Captain laughed.")[-1] == ("tom", "ann")


def test_somebody_not_named_yet_comes_after_those_who_were() -> None:
    assert owners("Tom Bright slept. the Captain, Ann Lowe, did not.")[1] == ("tom", "ann")


def test_before_anybody_was_named_whoever_is_named_first_comes_first() -> None:
    assert owners("the Captain spoke. Ann Lowe and Tom Bright listened.")[0] == ("ann", "tom")
