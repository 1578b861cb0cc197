"""The oracle of conversations: which planted words a speaker's prompt may hold, and which it must.

It replays what happened (who came, who went, who said what to whom) on each branch by itself, and asks neither the rule
of presence nor the gate.
Each word belongs to one message or one fact, and each of these says plainly who may know it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct, field

from tests.canaries.oracle import find_words

__all__ = ["Fact", "Happening", "Hearing", "Question", "SaidMessage", "Talk"]

READER = "reader"
PLAYER = "player:"
CAP = 8000  # characters of the history: as many as 4,000 tokens surely have
LEFT_AFTER_STEP = 0.2  # of a window, at least, when it has moved on by a step
LINE_MARGIN = 70  # for the names before a line
_RECAP, _RECENT = "[Earlier in this conversation]", "[Another recent conversation"


class SaidMessage(Struct):
    """What somebody said; `words` are those it has now."""

    id: str
    speaker: str
    audience: frozenset[str] | None
    text: str
    parent: str | None
    number: int
    is_final: bool = True
    is_deleted: bool = False
    is_corrected: bool = False
    is_pinned: bool = False

    @property
    def words(self) -> set[str]:
        return find_words(self.text)


class Happening(Struct):
    """Somebody came, left or said something, behind what happened there before; None: at the beginning."""

    kind: Literal["join", "leave", "say"]
    who: str  # of a message, its id
    before: str | None


class Talk(Struct):
    """What happened in a conversation: a tree, in which each happening holds for those that follow on from it."""

    id: str
    started_with: frozenset[str]
    title_word: str = ""
    happenings: dict[str, Happening] = field(default_factory=dict)  # of messages by their ids, in order
    # By the message: what happened last behind it of which no message has followed yet
    last_behind: dict[str | None, str | None] = field(default_factory=dict)
    messages: dict[str, SaidMessage] = field(default_factory=dict)
    leaf: str | None = None
    place: str | None = None  # the message behind which it goes on: the leaf, or one deleted behind it
    has_own_recaps: bool = False  # a person wrote one, which says something else than the messages

    @property
    def everybody(self) -> frozenset[str]:
        """Everybody who ever took part."""
        return self.started_with | {one.who for one in self.happenings.values() if one.kind == "join"}

    @property
    def present(self) -> frozenset[str]:
        """Who is there now."""
        return self.find_present_behind(self.leaf)

    @property
    def attendees(self) -> frozenset[str]:
        """Everybody who is there now, or was there when something was said on this branch."""
        present, at = self._list_present(), self._find_last(self.place)
        found = present[at]
        while at is not None:
            if self.happenings[at].kind == "say":
                found |= present[at]
            at = self.happenings[at].before
        return found

    def say(self, said: SaidMessage) -> None:
        """Take note of a message; it goes on from there."""
        place = self.place if said.parent == self.leaf else said.parent
        self.messages[said.id] = said
        self.happenings[said.id] = Happening("say", said.id, self._find_last(place))
        self.last_behind.pop(place, None)  # it was for this message, and for no other branch
        self.go_to(said.id)

    def change(self, kind: Literal["join", "leave"], who: str) -> str:
        """Take note that somebody came or left where it goes on; return the name of that."""
        name = f"{kind}-{len(self.happenings)}-{who}"
        self.happenings[name] = Happening(kind, who, self._find_last(self.place))
        self.last_behind[self.place] = name
        return name

    def take_back(self, name: str) -> None:
        """Let it not have happened that somebody came or left: what followed on from it follows on from before it."""
        gone = self.happenings.pop(name)
        for one in self.happenings.values():
            if one.before == name:
                one.before = gone.before
        for place, last in list(self.last_behind.items()):
            if last == name:
                del self.last_behind[place]
                if gone.before is not None and self.happenings[gone.before].kind != "say":
                    self.last_behind[place] = gone.before

    def go_to(self, leaf: str | None) -> None:
        """Let it go on behind another message."""
        self.leaf = self.place = leaf

    def go_beside(self, ident: str) -> None:
        """Let it go on in the place of a message: with whatever had happened when that was said."""
        self.go_to(self.messages[ident].parent)
        self.last_behind[self.place] = self.happenings[ident].before

    def find_present_behind(self, message_id: str | None) -> frozenset[str]:
        """Who is there when something is said behind a message."""
        place = self.place if message_id == self.leaf else message_id
        return self._list_present()[self._find_last(place)]

    def find_hearers(self) -> dict[str, frozenset[str]]:
        """Who heard each message."""
        present, heard = self._list_present(), dict[str, frozenset[str]]()
        for said in self.messages.values():
            there = present[said.id]
            listening = there if said.audience is None else there & said.audience
            heard[said.id] = listening | {said.speaker}
        return heard

    def list_path(self) -> list[SaidMessage]:
        """The messages from the first to the newest one of the active branch."""
        path: list[SaidMessage] = []
        at = self.leaf
        while at is not None:
            said = self.messages[at]
            path.append(said)
            at = said.parent
        return path[::-1]

    def delete(self, ident: str) -> None:
        """Delete a message: what followed on from it follows on from the one before."""
        gone = self.messages[ident]
        gone.is_deleted = True
        for said in self.messages.values():
            if said.parent == ident:
                said.parent = gone.parent

    def _find_last(self, place: str | None) -> str | None:
        """What happened last behind a message, of which nothing followed yet; else that message."""
        return self.last_behind.get(place, place)

    def _list_present(self) -> dict[str | None, frozenset[str]]:
        """Who was there after each happening."""
        present: dict[str | None, frozenset[str]] = {None: self.started_with}
        for name, one in self.happenings.items():
            before = present[one.before]
            present[name] = before | {one.who} if one.kind == "join" else before
            if one.kind == "leave":
                present[name] = before - {one.who}
        return present


class Fact(Struct, frozen=True, kw_only=True):
    """A planted word and what it belongs to."""

    word: str
    kind: str
    owner: str = ""  # a participant
    talk: str = ""
    message: str = ""
    chapter: str = ""
    known_to: frozenset[str] | None = None  # participants, entries or the reader; None: everybody
    key: str = ""  # the word of a message that brings it
    is_sure: bool = False


class Question(Struct, frozen=True, kw_only=True):
    """One request: who asks in which conversation, and how."""

    talk: str
    speaker: str = ""  # empty: nobody speaks, so the reader asks
    recipe: str = "character-chat"
    window: int = 64_000
    document: str | None = ""
    topic: str = ""

    @property
    def is_large(self) -> bool:
        return self.window >= 64_000


class Hearing(Struct):
    """Everything that was planted in one project, and who may know it."""

    facts: dict[str, Fact] = field(default_factory=dict)
    talks: dict[str, Talk] = field(default_factory=dict)
    chapters: tuple[str, ...] = ()
    tells_all_recaps: bool = False  # so many that all of them are told
    history_characters: int = CAP  # that the history surely shows, where the project sets a window

    def find_forbidden(self, question: Question, prompt: str) -> list[str]:
        """The words of a prompt that its speaker must not know, each with its line."""
        heard = {name: talk.find_hearers() for name, talk in self.talks.items()}
        current = {name: self._find_current(talk) for name, talk in self.talks.items()}
        return [
            f"{self.facts[word]} in {line[:200]!r}"
            for line in prompt.splitlines()
            for word in find_words(line)
            if not self._may_hold(question, self.facts[word], line, heard, current)
        ]

    def find_missing(self, question: Question, prompt: str) -> list[str]:
        """The words that must be in a prompt and are not."""
        found = find_words(prompt)
        return [str(self.facts[word]) for word in sorted(self._find_sure(question) - found)]

    def find_eyes(self, ident: str) -> frozenset[str]:
        """Who a participant is in `known_to`: as a participant and as an entry."""
        if not ident:
            return frozenset({READER})
        namespace, _, key = ident.partition(":")
        return frozenset({ident, key} if namespace == "pawn" else {ident})

    def _find_current(self, talk: Talk) -> set[str]:
        return {word for said in talk.list_path() if said.is_final for word in said.words}

    def _may_hold(
        self,
        question: Question,
        fact: Fact,
        line: str,
        heard: dict[str, dict[str, frozenset[str]]],
        current: dict[str, set[str]],
    ) -> bool:
        talk, speaker = self.talks[question.talk], question.speaker
        eyes, present = self.find_eyes(speaker), talk.present
        if fact.kind == "chapter":
            return self._may_hold_chapter(question, fact)
        if fact.known_to is not None and fact.known_to.isdisjoint(eyes):
            return False
        match fact.kind:
            case "message":
                said = self.talks[fact.talk].messages[fact.message]
                hearers = heard[fact.talk][fact.message]
                knows = speaker in hearers if speaker else said.audience is None and fact.talk == question.talk
                if not knows or not said.is_final:
                    return False
                if fact.talk != question.talk and not self._is_past(question):
                    return False
                if fact.word not in current[fact.talk]:  # corrected, deleted or on another branch
                    return _RECAP in line and fact.talk == question.talk
                if fact.talk != question.talk and _RECENT not in line:
                    return present <= self.talks[fact.talk].everybody
                return True
            case "title":
                other = self.talks[fact.talk]  # somebody may have spoken whose joining was taken back
                voices = {said.speaker for said in other.messages.values()}
                return speaker in other.everybody | voices and self._is_past(question)
            case "own":
                return speaker == fact.owner
            case "card":
                return speaker == fact.owner or (fact.owner in present and (not speaker or speaker in present))
            case "prompt":
                return speaker == fact.owner or fact.owner in present
            case "biography":
                return speaker == fact.owner and self._is_between_two(talk)
            case "note":
                return fact.talk == question.talk and (not speaker or speaker in talk.everybody)
            case "lore":
                return not fact.key or self._has_heard_key(fact.key, question, heard)
            case "entry" | "recap":
                return True
        return False

    def _may_hold_chapter(self, question: Question, fact: Fact) -> bool:
        """Whether a chapter lies behind, and who speaks is named in it; agents work for the writer and know all."""
        if not question.document or fact.chapter > question.document:
            return False
        is_named = fact.known_to is not None and question.speaker in fact.known_to
        return not question.speaker or question.speaker.startswith("agent:") or is_named

    def _find_sure(self, question: Question) -> set[str]:
        talk, speaker = self.talks[question.talk], question.speaker
        if speaker not in talk.present:
            return set()
        heard, eyes = talk.find_hearers(), self.find_eyes(speaker)
        path = [said for said in talk.list_path() if said.is_final and speaker in heard[said.id]]
        cap = self.history_characters
        if not question.is_large:
            return path[-1].words if path and len(path[-1].text) < cap * LEFT_AFTER_STEP else set()
        is_whole = sum(len(said.text) + LINE_MARGIN for said in path) <= cap
        left, sure = cap if is_whole else cap * LEFT_AFTER_STEP, set[str]()
        for said in reversed(path):
            left -= len(said.text) + LINE_MARGIN
            if left < 0:
                break
            sure |= said.words
        pinned = [said for said in path if said.is_pinned]
        if sum(len(said.text) for said in pinned) <= 1500:
            sure |= {word for said in pinned for word in said.words}
        if question.recipe == "chat" and self.tells_all_recaps and len(path) <= 40 and not talk.has_own_recaps:
            sure |= {word for said in path if not said.is_corrected for word in said.words}
        for fact in self.facts.values():
            is_chapter = fact.kind == "chapter"
            if is_chapter and fact.chapter == question.document and self._may_hold_chapter(question, fact):
                sure.add(fact.word)
            if is_chapter or not fact.is_sure or (fact.known_to is not None and fact.known_to.isdisjoint(eyes)):
                continue
            match fact.kind:
                case "own":
                    is_told = speaker == fact.owner
                case "card" | "prompt":
                    is_told = fact.owner in talk.present
                case "biography":
                    is_told = speaker == fact.owner and self._is_between_two(talk)
                case "note":
                    is_told = fact.talk == question.talk
                case "lore":
                    is_told = not fact.key or (bool(path) and fact.key in path[-1].words)
                case kind:
                    is_told = kind == "entry"
            if is_told:
                sure.add(fact.word)
        return sure

    def _is_past(self, question: Question) -> bool:
        """Whether other conversations lie in the past: at the end of the story, or without a place."""
        return not question.document or question.document == self.chapters[-1]

    def _is_between_two(self, talk: Talk) -> bool:
        """Whether a player and a character talk alone."""
        people = talk.attendees
        return len(people) == 2 and len([one for one in people if one.startswith(PLAYER)]) == 1

    def _has_heard_key(self, key: str, question: Question, heard: dict[str, dict[str, frozenset[str]]]) -> bool:
        said = self.facts.get(key)
        if said is None or not said.message or said.talk != question.talk:
            return False
        if question.speaker:
            return question.speaker in heard[said.talk][said.message]
        return self.talks[said.talk].messages[said.message].audience is None


def describe(question: Question, faults: Iterable[str]) -> list[str]:
    """Faults with the request in which they are."""
    return [f"{one}\n  {question}" for one in faults]
