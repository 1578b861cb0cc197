"""Generates conversations with a unique word in every message and fact, and asks for prompts on the way.

A project has a cast, facts, lorebooks and several conversations that go on beside each other. People come and go,
whisper, correct, delete, branch and pin; summaries and recaps are made by the background job, with a model that repeats
every planted word of its prompt. Each prompt is compared with the oracle (`hearing.py`).
"""

from __future__ import annotations

import re
import shutil
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from random import Random
from typing import Any, Literal

from msgspec import Struct, field

from fabula.codex import Entry, Level
from fabula.codex import edits as codex
from fabula.conversation.edits import MessageEvent
from fabula.conversation.model import Message, MessageKind
from fabula.conversation.participant_texts import add_text
from fabula.conversation.participants import Participant, save_participant, strip_revision
from fabula.core.errors import Code, FabulaError
from fabula.jobs.model import JobState
from fabula.jobs.tables import jobs
from fabula.jobs.triggers.messages import RECAP_JOB
from fabula.jobs.worker import Worker
from fabula.llm.model import ModelCall, StreamEnd, StreamEvent, TextChunk
from fabula.lorebook.edits import Lorebook, save_lorebook
from fabula.manuscript import documents, projects
from fabula.settings.edits import set_value
from fabula.store.transaction import WriteTransaction
from fabula.workspace.chat import ReplyStored
from fabula.workspace.handlers.job_kinds import job_kinds
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.canaries.hearing import Fact, Hearing, Question, SaidMessage, Talk, describe
from tests.canaries.oracle import find_words
from tests.workspace.chat.scripted import collect

__all__ = ["RepeatingProvider", "TalkRun", "run_talks"]

PROJECTS_IN_STORE = 12
CAST = (
    "player:ann",
    "player:ben",
    "pawn:mara",
    "pawn:bo",
    "pawn:cole",
    "persona:Ivy",
    "persona:Dov",
    "agent:unit-7",
)
MAX_SPEAKERS = 7
TOPICS = ("barometer", "lantern", "anchor", "ledger", "harbour", "kestrel", "cellar", "violin")
MODES = ("free_chat", "werewolf", "quiz", "workflow", "group")
_SEA = "the lamp over cold water rope and salt wind gull stone quay night bell slow tide far house door oar"
_FILLER = _SEA.split()
_TURN = re.compile(r"\[(.+) speaks next\.")
_ROLE = re.compile(r"\[You are (?:a|the) (werewolf|seer)")
Speak = Callable[[str, str], str]  # the name of who is asked, and the prompt; the answer


class RepeatingProvider:
    """A model that repeats every planted word of its prompt, or answers as it is told to."""

    name = "repeating"

    def __init__(self, speak: Speak | None = None) -> None:
        self._speak = speak

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        prompt = "\n".join(one.content for one in call.messages)
        turn = _TURN.findall(prompt)
        if self._speak is not None:
            answer = self._speak(turn[-1] if turn else "", prompt)
        else:
            answer = f"They spoke of {' '.join(sorted(find_words(prompt)))} and went on."
        yield TextChunk(answer)
        yield StreamEnd()

    async def aclose(self) -> None: ...


