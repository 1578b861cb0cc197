"""The oracle of the canaries: which planted words a prompt may hold, and which it must.

It is written from the documentation alone and uses neither the gate, nor the timeline, nor any source. A story is a
list of chapters with the times at which they happen, and each word has plain limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from fabula.context.request import Attachment
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY, WorkingMemory

__all__ = ["Canary", "Chapter", "Limit", "Place", "PlantedStore", "Scene", "Story", "find_words"]

PEOPLE = ("mara", "bo", "cole")  # entries, and participants by `pawn:`
USERS = ("owner", "ann")
CHARS_AFTER = 500  # that an editor shows behind the cursor
MARGIN = 24  # characters further on in which a cut word is looked for
_WORD = re.compile(r"zq[a-z]{8}")
_SOURCES = {
    "novel": {"editor", "conversation", "skill", "constraints", "project", "codex", "lorebook", "memory", "episodes"}
    | {"synopses", "search", "talks"},
    "digest": {"skill", "constraints", "project", "codex", "lorebook", "memory"},
    "record": {"skill", "constraints", "project"},
    "plain": set[str](),
}
_SOURCES["chat"] = _SOURCES["character-chat"] = _SOURCES["novel"] | {"recaps"}
RECIPES = tuple(_SOURCES)  # that requests ask for
_SOURCES["scene"] = {"editor", "skill", "project", "codex", "synopses"}  # with which a model is asked what is needed
_NEAR = ("text", "entry", "manual", "name")  # sure where they are near, or asked for
# Whose eyes a skill asks for, and its recipe.
SKILLS = {
    "continue": ("", "novel"),
    "rewrite": ("", "novel"),
    "critique": ("author", "novel"),
    "plan": ("author", "novel"),
    "chat": ("", "chat"),
    "digest": ("", "record"),
    "stage": ("", "chat"),
    "peek": ("author", "novel"),
}


class Place(Struct, frozen=True):
    """A place in the story of one book."""

    book: str
    document: str
    offset: int = 0


class Limit(Struct, frozen=True, kw_only=True):
    """From when until when something holds, who may know it, and the chapter that it comes from."""

    since: Place | None = None
    until: Place | None = None
    known_to: frozenset[str] | None = None
    learned: tuple[tuple[str, Place], ...] = ()
    chapter: str = ""


class Chapter(Struct, frozen=True, kw_only=True):
    """A chapter: when it happens, who knows it (None: the reader, and everybody whom it names), its text."""

    id: str
    number: int
    happens: float
    known_to: frozenset[str] | None
    pov: str | None
    text: str

    @property
    def named(self) -> frozenset[str]:
        """Whom its text names."""
        return frozenset(one for one in PEOPLE if re.search(rf"\b{one.title()}\b", self.text))


class Canary(Struct, frozen=True, kw_only=True):
    """A planted word and the limits of where it may be."""

    word: str
    kind: str
    book: str = ""  # empty: a person's
    user: str = ""
    limits: tuple[Limit, ...] = ()
    sources: frozenset[str] = frozenset()  # one of which a recipe needs; none: whatever the recipe
    is_sure: bool = False  # it is in wherever it may be
    chapter: str = ""
    start: int = 0  # in the text of its chapter
    entry: str = ""  # which brings it
    skill: str = ""
    conversation: str = ""
    heard: frozenset[str] | None = None  # who heard the message, or the one that brings it
    echo_of: str = ""  # the word of a chapter that brings it

    @property
    def end(self) -> int:
        return self.start + len(self.word)


class Story(Struct, kw_only=True):
    """What the oracle knows of a project."""

    id: str
    project: str  # its id in the store
    chapters: dict[str, Chapter]
    earlier: frozenset[str] = frozenset()  # books before it in its series
    series: str = ""
    requested: tuple[str, ...] = ()  # entries that a request may include
    conversations: tuple[str, ...] = ()
    pinned_out: dict[str, str] = field(default_factory=dict)  # entries by chapter


class Scene(Struct, frozen=True, kw_only=True):
    """One request: who asks, from where, whose eyes, and what comes along."""

    book: str
    user: str = "owner"
    document: str = ""
    cursor: int | None = None
    perspective: str | None = None
    character: str | None = None
    speaker: str = ""
    recipe: str = ""
    skill: str = "continue"
    conversation: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    selection: tuple[int, int] | None = None
    typed: str = ""  # just before the cursor, not saved
    attached: str = ""
    edited: tuple[tuple[str, int, str], ...] = ()  # documents, offsets and words of working memory
    late_joiners: bool | None = None
    answered: bool = False

    @property
    def sources(self) -> set[str]:
        told = _SOURCES[self.recipe or SKILLS[self.skill][1]]
        if self.speaker:  # how the writer writes, and what the writer plans, is for writers
            return told - {"memory", "episodes", "project"}
        return told | {"plans"} if "constraints" in told else told

    def working_memory(self) -> WorkingMemory:
        """The words just typed elsewhere."""
        session = EMPTY_WORKING_MEMORY
        for document, offset, word in self.edited:
            session = session.with_edit(document, offset, f"And {word} it was.")
        return session

    def fields(self, story: Story) -> dict[str, Any]:
        """The fields of its request."""
        given: dict[str, Any] = {
            "document_id": self.document,
            "cursor": self.cursor,
            "perspective": self.perspective,
            "character": self.character,
            "speaker_id": self.speaker,
            "recipe": self.recipe,
            "skill_id": self.skill,
            "conversation_id": self.conversation,
            "include": self.include,
            "exclude": self.exclude,
            "selection": self.selection,
            "late_joiners": self.late_joiners,
            "window": 120_000,
            "additional_input": "What did the Tidekeeper say of the harbour?",
        }
        if self.typed:
            text, cursor = story.chapters[self.document].text, self.cursor or 0
            given["unsaved_text"] = f"{text[:cursor]} {self.typed} {text[cursor:]}"
            given["cursor"] = cursor + len(self.typed) + 2
        if self.attached:
            text = f"A list with {self.attached}."
            given["attachments"] = (Attachment(id="a1", kind="file", name="list.txt", text=text),)
        return given


class PlantedStore(Struct, kw_only=True):
    """All planted words, and the stories they are planted in."""

    stories: dict[str, Story] = field(default_factory=dict)
    canaries: dict[str, Canary] = field(default_factory=dict)

    # The oracle

    def find_forbidden(self, scene: Scene, found: Iterable[str]) -> list[Canary]:
        """The words of a prompt that must not be in it."""
        return [self.canaries[word] for word in found if not self.may_hold(scene, self.canaries[word])]

    def find_missing(self, scene: Scene, found: set[str]) -> list[Canary]:
        """The words that must be in the prompt of a scene, and are not."""
        return [
            one
            for one in self.canaries.values()
            if one.word not in found and (one.is_sure or one.kind in _NEAR) and self.must_hold(scene, one)
        ]

    def may_hold(self, scene: Scene, one: Canary) -> bool:
        """Whether a word may be in the prompt of a scene."""
        story, eyes = self.stories[scene.book], self.find_eyes(scene)
        if one.kind == "request":
            return self._is_of_request(scene, one)
        if (one.book and one.book not in self._visible_books(story, one)) or (one.user and one.user != scene.user):
            return False
        if one.kind == "never" or (one.sources and not one.sources & scene.sources):
            return False
        if (self._is_excluded(scene, one) and one.kind != "name") or (one.skill and one.skill != scene.skill):
            return False
        if one.kind == "manual" and one.entry not in scene.include:
            return False
        if not all(self.holds(limit, scene, eyes) for limit in one.limits):
            return False
        if one.echo_of:
            text = self.canaries[one.echo_of]
            cut = replace(text, start=text.start if scene.speaker else text.start - MARGIN)
            return any(self._may_hold_chapter(scene, place, eyes) for place in (text, cut))
        match one.kind:
            case "text" | "title" | "beat" | "fact":
                return self._may_hold_chapter(scene, one, eyes)
            case "message" | "recap" | "kept":
                return self._may_hold_said(scene, one, eyes)
            case "prompt":  # a private fixed prompt
                return self._has_heard(scene, one, eyes)
            case "shared-prompt":  # told to everybody in a conversation of its owner
                return self._has_heard(scene, one, eyes) or bool(scene.conversation and "recaps" in scene.sources)
            case "persona":
                return scene.speaker in (one.heard or ()) and bool(scene.conversation)
            case "card":  # what a card tells everybody
                return bool(scene.conversation)
            case "condition":
                return one.conversation == scene.conversation and self._has_heard(scene, one, eyes)
            case "asked":
                return self._may_hold_asked(scene, one, eyes)
            case "need":  # a reason for passages, from where it was asked on, for whoever had these eyes
                is_here = scene.document == one.chapter and one.start <= self._cursor(scene)
                return is_here and one.heard is not None and bool(one.heard & (eyes or {"author"}))
        return True

    def must_hold(self, scene: Scene, one: Canary) -> bool:
        """Whether nothing but the gate could keep a word out of the prompt of a scene."""
        if not self.may_hold(scene, one):
            return False
        match one.kind:
            case "text":
                if "editor" not in scene.sources or one.chapter != scene.document:
                    return False
                cursor = self._cursor(scene)
                return one.end <= cursor or (cursor <= one.start <= cursor + CHARS_AFTER // 2 and not scene.speaker)
            case "title":
                return "editor" in scene.sources and one.chapter == scene.document
            case "beat":  # a skill shows it to a speaker too
                is_shown = scene.skill in ("stage", "peek") if scene.speaker else "editor" in scene.sources
                return is_shown and "skill" in scene.sources and one.chapter == scene.document
            case "message" | "condition":
                return one.conversation == scene.conversation
            case "asked":
                return self._is_writer_in(scene, one.chapter) and "conversation" in scene.sources
            case "linked":
                return bool(scene.document) and self._cursor(scene) > 100 and not scene.speaker
            case "entry" | "manual" | "name":
                return not self._is_excluded(scene, one) and (one.entry in scene.include or one.is_sure)
        return True

    def find_eyes(self, scene: Scene) -> frozenset[str] | None:
        """Who looks: None for the author."""
        chapter = self.stories[scene.book].chapters.get(scene.document)
        asked = scene.perspective or ("" if scene.speaker else SKILLS[scene.skill][0])
        character = scene.character or scene.speaker or (chapter.pov if chapter is not None else None)
        if asked == "author":
            return None
        if asked == "reader" or not character:
            return frozenset({"reader"})
        bare = character.removeprefix("pawn:")
        return frozenset({character, bare, f"pawn:{bare}"}) if bare in PEOPLE else frozenset({character})

    def holds(self, limit: Limit, scene: Scene, eyes: frozenset[str] | None) -> bool:
        """Whether something with this limit may be known in a scene."""
        if limit.until is not None and self.has_reached(limit.until, scene):
            return False
        if eyes is None:
            return True
        if limit.known_to is not None and not limit.known_to & eyes:
            return False
        if limit.chapter in self.stories[scene.book].chapters and not self.knows_chapter(limit.chapter, scene, eyes):
            return False
        if any(who in eyes and not self.has_reached(place, scene) for who, place in limit.learned):
            return False
        return limit.since is None or self.has_reached(limit.since, scene)

    def knows_chapter(self, ident: str, scene: Scene, eyes: frozenset[str] | None) -> bool:
        """Whether whoever looks knows a chapter, wherever it stands in the story.

        A character knows what the narrator tells only where the chapter names the character; a writer, what is written.
        """
        chapter = self.stories[scene.book].chapters[ident]
        if eyes is None:
            return True
        if chapter.known_to is not None:
            return bool(chapter.known_to & eyes)
        is_written = scene.document == ident and not scene.speaker
        return "reader" in eyes or is_written or bool(chapter.named & eyes)

    def has_reached(self, place: Place, scene: Scene) -> bool:
        """Whether a place has been read and has happened where a scene is."""
        story = self.stories[scene.book]
        here, there = story.chapters.get(scene.document), self.stories[place.book].chapters[place.document]
        if here is None:
            return False
        if place.book != scene.book:
            return place.book in story.earlier and here.happens >= 1
        if here.id == there.id:
            return place.offset <= self._cursor(scene)
        return there.number < here.number and there.happens <= here.happens

    def _cursor(self, scene: Scene) -> int:
        text = self.stories[scene.book].chapters[scene.document].text
        return len(text) if scene.cursor is None else scene.cursor

    def _visible_books(self, story: Story, one: Canary) -> set[str]:
        shared = {story.id, story.series} if one.kind != "linked" else {story.id}
        return shared | story.earlier if one.kind == "shared" else shared

    def _is_of_request(self, scene: Scene, one: Canary) -> bool:
        if one.word == scene.attached:
            return True
        eyes = self.find_eyes(scene)
        if one.word == scene.typed:
            return "editor" in scene.sources or self._is_typed_into_selection(scene, eyes)
        for document, offset, word in scene.edited:
            if word == one.word:
                return self.holds(Limit(since=Place(scene.book, document, offset), chapter=document), scene, eyes)
        return False

    def _is_typed_into_selection(self, scene: Scene, eyes: frozenset[str] | None) -> bool:
        """Whether what is typed stands in the selected text, which a skill shows where a recipe has no editor."""
        if scene.selection is None or scene.skill not in ("stage", "peek"):
            return False
        is_known = self.knows_chapter(scene.document, scene, eyes)
        return scene.selection[0] <= self._cursor(scene) <= scene.selection[1] and (is_known or not scene.speaker)

    def _may_hold_chapter(self, scene: Scene, one: Canary, eyes: frozenset[str] | None) -> bool:
        if eyes is None:
            return True
        is_known = self.knows_chapter(one.chapter, scene, eyes)
        if scene.document == one.chapter and (is_known or not scene.speaker):
            if one.kind not in ("text", "fact"):
                return one.kind == "title" or not scene.speaker or scene.skill in ("stage", "peek")
            cursor = self._cursor(scene)
            first, last = sorted(scene.selection or (0, 0))
            is_selected = first < one.end and one.start < last
            if one.kind == "fact" and "editor" not in scene.sources:  # no text: only what the book said up to here
                return is_selected or self.holds(_at(scene.book, one), scene, eyes)
            return one.end <= cursor + (0 if scene.speaker else CHARS_AFTER) or is_selected
        if one.kind == "beat" or not is_known or scene.document == one.chapter:
            return False
        return self.has_reached(Place(scene.book, one.chapter), scene)

    def _is_writer_in(self, scene: Scene, chapter: str) -> bool:
        """Whether a writer asks in a chapter, and follows on from what was asked for there before."""
        is_own = scene.conversation in ("", f"document:{chapter}")
        return scene.document == chapter and not scene.speaker and is_own

    def _may_hold_asked(self, scene: Scene, one: Canary, eyes: frozenset[str] | None) -> bool:
        if eyes is None or self._is_writer_in(scene, one.chapter):
            return True
        end = Place(scene.book, one.chapter, len(self.stories[scene.book].chapters[one.chapter].text))
        is_named = scene.conversation == f"document:{one.chapter}"
        return is_named and self.holds(Limit(since=end, chapter=one.chapter), scene, eyes)

    def _is_excluded(self, scene: Scene, one: Canary) -> bool:
        """Whether the request excludes an entry, or the chapter does and the request does not include it."""
        pinned_out = self.stories[scene.book].pinned_out.get(scene.document)
        is_pinned = bool(one.entry) and one.entry == pinned_out and one.entry not in scene.include
        return one.entry in scene.exclude or is_pinned

    def _has_heard(self, scene: Scene, one: Canary, eyes: frozenset[str] | None) -> bool:
        return eyes is None or one.heard is None or bool(one.heard & eyes)

    def _may_hold_said(self, scene: Scene, one: Canary, eyes: frozenset[str] | None) -> bool:
        if eyes is None:
            return True
        if one.kind in ("message", "recap") and one.conversation and one.conversation == scene.conversation:
            return self._has_heard(scene, one, eyes)
        # Elsewhere a message has no place in the story, and only those who heard it know it; a chat at its end does.
        return self._is_at_end(scene) and one.heard is not None and bool((one.heard - {"reader"}) & eyes)

    def _is_at_end(self, scene: Scene) -> bool:
        """Whether everything that was said elsewhere lies in the past of a scene."""
        if not scene.document:
            return True
        chapters = self.stories[scene.book].chapters.values()
        here = self.stories[scene.book].chapters[scene.document]
        is_last = all(one.number <= here.number and one.happens <= here.happens for one in chapters)
        return is_last and scene.cursor is None and bool(scene.conversation) and "recaps" in scene.sources


def _at(book: str, one: Canary) -> Limit:
    """The limit of a word that is known from where it stands on, to those who know its chapter."""
    return Limit(since=Place(book, one.chapter, one.end), chapter=one.chapter)


def find_words(prompt: str) -> set[str]:
    """The planted words of a text."""
    return set(_WORD.findall(prompt.lower()))
