"""What a person can do with the facts of an entry: look at them, use one, dismiss one (cdx-10).

Facts are sentences of the manuscript, found anew whenever it changes. A fact that is used becomes part of the codex or
a constraint and, like one that is dismissed, is not shown again; its id stays in a setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from fabula.codex import Codex, Entry, Progression, edits, progressions
from fabula.codex.facts import PER_ENTRY, Fact, Facts, FactText, Quotations
from fabula.codex.tables import entries as entry_rows
from fabula.constraints import Constraint
from fabula.constraints import edits as constraint_edits
from fabula.context.gate import judge_fragment
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.core.story import Vantage
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.settings import edits as setting_edits
from fabula.settings.values import get_value
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import find_by_name
from fabula.workspace.arguments import read_choice
from fabula.workspace.names import find_entry, read_knowers
from fabula.workspace.verbs import ProjectVerbs

DISMISSED = "facts.dismissed"
MAX_LISTED = 24  # facts of one entry, the most telling ones; there may be more of them
MAX_DISMISSED = 6_000  # facts that stay away; of more, the latest. A setting has room for no more


class FactUse(StrEnum):
    """What can be made of a fact."""

    DESCRIPTION = "description"
    PROGRESSION = "progression"
    KNOWLEDGE = "knowledge"
    CONSTRAINT = "constraint"


class FactPromptUse(StrEnum):
    """Whether a fact may enter prompts; where not, why."""

    MAY = "may"
    PASSING = "passing"  # it is not likely enough that a writer wants it
    SAID = "said"  # its entry says the same
    OFF = "off"  # the settings let no facts enter prompts
    DISMISSED = "dismissed"


class FactSettings(Struct, frozen=True):
    """The ids of the facts that stay away, and how many facts of one entry a prompt holds."""

    dismissed: frozenset[str] = frozenset()
    per_entry: int = PER_ENTRY


class UsedFact(Struct, frozen=True):
    """A fact, and what was made of it."""

    fact: Fact
    entry: Entry
    use: FactUse


def load_fact_settings(reading: ReadTransaction, per_entry: int) -> FactSettings:
    """Load which facts stay away."""
    return FactSettings(frozenset(read_dismissed(reading)), per_entry)


def find_prompt_use(view: View, fact: Fact) -> FactPromptUse:
    """Say whether a fact may enter prompts."""
    facts, codex = view.snapshot(Facts), view.snapshot(Codex)
    entry = codex.by_id.get(fact.entry_id) if codex is not None else None
    if facts is None or entry is None or fact.id in facts.dismissed:
        return FactPromptUse.DISMISSED
    if not facts.per_entry:
        return FactPromptUse.OFF
    if not fact.is_possible:
        return FactPromptUse.PASSING
    prepared = facts.list_for_prompts(entry)
    number = prepared.by_id.get(fact.id)
    if number is None:
        return FactPromptUse.SAID
    others = prepared.alternatives.get(number)
    steps = codex.render(entry, 0.0) if codex is not None and others is not None and others.progressions else ()
    if others is None or not steps:
        return FactPromptUse.MAY
    # A progression that holds there for everybody says the same wherever it is told.
    here = Vantage(position=fact.since)
    reasons = (judge_fragment(steps[step], here, view.timeline) for step in others.progressions)
    return FactPromptUse.SAID if None in reasons else FactPromptUse.MAY


def make_facts(view: View, old_view: View | None = None) -> Facts | None:
    """Make the facts of a view; those of the old view stay where nothing changed that they come from."""
    codex, manuscript = view.snapshot(Codex), view.snapshot(Manuscript)
    if codex is None or manuscript is None:
        return None
    settings = view.snapshot(FactSettings) or FactSettings()
    old = old_view.snapshot(Facts) if old_view is not None else None
    is_same = old is not None and old_view is not None and old_view.snapshot(Manuscript) is manuscript
    is_same = is_same and old_view is not None and old_view.snapshot(Quotations) is view.snapshot(Quotations)
    is_same = is_same and old is not None and (old.dismissed, old.per_entry) == (settings.dismissed, settings.per_entry)
    if old is not None and is_same and old.codex is codex:
        return old
    return Facts(_list_texts(view), codex, old, settings.dismissed, per_entry=settings.per_entry)


def _list_texts(view: View) -> Iterator[FactText]:
    """The documents of a view, each with what a model quotes of it."""
    quotations = (view.snapshot(Quotations) or Quotations()).by_document
    for one in (view.snapshot(Manuscript) or Manuscript()).documents:
        yield FactText(one.id, one.text, one.effective_known_to, quotations.get(one.id, ()))


class FactVerbs(ProjectVerbs):
    """What the manuscript of an open project says of its entries."""

    def list_facts(self, entry: str, *, dismissed: bool = False) -> list[Fact]:
        """List what the book says of an entry, the most telling sentences first; or what was dismissed or used."""
        return self._list_all(entry, dismissed=True) if dismissed else self._list_all(entry)[:MAX_LISTED]

    def find(self, entry: str, fact: str) -> Fact:
        """Return the fact of an entry with that number or id, or that begins so, also one behind those listed."""
        return _find_fact(self._list_all(entry), fact)

    def use(self, entry: str, fact: str, use: str, *, known_to: Sequence[str] = ()) -> UsedFact:
        """Make a description, a progression, knowledge or a constraint of a fact; it is not listed again.

        Refused where the description or a progression of the entry has this sentence already. Knowledge is a
        progression that only those named in `known_to` may know.
        """
        kind = read_choice(use, FactUse, "use")
        view, owner, found = self._view, self._find_entry(entry), self.find(entry, fact)
        if (kind is FactUse.KNOWLEDGE) != bool(known_to):
            raise FabulaError(
                Code.CODEX_INVALID,
                message("Say who knows it where a fact becomes knowledge, and only there. Nothing was changed."),
            )
        if kind is not FactUse.CONSTRAINT and any(
            found.text in said for said in (owner.description, *(one.text for one in owner.progressions))
        ):
            raise FabulaError(
                Code.STORE_DUPLICATE,
                message("{name} says that already: “{text}”. Nothing was changed.", name=owner.name, text=found.text),
            )
        with self._write(message("fact used: {name}", name=owner.name)) as tx:
            if (
                kind is not FactUse.CONSTRAINT and tx.row(entry_rows, id=owner.id) is None
            ):  # only the series has the entry yet
                edits.create(tx, Entry(id=owner.id, type=owner.type, name=owner.name))
            if kind is FactUse.DESCRIPTION:
                own = edits.get(tx, owner.id).entry
                edits.update(tx, owner.id, {"description": "\n".join(filter(None, (own.description, found.text)))})
            elif kind is FactUse.CONSTRAINT:
                rule = Constraint(id=new_id(), text=found.text, since=found.since, until=found.until)
                constraint_edits.create(tx, rule, limit=get_value(tx, "limits.constraints"))
            else:
                who = read_knowers(view, tx, known_to) if known_to else None
                knowers = found.known_to if who is None else frozenset(who)
                progressions.add(tx, owner.id, Progression(found.text, found.since, knowers))
            _dismiss(tx, found.id)
        return UsedFact(found, self._find_entry(owner.id), kind)

    def dismiss(self, entry: str, fact: str) -> Fact:
        """Never list a fact again."""
        found = self.find(entry, fact)
        with self._write(message("fact dismissed: {name}", name=self._find_entry(entry).name)) as tx:
            _dismiss(tx, found.id)
        return found

    def restore(self, entry: str, fact: str | None = None) -> int:
        """List a dismissed or used fact of an entry again, or all of them; return how many there are.

        The fact is named by its number in the list of dismissed ones, its id or its first words.
        """
        owner, away = self._find_entry(entry), self.list_facts(entry, dismissed=True)
        own = {one.id for one in away} if fact is None else {_find_fact(away, fact).id}
        if own:
            with self._write(message("facts restored: {name}", name=owner.name)) as tx:
                store_dismissed(tx, [one for one in read_dismissed(tx) if one not in own])
        return len(own)

    def _list_all(self, entry: str, *, dismissed: bool = False) -> list[Fact]:
        facts, found = self._view.snapshot(Facts), self._find_entry(entry)
        if facts is None:
            return []
        return list(facts.list_dismissed(found.id) if dismissed else facts.list_facts(found.id))

    def _find_entry(self, entry: str) -> Entry:
        codex = self._view.snapshot(Codex)
        return find_entry(codex.entries if codex is not None else (), entry)


def _find_fact(facts: Sequence[Fact], name: str) -> Fact:
    return find_by_name(facts, name, what=message("fact"), names_of=lambda one: (one.text,))


def _dismiss(tx: WriteTransaction, fact_id: str) -> None:
    store_dismissed(tx, [*read_dismissed(tx), fact_id])


def read_dismissed(reading: ReadTransaction) -> list[str]:
    """Read the ids of the facts that stay away."""
    stored = setting_edits.read_stored(reading, DISMISSED)
    ids = stored.value if stored is not None else []
    return [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []


def store_dismissed(tx: WriteTransaction, ids: Iterable[str]) -> None:
    """Store the ids of the facts that stay away; of too many, the latest."""
    setting_edits.set_value(tx, DISMISSED, list(ids)[-MAX_DISMISSED:])
