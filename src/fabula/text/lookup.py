"""Find a thing by what a person calls it: its id, name or title, alias, number, or the beginning of one (ppl-4).

The spellings are tried in this order, and the first that fits anything decides: the id, the name, another name, any
name whatever its case, accents and width, the number, the beginning of a name, a part of a name from the beginning of a
word on, and at last the beginning of an id. If that fits several things, all of them are refused by their names; if
nothing fits, the nearest names are given.

What changes who may do what is named by its whole name or id (`find_by_whole_name`): a part of a name may mean
somebody else when the change is sent twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TypeVar
from unicodedata import normalize

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_alternatives, join_names, message
from fabula.core.similar_names import find_similar_names

Thing = TypeVar("Thing")
MAX_NAMED = 3  # things that a miss is answered with
LISTED = 6  # names that a spelling with several meanings is answered with
MIN_ID_BEGINNING = 4  # characters, where things have names: a shorter word begins too many ids by chance
MIN_PART = 2  # characters of a part of a name
MAX_DIGITS = 9  # of a number that a thing can have
_ACCENTS = re.compile("[\u0300-\u036f]")
_PLAIN = str.maketrans({"’": "'", "‘": "'", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"})


def fold_name(name: str) -> str:
    """Return a name without what a person may leave out: case, accents, width, and how wide its blanks are."""
    if name.isascii():
        return " ".join(name.lower().split())
    decomposed = normalize("NFKD", normalize("NFKC", name).casefold())
    return " ".join(normalize("NFC", _ACCENTS.sub("", decomposed)).translate(_PLAIN).split())


def find_matches(
    things: Iterable[Thing],
    wanted: str,
    *,
    id_of: Callable[[Thing], str] = attrgetter("id"),
    names_of: Callable[[Thing], Sequence[str]] = lambda thing: (),
    number_of: Callable[[Thing], int | None] | None = None,
) -> list[Thing]:
    """Return all things that a spelling may mean: several where it is ambiguous, none where it means nothing.

    The first of `names_of` counts before the others. `number_of` is the number that a thing is shown with; by default
    things are numbered in order, as lists show them.
    """
    known, folded = list(things), fold_name(wanted)
    if not folded:
        return []
    if number_of is None:
        number_of = _number_in_order(known)
    number = int(folded) if folded.isdecimal() and len(folded) <= MAX_DIGITS else None
    fits: tuple[Callable[[Thing], bool], ...] = (
        lambda thing: id_of(thing) == wanted,
        lambda thing: wanted in names_of(thing)[:1],
        lambda thing: wanted in names_of(thing),
        lambda thing: folded in map(fold_name, names_of(thing)),
        lambda thing: number is not None and number_of(thing) == number,
        lambda thing: any(fold_name(name).startswith(folded) for name in names_of(thing)),
        lambda thing: fold_name(id_of(thing)) == folded,
        lambda thing: any(_is_part(folded, fold_name(name)) for name in names_of(thing)),
        lambda thing: (
            (len(folded) >= MIN_ID_BEGINNING or not names_of(thing)) and fold_name(id_of(thing)).startswith(folded)
        ),
    )
    return next((found for fit in fits if (found := [thing for thing in known if fit(thing)])), [])


def find_by_name(
    things: Iterable[Thing],
    wanted: str,
    *,
    what: Sentence,
    id_of: Callable[[Thing], str] = attrgetter("id"),
    names_of: Callable[[Thing], Sequence[str]] = lambda thing: (),
    number_of: Callable[[Thing], int | None] | None = None,
    remark_of: Callable[[Thing], Sentence | str] = lambda thing: "",
    full_name_of: Callable[[Thing], Sentence | str] = lambda thing: "",
    label_of: Callable[[Thing], Sentence | str] | None = None,
    code: Code = Code.STORE_NOT_FOUND,
    only_similar: bool = False,
    found: Sequence[Thing] = (),
) -> Thing:
    """Return the one thing that a spelling means; a miss is refused with the nearest names.

    `what` is the word for such a thing in the refusal. Two of the same name or number are told apart by `full_name_of`,
    else by the number or id of each and `remark_of`. With
    `label_of`, all things are listed by these words where none is similar. With `only_similar`, a miss names only
    things that are spelled almost like it. `found` are the things that it means, where other rules have decided that.
    A refusal of several has their ids as `candidates`, for programs.
    """
    known = list(things)
    number_of = number_of or _number_in_order(known)
    found = found or find_matches(known, wanted, id_of=id_of, names_of=names_of, number_of=number_of)
    if len(found) == 1:
        return found[0]
    if found:
        raise FabulaError(
            code,
            _refuse_several(found, _shorten(wanted), what, id_of, names_of, number_of, remark_of, full_name_of),
            candidates=tuple(map(id_of, found[:LISTED])),
        )
    every = [tuple(filter(None, names_of(thing))) or (id_of(thing),) for thing in known]
    owners = {name: number for number, names in enumerate(every) for name in names}
    similar: dict[int, str] = {}  # one name of each thing
    for name in find_similar_names(wanted, owners, most=LISTED, fold=fold_name):
        similar.setdefault(owners[name], name)
    if similar:
        hint = message(
            "Did you mean {names}?", names=join_alternatives([*map(quote_sentence, similar.values())][:MAX_NAMED])
        )
    elif not known:
        hint = message("There are none yet.")
    elif label_of is not None:
        hint = message("There are: {names}.", names=join_names([label_of(thing) for thing in known]))
    elif len(known) <= MAX_NAMED and not only_similar:
        hint = message(
            "There are: {names}.", names=join_names(dict.fromkeys(quote_sentence(names[0]) for names in every))
        )
    else:
        hint = message("None has a name like it.")
    raise _refuse_miss(wanted, what, hint, code)


def find_by_whole_name(
    things: Iterable[Thing],
    wanted: str,
    *,
    what: Sentence,
    id_of: Callable[[Thing], str] = attrgetter("id"),
    names_of: Callable[[Thing], Sequence[str]] = lambda thing: (),
    other_names_of: Callable[[Thing], Sequence[str]] = lambda thing: (),
    code: Code = Code.STORE_NOT_FOUND,
) -> Thing:
    """Return the one thing that has this id or name, whatever its case, accents and width.

    A part of a name, a number in a list and one of `other_names_of` find nothing: the refusal says what they may mean.
    """
    known, folded = list(things), fold_name(wanted)
    fits: tuple[Callable[[Thing], bool], ...] = (
        lambda thing: id_of(thing) == wanted,
        lambda thing: wanted in names_of(thing),
        lambda thing: folded in map(fold_name, (id_of(thing), *names_of(thing))),
    )
    found = next((found for fit in fits if (found := [thing for thing in known if fit(thing)])), [])
    near = found or find_matches(
        known,
        wanted,
        id_of=id_of,
        names_of=lambda thing: (*names_of(thing), *other_names_of(thing)),
        number_of=_number_nothing,
    )
    if near and not found:
        names = [
            *dict.fromkeys(quote_sentence(next(iter(names_of(thing)), id_of(thing))) for thing in near[:MAX_NAMED])
        ]
        raise _refuse_miss(wanted, what, message("Did you mean {names}?", names=join_alternatives(names)), code)
    return find_by_name(
        known, wanted, what=what, id_of=id_of, names_of=names_of, number_of=_number_nothing, code=code, found=found
    )


def quote_sentence(name: str) -> str:
    """Return a name as a sentence holds it: one that is a sentence itself, such as a rule, in quotation marks."""
    return f"“{name}”" if name.endswith((".", "!", "?", "…", "。", "！", "？")) else name


def _is_part(wanted: str, name: str) -> bool:
    """Is this a part of a name, from the beginning of a word on? Scripts without spaces have a word everywhere."""
    if len(wanted) < MIN_PART:
        return False
    at = name.find(wanted)
    while at > 0 and name[at - 1].isalnum() and name[at].isascii():
        at = name.find(wanted, at + 1)
    return at >= 0


def _number_in_order(things: Sequence[Thing]) -> Callable[[Thing], int]:
    """Return the function that numbers things as a list shows them, by identity: they need not be hashable."""
    numbers = {id(thing): number for number, thing in enumerate(things, start=1)}
    return lambda thing: numbers[id(thing)]


def _number_nothing(thing: object) -> None:
    """Say that a thing has no number to be found by."""


def _shorten(wanted: str) -> str:
    return wanted if len(wanted) <= 80 else f"{wanted[:80]}…"


def _refuse_miss(wanted: str, what: Sentence, hint: Sentence, code: Code) -> FabulaError:
    sentence = message(
        "There is no {what} called {name!r}. {hint} Nothing was changed.", what=what, name=_shorten(wanted), hint=hint
    )
    return FabulaError(code, sentence)


def _refuse_several(
    found: Sequence[Thing],
    wanted: str,
    what: Sentence,
    id_of: Callable[[Thing], str],
    names_of: Callable[[Thing], Sequence[str]],
    number_of: Callable[[Thing], int | None],
    remark_of: Callable[[Thing], Sentence | str],
    full_name_of: Callable[[Thing], Sentence | str],
) -> Sentence:
    """Name all things that a spelling may mean, each so that it can be told apart, and say how to name one of them."""
    labels = [next((name for name in names_of(thing) if name), id_of(thing)) for thing in found]
    numbers = [number_of(thing) for thing in found]
    label_counts, number_counts = Counter(labels), Counter(numbers)
    names: list[Sentence | str] = []
    has_number = has_id = False
    for label, number, thing in list(zip(labels, numbers, found, strict=True))[:LISTED]:
        if label_counts[label] == 1 and (number is None or number_counts[number] == 1):
            names.append(label)
        elif full_name := full_name_of(thing):
            names.append(full_name)
        else:
            is_numbered = number is not None and number_counts[number] == 1
            has_number, has_id = has_number or is_numbered, has_id or not is_numbered
            handle = message("number {number}", number=number) if is_numbered else id_of(thing)
            remarks = join_names([one for one in (handle, remark_of(thing)) if one])
            names.append(message("{name} ({remark})", name=label, remark=remarks))
    if len(found) > LISTED:
        names.append("…")
    values = {"name": wanted, "what": what, "names": join_names(names)}
    if has_id:
        return message(
            "{name!r} may be more than one {what}: {names}. Say which one, by its whole name or by the id beside it. "
            "Nothing was changed.",
            **values,
        )
    if has_number:
        return message(
            "{name!r} may be more than one {what}: {names}. Say which one, by its whole name or by the number beside "
            "it. Nothing was changed.",
            **values,
        )
    return message(
        "{name!r} may be more than one {what}: {names}. Say which one, by its whole name. Nothing was changed.",
        **values,
    )
