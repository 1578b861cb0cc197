"""What of a conversation waits to be told: a pure look at its rounds and at what has been made of them.

A task names the rounds, what they held, and the row that is to be written over. So a task that was thought of a
while ago is still right exactly when it is among the tasks of a later look; nobody needs a lock to find out.

Four things are done, in this order: summaries that are no longer true are made again, as long as no recap rests on
them but the newest; rounds that no summary tells are told, so many at a time; the newest recap is made again when it
is no longer true; summaries that are in no recap yet become one when they tell enough rounds. What is older stays
as it is, called stale, until somebody asks for all of it anew. What a person wrote is never a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Row

from fabula.conversation.model import Mark
from fabula.conversation.recaps.model import Rules, Sort
from fabula.conversation.recaps.rounds import History, Round, content_of, history, mark_of
from fabula.conversation.tables import Origin, conversations, recaps, summaries
from fabula.store.transaction import Reading


class Item(Struct, frozen=True, kw_only=True):
    """A summary or a recap as the store has it."""

    id: str
    rounds: tuple[int, ...]
    text: str
    origin: Origin
    made_from: str
    made: str
    version: int
    stacked: bool = False
    place: int = 0

    @property
    def last(self) -> int:
        """The last round it tells."""
        return self.rounds[-1] if self.rounds else 0


Stamp = tuple[Mark, tuple[Item, ...], tuple[Item, ...]]


class Task(Struct, frozen=True, kw_only=True):
    """Something to be told, or, where there is no need of words, only to be noted."""

    sort: Sort
    rounds: tuple[int, ...]
    made_from: str
    over: tuple[str, int] | None = None  # the row it takes the place of, and its version
    sources: tuple[tuple[str, int], ...] = ()  # of a recap: the summaries it is made of, and their versions
    silent: bool = False  # a recap that would be the first to go


class Look:
    """A conversation at one moment: its rounds, and what has been made of them."""

    def __init__(self, told: History, made: Sequence[Item], stacked: Sequence[Item]) -> None:
        self.history = told
        self.summaries = tuple(made)
        self.recaps = tuple(stacked)
        self.rounds = {one.number: one for one in told.rounds}

    @property
    def stamp(self) -> Stamp:
        """While this is the same, so is everything else here."""
        return self.history.mark, self.summaries, self.recaps

    def here(self, numbers: Iterable[int]) -> list[Round]:
        """Those rounds, as far as they are on the path."""
        return [self.rounds[number] for number in numbers if number in self.rounds]

    def stale(self, item: Item) -> bool:
        """Is what it was made of no longer what stands there?"""
        return item.made_from != content_of(self.here(item.rounds))

    @property
    def untold(self) -> list[Round]:
        """Rounds of the path that no summary tells."""
        known = {number for item in self.summaries for number in item.rounds}
        return [one for one in self.history.rounds if one.number not in known]

    def before(self, number: int) -> str:
        """The last recap that was made of what lies before a round of this path."""
        earlier = [one for one in self.recaps if one.last < number and self.here(one.rounds)]
        return max(earlier, key=lambda one: one.last).text if earlier else ""

    def sources(self, numbers: Iterable[int]) -> list[Item]:
        """The summaries that tell any of these rounds."""
        wanted = set(numbers)
        return [one for one in self.summaries if wanted.intersection(one.rounds)]


def look(reading: Reading, conversation_id: str) -> Look:
    """A conversation as it stands."""
    return Look(history(reading, conversation_id), *_items(reading, conversation_id))


def stamp(reading: Reading, conversation_id: str) -> Stamp | None:
    """The stamp a look would have now, for much less; None when the conversation is gone."""
    row = reading.row(conversations, id=conversation_id)
    return None if row is None else (mark_of(row), *_items(reading, conversation_id))


def tasks(seen: Look, rules: Rules, anew: str = "") -> Iterator[Task]:
    """All that can be done now; with `anew`, whatever was made before that moment is made again."""
    newest = _newest(seen)
    latest = set(newest.rounds) if newest is not None else set()
    behind = False
    for item in seen.summaries:
        rounds = seen.here(item.rounds)
        again = bool(anew) and item.made < anew and (item.origin == "model" or not item.text)
        upkeep = item.origin == "model" and (not item.stacked or bool(latest.intersection(item.rounds)))
        if rounds and (again or (upkeep and seen.stale(item))):
            behind = True
            yield _task("summary", rounds, over=item)
    waiting = [one for one in seen.untold if one.complete]
    for start in range(0, len(waiting) - rules.every + 1, rules.every):
        yield _task("summary", waiting[start : start + rules.every])
    if not behind:
        yield from _recaps(seen, rules, newest, anew)


def drop(seen: Look, rules: Rules) -> list[str]:
    """The recaps for which there is no room beside one more: the oldest."""
    if rules.most <= 0:
        return []
    by_age = sorted(seen.recaps, key=lambda one: (one.last, one.made, one.id))
    return [one.id for one in by_age[: max(len(by_age) + 1 - rules.most, 0)]]


def _recaps(seen: Look, rules: Rules, newest: Item | None, anew: str) -> Iterator[Task]:
    for item in seen.recaps:
        again = bool(anew) and item.made < anew
        if item.origin == "model" and (again or (item is newest and seen.stale(item))):
            sources = [one for one in seen.sources(item.rounds) if seen.here(one.rounds)]
            if any(one.text for one in sources):
                yield _stacked(seen, sources, over=item)
    told = {number for item in seen.recaps for number in item.rounds}
    loose = [
        one
        for one in sorted(seen.summaries, key=lambda one: one.rounds)
        if seen.here(one.rounds) and (not told.intersection(one.rounds) if anew else not one.stacked)
    ]
    groups: list[list[Item]] = []
    group: list[Item] = []
    for one in loose:
        group.append(one)
        if sum(len(each.rounds) for each in group) >= rules.stack:
            groups.append(group)
            group = []
    ages = sorted([item.last for item in seen.recaps] + [each[-1].last for each in groups])
    least = ages[-rules.most] if 0 < rules.most < len(ages) else 0
    for each in groups:
        worded = any(one.text for one in each) and each[-1].last >= least
        if worded or not all(one.stacked for one in each):
            yield _stacked(seen, each, silent=not worded)


def _newest(seen: Look) -> Item | None:
    """The recap that reaches furthest along the path."""
    here = [one for one in seen.recaps if seen.here(one.rounds)]
    return max(here, key=lambda one: one.last, default=None)


def _task(sort: Sort, rounds: Sequence[Round], *, over: Item | None = None) -> Task:
    numbers = tuple([one.number for one in rounds])
    return Task(
        sort=sort, rounds=numbers, made_from=content_of(rounds), over=None if over is None else (over.id, over.version)
    )


def _stacked(seen: Look, sources: Sequence[Item], *, over: Item | None = None, silent: bool = False) -> Task:
    rounds = seen.here(sorted({number for one in sources for number in one.rounds}))
    return Task(
        sort="recap",
        rounds=tuple([one.number for one in rounds]),
        made_from=content_of(rounds),
        over=None if over is None else (over.id, over.version),
        sources=tuple([(one.id, one.version) for one in sources]),
        silent=silent,
    )


def _items(reading: Reading, conversation_id: str) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    found = []
    for table in (summaries, recaps):
        rows = reading.rows(table, table.c.conversation_id == conversation_id)
        items = [_item(row) for row in rows]
        found.append(tuple(sorted(items, key=lambda one: (one.place, one.rounds, one.made, one.id))))
    return found[0], found[1]


def _item(row: Row[Any]) -> Item:
    known = row._mapping
    return Item(
        id=row.id,
        rounds=tuple(row.rounds),
        text=row.text,
        origin=row.origin,
        made_from=row.made_from,
        made=row.made,
        version=row.version,
        stacked=bool(known.get("stacked", 0)),
        place=known.get("place", 0),
    )
