"""Recaps are made: every few rounds a summary, and of every few summaries an item of the recap list (cnv-6).

Made in the background, in short transactions, with none held while a model thinks. What was made is written only
where the conversation, and what has been made of it, still ask for exactly that (`recap_plan`): so two who refresh
at once make nothing twice, and what was corrected meanwhile is not told as it was. A failure leaves these rounds
untold; nothing else is stored in a recap's place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from fabula.conversation.recaps import schedule as plan
from fabula.conversation.recaps.model import Digest, Failure, Kept, Line, Material, Refreshed, Rules, Sort
from fabula.conversation.recaps.prompt import bounded, kept_words, lines_of
from fabula.conversation.recaps.rounds import mark_of
from fabula.conversation.recaps.schedule import Look, Task
from fabula.conversation.tables import conversations, recaps, summaries
from fabula.core.errors import FabulaError
from fabula.core.ids import new_id
from fabula.core.view import Language
from fabula.store.store import Store
from fabula.store.transaction import Writing

AT_ONCE = 10  # answers that one refresh asks for
_PATIENCE = 5  # looks at a conversation that moves on while something is to be written

_TABLES = {"summary": summaries, "recap": recaps}


def refresh(
    store: Store,
    project_id: str,
    conversation_id: str,
    *,
    digest: Digest,
    language: Language = "en",
    rules: Rules | None = None,
    anew: str = "",
    check: Callable[[], None] | None = None,
) -> Refreshed:
    """Tell what is due, ten answers at the most; with `anew`, a moment, also again what was made before it.

    `check` is asked before each answer and may raise, which ends the refresh; what was made until then is kept.
    """
    done = Refreshed()
    chosen = rules or Rules()
    if not chosen.on:
        done.off = True
        return done
    work = _Work(store, project_id, conversation_id, language, chosen, anew)
    given_up: set[Task] = set()
    asked = 0
    seen = work.look()
    while (task := next((one for one in plan.tasks(seen, chosen, anew) if one not in given_up), None)) is not None:
        if asked >= AT_ONCE:
            done.left = True
            return done
        if check is not None:
            check()
        read = work.material(seen, task)
        kept = None
        if read is not None:
            material, given = read
            asked += bool(material.lines)
            try:
                text = kept_words(digest(material), chosen.longest, given=given) if material.lines else ""
            except FabulaError as error:
                if check is not None:
                    check()
                given_up.add(task)
                done.failed.append(Failure(task.sort, task.rounds, error.code, error.sentence))
                seen = work.look()
                continue
            kept = work.write(seen, task, text)
        if kept is None:
            given_up.add(task)
            done.overtaken.append(task.rounds)
        elif kept.text:
            done.made.append(kept)
        seen = work.look()
    if not done.failed and not done.overtaken:
        work.finish(seen)
    return done


class _Work(Struct, frozen=True):
    """One conversation that is being told."""

    store: Store
    project_id: str
    conversation_id: str
    language: Language
    rules: Rules
    anew: str

    def look(self) -> Look:
        with self.store.read(project=self.project_id) as reading:
            return plan.look(reading, self.conversation_id)

    def material(self, seen: Look, task: Task) -> tuple[Material, list[str]] | None:
        """What a digest is given, and what its answer must not merely repeat; None if that reads otherwise by now."""
        with self.store.read(project=self.project_id) as reading:
            said = lines_of(reading, seen.here(task.rounds), self.language)
        if said is None:
            return None
        lines, earlier = said, seen.before(task.rounds[0])
        if task.sort == "recap":
            wanted = set() if task.silent else {ident for ident, _ in task.sources}
            lines = tuple([Line("", one.text) for one in seen.summaries if one.id in wanted and one.text])
        material = Material(
            sort=task.sort,
            lines=bounded(lines),
            earlier=earlier,
            language=self.language,
            length=self.rules.longest,
            seconds=self.rules.seconds,
        )
        return material, [*map(str, said), earlier]

    def write(self, seen: Look, task: Task, text: str) -> Kept | None:
        """Keep what was made, if it is still asked for; None when it is not."""
        for _ in range(_PATIENCE):
            with self.store.write(project=self.project_id) as tx:
                if plan.stamp(tx, self.conversation_id) == seen.stamp:
                    return self._put(tx, seen, task, text)
            try:
                seen = self.look()
            except FabulaError:
                return None  # it is gone
            if task not in plan.tasks(seen, self.rules, self.anew):
                return None
        return None

    def finish(self, seen: Look) -> None:
        """Note when more will be due, and forget what was made of other branches where all was made anew."""
        due = seen.history.counted - len(seen.untold) + self.rules.every
        strays = [
            (table, one.id)
            for table, items in ((summaries, seen.summaries), (recaps, seen.recaps))
            for one in items
            if self.anew and one.origin == "model" and one.rounds and not seen.here(one.rounds)
        ]
        if due == seen.history.due and not strays:
            return
        with self.store.write(project=self.project_id) as tx:
            row = tx.row(conversations, id=self.conversation_id)
            if row is None or mark_of(row) != seen.history.mark:
                return
            for table, ident in strays:
                tx.remove(table, table.c.id == ident)
            if due != row.recap_due:
                tx.change(conversations, {"recap_due": due}, conversations.c.id == self.conversation_id)

    def _put(self, tx: Writing, seen: Look, task: Task, text: str) -> Kept:
        made = max(tx.clock(), self.anew)
        values: dict[str, Any] = {
            "rounds": list(task.rounds),
            "text": text,
            "origin": "model",
            "made_from": task.made_from,
            "made": made,
        }
        if task.sort == "summary":
            values |= {"first_round": task.rounds[0], "last_round": task.rounds[-1]}
        else:
            tx.change(summaries, {"stacked": 1}, summaries.c.id.in_([ident for ident, _ in task.sources]))
        ident, version = (new_id(), 1) if task.over is None else task.over
        if task.over is not None:
            version = tx.edit(_TABLES[task.sort], {"id": ident}, values, expected=version)
        elif task.sort == "summary":
            tx.add(summaries, {"id": ident, "conversation_id": self.conversation_id, **values})
        elif text:
            tx.remove(recaps, recaps.c.id.in_(plan.drop(seen, self.rules)))
            place = _make_room(tx, seen, task.rounds[-1])
            tx.add(recaps, {"id": ident, "conversation_id": self.conversation_id, "place": place, **values})
        return _kept(task.sort, ident, text, made, task.rounds, version)


def _make_room(tx: Writing, seen: Look, last: int) -> int:
    """The place of a recap: before those that tell of what came later, which is at the end, but when all is anew."""
    later = [one.place for one in seen.recaps if one.last > last]
    if not later:
        return max((one.place for one in seen.recaps), default=0) + 1
    place = min(later)
    moved = [one.id for one in seen.recaps if one.place >= place]
    tx.change(recaps, {"place": recaps.c.place + 1}, recaps.c.id.in_(moved))
    return place


def _kept(sort: Sort, ident: str, text: str, made: str, rounds: tuple[int, ...], version: int) -> Kept:
    return Kept(
        id=ident, sort=sort, text=text, created_at=made, rounds=rounds, origin="model", state="fresh", version=version
    )
