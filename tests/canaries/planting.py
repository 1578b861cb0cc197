"""Plants canaries: unique words in everything that can reach a prompt, in one store.

The projects of the store have the same ids everywhere, so that whatever is looked up by id alone finds the word of
another project.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Table

from fabula.codex import Entry, Level, edits, knowledge
from fabula.codex.entry import PinMode, Progression, Relation
from fabula.codex.facts import Quotation
from fabula.codex.facts.quotations import store_quotations
from fabula.codex.knowledge import KnownFact
from fabula.constraints import edits as constraints
from fabula.constraints.model import Constraint, ConstraintKind
from fabula.context.recipes import Node, Preset
from fabula.context.recipes.conditions import Condition
from fabula.context.recipes.preset import InjectionStrategy
from fabula.conversation import edits as conversation
from fabula.conversation.model import Message
from fabula.conversation.participants import Participant, save_participant
from fabula.conversation.tables import biographies, fixed_prompts, recaps
from fabula.core.fragment import Role
from fabula.core.story import Position
from fabula.lorebook.edits import Lorebook, RuleSet, save_lorebook
from fabula.manuscript import documents, outline, projects, series
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Direction, hash_text
from fabula.manuscript.synopses.editing import write_synopsis
from fabula.memory import edits as memory
from fabula.memory.model import MemoryItem, MemoryKind, MemoryScope, MemoryState
from fabula.presets import edits as presets
from fabula.search.need_edits import store_place
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction
from fabula.workspace.schemas.saves import LoadChoices
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.canaries.oracle import PEOPLE, SKILLS, USERS, Canary, Chapter, Limit, Place, PlantedStore, Story

__all__ = ["plant"]

CHAPTERS, PARAGRAPHS = 7, 6
_STAGE = (
    'works_on = ["cursor"]\nanswer = "insert"\nrecipe = "{recipe}"\n{eyes}[template]\n'
    'en = "{word} {{{{ title }}}}: {{{{ beat }}}} {{{{ selection }}}} ({{{{ pov }}}})"\n'
    'zh = "{word} {{{{ title }}}}：{{{{ beat }}}} {{{{ selection }}}}"\n'
)


class Planter:
    """Plants words in one project after the other."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.planted = PlantedStore()

    def word(self, kind: str, **fields: Any) -> str:
        """A new word."""
        while True:
            word = "zq" + "".join(self.random.choice("bcdfghjklmnprstvw" if n % 2 else "aeiou") for n in range(8))
            if word not in self.planted.canaries:
                self.planted.canaries[word] = Canary(word=word, kind=kind, **fields)
                return word

    def place(self, story: Story) -> Place:
        """A random place of a story."""
        chapter = self.random.choice([*story.chapters.values()])
        return Place(story.id, chapter.id, self.random.randrange(len(chapter.text)))

    def span(self, story: Story) -> tuple[Place | None, Place | None]:
        """Where something begins and where it ends, in two chapters, or nowhere."""
        since, until = (self.random.choice([None, self.place(story)]) for _ in range(2))
        return since, until if since is None or until is None or since.document != until.document else None

    def knowers(self) -> frozenset[str] | None:
        """Who knows something: everybody, or some."""
        some = self.random.sample([*PEOPLE, "reader"], self.random.randint(0, 2))
        return self.random.choice([None, None, frozenset(some)])

    def plant_project(
        self, store: Store, project: str, title: str, *, name: str = "", language: str = "en", shared: str = ""
    ) -> Story:
        """Make a project with words everywhere; `name` is what the oracle calls it."""
        book = name or project
        identity, style, rule = (self.word("own", book=book, is_sure=True) for _ in range(3))
        self._set(style, sources=frozenset({"project"}))
        self._set(rule, sources=frozenset({"project"}))
        projects.create(
            store,
            title,
            project_id=project,
            language=language,
            identity=f"You help with {identity}.",
            direction=Direction(style=f"Plain, like {style}.", rules=(f"Always spell {rule} so.",)),
        )
        with store.write(project=project) as tx:
            story = Story(id=book, project=project, chapters=dict(self._plant_chapters(tx, book)))
            self.planted.stories[book] = story
            self._plant_codex(tx, story, shared)
            self._plant_rules(tx, story)
            self._plant_memories(tx, story)
            self._plant_lorebook(tx, story)
            self._plant_conversations(tx, story)
        return story

    def plant_person(self, store: Store, user: str, *, is_stranger: bool = False) -> None:
        """Write the profile and the memories of a person."""
        kind = "never" if is_stranger else "own"
        with store.write(user=user) as tx:
            word = self.word(kind, user=user, is_sure=not is_stranger)
            memory.write_profile(tx, f"I live in {word}.")
            for number, text in enumerate(_PREFERENCES[:3]):
                word = self.word(kind, user=user, is_sure=not is_stranger, sources=frozenset({"memory"}))
                item = MemoryItem(text=text.format(word=word), id=f"u{number}", confidence=0.9)
                memory.add_memory(tx, item, scope=MemoryScope.USER)
            word = self.word(kind, user=user, sources=frozenset({"episodes"}))
            item = MemoryItem(text=_EPISODE.format(word=word), kind=MemoryKind.EPISODE, id="ue")
            memory.add_memory(tx, item, scope=MemoryScope.USER)

    def _set(self, word: str, **values: Any) -> None:
        self.planted.canaries[word] = replace(self.planted.canaries[word], **values)

    def _plant_chapters(self, tx: WriteTransaction, book: str) -> Iterator[tuple[str, Chapter]]:
        random, flashback, secret = self.random, self.random.randint(3, 5), self.random.randint(2, CHAPTERS - 1)
        for number in range(1, CHAPTERS + 1):
            ident, text = f"ch-{number}", ""
            cast = random.sample(PEOPLE, random.randint(1, len(PEOPLE)))  # the others are not named in it
            for _ in range(PARAGRAPHS):
                filler = " ".join(random.choices(_FILLER, k=random.randint(18, 40)))
                before = f"The Tidekeeper and {random.choice(cast).title()} came. {filler.capitalize()} "
                sources = frozenset({"editor", "search", "synopses", "skill"})
                word = self.word("text", book=book, chapter=ident, start=len(text) + len(before), sources=sources)
                text += f"{before}{word} was there.\n\n"
                who = f"{random.choice(cast).title()} had never sworn on "
                told = sources | {"codex"}
                word = self.word("fact", book=book, chapter=ident, start=len(text) + len(who), sources=told)
                text += f"{who}{word} {_FACT_END}\n\n"
            quoted = []
            for who in cast[:2]:  # what only a model would call a fact, because it is said
                word = self.word("fact", book=book, chapter=ident, start=len(text) + len(_QUOTED), sources=told)
                sentence = f"{_QUOTED}{word} and say nothing,” {who.title()} told the keeper."
                quoted.append(Quotation(who, sentence))
                text += f"{sentence}\n\n"
            pov = random.choice([None, None, "mara", "bo"])
            only = frozenset(random.sample(PEOPLE, 2)) if number == secret else None
            happens = random.choice([0.5, 1.5]) if number == flashback else float(number)
            chapter = Chapter(
                id=ident,
                number=number,
                happens=happens,
                known_to=only if only is not None or pov is None else frozenset({pov, "reader"}),
                pov=pov,
                text=text,
            )
            sources = frozenset({"editor", "search", "synopses", "skill"})
            title = self.word("title", book=book, chapter=ident, sources=sources, is_sure=True)
            documents.add(
                tx,
                f"The {title.title()}",
                text=text,
                document_id=ident,
                pov=pov,
                known_to=None if only is None else sorted(only),
                happens=happens if number == flashback else None,
                notes=f"Private: {self.word('never', book=book)}.",
            )
            store_quotations(tx, ident, quoted, hash_text(text))
            self._plant_needs(tx, chapter, book)
            beats = frozenset({"editor", "skill"})
            for place in range(2):
                word = self.word("beat", book=book, chapter=ident, sources=beats, is_sure=place == 0)
                outline.add_beat(tx, ident, f"Show {word}.")
            if number != 2:  # one chapter has only its text
                limit = Limit(since=Place(book, ident), chapter=ident)
                word = self.word("synopsis", book=book, limits=(limit,), sources=frozenset({"synopses"}))
                write_synopsis(tx, ident, f"They met {word} and went on.")
            yield ident, chapter
        documents.add(tx, "Notes", kind=DocumentKind.NOTE, document_id="n-1", text=self.word("never", book=book))

    def _plant_needs(self, tx: WriteTransaction, chapter: Chapter, book: str) -> None:
        """Questions that a model asked in a chapter, with the eyes of the author, the reader or somebody."""
        for who in ("author", "reader", *PEOPLE):
            start = self.random.randrange(len(chapter.text) // 2)
            eyes = frozenset({who})
            word = self.word("need", book=book, chapter=chapter.id, start=start, heard=eyes, sources=_SEARCHED)
            vantage = f"character:{who}" if who in PEOPLE else who
            store_place(tx, Position(chapter.id, start), vantage, (_QUESTION.format(word=word),))

    def _plant_codex(self, tx: WriteTransaction, story: Story, shared: str) -> None:
        random, book = self.random, story.id
        made: list[Entry] = []
        limits_of: dict[str, Limit] = {}
        facts: list[KnownFact] = []
        codex = frozenset({"codex"})
        for ident in PEOPLE:
            word = self.word("entry", book=book, entry=ident, sources=codex)
            made.append(Entry(id=ident, type="character", name=ident.title(), description=f"Likes {word}."))
        requested = [*PEOPLE]
        targets: list[str] = []
        for number in range(8):
            ident, level = f"e{number}", random.choice([Level.ALWAYS, Level.WHEN_DETECTED, Level.MANUAL])
            level = (Level.ALWAYS, Level.MANUAL, Level.NEVER)[number] if number < 3 else level
            since = random.choice([None, self.place(story)])
            learned = [(random.choice(PEOPLE), self.place(story))] if random.random() < 0.5 else []
            limit = _limit(since, self.knowers(), learned)
            kind = {Level.NEVER: "never", Level.MANUAL: "manual"}.get(level, "entry")
            named = "name" if kind == "entry" else kind  # others may name it where it is excluded
            given: dict[str, Any] = {"book": book, "entry": ident, "sources": codex, "is_sure": level is Level.ALWAYS}
            entry = Entry(
                id=ident,
                type="lore",
                name=f"Thing {ident.title()} {self.word(named, limits=(limit,), **given)}",
                level=level,
                description=f"About {self.word(kind, limits=(limit,), **given)}.",
                details={"colour": self.word(kind, limits=(limit,), **given)},
                notes=self.word("never", book=book),
                known_to=self._declared(limit, learned),
                since=_position(since),
            )
            facts += _facts(entry.source, learned)
            steps = []
            for step in range(1, random.randint(1, 2) + 1):
                place, told = self.place(story), self.knowers()
                learned = [(random.choice(PEOPLE), self.place(story))] if random.random() < 0.3 else []
                inner = _limit(place, told, learned)
                word = self.word(kind, limits=(limit, inner), **given)
                alias = self.word(kind, limits=(limit, inner), **given)
                steps.append(
                    Progression(f"It is {word}.", Position(place.document, place.offset), told, (alias.title(),))
                )
                facts += _facts(f"{entry.source}#{step}", learned)
            relations = []
            for other in random.sample(targets, min(2, len(targets))):
                begins, ends = self.span(story)
                own = Limit(since=begins, until=ends, known_to=self.knowers())
                target, limits = next(one for one in made if one.id == other), limits_of[other]
                if target.level in (Level.ALWAYS, Level.WHEN_DETECTED):
                    word = self.word(kind, limits=(limit, own, limits), **given)
                else:
                    word = self.word("never", book=book)
                relations.append(
                    Relation(other, f"owes {word}", _position(own.since), _position(own.until), own.known_to)
                )
            made.append(replace(entry, progressions=tuple(steps), relations=tuple(relations)))
            limits_of[ident] = limit
            targets.append(ident)
            if level is not Level.NEVER:
                requested.append(ident)
        made += self._plant_links(story)
        for number in range(3):
            name = self._choose_text(story)
            word = self.word("echo", book=book, sources=codex, entry=f"echo{number}", echo_of=name)
            made.append(Entry(id=f"echo{number}", type="lore", name=name.title(), description=f"Near {word}."))
        edits.put_all(tx, made)
        for fact in facts:
            knowledge.put(tx, fact)
        for ident in (f"ch-{random.randint(1, CHAPTERS)}", "talk-0"):
            edits.pin_entry(tx, ident, "mara")
        hidden_in = f"ch-{random.randint(1, CHAPTERS)}"
        edits.pin_entry(tx, hidden_in, "e0", PinMode.EXCLUDE)
        story.pinned_out = {hidden_in: "e0"}
        if shared:
            self._plant_shared(tx, story, shared)
        story.requested = tuple(requested)

    def _choose_text(self, story: Story) -> str:
        """A word of some chapter's text."""
        words = [one.word for one in self.planted.canaries.values() if one.kind == "text" and one.book == story.id]
        return self.random.choice(words)

    def _declared(self, limit: Limit, learned: Sequence[tuple[str, Place]]) -> frozenset[str] | None:
        """What the entry itself says: who learns something knows it too, without being listed."""
        return None if limit.known_to is None else limit.known_to - {who for who, _ in learned}

    def _plant_links(self, story: Story) -> Iterator[Entry]:
        """Entries that only a later name, or a limited relation, leads to."""
        book, codex = story.id, frozenset({"codex"})
        place, told = self.place(story), self.knowers()
        limit = Limit(since=place, known_to=told)
        own = Limit(since=self.place(story), known_to=self.knowers())
        word = self.word("linked", book=book, limits=(limit,), sources=codex, entry="ansel", is_sure=True)
        step = Progression("He is the one.", Position(place.document, place.offset), told, ("Tidekeeper",))
        relation = Relation("orrin", "brother", _position(own.since), None, own.known_to)
        yield Entry(
            id="ansel",
            type="character",
            name="Ansel Rudd",
            description=f"Carries {word}.",
            progressions=(step,),
            relations=(relation,),
        )
        word = self.word("linked", book=book, limits=(limit, own), sources=codex, entry="orrin", is_sure=True)
        yield Entry(id="orrin", type="character", name="Orrin Vale", description=f"Sells {word}.")

    def _plant_shared(self, tx: WriteTransaction, story: Story, shared: str) -> None:
        """What becomes of an entry of the series in this book."""
        steps = []
        for _ in range(6):
            place, told = self.place(story), self.knowers()
            limit = Limit(since=place, known_to=told)
            codex = frozenset({"codex"})
            word = self.word("shared", book=story.id, limits=(limit,), sources=codex, entry=shared, is_sure=True)
            steps.append(Progression(f"By now {word}.", Position(place.document, place.offset), told))
        entry = Entry(id=shared, type="lore", name="The Saga", level=Level.ALWAYS, progressions=tuple(steps))
        edits.put(tx, entry)

    def _plant_rules(self, tx: WriteTransaction, story: Story) -> None:
        for number in range(8):
            since, until = self.span(story)
            limit = Limit(since=since, until=until)
            kind, source = (ConstraintKind.PLOT, "plans") if number % 2 else (ConstraintKind.WORLD, "constraints")
            word = self.word("own", book=story.id, limits=(limit,), sources=frozenset({source}), is_sure=True)
            text = f"Nobody says {word}."
            rule = Constraint(id=f"c{number}", text=text, kind=kind, since=_position(since), until=_position(until))
            constraints.create(tx, rule)
        first, second, conditional, inactive = (self.word("own", book=story.id, is_sure=True) for _ in range(4))
        self._set(inactive, kind="never")
        heard, sources = frozenset({"pawn:mara", "player:one"}), frozenset({"conversation"})
        self._set(conditional, kind="condition", conversation="talk-0", heard=heard, sources=sources)
        near = self._choose_text(story)
        echo = self.word("echo", book=story.id, sources=frozenset({"editor"}), echo_of=near)
        nodes = (
            Node(id="a", content=f"Mind {first}."),
            Node(id="b", content=f"And {second}.", injection_strategy=InjectionStrategy(depth=1)),
            Node(
                id="c",
                content=f"Hush about {conditional}.",
                condition=Condition(keywords=("gannetshade",), scan_depth=50),
            ),
            Node(id="d", content=f"Say {echo}.", condition=Condition(keywords=(near,), sticky=5)),
        )
        presets.put(tx, "In use", Preset(nodes=nodes), active=True)
        presets.put(tx, "Not in use", Preset(nodes=(Node(id="x", content=inactive),)))

    def _plant_memories(self, tx: WriteTransaction, story: Story) -> None:
        book = story.id
        for number, text in enumerate(_PREFERENCES[3:]):
            since = self.random.choice([None, self.place(story)])
            limits = () if since is None else (Limit(since=since, chapter=since.document),)
            word = self.word("own", book=book, limits=limits, sources=frozenset({"memory"}), is_sure=True)
            item = MemoryItem(text=text.format(word=word), id=f"u{number}-{book}", since=_position(since))
            memory.add_memory(tx, replace(item, confidence=0.8))
        for number, state in enumerate((MemoryState.PROPOSED, MemoryState.DISMISSED)):
            text = f"Prefers {self.word('never', book=book)} in a morning fog number {number}."
            memory.add_memory(tx, MemoryItem(text=text, state=state, id=f"p{number}"))
        for kind in (MemoryKind.EPISODE, MemoryKind.EPISODE, MemoryKind.STYLE_SAMPLE, MemoryKind.STYLE_SAMPLE):
            since = self.place(story)
            limit = Limit(since=since, chapter=since.document)
            source = "episodes" if kind is MemoryKind.EPISODE else "memory"
            word = self.word("own", book=book, limits=(limit,), sources=frozenset({source}))
            text = _EPISODE.format(word=word) + " " + " ".join(self.random.choices(_FILLER, k=20))
            memory.add_memory(tx, MemoryItem(text=text, kind=kind, since=_position(since)))

    def _plant_lorebook(self, tx: WriteTransaction, story: Story) -> None:
        book = story.id
        entries: dict[str, dict[str, Any]] = {}
        for number in range(6):
            since, until = (None if one is None else replace(one, offset=0) for one in self.span(story))
            known_to = self.knowers()
            limit = Limit(since=since, until=until, known_to=known_to)
            word = self.word("own", book=book, limits=(limit,), sources=frozenset({"lorebook"}), is_sure=number < 4)
            limits: dict[str, Any] = {} if known_to is None else {"knownTo": sorted(known_to)}
            limits |= {name: one.document for name, one in (("since", since), ("until", until)) if one is not None}
            entries[str(number)] = {
                "uid": number,
                "key": ["Tidekeeper"],
                "content": f"Lore of {word}.",
                "constant": number < 4,
                "sticky": 3 if number == 5 else 0,
                "extensions": {"fabula": {"story": limits}},
            }
        for number in (6, 7):
            key = self._choose_text(story)
            word = self.word("echo", book=book, sources=frozenset({"lorebook"}), echo_of=key)
            text = f"Lore near {word}."
            entries[str(number)] = {"uid": number, "key": [key], "content": text, "sticky": 5 * (number - 6)}
        entries["8"] = {
            "uid": 8,
            "key": [],
            "constant": True,
            "disable": True,
            "content": self.word("never", book=book),
        }
        rules: RuleSet = self.random.choice(["exact", "fabula"])
        save_lorebook(tx, Lorebook(id="lore", name="Lore", book={"entries": entries}, rules=rules))

    def _plant_card(self, tx: WriteTransaction, book: str, key: str, own: frozenset[str]) -> str:
        """A card with words that everybody in a conversation may know, that its owner alone does, and nobody."""
        public, private, notes = (
            [self.word(kind, book=book, heard=own) for _ in range(3)] for kind in ("card", "persona", "never")
        )
        data = {
            "name": key.title(),
            **dict(zip(("description", "personality", "scenario"), public, strict=True)),
            **dict(zip(("mes_example", "system_prompt", "post_history_instructions"), private, strict=True)),
            "creator_notes": " ".join(notes),
            "extensions": {"depth_prompt": {"prompt": self.word("persona", book=book, heard=own), "depth": 2}},
        }
        card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
        return save_lorebook(tx, Lorebook(id=f"card-{key}", name=key.title(), book=card, format="card", active=False))

    def _plant_conversations(self, tx: WriteTransaction, story: Story) -> None:
        book, random = story.id, self.random
        everybody = ["player:one", *(f"pawn:{one}" for one in PEOPLE)]
        for one in everybody:
            key = one.partition(":")[2]
            own = frozenset({one})
            save_participant(
                tx,
                Participant(
                    id=one,
                    name=key.title(),
                    persona=self.word("card" if one.startswith("player:") else "persona", book=book, heard=own),
                    card=self._plant_card(tx, book, key, own),
                ),
            )
            own, told = frozenset({one}), frozenset({"search", "recaps"})
            prompts: tuple[tuple[Table, str, str, dict[str, int]], ...] = (
                (fixed_prompts, "f", "prompt", {"private": 1}),
                (fixed_prompts, "g", "shared-prompt", {}),
                (biographies, "b", "kept", {}),
            )
            for table, name, kind, values in prompts:
                text = f"The harbour and the Tidekeeper: {self.word(kind, book=book, heard=own, sources=told)}."
                tx.insert(table, {"id": f"{name}-{key}", "participant_id": one, "text": text, **values})
        for number in range(2):
            ident, present = f"talk-{number}", {*everybody[: 3 if number == 0 else 4]}
            conversation.start_conversation(tx, ident, participants=sorted(present), title="")
            stayed = set(present)
            for count in range(9):
                if count == 3:
                    joining = "pawn:cole" if number == 0 else "pawn:bo"
                    conversation.join_conversation(tx, ident, joining)
                    present.add(joining)
                if count == 6:
                    leaving = random.choice(sorted(present - {"player:one", "pawn:mara"}))
                    conversation.leave_conversation(tx, ident, leaving)
                    present.discard(leaving)
                    stayed.discard(leaving)
                speaker = random.choice(sorted(present))
                audience: tuple[str, ...] | None = None
                if number == 0 and count == 1:
                    speaker, audience = "player:one", ("pawn:mara",)
                elif random.random() < 0.3:
                    audience = tuple(random.sample(sorted(present - {speaker}), random.randint(0, 2)))
                heard = frozenset(present if audience is None else {speaker, *audience})
                known = heard if audience is not None else heard | {"reader"}
                sources = frozenset({"conversation", "search", "talks", "recaps"})
                word = self.word("message", book=book, conversation=ident, heard=known, sources=sources, is_sure=True)
                trigger = " gannetshade" if number == 0 and count == 1 else ""
                self._say(tx, ident, f"{ident}-{count}", speaker, f"Of the harbour {word}{trigger}.", audience)
            sources, known = frozenset({"search", "recaps"}), frozenset({*stayed, "reader"})
            word = self.word("recap", book=book, conversation=ident, heard=known, sources=sources)
            text = f"They spoke of the harbour, the Tidekeeper and {word}."
            made_from = {"rounds": list(range(1, 10)), "heard": list(range(9))}
            tx.insert(recaps, {"id": f"r-{ident}", "conversation_id": ident, "text": text, **made_from})
        conversation.start_conversation(tx, "own", title=f"About {self.word('recap', book=book)}")
        step = f"The harbour step: {self.word('never', book=book)}."
        self._say(tx, "own", "step", "", step, None, final=False)
        for count in range(4):
            sources = frozenset({"conversation", "search", "talks"})
            word = self.word("message", book=book, conversation="own", sources=sources, is_sure=True)
            self._say(
                tx,
                "own",
                f"own-{count}",
                "",
                f"The harbour plan is {word}.",
                None,
                "user" if count % 2 else "assistant",
            )
        # A branch that was left.
        self._say(tx, "own", "left", "", f"The harbour: {self.word('never', book=book)}.", None)
        conversation.select_branch(tx, "own", "own-3")
        for ident in story.chapters:  # what the writer asked for in each chapter, and the answer
            where = f"document:{ident}"
            conversation.start_conversation(tx, where)
            roles: tuple[Role, ...] = ("user", "assistant")
            for role in roles:
                sources = frozenset({"conversation", "talks"})
                word = self.word("asked", book=book, chapter=ident, sources=sources, is_sure=True)
                self._say(tx, where, f"{role}-{ident}", "", f"The harbour plan is {word}.", None, role)
        story.conversations = ("talk-0", "talk-1", "own", "document:ch-3")

    def _say(
        self,
        tx: WriteTransaction,
        where: str,
        ident: str,
        speaker: str,
        text: str,
        audience: tuple[str, ...] | None,
        role: Role | None = None,
        final: bool = True,
    ) -> None:
        role = role or ("user" if speaker == "player:one" else "assistant")
        said = Message(id=ident, role=role, content=text, speaker=speaker, audience=audience, final=final)
        conversation.add_message(tx, where, said)


def plant(folder: Path, random: Random) -> tuple[Workspace, PlantedStore]:
    """Make a store with two projects, a series with two books, and projects of strangers."""
    planter, workspace = Planter(random), Workspace.open(lay(folder / "ours"))
    store = workspace.store
    for user in USERS:
        planter.plant_person(store, user)
    planter.plant_project(store, "coast", "The Coast")
    planter.plant_project(store, "harbour", "雾港", language="zh")
    _plant_series(planter, store, "one", "two")
    stories = [planter.planted.stories[name] for name in ("coast", "harbour", "one", "two")]
    add_skills(workspace, planter, stories)
    _load_strangers(planter, workspace, folder)
    for _ in range(6):
        planter.word("request")
    return workspace, planter.planted


def _plant_series(planter: Planter, store: Store, *books: str, prefix: str = "") -> None:
    series.create(store, "The Saga", project_id="saga")
    saga, codex, secret = f"{prefix}saga", frozenset({"codex"}), frozenset({"mara"})
    word = planter.word("entry", book=saga, entry="saga", sources=codex, is_sure=True)
    limits = (Limit(known_to=secret),)
    hidden = planter.word("entry", book=saga, entry="deep", sources=codex, is_sure=True, limits=limits)
    with store.write(project="saga") as tx:
        edits.put(tx, Entry(id="saga", type="lore", name="The Saga", level=Level.ALWAYS, description=f"Of {word}."))
        deep = Entry(id="deep", type="lore", name="The Deep", level=Level.ALWAYS, description=hidden, known_to=secret)
        edits.put(tx, deep)
        # Only who is in the codex of the series is the same person in both books.
        edits.put_all(tx, [Entry(id=one, type="character", name=one.title()) for one in PEOPLE])
    for number, book in enumerate(books):
        story = planter.plant_project(store, book, f"Book {book}", name=prefix + book, shared="saga")
        story.series, story.earlier = saga, frozenset(books[:number])
        series.add_book(store, book, "saga")


def add_skills(workspace: Workspace, planter: Planter, stories: Sequence[Story]) -> None:
    """Give each project two skills of its own that show the chapter."""
    for story in stories:
        for skill in ("stage", "peek"):
            eyes, recipe = SKILLS[skill]
            word = planter.word("own", book=story.id, skill=skill, sources=frozenset({"skill"}), is_sure=True)
            asks = f'eyes = "{eyes}"\n' if eyes else ""
            workspace.project(story.project).skills.add(skill, _STAGE.format(recipe=recipe, eyes=asks, word=word))


def _load_strangers(planter: Planter, workspace: Workspace, folder: Path) -> None:
    """Load saves from another store: a project with our ids, and a book that claims to be of our series."""
    with Workspace.open(lay(folder / "theirs")) as theirs:
        planter.plant_person(theirs.store, "owner", is_stranger=True)
        planter.plant_project(theirs.store, "coast", "The Coast", name="their-coast")
        _plant_series(planter, theirs.store, "one", prefix="their-")
        stories = [planter.planted.stories[name] for name in ("their-coast", "their-one")]
        add_skills(theirs, planter, stories)
        for story in stories:
            path = folder / f"{story.id}.fabula"
            theirs.project(story.project).save(path)
            story.project = workspace.load_save(path, LoadChoices(beside=True)).project_id


_QUOTED = "“Remember "
_QUESTION = "Who heard the {word} Tidekeeper and Mara by the lamp, on the quay, in the fog?"
_SEARCHED = frozenset({"search"})
_FACT_END = "since the winter in which the father was buried."
_SEA = (
    "the lamp over cold water rope and salt wind gull stone quay night bell slow tide far house door oar mast fog low "
    "light hand grey morning path hill boat net letter clock coat rain"
)
_FILLER = _SEA.split()
_PREFERENCES = (
    "Keep {word} out of the opening line of every scene.",
    "Dialogue should sound like {word} when sailors argue.",
    "I dislike adverbs, so write {word} instead.",
    "Short paragraphs suit storms; think of {word}.",
    "Weather is described through {word} rather than colour.",
    "End chapters on an object, for example {word}.",
    "Names of ships are set like {word}, never underlined.",
    "Food matters: mention {word} whenever somebody cooks.",
)
_EPISODE = "Last time the Tidekeeper and the harbour were written with {word}."


def _limit(since: Place | None, known_to: frozenset[str] | None, learned: Sequence[tuple[str, Place]]) -> Limit:
    if known_to is not None:
        known_to |= {who for who, _ in learned}
    return Limit(since=since, known_to=known_to, learned=tuple(learned))


def _position(place: Place | None) -> Position | None:
    return None if place is None else Position(place.document, place.offset)


def _facts(source: str, learned: Iterable[tuple[str, Place]]) -> list[KnownFact]:
    return [KnownFact(fact=source, knower=who, since=_position(place)) for who, place in learned]
