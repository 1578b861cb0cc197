"""The source of what chats are told beside the running conversation (cnv-7, cnv-8).

It offers, in this order: the fixed prompts of everybody present, the biography where a player and a character talk
alone, pinned words and recaps of rounds that the history window does not show, and messages that neither the window
shows nor a text covers. `Recipe.injected_characters` caps the whole, and the gate decides who is told what. What
everybody present knows stands in the common part of the prompt; what only the speaker knows stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.gate import judge_visibility
from fabula.context.place import place_own
from fabula.context.request import Request, SourceRequest
from fabula.context.trace import Reason, Verdict
from fabula.conversation.model import MAX_SNAPSHOT_MESSAGES, Conversations, Message
from fabula.conversation.participant_texts import ParticipantText, ParticipantTexts
from fabula.conversation.participants import Participants
from fabula.conversation.personas import find_lone_character, place_for_listeners
from fabula.conversation.presence import Attendance
from fabula.conversation.recaps.snapshot import (
    MAX_QUOTED,
    MAX_RELATED,
    PINNED_SCORE,
    ConversationRecaps,
    RecapFragment,
    RecapSnapshot,
    make_earlier_fragment,
)
from fabula.core.errors import Code
from fabula.core.fragment import EarlierMessage, Fragment, Layer, Tier, Visibility
from fabula.core.messages import Sentence, message, plural
from fabula.core.relevance import EARLIER_MESSAGE, PASSAGE, score_in_range
from fabula.core.story import Position, Timeline
from fabula.core.view import View
from fabula.text.quotes import head_own_conversation, render_line

RelevantHistory = Literal["classic", "embedding-first"]
BIOGRAPHY_SCORE = PINNED_SCORE + 0.01
MAX_EARLIER = 40  # messages that are offered by their time
MAX_WHISPERS = 100  # and, with these, whispers: no recap will ever cover them


class RecapOptions(Struct, frozen=True, kw_only=True):
    """What a project sets for chats: whether recaps are told, how many, and how relevant history is chosen."""

    tells_recaps: bool = True
    latest_recaps: int = 3
    relevant_history: RelevantHistory = "embedding-first"


def offer_recaps(source_request: SourceRequest, view: View) -> Iterator[Fragment]:
    """Offer what a chat is told beside the running conversation, in its order."""
    request, conversations = source_request.request, view.snapshot(Conversations)
    name = request.conversation_id
    attendance = conversations.attendances.get(name) if conversations is not None and name else None
    if conversations is None or attendance is None:
        return
    people, texts = view.snapshot(Participants) or Participants(), view.snapshot(ParticipantTexts) or ParticipantTexts()
    yield from _offer_fixed_prompts(attendance, texts, people, request)
    yield from _offer_biography(attendance, texts, people, request)
    snapshot, path = view.snapshot(RecapSnapshot), conversations.messages.get(name, ())
    known = snapshot.by_conversation.get(name) if snapshot is not None else None
    if known is None:
        return
    options = view.snapshot(RecapOptions) or RecapOptions()
    first_shown = find_first_shown(source_request, view, path) if path else 0

    def is_known(fragment: Fragment) -> bool:
        return judge_visibility(fragment, source_request.vantage, view.timeline) is None

    if path and (first_shown > (path[0].number or 0) or path[0].parent_id is not None):
        for number, pinned in known.pinned.items():
            if number < first_shown:
                yield place_for_listeners(pinned.fragment, attendance, source_request)
        recaps = known.recaps if options.tells_recaps else ()
        chosen = _choose_recaps(recaps, first_shown, options, [is_known(one.fragment) for one in recaps])
        previous = frozenset[str]() if source_request.reselect else frozenset(source_request.previously_included)
        if previous and options.tells_recaps:
            kept = [
                one
                for one in (*known.replaced, *recaps)
                if one.fragment.source in previous and one.first_message < first_shown and is_known(one.fragment)
            ]
            chosen = _keep_recaps(kept, chosen, path, first_shown, previous)
        for one in chosen:
            yield place_for_listeners(one.fragment, attendance, source_request)
        covered = _find_covered(recaps, source_request, view)
        scores = PASSAGE if options.relevant_history == "classic" else EARLIER_MESSAGE
        yield from _offer_earlier(known, path, first_shown, covered, previous, source_request, view, scores)
    if options.relevant_history == "classic":
        shown, language = find_shown_texts(source_request, view), view.project.language
        quoted = [
            one
            for one in _quote_others(known, source_request, view)
            if is_known(one) and one.text.removeprefix(render_line(one.title, "", language)) not in shown
        ]
        yield from _offer_latest(reversed(quoted), attendance, source_request)


def find_shown_texts(source_request: SourceRequest, view: View) -> frozenset[str]:
    """Return the texts of the messages that the prompt shows, could show, or tells as pinned: none is told again."""
    name, conversations = source_request.request.conversation_id, view.snapshot(Conversations)
    path = conversations.messages.get(name, ()) if conversations is not None else ()
    if conversations is None or not path or name not in conversations.attendances:
        return frozenset()
    first_shown, attendance = find_first_shown(source_request, view, path), conversations.attendances[name]
    newest = (one for one in path if one.final and (one.number or 0) >= first_shown)
    heard = ((one, Visibility(f"history:{one.id}", known_to=attendance.find_knowers(one))) for one in newest)
    texts = [one.prompt_text for one, seen in heard if _is_visible(seen, source_request, view)]
    snapshot = view.snapshot(RecapSnapshot)
    known = snapshot.by_conversation.get(name) if snapshot is not None else None
    for number, pinned in known.pinned.items() if known is not None else ():
        seen = Visibility(pinned.fragment.source, known_to=pinned.fragment.known_to)
        if number < first_shown and pinned.whole_text and _is_visible(seen, source_request, view):
            texts.append(pinned.whole_text)
    return frozenset([*texts, source_request.request.additional_input])


def _is_visible(visibility: Visibility, source_request: SourceRequest, view: View) -> bool:
    return judge_visibility(visibility, source_request.vantage, view.timeline) is None


def find_first_shown(source_request: SourceRequest, view: View, path: Sequence[Message]) -> int:
    """Return the number of the oldest message that the prompt shows, or could show where that is not decided yet."""
    window, conversations = source_request.history_window, view.snapshot(Conversations)
    shown = (path[-1].number or 0) + 1
    if window.first_shown == "" or conversations is None:
        return shown
    if window.first_shown is not None:
        first = next((one.number for one in reversed(path) if window.first_shown == f"history:{one.id}"), None)
        return path[0].number or 0 if first is None else first
    numbers = {f"history:{one.id}": one.number or 0 for one in path}
    tokens, characters, count = source_request.available_tokens, window.max_characters, window.max_messages
    tokens = tokens if window.max_tokens is None else min(tokens, window.max_tokens)
    for fragment in reversed(conversations.fragments.get(source_request.request.conversation_id, ())):
        if judge_visibility(fragment, source_request.vantage, view.timeline) is not None:
            continue
        tokens -= source_request.tokenizer.count(fragment.text)
        characters = None if characters is None else characters - len(fragment.text)
        count = None if count is None else count - 1
        if tokens < 0 or (characters or 0) < 0 or (count or 0) < 0:
            return shown
        shown = numbers.get(fragment.source, shown)
    return path[0].number or 0


def knows_other_conversations(request: Request, timeline: Timeline) -> bool:
    """Return whether other conversations lie in the past of a request: at the end of the story, or without a place.

    A conversation has no place in the story, so earlier in it nobody can know what was said elsewhere.
    """
    return not request.document_id or (request.cursor is None and timeline.is_end(request.document_id))


def _offer_fixed_prompts(
    attendance: Attendance, texts: ParticipantTexts, people: Participants, request: Request
) -> Iterator[Fragment]:
    """Offer each fixed prompt of those who are present once; private ones after the others, to their owners only."""
    items = [one for who in sorted(attendance.present) for one in texts.fixed_prompts.get(who, ())]
    told: set[str] = set()
    for item in sorted(items, key=lambda one: one.is_private):
        if item.text in told:
            continue
        if not item.is_private:
            told.add(item.text)
        yield Fragment(
            source=f"fixed:{item.id}",
            layer=Layer.SETTINGS if item.is_private else Layer.RULES,
            text=item.text,
            project_id=request.project_id,
            title=people.name_of(item.participant_id),
            tier=Tier.FIXED,
            score=1.0,
            placement=place_own(request) if item.is_private else None,
            known_to=frozenset({item.participant_id}) if item.is_private else None,
            explanation=message("a fixed prompt"),
        )


def _offer_biography(
    attendance: Attendance, texts: ParticipantTexts, people: Participants, request: Request
) -> Iterator[Fragment]:
    """Offer the biography of a character who talks with a player alone."""
    character = find_lone_character(attendance)
    items: tuple[ParticipantText, ...] = texts.biographies.get(character, ())
    for item in items:
        yield Fragment(
            source=f"biography:{item.id}",
            layer=Layer.RETRIEVED,
            text=item.text,
            project_id=request.project_id,
            title=people.name_of(character),
            score=BIOGRAPHY_SCORE,
            known_to=frozenset({character}),
        )


def _choose_recaps(
    recaps: Sequence[RecapFragment], first_shown: int, options: RecapOptions, known: Sequence[bool]
) -> list[RecapFragment]:
    """Choose the texts with rounds that are not shown: the latest recaps, and what is in no recap yet.

    Texts that the gate will stop do not count.
    """
    told = [(one, is_known) for one, is_known in zip(recaps, known, strict=True) if one.first_message < first_shown]
    left = options.latest_recaps
    chosen: list[RecapFragment] = []
    for one, is_known in reversed(told):
        if one.is_summary or left > 0:
            chosen.append(one)
            left -= is_known and not one.is_summary
    return chosen[::-1]


def _keep_recaps(
    kept: Sequence[RecapFragment],
    chosen: Sequence[RecapFragment],
    path: Sequence[Message],
    first_shown: int,
    previous: frozenset[str],
) -> list[RecapFragment]:
    """Keep the texts of the last prompt, and add those that tell of messages which nothing in it tells of.

    A recap whose summaries are all there waits until the layer is selected anew, so that the cached prefix stays valid.
    """
    told = {one.number or 0 for one in path if f"history:{one.id}" in previous}.union(*(one.heard for one in kept))
    ids = {one.fragment.source for one in kept}
    new = [
        one
        for one in chosen
        if one.fragment.source not in ids and any(number < first_shown and number not in told for number in one.heard)
    ]
    return [*kept, *new]


def _offer_earlier(
    known: ConversationRecaps,
    path: Sequence[Message],
    first_shown: int,
    covered: frozenset[int],
    previous: frozenset[str],
    source_request: SourceRequest,
    view: View,
    scores: tuple[float, float],
) -> Iterator[Fragment]:
    """Offer the latest messages that neither the window shows nor a text covers, and those of the last prompt.

    They are the same in every request until the window steps, so each is made once.
    """
    people, attendance = view.snapshot(Participants) or Participants(), known.attendance
    uncovered = _list_uncovered(known, path, first_shown, covered, previous, source_request, view, MAX_EARLIER)
    latest = list(islice(uncovered, MAX_WHISPERS))
    for age, (said, follows, knowers) in reversed(list(enumerate(latest))):
        number = said.number or 0
        key = number, age, scores
        fragment = known.offered.get(key)
        if fragment is None:
            heading = head_own_conversation(view.project.language, said.timestamp)
            earlier = EarlierMessage(heading, said.timestamp, number, follows)
            made = make_earlier_fragment(
                view.project, source_request.request.conversation_id, said, people, knowers, earlier
            )
            fragment = known.offered[key] = replace(made, score=_score_by_age(scores, age), is_single_use=False)
        yield place_for_listeners(fragment, attendance, source_request)


def _list_uncovered(
    known: ConversationRecaps,
    path: Sequence[Message],
    first_shown: int,
    covered: frozenset[int],
    previous: frozenset[str],
    source_request: SourceRequest,
    view: View,
    most: int = MAX_SNAPSHOT_MESSAGES,
) -> Iterator[tuple[Message, int, frozenset[str] | None]]:
    """List the messages that may be told as earlier ones, the newest first; behind `most` of them whispers alone.

    Beside each stand the number of the message before it, and who knows it.
    """
    final, count = [one for one in path if one.final], 0
    for place, said in reversed(list(enumerate(final))):
        number = said.number or 0
        if number >= first_shown or (count >= most and said.audience is None):
            continue
        if number in known.pinned and known.pinned[number].whole_text:
            continue  # it is told word for word
        if number in covered and f"history:{said.id}" not in previous:
            continue
        knowers = known.attendance.find_knowers(said)
        if _is_visible(Visibility(f"history:{said.id}", known_to=knowers), source_request, view):
            count += 1
            yield said, (final[place - 1].number or 0) if place else -1, knowers


def _find_covered(recaps: Iterable[RecapFragment], source_request: SourceRequest, view: View) -> frozenset[int]:
    """Find the numbers of the messages that a recap or summary tells of which whoever asks may know."""
    known = (
        one.heard for one in recaps if judge_visibility(one.fragment, source_request.vantage, view.timeline) is None
    )
    return frozenset[int]().union(*known)


def _score_by_age(scores: tuple[float, float], age: int) -> float:
    return score_in_range(scores, 1 - age / MAX_EARLIER if age < MAX_EARLIER else 1 / (age + 1))


def _offer_latest(
    newest_first: Iterable[Fragment], attendance: Attendance, source_request: SourceRequest
) -> Iterator[Fragment]:
    """Offer the latest messages, oldest first; the latest matter most."""
    latest = list(islice(newest_first, MAX_EARLIER))
    for age, fragment in reversed(list(enumerate(latest))):
        yield place_for_listeners(replace(fragment, score=_score_by_age(PASSAGE, age)), attendance, source_request)


def _quote_others(known: ConversationRecaps, source_request: SourceRequest, view: View) -> list[Fragment]:
    """Return the latest messages of other conversations; where they have no place in the story, only the author's."""
    if knows_other_conversations(source_request.request, view.timeline):
        return list(known.related.quoted)
    return [replace(one, since=Position(one.source)) for one in known.related.quoted]


