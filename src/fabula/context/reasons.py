"""Reasons in the words a person would use: what took the room, who does not know something, and until when (ctx-9).

A reason is put into words only when somebody reads the trace. So nothing here costs an assembly time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence

from fabula.context.trace import Reason
from fabula.core.fragment import Visibility
from fabula.core.messages import Sentence, join_names, message, plural
from fabula.core.story import READER, Perspective, Position, Timeline, Vantage

_MAX_NAMES = 3  # of those who know something


def _count_others(count: int) -> Sentence:
    return plural(count, "{count} text that matters more", "{count} texts that matter more")


# By the kind of a source: how many of them took the room.
_COUNTED: dict[str, Callable[[int], Sentence]] = {
    "search": lambda count: plural(count, "{count} nearer passage", "{count} nearer passages"),
    "codex": lambda count: plural(count, "{count} entry that matters more", "{count} entries that matter more"),
    "lorebook": lambda count: plural(
        count, "{count} lorebook entry that matters more", "{count} lorebook entries that matter more"
    ),
    "synopsis": lambda count: plural(count, "{count} synopsis", "{count} synopses"),
    "memory": lambda count: plural(count, "{count} surer preference", "{count} surer preferences"),
    "message": lambda count: plural(count, "{count} newer message", "{count} newer messages"),
    "recap": lambda count: plural(count, "{count} recap", "{count} recaps"),
}


def explain_room(reason: Reason, *, kinds: Iterable[str], needed: int, left: int) -> Sentence:
    """Say what took the room: how many fragments of which kinds, the tokens it needs and those that were left."""
    values = {"needed": needed, "left": max(left, 0)}
    if reason is Reason.TOO_LARGE:
        return message("it needs {needed} tokens, and beside the rules and the instruction there are {left}", **values)
    if reason is Reason.PASSED_OVER:
        return message(
            "it needs {needed} tokens, and {left} were left when its turn came; smaller ones after it fitted", **values
        )
    counts = Counter(kind if kind in _COUNTED else "" for kind in kinds)
    if not counts:
        return message("the rest of the prompt took the room: it needs {needed} tokens, and {left} were left", **values)
    taken = join_names([_COUNTED.get(kind, _count_others)(count) for kind, count in counts.items()])
    return message("{taken} took the room: it needs {needed} tokens, and {left} were left", taken=taken, **values)


def explain_gate(
    visibilities: Sequence[Visibility],
    reason: Reason,
    vantage: Vantage,
    timeline: Timeline,
    name_of: Callable[[str], str],
    *,
    made_of: Iterable[str] = (),
) -> Sentence | None:
    """Say of a reason of the gate who does not know something until when, or when it is revealed.

    `made_of` are the documents whose text it tells.
    """
    here, unnamed = vantage.position, explain_unnamed(made_of, vantage)
    if reason is Reason.NOT_KNOWN and unnamed is not None:
        return unnamed
    for limits in visibilities:
        match reason:
            case Reason.NOT_KNOWN:
                if limits.since is not None and not timeline.has_reached(limits.since, here):
                    knower, name = _name_knower(vantage, name_of)
                    is_told = any(ident == knower for ident, _ in limits.learned_at)
                    if limits.known_to is not None and knower not in limits.known_to and not is_told:
                        return message("{name} does not know this", name=name)  # nor when it has happened
                    return _explain_revelation(limits.since, here, timeline)
                if sentence := _explain_ignorance(
                    limits, _list_later_knowers(visibilities, here, timeline), vantage, timeline, name_of
                ):
                    return sentence
            case Reason.NO_LONGER if limits.until is not None and timeline.has_reached(limits.until, here):
                return message("it held until {chapter}", chapter=name_chapter(timeline, limits.until))
            case Reason.NOT_YET if limits.since is not None and not timeline.has_reached(limits.since, here):
                return _explain_revelation(limits.since, here, timeline)
            case Reason.NOT_REVEALED if limits.since is not None and not timeline.has_reached(limits.since, here):
                return message(
                    "the author may know it; the prompt marks it as not to be revealed before {chapter}",
                    chapter=name_chapter(timeline, limits.since),
                )
    return None


def explain_unnamed(made_of: Iterable[str], vantage: Vantage) -> Sentence | None:
    """Say that a character does not know the text of a document because it does not name them; None where it does."""
    is_known = vantage.unknown_documents.isdisjoint(made_of)
    return None if is_known else message("its chapter has no point of view and does not name this character")


def explain_later_name(name: str, since: Position, here: Position | None, timeline: Timeline) -> Sentence:
    """Say of a name that is used before it is known whose it is when it is revealed."""
    if timeline.has_reached(since, here):
        return message("that {name} is one of its names is not known here", name=name)
    if here is not None and since.document == here.document:
        return message("that {name} is one of its names is revealed later in this chapter", name=name)
    chapter = name_chapter(timeline, since)
    return message("that {name} is one of its names is revealed in {chapter}", name=name, chapter=chapter)


def name_chapter(timeline: Timeline, position: Position) -> Sentence | str:
    """The chapter of a position: its number, else its title."""
    number, entry = timeline.chapter_number(position.document), timeline.entry(position.document)
    if number is not None:
        return message("chapter {number}", number=number)
    return entry.title if entry is not None and entry.title else position.document


def _explain_revelation(since: Position, here: Position | None, timeline: Timeline) -> Sentence:
    if here is not None and since.document == here.document:
        return message("it is revealed later in this chapter")
    if since.document not in timeline:
        return message("it is revealed in a chapter that the story does not have")
    order = [entry.document for entry in timeline.entries]
    chapter = name_chapter(timeline, since)
    if here is not None and here.document in timeline and order.index(since.document) < order.index(here.document):
        return message("it happens in {chapter}, which lies after this chapter in time", chapter=chapter)
    return message("it is revealed in {chapter}", chapter=chapter)


def _list_later_knowers(visibilities: Sequence[Visibility], here: Position | None, timeline: Timeline) -> set[str]:
    """Those who learn something only after a position."""
    learned = (one for limits in visibilities for one in limits.learned_at)
    return {ident for ident, at in learned if not timeline.has_reached(at, here)}


def _name_knower(vantage: Vantage, name_of: Callable[[str], str]) -> tuple[str, Sentence | str]:
    """The id and the name of the one from whose point of view a request is made."""
    character = vantage.character if vantage.perspective is Perspective.CHARACTER else None
    return (character, name_of(character)) if character else (Perspective.READER.value, message("the reader"))


def _explain_ignorance(
    limits: Visibility, later: Container[str], vantage: Vantage, timeline: Timeline, name_of: Callable[[str], str]
) -> Sentence | None:
    """Say who does not know something until when, or who does; not those who learn it `later`."""
    knower, name = _name_knower(vantage, name_of)
    learned = next((at for ident, at in limits.learned_at if ident == knower), None)
    if learned is not None and not timeline.has_reached(learned, vantage.position):
        if vantage.position is not None and learned.document == vantage.position.document:
            return message("{name} learns this later in this chapter", name=name)
        return message("{name} does not know this until {chapter}", name=name, chapter=name_chapter(timeline, learned))
    if limits.known_to is None or knower in limits.known_to:
        return None
    known = [ident for ident in sorted(limits.known_to) if ident not in later]
    names = dict.fromkeys(one if one == READER else name_of(one) for one in known)  # an id may be one of several
    others = [message("the reader") if one == READER else one for one in names][:_MAX_NAMES]
    if not others:
        return message("nobody in the story has been told this")
    return message("{name} does not know this; known to {others}", name=name, others=join_names(others))
