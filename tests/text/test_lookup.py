"""A thing is found by any unambiguous spelling of its names; everything else is refused with names (ppl-4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.text.lookup import find_by_name, find_matches, fold_name


class Named(Struct, frozen=True):
    """Something with an id, names and perhaps a number."""

    id: str
    names: tuple[str, ...]
    number: int | None = None


def find(things: list[Named], wanted: str) -> Named:
    return find_by_name(
        things,
        wanted,
        what=message("entry"),
        names_of=lambda thing: thing.names,
        number_of=lambda thing: thing.number,
        remark_of=lambda thing: "person",
    )


def refuse(things: list[Named], wanted: str) -> str:
    with pytest.raises(FabulaError) as refusal:
        find(things, wanted)
    assert refusal.value.code is Code.STORE_NOT_FOUND
    return str(refusal.value.message)


COUNT = [
    Named("e1", ("Edmond Dantès", "the Count"), 1),
    Named("e2", ("Mercédès Herrera", "Mercédès"), 2),
    Named("e3", ("Fernand Mondego", "the Count of Morcerf"), 3),
    Named("e4", ("孙悟空", "齐天大圣"), 4),
    Named("e5", ("Ｋａｒｌ", "Größe O’Hara"), 5),
    Named("e6", ("7",), 6),
    Named("e7", ("ガラス",), 7),
]


@pytest.mark.parametrize(
    ("wanted", "ident"),
    [
        ("e2", "e2"),
        ("Mercédès", "e2"),
        ("Mercedes", "e2"),
        ("MERCÉDÈS", "e2"),
        ("Merce\u0301de\u0300s", "e2"),
        ("mercedes her", "e2"),
        ("the count", "e1"),
        ("the count of", "e3"),
        ("edm", "e1"),
        ("齐天", "e4"),
        ("karl", "e5"),
        ("grosse o'hara", "e5"),
        ("3", "e3"),
        ("３", "e3"),
        ("7", "e6"),
        ("ｶﾞﾗｽ", "e7"),
        ("  edmond \u00a0dantes ", "e1"),
    ],
)
def test_a_thing_is_found_by_any_of_its_names_accents_and_case_optional(wanted: str, ident: str) -> None:
    assert find(COUNT, wanted).id == ident


def test_voiced_and_unvoiced_kana_are_different_names() -> None:
    assert fold_name("が") != fold_name("か")


@pytest.mark.parametrize("wanted", ["", "  ", "\u0301", "Danglars", "9", "9" * 5000, "x" * 100_000])
def test_a_miss_is_answered_with_the_three_nearest_names(wanted: str) -> None:
    said = refuse(COUNT, wanted)
    assert sum(name in said for thing in COUNT for name in thing.names[:1]) <= 3
    assert len(said) < 300
    assert all(thing.id not in said for thing in COUNT)


def test_strangers_are_not_among_the_nearest_and_no_name_comes_twice() -> None:
    people = [Named("1", ("曹操",)), Named("2", ("关公",)), Named("3", ("吕布",)), Named("4", ("玄德",))]
    assert "Did you mean 曹操?" in refuse(people, "曹草")
    assert "None has a name like it." in refuse(people, "xyzzy")
    assert "Did you mean Mara?" in refuse([Named("1", ("Mara",)), Named("2", ("Mara",))], "Marra")


def test_the_nearest_name_is_the_one_a_person_meant() -> None:
    assert "Did you mean Mercédès" in refuse(COUNT, "Mercdes")
    assert "Did you mean Fernand Mondego" in refuse(COUNT, "Mondgo")
    assert "There are none yet." in refuse([], "Mercedes")


def test_several_matches_are_refused_with_their_names_and_what_tells_them_apart() -> None:
    things = [*COUNT, Named("m1", ("Max",), 8), Named("m2", ("Max",), 9), Named("x", ("Maximilien",), 10)]
    assert "'max' may be more than one entry: Max (number 8, person), Max (number 9, person)." in refuse(things, "max")
    assert "Max (number 9, person), Maximilien." in refuse(things, "ma")
    assert find(things, "maxi").id == "x"


def test_hundreds_of_matches_are_not_all_listed() -> None:
    things = [Named(f"id-{n}", (f"Guard {n}",)) for n in range(300)]
    said = refuse(things, "guard")
    assert said.count("Guard") == 6
    assert "…" in said


def test_the_nearest_of_very_many_names_is_still_found() -> None:
    things = [Named(f"id-{n}", (f"Guard {n}", f"the {n}th man")) for n in range(1000)]
    assert "Did you mean Mercédès" in refuse([*things, *COUNT], "Mercdes")


def test_a_short_word_is_not_taken_for_the_beginning_of_an_id() -> None:
    things = [Named("bed81f00", ("Anna",)), Named("0001", ())]
    assert find(things, "bed8").id == "bed81f00"
    assert find(things, "00").id == "0001"  # it has no name to be found by
    refuse(things, "be")


_NAME = st.text("aAáÁbBéＡａ的天 '’", min_size=1, max_size=4).filter(lambda name: bool(fold_name(name)))


@st.composite
def collections(draw: st.DrawFn) -> list[Named]:
    names = draw(st.lists(st.lists(_NAME, min_size=1, max_size=3, unique=True), min_size=1, max_size=6))
    return [Named(f"entry-{n}", tuple(some), n + 1) for n, some in enumerate(names)]


def list_parts(name: str) -> set[str]:
    """All parts of a name of two characters or more that begin with a word; each Chinese character begins one."""
    starts = [at for at in range(len(name)) if at == 0 or not name[at - 1].isalnum() or not name[at].isascii()]
    return {name[start:end] for start in starts for end in range(start + 2, len(name) + 1)}


@given(collections(), _NAME)
def test_every_unambiguous_spelling_is_found_and_every_ambiguous_one_is_refused(
    things: list[Named], typed: str
) -> None:
    """The model: for each kind of spelling in turn, all things that have it; the first kind anything has decides."""
    spellings = {typed, *(name for thing in things for name in thing.names)}
    spellings |= {change(name) for name in spellings for change in (str.upper, str.lower, fold_name)}
    spellings |= {name[:2] for name in spellings} | {thing.id for thing in things} | {"1", "6"}
    for wanted in spellings:
        folded = fold_name(wanted)
        kinds = (
            {thing.id for thing in things if thing.id == wanted},
            {thing.id for thing in things if thing.names[0] == wanted},
            {thing.id for thing in things if wanted in thing.names},
            {thing.id for thing in things if folded in [fold_name(name) for name in thing.names]},
            {thing.id for thing in things if str(thing.number) == folded},
            {thing.id for thing in things if any(fold_name(name).startswith(folded) for name in thing.names)},
            {thing.id for thing in things if any(folded in list_parts(fold_name(name)) for name in thing.names)},
        )
        expected = next((kind for kind in kinds if kind), set()) if folded else set()
        if len(expected) == 1:
            assert {find(things, wanted).id} == expected
        else:
            said = refuse(things, wanted)
            assert ("may be more than one" in said) is bool(expected)
        matches = find_matches(things, wanted, names_of=lambda thing: thing.names, number_of=lambda thing: thing.number)
        assert {thing.id for thing in matches} == expected
