"""Find a thing by what a person calls it: its id, its name or title, or an alias (ppl-4)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from fabula.core.errors import Code, FabulaError

Thing = TypeVar("Thing")
NEAREST = 3


def find_by_name(
    things: Iterable[Thing],
    wanted: str,
    *,
    what: str,
    id_of: Callable[[Thing], str],
    names_of: Callable[[Thing], Sequence[str]],
    code: Code,
) -> Thing:
    """Return the one thing of that id, first name or other name; a miss is refused with the nearest names.

    `what` is the word for such a thing in the refusal. The first of `names_of` counts before the others.
    """
    known = list(things)
    for found in (
        [thing for thing in known if id_of(thing) == wanted],
        [thing for thing in known if wanted in names_of(thing)[:1]],
        [thing for thing in known if wanted in names_of(thing)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(id_of(thing) for thing in found)
            raise FabulaError(code, f"Several {what}s are called {wanted!r}: use an id ({ids}). Nothing was changed.")
    near = nearest_names(wanted, [name for thing in known for name in names_of(thing)])
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise FabulaError(code, f"There is no {what} called {wanted!r}.{hint} Nothing was changed.")


def nearest_names(wanted: str, names: Iterable[str]) -> list[str]:
    """Return up to three names that are spelled most like the wanted one, whatever their case."""
    folded = {name.casefold(): name for name in names}
    return [folded[name] for name in difflib.get_close_matches(wanted.casefold(), list(folded), n=NEAREST)]
