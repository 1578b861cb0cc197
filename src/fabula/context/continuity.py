"""Continuity: what one request hands to the next, as an explicit value (ctx-8).

The engine keeps no state between requests. Where a window began, what the retrieved layer held and
in which order: all of that comes out with a result, and goes in with the next request of the same
document or conversation, recipe, model and vantage. Losing it costs cached tokens and nothing else.

What an earlier prompt held is offered again only where everything that brought it in is known too: at
or behind the place where it was included, for whoever knows that chapter. A later chapter never says what an earlier
one is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.gate import knows_document
from fabula.core.story import Position, Timeline, Vantage


class Continuity(Struct, frozen=True, kw_only=True):
    """The state after a request, for the next one."""

    prefix_hash: str = ""
    document: str = ""  # conversation and document of the request
    window_start: int | None = None
    window_checksum: int = 0  # of the first characters of the text window
    window_budget: int = 0
    history_start: str | None = None
    retrieved: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()  # of these, what stands at a place of its own, such as what only the speaker knows
    retrieved_tokens: int = 0
    selection_count: int = 0  # how often the retrieved layer was selected anew
    late: tuple[str, ...] = ()
    late_after: dict[str, str] = {}  # by source: the message of the conversation that a late joiner follows
    late_tokens_spent: int = 0
    resend_tokens: int = 0
    unused_requests: dict[str, int] = {}  # by source: for how many requests it was not needed
    included_at: dict[str, int] = {}  # by source: the first offset of the document at which it was included
    rules_left_out: tuple[str, ...] = ()
    source_state: dict[str, bytes] = {}  # by source: the state it saved
    known_to: tuple[str, ...] | None = None  # who knows all that the selection followed from; None: everybody
    held_known_to: dict[str, tuple[str, ...] | None] = {}  # the same of each source that is only held over
    followed_documents: tuple[str, ...] = ()  # whose text the selection followed from, or tells

    @property
    def is_empty(self) -> bool:
        """Whether no request came before, so that there is no prefix to preserve."""
        return not self.document


def name_place(conversation_id: str, document_id: str) -> str:
    """The name of a conversation and a document, as a continuity has it."""
    return f"{conversation_id}\x1f{document_id}"


def continue_from(before: Continuity, place: str, vantage: Vantage, timeline: Timeline) -> Continuity:
    """What a request at a place continues from.

    That is the prefix hash alone where the earlier place does not lie behind it, or is not known to the vantage.
    """
    if before.document == place or before.is_empty:
        return before
    conversation, _, document = place.partition("\x1f")
    earlier_conversation, _, earlier = before.document.partition("\x1f")
    is_behind = conversation == earlier_conversation and timeline.has_reached(Position(earlier), Position(document))
    if is_behind and knows_document(earlier, vantage, timeline):
        return before
    return Continuity(prefix_hash=before.prefix_hash)


def is_selection_known(
    other: Continuity, knowers: frozenset[str], unknown_documents: frozenset[str] = frozenset()
) -> bool:
    """Return whether somebody with these ids knows all that a selection followed from, now or when it was made.

    `unknown_documents` are those that this character does not know.
    """
    if not unknown_documents.isdisjoint(other.followed_documents):
        return False
    all_known_to = (other.known_to, *other.held_known_to.values())
    return all(known_to is None or not knowers.isdisjoint(known_to) for known_to in all_known_to)


def find_held_knowers(before: Continuity, held: Iterable[str]) -> dict[str, tuple[str, ...] | None]:
    """For each source that nothing brings in now, who knows what brought it in before."""
    return {source: before.held_known_to.get(source, before.known_to) for source in held}


def share_selection(
    own: Continuity,
    other: Continuity,
    knowers: frozenset[str],
    unknown_documents: frozenset[str] = frozenset(),
) -> Continuity:
    """Return what a speaker continues from, after another one spoke in the same conversation.

    The selection of the other's prompt is taken over, so that what both know is the same text in both prompts. A
    speaker who does not know all that it followed from keeps the own one. So does a speaker whose own prompt it would
    break: two selections that were made apart come together when one of them is made anew.
    """
    if other.is_empty or not is_selection_known(other, knowers, unknown_documents) or not _goes_on(own, other):
        return own
    return replace(
        other,
        prefix_hash=own.prefix_hash,
        late_tokens_spent=0 if set(own.late).isdisjoint(other.late) else own.late_tokens_spent,  # by this speaker
        rules_left_out=own.rules_left_out,
        source_state=own.source_state,
    )


def _goes_on(own: Continuity, other: Continuity) -> bool:
    """Whether a selection was made after the own one, or only adds to it."""
    if own.is_empty or other.selection_count != own.selection_count:
        return other.selection_count >= own.selection_count
    return (
        own.history_start == other.history_start
        and _begins_with(_list_common(other), _list_common(own))
        and _begins_with(list(other.late), list(own.late))
        and own.late_after.items() <= other.late_after.items()
    )


def _list_common(one: Continuity) -> list[str]:
    return [source for source in one.retrieved if source not in one.placed]


def _begins_with(longer: list[str], shorter: list[str]) -> bool:
    return longer[: len(shorter)] == shorter


NO_CONTINUITY = Continuity()
