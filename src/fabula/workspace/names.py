"""Find a thing by what a person calls it: its id, its name or title, or an alias (ppl-4)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TypeVar

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_alternatives, join_names, message

Thing = TypeVar("Thing")
NEAREST = 3
LISTED = 12


def find_by_name(
    things: Iterable[Thing],
    wanted: str,
    *,
    what: Sentence,
    id_of: Callable[[Thing], str] = attrgetter("id"),
    names_of: Callable[[Thing], Sequence[str]] = lambda thing: (),
    code: Code = Code.STORE_NOT_FOUND,
    by_prefix: bool = False,
) -> Thing:
    """Return the one thing of that id, first name or other name; a miss is refused with the nearest names.

    `what` is the word for such a thing in the refusal. The first of `names_of` counts before the others, and a name
    in another case comes last. A number counts the things, as lists show them. `by_prefix` also finds a thing by the
    beginning of its id.
    """
    known = list(things)
    for found in (
        [thing for thing in known if id_of(thing) == wanted],
        [thing for thing in known if wanted in names_of(thing)[:1]],
        [thing for thing in known if wanted in names_of(thing)],
        [thing for thing in known if wanted.casefold() in map(str.casefold, names_of(thing))],
        known[int(wanted) - 1 : int(wanted)] if wanted.isdecimal() and 0 < int(wanted) <= len(known) else [],
        [thing for thing in known if by_prefix and id_of(thing).startswith(wanted)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            ids = join_names([id_of(thing) for thing in found[:LISTED]])
            raise FabulaError(
                code,
                message(
                    "More than one {what} is called {name!r}: use an id ({ids}). Nothing was changed.",
                    what=what,
                    name=wanted,
                    ids=ids,
                ),
            )
    hint = _suggest(wanted, [(names_of(thing) or (id_of(thing),)) for thing in known])
    raise FabulaError(
        code,
        message("There is no {what} called {name!r}. {hint} Nothing was changed.", what=what, name=wanted, hint=hint),
    )


def _suggest(wanted: str, names: Sequence[Sequence[str]]) -> Sentence:
    """Name up to three that are spelled most like the wanted one, whatever their case, else the first there are."""
    folded = {name.casefold(): name for one in names for name in one}
    near = [folded[name] for name in difflib.get_close_matches(wanted.casefold(), list(folded), n=NEAREST)]
    if near:
        return message("Did you mean {names}?", names=join_alternatives(near))
    if names:
        return message("There are: {names}.", names=join_names([one[0] for one in names[:LISTED]]))
    return message("There are none yet.")
