"""The lorebook source: texts of entries that are active for the conversation or the text being written (inj-8).

Keys are matched in the messages of the conversation. In the novel recipe the text before the cursor is one
message and the instruction another. All fragments are in the retrieved layer, constant entries too. Books
under SillyTavern's rules are already fitted to their own budget, and entries that they omit stay out. Under
our own rules, an entry that was included last time is offered again while there is room. The continuity
carries timed effects from one request to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from fabula.context.reasons import explain_gate
from fabula.context.recipes import NOVEL
from fabula.context.request import SourceRequest, has_limits
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer, Visibility
from fabula.core.messages import Sentence, message, plural
from fabula.core.relevance import DETECTED, PREVIOUSLY_INCLUDED, REQUESTED, score_in_range
from fabula.core.story import Timeline, Vantage
from fabula.core.view import View
from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import Activation, EntryRef, EntryVerdict, LorebookReason, ScanContext, ScanMessage
from fabula.lorebook.placement import EntryPlacement, list_anchors, place_entry
from fabula.lorebook.scan_order import make_title
from fabula.lorebook.sillytavern_rules import EXACT
from fabula.lorebook.snapshot import Lorebooks, ScanRequest, encode_timed_effects, make_source
from fabula.text.macros import is_changing

MESSAGE_CHARS = 8000  # before the cursor, read as one message
_ALWAYS_VISIBLE = Visibility("")
_SHOWN_PROBLEMS = 5
_REASONS = {LorebookReason.NOT_MENTIONED: Reason.NOT_DETECTED, LorebookReason.DISABLED: Reason.LEVEL_NEVER}


class ConversationExcerpt(NamedTuple):
    """The latest messages of a conversation, oldest first, and the number of messages before them."""

    messages: tuple[ScanMessage, ...] = ()
    earlier_count: int = 0
    user_name: str = ""
    absent_cards: frozenset[str] = frozenset()  # ids of books that belong to cards of characters who do not take part


LoadExcerpt = Callable[[SourceRequest, View, int], ConversationExcerpt]  # at most so many messages


class LorebookSource:
    """A source of the entries of the project's active lorebooks."""

    name = "lorebook"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(self, load_excerpt: LoadExcerpt = lambda source_request, view, limit: ConversationExcerpt()) -> None:
        self._load_excerpt = load_excerpt

    def fragments(self, source_request: SourceRequest, view: View) -> Iterator[Fragment]:
        """Offer the texts of active entries in reading order."""
        books = view.snapshot(Lorebooks)
        if books is None:
            return
        anchors = list_anchors(source_request.request.preset)
        request = self._make_scan_request(books, source_request, view)
        for activation in books.scan(request, source_request.tokenizer):
            source_request.warnings.extend(_make_warnings(activation, view.project.language))
            verdicts = {verdict.ref: verdict for verdict in activation.verdicts}
            retained = _find_retained(activation, source_request)
            for entry in books.prepare_in_order((*activation.active, *retained), request.context):
                placement = place_entry(entry.fields, anchors)
                if isinstance(placement, EntryPlacement):
                    if placement.placement is not None and placement.placement.anchor and is_changing(entry.text):
                        placement = EntryPlacement()  # anchors may be part of the stable prefix
                    score, reason = _score(verdicts[entry.ref])
                    visibility = books.visibility.get(entry.ref, _ALWAYS_VISIBLE)
                    fragment = Fragment(
                        source=make_source(entry.ref),
                        layer=Layer.RETRIEVED,
                        text=source_request.macros.expand(entry.text, char=request.context.character.name),
                        project_id=books.project_id,
                        title=verdicts[entry.ref].title,
                        score=score,
                        role=placement.role,
                        placement=placement.placement,
                        since=visibility.since,
                        until=visibility.until,
                        known_to=visibility.known_to,
                        explanation=message("{book}: {reason}", book=books.books[entry.ref.book].name, reason=reason),
                        prefitted=activation.rules == EXACT.name,
                    )
                    yield books.share_fragment(fragment)

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterator[Verdict]:
        """Explain every entry that is not active or has no place, and every book that could not be parsed."""
        books = view.snapshot(Lorebooks)
        if books is None:
            return
        anchors = list_anchors(source_request.request.preset)
        for book in books.books.values():
            if book.problem is not None:
                yield _make_verdict(f"lorebook:{book.id}", book.name, Reason.BOOK_RULES, book.problem)
        for ref, reason in books.find_hidden(source_request.vantage, view.timeline).items():
            hidden = _make_verdict(
                make_source(ref), make_title(ref, books.entries[ref]), reason, books.books[ref.book].name
            )
            yield replace(hidden, cause=explain_hidden(books, ref, reason, source_request.vantage, view.timeline))
        request = self._make_scan_request(books, source_request, view)
        absent = message("its character does not take part in this conversation")
        for ref in books.list_entries(request.absent_cards):
            yield _make_verdict(make_source(ref), make_title(ref, books.entries[ref]), Reason.BOOK_RULES, absent)
        for activation in books.scan(request, source_request.tokenizer):
            retained = set(_find_retained(activation, source_request))
            for verdict in activation.verdicts:
                reason, detail = _REASONS.get(verdict.reason, Reason.BOOK_RULES), explain_verdict(verdict)
                if verdict.active or verdict.ref in retained:
                    placement = place_entry(books.entries[verdict.ref], anchors)
                    if isinstance(placement, EntryPlacement):
                        continue
                    reason, detail = Reason.BOOK_RULES, placement
                yield _make_verdict(make_source(verdict.ref), verdict.title, reason, detail)

    def save_state(self, source_request: SourceRequest, view: View) -> bytes:
        """Return the timed effects after this request."""
        books = view.snapshot(Lorebooks)
        if books is None:
            return b""
        request = self._make_scan_request(books, source_request, view)
        return encode_timed_effects(books.scan(request, source_request.tokenizer))

    def _make_scan_request(self, books: Lorebooks, source_request: SourceRequest, view: View) -> ScanRequest:
        request = source_request.request
        is_chat = bool(request.conversation_id) and request.recipe not in ("", NOVEL.name)
        if is_chat:
            excerpt = self._load_excerpt(source_request, view, books.scan_depth)
        else:
            excerpt = _read_text_before_cursor(source_request)
        messages = excerpt.messages
        is_sent_text_read = not has_limits(request.principal)  # else anybody could find entries by guessing their keys
        if not is_sent_text_read and not is_chat and request.unsaved_text is not None:
            messages = ()
        if is_sent_text_read and request.additional_input.strip():
            messages = (*messages, ScanMessage(excerpt.user_name, request.additional_input))
        return ScanRequest(
            messages,
            excerpt.earlier_count,
            ScanContext(
                max_context=source_request.available_tokens,
                user=excerpt.user_name,
                character=books.find_card_character(
                    request.macros.char or get_character_name(request.character or request.speaker_id)
                ),
                forced=_find_forced(books, request.include),
            ),
            seed=(request.project_id, request.conversation_id if is_chat else request.document_id),
            timed_effects=source_request.source_state.get(self.name, b""),
            include_names=is_chat,
            absent_cards=excerpt.absent_cards,
            hidden=frozenset(books.find_hidden(source_request.vantage, view.timeline)),
        )