class TalkProject:
    """One project with its conversations, and the oracle that follows along."""

    def __init__(self, workspace: Workspace, random: Random, ident: str, talks: int) -> None:
        self.workspace, self.random, self.id = workspace, random, ident
        self.hearing = Hearing()
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()
        self._waiting_words: list[str] = []  # of messages to come, which bring entries of the lorebook
        self._modes: dict[str, str] = {}
        self._lock = threading.Lock()
        self._plant()
        self.talks = [self._start(number) for number in range(talks)]

    # What is planted

    def word(self, kind: str, **fields: Any) -> str:
        """A new word."""
        while True:
            word = "zq" + "".join(self.random.choice("bcdfghjklmnprstvw" if n % 2 else "aeiou") for n in range(8))
            if word not in self.hearing.facts:
                self.hearing.facts[word] = Fact(word=word, kind=kind, **fields)
                return word

    def _plant(self) -> None:
        random, store = self.random, self.workspace.store
        projects.create(store, f"The Cast {self.id}", project_id=self.id)
        settings: dict[str, Any] = {
            "History.SummaryEveryNRounds": random.choice([1, 2, 3]),
            "History.RecapUpdateEveryRounds": random.choice([2, 4, 6]),
            "History.RecapMaxChars": random.choice([1200, 6000]),
            "History.RelevantHistory": random.choice(["classic", "embedding-first"]),
        }
        if random.random() < 0.5:
            settings |= {"History.LatestRecaps": 100, "History.RecapMaxChars": 20_000}
            settings["History.RecapDictMaxEntries"] = 0
            self.hearing.tells_all_recaps = True
        if random.random() < 0.1:
            settings["History.Recaps"] = False
        if random.random() < 0.6:  # so that recaps are told early
            settings["maxHistoryTokens"] = 150
            self.hearing.history_characters = 300
        with store.write(project=self.id) as tx:
            for name, value in settings.items():
                set_value(tx, name, value, scope="project")
            if random.random() < 0.5:
                self.hearing.chapters = ("ch-1", "ch-2")
                for ident in self.hearing.chapters:
                    self._plant_chapter(tx, ident)
            for ident in CAST:
                self._plant_participant(tx, ident)
            self._plant_codex(tx)
            self._plant_lorebook(tx)
        self.project = self.workspace.project(self.id)
        self._unsubscribe = self.project.conversations.subscribe(self._hear)

    def _plant_chapter(self, tx: WriteTransaction, ident: str) -> None:
        """A chapter without a point of view, which names some of the cast; the others cannot know what it tells."""
        named = frozenset(self.random.sample(CAST, self.random.randint(0, 3)))
        word = self.word("chapter", chapter=ident, known_to=named, is_sure=True)
        people = " ".join(f"{_name(one)} came." for one in sorted(named))
        text = f"The tide went out. {people}\n\nIt left the kestrel {word} behind, in the cellar with the violin."
        documents.add(tx, f"The {ident}", text=text, document_id=ident)

    def _plant_participant(self, tx: WriteTransaction, ident: str) -> None:
        random = self.random
        persona, card = "", ""
        if random.random() < 0.7:
            persona = self._make_persona(ident)
        if random.random() < 0.5:
            card = self._plant_card(tx, ident)
        participant = Participant(id=ident, name=_name(ident), persona=persona, card=card)
        save_participant(tx, participant)
        if random.random() < 0.4:
            add_text(tx, "prompt", ident, f"Everybody minds {self.word('prompt', owner=ident, is_sure=True)}.")
        if random.random() < 0.4:
            secret = self.word("own", owner=ident, is_sure=True)
            add_text(tx, "prompt", ident, f"The harbour hides {secret}.", is_private=True)
        if not ident.startswith("player:") and random.random() < 0.6:
            add_text(tx, "biography", ident, f"Born near {self.word('biography', owner=ident, is_sure=True)}.")

    def _make_persona(self, ident: str) -> str:
        """A persona: that of a player is told to everybody present, any other to its owner alone."""
        kind = "card" if ident.startswith("player:") else "own"
        return f"Fears {self.word(kind, owner=ident, is_sure=True)}."

    def _plant_card(self, tx: WriteTransaction, ident: str) -> str:
        random = self.random
        public = [f"{self.word('card', owner=ident, is_sure=True)}." for _ in range(3)]
        private = [f"{self.word('own', owner=ident, is_sure=True)}." for _ in range(4)]
        for texts in (public, private):
            if random.random() < 0.4:
                texts[1] += random.choice([" {{lastMessage}}", " {{lastCharMessage}} {{lastUserMessage}}"])
        data = {
            "name": _name(ident),
            **dict(zip(("description", "personality", "scenario"), public, strict=True)),
            **dict(zip(("mes_example", "system_prompt", "post_history_instructions"), private, strict=False)),
            "creator_notes": self.word("never"),
            "extensions": {"depth_prompt": {"prompt": private[3], "depth": random.randint(0, 6)}},
        }
        card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
        key = re.sub(r"\W", "-", ident)
        return save_lorebook(tx, Lorebook(id=f"card-{key}", name=_name(ident), book=card, format="card", active=False))

    def _knowers(self) -> frozenset[str] | None:
        some = self.random.sample(["mara", "bo", "cole", "persona:Ivy", "reader"], self.random.randint(0, 3))
        return self.random.choice([None, frozenset(some), frozenset(some)])

    def _plant_codex(self, tx: WriteTransaction) -> None:
        made = [
            Entry(id=one, type="character", name=one.title(), description=f"Walks like {self.word('entry')}.")
            for one in ("mara", "bo", "cole")
        ]
        for number in range(4):
            known_to, is_sure = self._knowers(), number < 3
            word = self.word("entry", known_to=known_to, is_sure=is_sure)
            level, name = (Level.ALWAYS, f"Thing {number}") if is_sure else (Level.WHEN_DETECTED, "kestrel")
            made.append(
                Entry(id=f"e{number}", type="lore", name=name, level=level, description=word, known_to=known_to)
            )
        codex.put_all(tx, made)

    def _plant_lorebook(self, tx: WriteTransaction) -> None:
        entries: dict[str, dict[str, Any]] = {}
        for number in range(3):
            known_to = self._knowers()
            word = self.word("lore", known_to=known_to, is_sure=True)
            limits = {} if known_to is None else {"knownTo": sorted(known_to)}
            entries[str(number)] = {
                "uid": number,
                "key": [],
                "constant": True,
                "content": f"Lore of {word}.",
                "extensions": {"fabula": {"story": limits}},
            }
        for number in range(3, 8):
            key = self.word("never")
            self._waiting_words.append(key)
            word = self.word("lore", key=key, is_sure=True)
            sticky = self.random.choice([0, 0, 5])
            entries[str(number)] = {"uid": number, "key": [key], "content": f"Lore near {word}.", "sticky": sticky}
        rules: Literal["exact", "fabula"] = self.random.choice(["exact", "fabula"])
        save_lorebook(tx, Lorebook(id="lore", name="Lore", book={"entries": entries}, rules=rules))

    def _start(self, number: int) -> Talk:
        random = self.random
        people = random.sample(CAST, random.randint(1, MAX_SPEAKERS))
        if random.random() < 0.2:
            people = [random.choice(CAST[:2]), random.choice(CAST[2:])]
        title = self.word("title", talk="")
        talks, mode = self.hearing.talks, random.choice(MODES) if random.random() < 0.25 else ""
        if mode and any(one not in CAST[:2] for one in people):
            others = [one for one in people if one != "player:ann"]
            roles = {}
            if mode == "workflow":
                answering = [one for one in others if one not in CAST[:2]]
                roles = {role: random.choice(answering) for role in ("coder", "reviewer", "tester")}
            state = self.project.chat.start(others, title=f"About {title}", mode=mode, roles=roles)
            ident, people = state.record.id, [strip_revision(one.id) for one in state.present]
            self._modes[ident] = mode
        else:
            ident = self.project.conversations.start(people, title=f"About {title}").id
        self.hearing.facts[title] = Fact(word=title, kind="title", talk=ident)
        if random.random() < 0.3:
            note = self.word("note", talk=ident, is_sure=True)
            self.project.conversations.set_note(ident, f"Think of {note}.", depth=random.choice([0, 1, 4]))
            self.counts["notes"] += 1
        talks.setdefault(ident, Talk(id=ident, started_with=frozenset())).started_with = frozenset(people)
        talk = talks[ident]
        self._settle(talk)
        return talk

    # What happens

    def _hear(self, event: MessageEvent) -> None:
        """Take note of a message that was stored."""
        said = event.message
        with self._lock:
            talk = self.hearing.talks.setdefault(
                event.conversation_id, Talk(id=event.conversation_id, started_with=frozenset())
            )
            talk.say(
                SaidMessage(
                    id=said.id,
                    speaker=strip_revision(said.speaker),
                    audience=None if said.audience is None else frozenset(map(strip_revision, said.audience)),
                    text=said.content,
                    parent=said.parent_id,
                    number=said.number or 0,
                    is_final=said.final,
                )
            )
            for word in find_words(said.content):
                self.hearing.facts[word] = Fact(word=word, kind="message", talk=talk.id, message=said.id)
            self.counts["messages"] += 1

    def _settle(self, talk: Talk) -> None:
        leaf = self.project.conversations.get(talk.id).record.leaf_id
        if leaf != talk.leaf:
            talk.go_to(leaf)

    def _make_text(self) -> str:
        random = self.random
        word = self._waiting_words.pop() if self._waiting_words and random.random() < 0.1 else self.word("never")
        filler = " ".join(random.choices(_FILLER, k=random.choice([2, 5, 9, 90])))
        return f"The {random.choice(TOPICS)} and {filler}: {word}."

    def step(self, talk: Talk) -> None:
        """Let something happen in a conversation."""
        random = self.random
        acts: list[tuple[float, Callable[[Talk], None]]] = [
            (50, self._say),
            (12, self._whisper),
            (3, self._note),
            (7, self._join),
            (6, self._leave),
            (5, self._correct),
            (4, self._delete),
            (4, self._branch),
            (3, self._select),
            (3, self._go_back),
            (4, self._pin),
            (8, self._run_jobs),
            (1, self._edit_recap),
            (0.5, self._rebuild),
            (1, self._edit_persona),
            (1, self._edit_prompt),
            (8 if talk.id in self._modes else 0, self._chat),
            (4, self._regenerate),
        ]
        (act,) = random.choices([act for _, act in acts], [weight for weight, _ in acts])
        act(talk)
        self._settle(talk)
        self.counts[act.__name__.strip("_")] += 1

    def _record(self, talk: Talk, **fields: Any) -> None:
        present = sorted(talk.find_present_behind(fields.get("after", talk.leaf)))
        if present:
            speaker = self.random.choice(present)
            self.project.conversations.record(talk.id, self._make_text(), **{"speaker": speaker, **fields})

    def _say(self, talk: Talk) -> None:
        self._record(talk)

    def _whisper(self, talk: Talk) -> None:
        present = sorted(talk.present)
        if present:
            self._record(talk, audience=self.random.sample(present, min(len(present), self.random.randint(0, 3))))

    def _note(self, talk: Talk) -> None:
        self._record(talk, kind=MessageKind.PLAN, final=False)

    def _branch(self, talk: Talk) -> None:
        kept = [one.id for one in talk.messages.values() if not one.is_deleted]
        if kept:
            self._record(talk, after=self.random.choice(kept))

    def _undo(self, talk: Talk) -> bool:
        """Take the last change back, sometimes after more was said; return whether it was taken back."""
        if self.random.random() >= 0.3:
            return False
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self._say(talk)
        try:
            self.project.changes.undo()
        except FabulaError as error:
            if error.code is not Code.STORE_CONFLICT:  # it was changed since
                raise
            return False
        self.counts["undo"] += 1
        return True

    def _join(self, talk: Talk) -> None:
        absent = [one for one in CAST if one not in talk.present]
        if absent and len(talk.present) < MAX_SPEAKERS:
            self._change(talk, "join", self.random.choice(absent))

    def _leave(self, talk: Talk) -> None:
        if talk.present:
            self._change(talk, "leave", self.random.choice(sorted(talk.present)))

    def _change(self, talk: Talk, event: Literal["join", "leave"], who: str) -> None:
        act = self.project.conversations.join if event == "join" else self.project.conversations.leave
        act(talk.id, who)
        name = talk.change(event, who)
        if self._undo(talk):
            talk.take_back(name)

    def _choose(self, talk: Talk, *, only_path: bool = False) -> SaidMessage | None:
        kept = talk.list_path() if only_path else [one for one in talk.messages.values() if not one.is_deleted]
        return self.random.choice(kept) if kept else None

    def _correct(self, talk: Talk) -> None:
        said = self._choose(talk)
        if said is None:
            return
        old, was_corrected, text = said.text, said.is_corrected, self._make_text()
        for word in find_words(text):
            self.hearing.facts[word] = Fact(word=word, kind="message", talk=talk.id, message=said.id)
        self.project.conversations.correct(talk.id, said.id, text)
        said.text, said.is_corrected = text, True
        if self._undo(talk):
            said.text, said.is_corrected = old, was_corrected

    def _delete(self, talk: Talk) -> None:
        said = self._choose(talk)
        if said is None:
            return
        parents = {one.id: one.parent for one in talk.messages.values()}
        leaf, place = talk.leaf, talk.place
        self.project.conversations.delete_message(talk.id, said.id)
        talk.delete(said.id)
        if said.id == leaf and self.project.conversations.get(talk.id).record.leaf_id == said.parent:
            talk.leaf = said.parent  # who came or left behind what was deleted stays so
        self._settle(talk)
        if self._undo(talk):
            if self.project.conversations.get(talk.id).record.leaf_id == leaf:
                talk.leaf, talk.place = leaf, place
            said.is_deleted = False
            for one in talk.messages.values():
                one.parent = parents.get(one.id, one.parent)

    def _select(self, talk: Talk) -> None:
        said = self._choose(talk)
        if said is not None:
            self._move(talk, self.project.conversations.select, said)

    def _go_back(self, talk: Talk) -> None:
        said = self._choose(talk)
        if said is not None:
            self._move(talk, self.project.conversations.go_back, said)

    def _move(self, talk: Talk, move: Callable[[str, str], Message], said: SaidMessage) -> None:
        leaf, place = talk.leaf, talk.place
        talk.go_to(move(talk.id, said.id).id)
        if self._undo(talk) and self.project.conversations.get(talk.id).record.leaf_id == leaf:
            talk.leaf, talk.place = leaf, place

    def _pin(self, talk: Talk) -> None:
        said = self._choose(talk, only_path=True)
        if said is not None:
            self.project.conversations.pin(talk.id, said.id)
            said.is_pinned = not self._undo(talk)

    def _run_jobs(self, talk: Talk) -> None:
        store = self.workspace.store
        with store.write(project=self.id) as tx:
            tx.update_rows(jobs, {"due": tx.current_time()}, jobs.c.state == JobState.QUEUED.value)
        kinds = {RECAP_JOB: job_kinds(self.workspace.views)[RECAP_JOB]}
        Worker(store, kinds, threads=1, poll_seconds=0.005).drain()
        self.counts["recaps"] += len(self.project.recaps.list_recaps(talk.id))

    def _edit_recap(self, talk: Talk) -> None:
        known = self.project.recaps.list_recaps(talk.id)
        if not known:
            return
        chosen = self.random.choice(known)
        if self.random.random() < 0.3:
            self.project.recaps.remove(talk.id, chosen.id)
            return
        hearers = talk.find_hearers()
        numbers = {one.number: one.id for one in talk.messages.values()}
        heard = [hearers[numbers[number]] for number in chosen.heard]
        known_to = frozenset.intersection(*heard) | {"reader"} if heard else None
        word, talk.has_own_recaps = self.word("recap", known_to=known_to), True
        self.project.recaps.edit(talk.id, chosen.id, f"By hand: {word}.")

    def _rebuild(self, talk: Talk) -> None:
        self.project.recaps.rebuild(talk.id)
        self._run_jobs(talk)

    def _edit_persona(self, talk: Talk) -> None:
        who = self.random.choice(CAST)
        old = self.project.participants.get(who).persona
        self._forget(old)
        self.project.participants.edit(who, persona=self._make_persona(who))

    def _edit_prompt(self, talk: Talk) -> None:
        who, texts = self.random.choice(CAST), self.project.participant_texts
        for item in texts.list_texts("prompt", who):
            is_private = self.random.random() < 0.5
            self._forget(item.text)
            word = self.word("own" if is_private else "prompt", owner=who, is_sure=True)
            texts.edit("prompt", who, item.id, text=f"Mind {word}.", is_private=is_private)

    def _forget(self, text: str) -> None:
        for word in find_words(text):
            self.hearing.facts[word] = Fact(word=word, kind="never")

    def _chat(self, talk: Talk) -> None:
        """Say something in a mode, sometimes in a whisper; every prompt that the model gets is compared."""
        if not any(one.startswith("player:") for one in talk.present):
            return
        speaker = self.random.choice(sorted(one for one in talk.present if one.startswith("player:")))
        others = sorted(talk.present - {speaker})
        audience = self.random.sample(others, 1) if others and self.random.random() < 0.3 else None
        mention = f"@{_name(self.random.choice(others))} " if others and self.random.random() < 0.5 else ""
        text = mention + self._make_text()
        before = len(talk.messages)
        try:
            collect(
                self.project.chat.send(
                    talk.id,
                    text,
                    speaker=speaker,
                    audience=audience,
                    document_id="",
                    model=RepeatingProvider(lambda who, prompt: self._answer(talk, who, prompt)),
                )
            )
        except FabulaError as error:
            if error.code not in (Code.CHAT_NOBODY_PRESENT, Code.MODE_ROLES_INVALID):
                raise
        if audience is not None:
            for said in list(talk.messages.values())[before:]:
                assert said.audience is not None, "what answers a whisper is a whisper"

    def _regenerate(self, talk: Talk) -> None:
        """Have a reply given again, of any branch: those hear it who were there for the first one."""
        followed = {said.parent for said in talk.messages.values()}
        replies = [
            said
            for said in talk.messages.values()
            if said.is_final
            and not said.is_deleted
            and said.speaker
            and not said.speaker.startswith("player:")
            # of several who answered at once, the later ones are said once more behind an earlier one
            and (talk.id not in self._modes or said.id not in followed)
        ]
        if not replies:
            return
        said = self.random.choice(replies)
        leaf, place, behind = talk.leaf, talk.place, dict(talk.last_behind)
        talk.go_beside(said.id)
        is_there = said.speaker in talk.present
        try:
            events = collect(
                self.project.chat.regenerate(
                    talk.id,
                    said.id,
                    document_id="",
                    model=RepeatingProvider(lambda who, prompt: self._answer(talk, who, prompt)),
                )
            )
        except FabulaError as error:
            if error.code is not Code.CHAT_NOBODY_PRESENT or is_there:
                raise
            talk.leaf, talk.place, talk.last_behind = leaf, place, behind
            return
        assert is_there, f"{said.speaker} was away when this was said"
        assert any(isinstance(one, ReplyStored) for one in events)
        chat = self.project.chat.get(talk.id)
        if chat.attendance.present != talk.present:
            self.faults.append(f"{sorted(chat.attendance.present)} hear the reply, not {sorted(talk.present)}")
        self.counts["regenerated"] += 1

    def _answer(self, talk: Talk, name: str, prompt: str) -> str:
        speaker = next(one for one in CAST if _name(one) == name)
        place = self.hearing.chapters[-1] if self.hearing.chapters else ""
        question = Question(talk=talk.id, speaker=speaker, recipe="chat", window=0, document=place)
        roles = self.project.chat.get(talk.id).state.get("roles", {})
        told = set(_ROLE.findall(prompt))
        with self._lock:
            forbidden = self.hearing.find_forbidden(question, prompt)
            self.faults += describe(question, (f"leak: {one}" for one in forbidden))
            if self._modes.get(talk.id) == "werewolf" and told - {roles.get(speaker)}:
                self.faults.append(f"{speaker} is {roles.get(speaker)} and is told {told}")
            self.counts["prompts"] += 1
            return f"The {self.random.choice(TOPICS)}: {self.word('never')}."

    # What is asked

    def ask(self, question: Question) -> None:
        """Assemble a prompt and compare it with the oracle."""
        request = self.project.request(
            conversation_id=question.talk,
            speaker_id=question.speaker,
            recipe=question.recipe,
            skill_id="",
            document_id=question.document,
            window=question.window,
            additional_input=f"What of the {question.topic}?" if question.topic else "",
        )
        result = self.project.assemble(request)
        prompt = "\n".join(message.content for message in result.messages)
        forbidden = self.hearing.find_forbidden(question, "\n".join([prompt, *result.warnings]))
        self.faults += describe(question, (f"leak: {one}" for one in forbidden))
        self.faults += describe(question, (f"missing: {one}" for one in self.hearing.find_missing(question, prompt)))
        self.counts["prompts"] += 1
        self.counts["words"] += len(find_words(prompt))
        if self.random.random() < 0.5:
            self.project.report_answer(result.assembly_id)

    def ask_somebody(self, talk: Talk, speaker: str | None = None) -> None:
        """Ask as somebody, present or not, or as nobody."""
        random = self.random
        who = random.choice(["", *CAST, *sorted(talk.everybody) * 3]) if speaker is None else speaker
        self.ask(
            Question(
                talk=talk.id,
                speaker=who,
                recipe=random.choice(["chat", "character-chat"]),
                window=random.choice([8_000, 64_000, 120_000, 120_000]),
                document=random.choice(["", "", *self.hearing.chapters]),
                topic=random.choice(["", *TOPICS]),
            )
        )

    def search(self) -> None:
        """Search by hand: a reader finds nothing that was said; whoever may see all finds it, but no announcement."""
        topic = self.random.choice(TOPICS)
        found = "\n".join(f"{hit.passage.title} {hit.passage.text}" for hit in self.project.search(topic, limit=50))
        said = [fact for word in find_words(found) if (fact := self.hearing.facts[word]).kind != "chapter"]
        self.faults += [f"found: {fact}" for fact in said]
        talk = self.random.choice(self.talks)
        path = [said for said in talk.list_path() if said.is_final and said.speaker]
        if path:
            (word,) = self.random.choice(path).words or [""]
            hits = self.project.search(word, everything=True) if word else []
            if word and word not in " ".join(hit.passage.text for hit in hits):
                self.faults.append(f"not found: {self.hearing.facts[word]}")
        self.counts["searches"] += 1

    def run(self, elsewhere: Workspace) -> None:
        """Let all conversations go on beside each other, and ask on the way; at the end from the store alone."""
        random = self.random
        steps = [talk for talk in self.talks for _ in range(random.choice([4, 8, 16, 30]))]
        random.shuffle(steps)
        for number, talk in enumerate(steps):
            self.step(talk)
            if random.random() < 0.15:
                self.ask_somebody(talk)
            if number % 40 == 39:
                self.search()
        for talk in self.talks:
            self.ask_somebody(talk, "")
            for speaker in random.sample(sorted(talk.everybody), min(3, len(talk.everybody))):
                self.ask_somebody(talk, speaker)
        self._unsubscribe()
        self.workspace.flush()
        self.project = elsewhere.project(self.id)
        for talk in self.talks:
            self.ask_somebody(talk, random.choice(sorted(talk.everybody)))
        self.search()


class TalkRun(Struct):
    """What became of many conversations: how much was generated and asked, and the faults."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def run_talks(folder: Path, seed: int, count: int, first: int = 0) -> TalkRun:
    """Generate conversations, several in each project and some projects in each store.

    `first` skips projects: each depends on the seed and its own number alone.
    """
    result, number = TalkRun(), first
    while result.counts["conversations"] < count:
        place = lay(folder / f"store-{number}")
        with Workspace.open(place) as workspace, Workspace.open(place) as elsewhere:
            for _ in range(PROJECTS_IN_STORE):
                random = Random(f"{seed}:{number}")
                project = TalkProject(workspace, random, f"cast-{number}", random.randint(2, 5))
                project.run(elsewhere)
                result.counts.update(project.counts, projects=1, conversations=len(project.talks))
                result.faults += [f"seed {seed}, project {number}: {fault}" for fault in project.faults]
                number += 1
                if result.counts["conversations"] >= count:
                    break
        shutil.rmtree(place)
    return result


def _name(ident: str) -> str:
    return ident.partition(":")[2].title()
