"""What lorebooks offer: the texts of entries that a conversation, or the text being written, calls up.

A book is asked over the conversation's messages; in the novel recipe the text before the cursor is one
message, and the instruction another. All of it is retrieved, constants too. A book read by SillyTavern's
rules arrives fitted by them, and an entry that they leave out is not held over; by our own rules an entry
told last time stays while there is room. Sticky and resting entries are handed from request to request in
the continuity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from fabula.context.recipes import NOVEL
from fabula.context.request import Ask
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer, Terms
from fabula.core.relevance import DETECTED, KEPT, PULLED_IN, within
from fabula.core.view import View
from fabula.lorebook.books import Lorebooks, Question, leave, source_of
from fabula.lorebook.model import EXPLAINED, Activation, Ref, Said, Scene
from fabula.lorebook.model import Reason as Why
from fabula.lorebook.model import Verdict as Answer
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.placement import Seat, anchors_of, seat
from fabula.lorebook.scan_order import title_of
from fabula.lorebook.sillytavern_rules import EXACT

REACH = 8000  # characters before the cursor that count as the message
_ANYWHERE = Terms("")
_TOLD = 5  # problems of a book that are told one by one
_HELD = "told last time, and its keys are not in the text now"
_REASONS = {Why.NOT_MENTIONED: Reason.NOT_DETECTED, Why.DISABLED: Reason.LEVEL_NEVER}


class Talk(NamedTuple):
    """A conversation as books read it: its latest messages, oldest first, and how many came before them."""

    said: tuple[Said, ...] = ()
    earlier: int = 0
    user: str = ""


Listen = Callable[[View, str, int], Talk]  # a conversation's latest messages, so many at most


class LorebookSource:
    """Entries of the project's active books."""

    name = "lorebook"
    failing = Code.SOURCE_UNAVAILABLE
    waits = False
    ahead = False

    def __init__(self, listen: Listen = lambda view, conversation, most: Talk()) -> None:
        self._listen = listen

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """The texts of active entries, in the order in which a book is read."""
        books = view.room(Lorebooks)
        return () if books is None else self._active(books, ask, view)

    def _active(self, books: Lorebooks, ask: Ask, view: View) -> Iterator[Fragment]:
        question, anchors = self._question(books, ask, view), anchors_of(ask.request.preset)
        for answer in books.ask(question, ask.tokenizer):
            ask.notes.extend(_problems(answer))
            verdicts = {verdict.ref: verdict for verdict in answer.verdicts}
            held = _held(answer, ask)
            for lore in books.read_in_order((*answer.chosen, *held), question.scene):
                place = seat(lore.entry, anchors)
                if isinstance(place, Seat):
                    score, why = _standing(verdicts[lore.ref])
                    yield _fragment(
                        books.project_id,
                        lore.ref,
                        verdicts[lore.ref].title,
                        lore.text,
                        score,
                        place,
                        f"{books.books[lore.ref.book].name}: {why}",
                        answer.rules == EXACT.name,
                        books.terms.get(lore.ref, _ANYWHERE),
                    )

    def absent(self, ask: Ask, view: View) -> Iterator[Verdict]:
        """Every entry that stayed out, and why; books that could not be read."""
        books = view.room(Lorebooks)
        if books is None:
            return
        anchors = anchors_of(ask.request.preset)
        for book in books.books.values():
            if book.problem:
                yield Verdict(
                    f"lorebook:{book.id}", book.name, Layer.RETRIEVED, Reason.BOOK_RULES, 0, 0.0, book.problem
                )
        for ref, reason in books.withheld(ask.vantage, view.timeline).items():
            title = title_of(ref, books.entries[ref])
            yield Verdict(source_of(ref), title, Layer.RETRIEVED, reason, 0, 0.0, books.books[ref.book].name)
        for answer in books.ask(self._question(books, ask, view), ask.tokenizer):
            held = set(_held(answer, ask))
            for verdict in answer.verdicts:
                reason, why = _REASONS.get(verdict.reason, Reason.BOOK_RULES), told(verdict)
                if verdict.active or verdict.ref in held:
                    place = seat(books.entries[verdict.ref], anchors)
                    if isinstance(place, Seat):
                        continue
                    reason, why = Reason.BOOK_RULES, place
                yield Verdict(source_of(verdict.ref), verdict.title, Layer.RETRIEVED, reason, 0, 0.0, why)

    def leaves(self, ask: Ask, view: View) -> bytes:
        """The timed effects after this request."""
        books = view.room(Lorebooks)
        if books is None:
            return b""
        return leave(books.ask(self._question(books, ask, view), ask.tokenizer))

    def _question(self, books: Lorebooks, ask: Ask, view: View) -> Question:
        request = ask.request
        talking = bool(request.conversation_id) and request.recipe not in ("", NOVEL.name)
        talk = self._listen(view, request.conversation_id, books.depth) if talking else _written(ask)
        said = talk.said
        if request.additional_input.strip():
            said = (*said, Said(talk.user, request.additional_input))
        about = books.about(called(request.character or request.speaker_id))
        scene = Scene(
            max_context=ask.window,
            user=talk.user,
            character=about.name,
            tags=about.tags,
            description=about.description,
            personality=about.personality,
            scenario=about.scenario,
            creator_notes=about.creator_notes,
            depth_prompt=about.depth_prompt,
            external=_pulled_in(books, request.include),
        )
        place = request.conversation_id if talking else request.document_id
        seed = (request.project_id, place)
        left, withheld = ask.left.get(self.name, b""), frozenset(books.withheld(ask.vantage, view.timeline))
        return Question(said, talk.earlier, scene, seed, left, names=talking, withheld=withheld)