def get_character_name(participant: str | None) -> str:
    """Return the name of a participant in lorebooks: the key of its id, without a persona's revision."""
    _, colon, key = (participant or "").partition(":")
    return key.partition("#")[0] if colon else participant or ""


def explain_hidden(
    books: Lorebooks, ref: EntryRef, reason: Reason, vantage: Vantage, timeline: Timeline
) -> Sentence | None:
    """Say from or until which chapter an entry holds that is hidden at a place of the story."""
    if reason is Reason.NOT_KNOWN:
        return None
    return explain_gate([books.visibility[ref]], reason, vantage, timeline, str)


def explain_verdict(verdict: EntryVerdict) -> Sentence:
    """Explain in words why an entry is active or not."""
    reason = verdict.reason.sentence
    return message("{reason}, {detail}", reason=reason, detail=verdict.detail) if verdict.detail else reason


def _make_verdict(source: str, title: str, reason: Reason, detail: Sentence | str) -> Verdict:
    return Verdict(source, title, Layer.RETRIEVED, reason, 0, 0.0, detail)


def _make_warnings(activation: Activation, language: str) -> list[str]:
    """Return the first few problems of the books as warnings, and the number of further ones."""
    sentences = list(activation.problems[:_SHOWN_PROBLEMS])
    more = len(activation.problems) - len(sentences)
    if more:
        sentences.append(
            plural(more, "1 more key in lorebooks cannot be used.", "{count} more keys in lorebooks cannot be used.")
        )
    return [f"{Code.LOREBOOK_IN_PART.value}: {sentence.render(language)}" for sentence in sentences]


def _read_text_before_cursor(source_request: SourceRequest) -> ConversationExcerpt:
    """Return the text before the cursor as one message."""
    text = source_request.text_before_cursor
    if text is None or text.is_empty:
        return ConversationExcerpt()
    return ConversationExcerpt(
        (ScanMessage("", text.paragraphs.text[max(text.begin, text.end - MESSAGE_CHARS) : text.end]),)
    )


def _find_retained(activation: Activation, source_request: SourceRequest) -> list[EntryRef]:
    """Return the entries that were included last time and are only not mentioned now; under our own rules only."""
    if activation.rules != FABULA.name or not source_request.previously_included:
        return []
    previous = set(source_request.previously_included)
    unmentioned = (verdict.ref for verdict in activation.verdicts if verdict.reason is LorebookReason.NOT_MENTIONED)
    return [ref for ref in unmentioned if make_source(ref) in previous]


def _score(verdict: EntryVerdict) -> tuple[float, Sentence]:
    """Return the score of an entry and the reason; each further pass that it took lowers the score."""
    if not verdict.active:
        return PREVIOUSLY_INCLUDED, message("included last time; its keys are not in the text now")
    if verdict.reason is LorebookReason.EXTERNAL:
        return REQUESTED, explain_verdict(verdict)
    return score_in_range(DETECTED, 1 / max(verdict.pass_number, 1)), explain_verdict(verdict)


def _find_forced(books: Lorebooks, names: tuple[str, ...]) -> frozenset[EntryRef]:
    """Return the entries that the request includes by reference or comment."""
    if not names:
        return frozenset()
    wanted = {name.removeprefix("lorebook:") for name in names}
    return frozenset(ref for ref, entry in books.entries.items() if wanted & {str(ref), entry.comment})