def explain_limits(source_request: SourceRequest, view: View) -> Iterator[Verdict]:
    """Say where earlier messages and other conversations end that a chat is told of, where there are more."""
    request, conversations = source_request.request, view.snapshot(Conversations)
    snapshot, language = view.snapshot(RecapSnapshot), view.project.language
    known = snapshot.by_conversation.get(request.conversation_id) if snapshot is not None else None
    if known is None or conversations is None:
        return
    options, path = view.snapshot(RecapOptions) or RecapOptions(), conversations.messages[request.conversation_id]
    first_shown = find_first_shown(source_request, view, path) if path else 0
    covered = _find_covered(known.recaps if options.tells_recaps else (), source_request, view)
    uncovered = _list_uncovered(known, path, first_shown, covered, frozenset(), source_request, view)
    is_whispered = [said.audience is not None for said, _, _ in uncovered]
    whispers = max(sum(is_whispered[MAX_EARLIER:]) - (MAX_WHISPERS - MAX_EARLIER), 0)
    others = is_whispered[MAX_EARLIER:].count(False)
    if whispers + others:
        sentence = message(
            "No recap covers them, and they are older than the latest {count} messages and {whispers} whispers that "
            "are offered. Search finds them.",
            count=MAX_EARLIER,
            whispers=MAX_WHISPERS - MAX_EARLIER,
        )
        title = plural(whispers + others, "1 earlier message", "{count:,} earlier messages")
        yield _make_verdict("history:earlier", title.render(language), sentence)
    title = message("Older conversations")
    if options.relevant_history == "classic" and len(known.related.ids) > MAX_QUOTED:
        sentence = message("Only the latest {count} conversations of everybody present are told.", count=MAX_QUOTED)
        yield _make_verdict("talk:others", title.render(language), sentence)
    elif options.relevant_history == "embedding-first" and known.related.has_more:
        sentence = message(
            "Only the latest {count} conversations of everybody present are searched.", count=MAX_RELATED
        )
        yield _make_verdict("talk:others", title.render(language), sentence)


def _make_verdict(source: str, title: str, cause: Sentence) -> Verdict:
    return Verdict(source, title, Layer.RETRIEVED, Reason.NOT_CHOSEN, 0, 0.0, cause=cause)


class RecapSource:
    """Offers what a chat is told beside the running conversation, and says where that ends."""

    name = "recaps"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = False

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Fixed prompts, the biography, pinned words, recaps and earlier messages."""
        return offer_recaps(source_request, view)

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """The limits that there is more behind."""
        return explain_limits(source_request, view)


RECAP_SOURCE = RecapSource()