def called(participant: str | None) -> str:
    """What books call somebody: the key of an id, without a persona's revision."""
    _, colon, key = (participant or "").partition(":")
    return key.partition("#")[0] if colon else participant or ""


def told(verdict: Answer) -> str:
    """Why an entry is in or out, in words."""
    return f"{EXPLAINED[verdict.reason]}, {verdict.detail}" if verdict.detail else EXPLAINED[verdict.reason]


def _problems(answer: Activation) -> list[str]:
    """What a book's maker should know, as warnings: the first few, and how many more there are."""
    told = [problem.rstrip(".") for problem in answer.problems[:_TOLD]]
    more = len(answer.problems) - len(told)
    told += [f"{more} more things in lorebooks could not be used as they are"] * bool(more)
    return [f"{Code.LOREBOOK_IN_PART.value}: {sentence}" for sentence in told]


def _written(ask: Ask) -> Talk:
    """The text before the cursor as one message."""
    text = ask.text
    if text is None or text.empty:
        return Talk()
    return Talk((Said("", text.paragraphs.text[max(text.begin, text.end - REACH) : text.end]),))


def _held(answer: Activation, ask: Ask) -> list[Ref]:
    """What was told last time and is merely not mentioned now, where our own rules speak."""
    if answer.rules != FABULA.name or not ask.held:
        return []
    before = set(ask.held)
    silent = (verdict.ref for verdict in answer.verdicts if verdict.reason is Why.NOT_MENTIONED)
    return [ref for ref in silent if source_of(ref) in before]


def _standing(verdict: Answer) -> tuple[float, str]:
    """How much an entry is wanted, and what brought it; what it took more passes to wake is less near."""
    if not verdict.active:
        return KEPT, _HELD
    nearness = 1 / max(verdict.step, 1)
    return PULLED_IN if verdict.reason is Why.EXTERNAL else within(DETECTED, nearness), told(verdict)


def _pulled_in(books: Lorebooks, names: tuple[str, ...]) -> frozenset[Ref]:
    """Entries that a request asks for by hand."""
    if not names:
        return frozenset()
    wanted = {name.removeprefix("lorebook:") for name in names}
    return frozenset(ref for ref, entry in books.entries.items() if wanted & {str(ref), entry.comment})


@lru_cache(maxsize=4096)
def _fragment(
    project_id: str,
    ref: Ref,
    title: str,
    text: str,
    score: float,
    place: Seat,
    because: str,
    fitted: bool,
    terms: Terms,
) -> Fragment:
    """The same entry in the same place is the same fragment, so that what was measured of it is found again."""
    return Fragment(
        source=source_of(ref),
        layer=Layer.RETRIEVED,
        text=text,
        project_id=project_id,
        title=title,
        score=score,
        role=place.role,
        placement=place.placement,
        since=terms.since,
        until=terms.until,
        known_to=terms.known_to,
        because=because,
        fitted=fitted,
    )
