"""The guarantees of recaps hold after any sequence of messages, corrections, branches, refreshes and edits.

Beside the store goes a model that is too simple to be wrong: a list of everything said, each with its parent.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import Struct

from fabula.conversation import edits
from fabula.conversation.model import Message
from fabula.conversation.recaps import editing
from fabula.conversation.recaps.model import RecapInput, RecapRules
from fabula.conversation.recaps.rounds import load_rounds
from fabula.conversation.recaps.update import refresh_recaps
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.manuscript import projects
from fabula.store.store import Store
from tests.blank import lay

P, TALK = "p", "talk"
RULES = (
    RecapRules(rounds_per_summary=2, rounds_per_recap=3, max_recaps=2, max_chars=60),
    RecapRules(rounds_per_summary=1, rounds_per_recap=2, max_recaps=2, max_chars=60),
    RecapRules(rounds_per_summary=2, rounds_per_recap=2, max_recaps=1, max_chars=60),
    RecapRules(rounds_per_summary=3, rounds_per_recap=4, max_recaps=0, max_chars=60),
)
WHICH = st.integers(min_value=0, max_value=10_000)


class AddedMessage(Struct):
    """Something said, in the model."""

    id: str
    parent: str | None
    user: bool
    text: str
    round: int  # that it begins, or 0


class Recaps(RuleBasedStateMachine):
    """A conversation that anything may happen to."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="fabula-recaps-")
        self.store = Store.open(lay(Path(self._folder.name) / "data"))
        self.said: dict[str, AddedMessage] = {}
        self.leaf: str | None = None
        self.begun = 0
        self.told = 0
        self.bounds = RULES[0]
        self.seen: dict[str, tuple[tuple[int, ...], str]] = {}  # of each text: its rounds, and how these read then
        self.by_hand: dict[str, tuple[str, str]] = {}

    @initialize(bounds=st.sampled_from(RULES))
    def begin(self, bounds: RecapRules) -> None:
        self.bounds = bounds
        projects.create(self.store, "P", project_id=P)
        with self.store.write(project=P) as tx:
            edits.start_conversation(tx, TALK)

    def teardown(self) -> None:
        self.store.close()
        self._folder.cleanup()

    def path(self) -> list[AddedMessage]:
        found: list[AddedMessage] = []
        wanted = self.leaf
        while wanted is not None:
            found.append(self.said[wanted])
            wanted = found[-1].parent
        return found[::-1]

    def content(self, rounds: tuple[int, ...]) -> str:
        """How these rounds read on the path."""
        number, lines = 0, []
        for one in self.path():
            number = one.round or number
            if number in rounds:
                lines.append(f"{one.id}:{one.text}")
        return "\n".join(lines)

    def say(self, user: bool, parent: str | None = None) -> None:
        ident = f"m{len(self.said)}"
        above = parent or self.leaf
        self.begun += user
        text = f"Words {len(self.said)}."
        self.said[ident] = AddedMessage(ident, above, user, text, self.begun if user else 0)
        self.leaf = ident
        with self.store.write(project=P) as tx:
            role = Message(id=ident, role="user" if user else "assistant", content=text, parent_id=parent)
            edits.add_message(tx, TALK, role)

    def one(self, which: int) -> AddedMessage:
        return list(self.said.values())[which % len(self.said)]

    @rule(many=st.integers(min_value=1, max_value=3))
    def talk(self, many: int) -> None:
        for _ in range(many):
            self.say(user=True)
            self.say(user=False)

    @precondition(lambda self: self.begun)
    @rule()
    def late_reply(self) -> None:
        self.say(user=False)

    @rule()
    def ask_in_vain(self) -> None:
        self.say(user=True)

    @precondition(lambda self: self.said)
    @rule(which=WHICH)
    def correct(self, which: int) -> None:
        one = self.one(which)
        one.text = f"Corrected {one.text}"
        with self.store.write(project=P) as tx:
            edits.correct_message(tx, one.id, one.text)

    @precondition(lambda self: self.said)
    @rule(which=WHICH)
    def undo(self, which: int) -> None:
        one = self.one(which)
        with self.store.write(project=P) as tx:
            before = edits.get_message(tx, one.id).previous_content
            if before is not None:
                edits.undo_correction(tx, one.id)
                one.text = before

    @precondition(lambda self: self.said)
    @rule(which=WHICH)
    def follow(self, which: int) -> None:
        self.leaf = self.one(which).id
        with self.store.write(project=P) as tx:
            edits.select_branch(tx, TALK, self.leaf)

    @precondition(lambda self: self.said)
    @rule(which=WHICH)
    def branch(self, which: int) -> None:
        self.say(user=True, parent=self.one(which).id)
        self.say(user=False)

    @rule(anew=st.booleans(), failing=st.integers(min_value=0, max_value=4))
    def tell(self, anew: bool, failing: int) -> None:
        """Refresh; the digest fails now and then."""
        calls: list[RecapInput] = []

        def digest(material: RecapInput) -> str:
            calls.append(material)
            if failing and len(calls) % failing == 0:
                raise FabulaError(Code.LLM_GONE, message("It is gone."))
            self.told += 1
            return f"Told {self.told} of {len(material.lines)}. And more. " * (1 + self.told % 4)

        with self.store.read(project=P) as reading:
            moment = reading.current_time() if anew else ""
        done = refresh_recaps(self.store, P, TALK, write_recap=digest, rules=self.bounds, rebuild_before=moment)
        assert done.superseded == []
        for made in done.entries:
            self.seen[made.text] = made.rounds, self.content(made.rounds)
        if not failing and not done.has_more and not anew:
            again = refresh_recaps(self.store, P, TALK, write_recap=digest, rules=self.bounds)
            assert again.entries == [], "nothing is made twice"

    @rule(which=WHICH)
    def edit(self, which: int) -> None:
        with self.store.write(project=P) as tx:
            found = editing.list_recaps(tx, TALK)
            if found:
                chosen = found[which % len(found)]
                text = f"By hand {which} {len(self.by_hand)} {len(self.seen)}."
                editing.edit_recap(tx, chosen.id, text)
                self.by_hand[chosen.id] = chosen.kind, text
                self.seen[text] = chosen.rounds, self.content(chosen.rounds)

    @rule(which=WHICH)
    def remove(self, which: int) -> None:
        with self.store.write(project=P) as tx:
            found = editing.list_recaps(tx, TALK)
            if found:
                chosen = found[which % len(found)]
                editing.remove_recap(tx, chosen.id)
                self.by_hand.pop(chosen.id, None)

    @invariant()
    def promises_hold(self) -> None:
        if not self.said:
            return
        with self.store.read(project=P) as reading:
            found = editing.list_recaps(reading, TALK)
            rounds = [one.number for one in load_rounds(reading, TALK).rounds]
        assert rounds == [one.round for one in self.path() if one.round], "numbers never rewind"
        summarised = [number for one in found if one.kind == "summary" for number in one.rounds]
        assert len(summarised) == len(set(summarised)), "no round is summarised twice"
        assert self.bounds.max_recaps <= 0 or sum(one.kind == "recap" for one in found) <= self.bounds.max_recaps
        assert all(0 < len(one.text) <= self.bounds.max_chars for one in found)
        for one in found:
            numbers, then = self.seen[one.text]
            assert one.rounds == numbers
            assert (one.freshness == "fresh") == (self.content(numbers) == then), "stale where the content differs"
        here = {one.id: one.text for one in found}
        for ident, (sort, text) in list(self.by_hand.items()):
            if ident not in here and sort == "recap":
                del self.by_hand[ident]  # the oldest recaps go, whoever wrote them
            else:
                assert here[ident] == text, "what a person wrote stays"


TestRecaps = Recaps.TestCase
TestRecaps.settings = settings(
    max_examples=25, stateful_step_count=30, suppress_health_check=list(HealthCheck), deadline=None
)
