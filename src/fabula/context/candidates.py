"""Candidates: the gathered fragments that pass the gate, measured and sorted by section (cnv-8).

Fragments that are empty, excluded by hand or duplicates are dropped here, each with its reason. So
are retrieved fragments beyond the limit, the best being kept, and a request that gathered more
tokens than one prompt may be selected from is refused (bud-8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from fabula.context.attachments import NO_ROOM_FOR_ATTACHMENT, is_attachment
from fabula.context.budget import Limits
from fabula.context.gate import Gate
from fabula.context.measure import (
    OTHER_SECTIONS,
    STABLE_SECTIONS,
    Measure,
    MeasuredFragment,
    MeasuredGroup,
    TextBlock,
)
from fabula.context.trace import FragmentOutcome, Reason, name_fragment
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Part
from fabula.core.messages import message
from fabula.core.relevance import NEEDED
from fabula.text.windows import TextWindow, as_text_window

INJECTED_KINDS = ("fixed", "biography", "pinned", "recap", "history")  # in their order
_SUMMARY_KIND = "talk"


class Candidates(Struct):
    """Everything that may enter the prompt, by section, and what became of the rest."""

    constraints: list[MeasuredFragment] = field(default_factory=list)
    rules: list[MeasuredFragment] = field(default_factory=list)
    settings: list[MeasuredFragment] = field(default_factory=list)
    retrieved: list[MeasuredFragment] = field(default_factory=list)
    scene: list[MeasuredFragment] = field(default_factory=list)
    cursor: list[MeasuredFragment] = field(default_factory=list)
    after: list[MeasuredFragment] = field(default_factory=list)
    editor_state: list[MeasuredFragment] = field(default_factory=list)
    history: list[MeasuredFragment] = field(default_factory=list)
    instruction: list[MeasuredFragment] = field(default_factory=list)
    window: TextWindow | None = None
    window_tokens: int = 0
    stable_tokens: int | None = None  # of rules and settings, where they were counted before
    rule_blocks: list[TextBlock] = field(default_factory=list)  # of all constraints and rules, once they were rendered
    outcomes: list[FragmentOutcome] = field(default_factory=list)
    not_revealed: set[int] = field(default_factory=set)  # ids of fragments the story has not revealed yet

    def count_tokens(self) -> int:
        """The tokens of everything but the text window."""
        stable = self._sum_tokens(STABLE_SECTIONS) if self.stable_tokens is None else self.stable_tokens
        return stable + self._sum_tokens(OTHER_SECTIONS)

    def count_stable_tokens(self) -> None:
        """Count rules and settings, which come again with each request."""
        self.stable_tokens = self._sum_tokens(STABLE_SECTIONS)

    def _sum_tokens(self, names: Sequence[str]) -> int:
        return sum([piece.tokens for name in names for piece in getattr(self, name)])

    def drop(self, fragment: Fragment, reason: Reason, tokens: int = 0, detail: str = "") -> None:
        """Record that a fragment is left out, and why."""
        self.outcomes.append((fragment, reason, tokens, detail))


def sort_candidates(
    groups: Iterable[Sequence[Fragment]], gate: Gate, measure: Measure, excluded: frozenset[str]
) -> Candidates:
    """Pass groups of fragments through the gate and sort them into sections.

    A group of rules and settings without visibility limits comes before the others: it is the same at every
    position of the story, and keeps the stable prefix longer.
    """
    candidates = Candidates()
    stable: list[MeasuredGroup] = []
    others: list[MeasuredFragment] = []
    for group in groups:
        known = measure.measure_group(group) if type(group) is tuple and not excluded else None
        if known is None or known.pieces is None or known.project_ids != {gate.project_id}:
            others += _admit(group, gate, measure, excluded, candidates)
        elif known.is_stable:
            stable.append(known)
        else:
            others += known.pieces
    limited: list[MeasuredFragment] = []  # rules and settings that the position decides on
    retrieved = candidates.retrieved
    for piece in others:
        if piece.section == "retrieved":  # most of them are
            retrieved.append(piece)
        elif piece.section in STABLE_SECTIONS:
            limited.append(piece)
        else:
            getattr(candidates, piece.section).append(piece)
    sort = _sort_rules if limited else _sort_rules_once
    rules = sort(tuple(stable), tuple(limited))
    candidates.constraints, candidates.rules, candidates.settings = rules.constraints, rules.rules, rules.settings
    candidates.stable_tokens, candidates.rule_blocks = rules.stable_tokens, rules.rule_blocks
    candidates.outcomes += rules.outcomes
    _drop_duplicates(candidates, ("retrieved",), _by_score)
    return candidates


def _sort_rules(groups: tuple[MeasuredGroup, ...], limited: tuple[MeasuredFragment, ...]) -> Candidates:
    """The rules and settings, each once: those of groups before those that the position decides on."""
    candidates = Candidates()
    for piece in chain(*[group.pieces or () for group in groups], limited):
        getattr(candidates, piece.section).append(piece)
    _drop_duplicates(candidates, ("constraints", "rules"), _by_tier)
    _drop_duplicates(candidates, ("settings",), _by_tier)
    candidates.count_stable_tokens()
    return candidates


_sort_rules_once = lru_cache(maxsize=256)(_sort_rules)  # groups come again with each request


def _admit(
    group: Iterable[Fragment], gate: Gate, measure: Measure, excluded: frozenset[str], candidates: Candidates
) -> list[MeasuredFragment]:
    """The fragments of a group that pass, measured. A text window becomes the one of the candidates."""
    pieces: list[MeasuredFragment] = []
    judge, recent, project_id = gate.judge, measure.measured.recent, gate.project_id
    for fragment in group:
        known = recent.get(id(fragment))  # most fragments come again with each request
        if known is None or known.fragment is not fragment or excluded:
            known = None
        elif known.is_unrestricted and fragment.project_id == project_id:
            pieces.append(known)
            continue
        reason = judge(fragment)
        if reason is None and known is not None:
            pieces.append(known)
            continue
        not_revealed = reason is Reason.NOT_REVEALED
        if not_revealed:
            candidates.not_revealed.add(id(fragment))
        elif reason is not None:
            candidates.drop(fragment, reason)
            continue
        if excluded and not excluded.isdisjoint(fragment_names(fragment)):
            candidates.drop(fragment, Reason.EXCLUDED)
        elif fragment.part is Part.WINDOW:
            _take_window(fragment, measure, candidates, not_revealed=not_revealed)
        else:
            piece = measure.measure_fragment(fragment, not_revealed=not_revealed)
            if piece.text:
                pieces.append(piece)
            else:
                candidates.drop(fragment, Reason.EMPTY)
    return pieces


def _take_window(fragment: Fragment, measure: Measure, candidates: Candidates, *, not_revealed: bool) -> None:
    window = as_text_window(fragment)
    if not_revealed:
        candidates.not_revealed.add(id(window))
    if candidates.window is not None:
        candidates.drop(window, Reason.DUPLICATE, 0, name_fragment(candidates.window))
    elif window.is_empty:
        candidates.drop(window, Reason.EMPTY)
    else:
        candidates.window = window
        candidates.window_tokens = window.count_tokens_from(measure.tokenizer, window.begin)


def fragment_names(fragment: Fragment) -> tuple[str, str, str, str]:
    """Every name a person may use for a fragment: its source, the owner of that, the owner's id, the title."""
    owner = fragment.source.partition("#")[0]
    return fragment.source, owner, owner.rpartition(":")[2], fragment.title


def _by_tier(piece: MeasuredFragment) -> int:
    return -piece.fragment.tier


def _by_score(piece: MeasuredFragment) -> float:
    return -piece.fragment.score


def _drop_duplicates(candidates: Candidates, names: Sequence[str], rank: Callable[[MeasuredFragment], float]) -> None:
    """Of fragments with the same text, keep the first by rank; a rule with the text of a constraint is dropped.

    Retrieved fragments are the same fact also where they have the same source (bud-10).
    """
    is_retrieved = "retrieved" in names
    pieces = [piece for name in names for piece in getattr(candidates, name)]
    repeated = _find_repeated([piece.text for piece in pieces])
    if is_retrieved:
        repeated |= _find_repeated([piece.fragment.source for piece in pieces])
    if not repeated:
        return
    by_text: dict[str, MeasuredFragment] = {}
    by_source: dict[str, MeasuredFragment] = {}
    for name in names:
        section: list[MeasuredFragment] = getattr(candidates, name)
        doubtful = [
            index
            for index, piece in enumerate(section)
            if piece.text in repeated or (is_retrieved and piece.fragment.source in repeated)
        ]
        dropped: set[int] = set()  # by index, because one fragment may have been offered twice
        for index in sorted(doubtful, key=lambda index: rank(section[index])):
            piece = section[index]
            twin, reason = by_text.get(piece.text), Reason.DUPLICATE
            if twin is None:
                twin, reason = by_source.get(piece.fragment.source), Reason.SAME_SOURCE
            if twin is not None:
                candidates.drop(piece.fragment, reason, piece.tokens, name_fragment(twin.fragment))
                dropped.add(index)
                continue
            by_text[piece.text] = piece
            if is_retrieved:
                by_source[piece.fragment.source] = piece
        if dropped:
            setattr(candidates, name, [piece for index, piece in enumerate(section) if index not in dropped])


def _find_repeated(names: list[str]) -> set[str]:
    """The names that are there more than once."""
    if len(set(names)) == len(names):
        return set()
    return {name for name, count in Counter(names).items() if count > 1}


def count_fixed(candidates: Candidates, measure: Measure) -> int:
    """The tokens of what the immediate layer always holds."""
    fixed = sum([piece.tokens for piece in (*candidates.scene, *candidates.cursor, *candidates.instruction)])
    if candidates.window is not None:
        fixed += measure.headings["window"].tokens + measure.headings["left_out"].tokens
    return fixed


def drop_attachments(candidates: Candidates, available: int, measure: Measure) -> list[str]:
    """Drop attachments, the last first, where the prompt could not be made with them; return warnings."""
    excess, warnings = count_fixed(candidates, measure) - available, list[str]()
    for piece in [piece for piece in reversed(candidates.scene) if is_attachment(piece.fragment)]:
        if excess > 0:
            candidates.scene.remove(piece)
            candidates.drop(piece.fragment, Reason.NO_ROOM, piece.tokens)
            excess -= piece.tokens
            values = {"name": piece.fragment.display_name, "why": NO_ROOM_FOR_ATTACHMENT}
            warnings.append(measure.phrases.format_warning(Code.ATTACHMENT_DROPPED, **values))
    return warnings


def apply_limits(
    candidates: Candidates, limits: Limits, measure: Measure, previously_included: Sequence[str]
) -> list[str]:
    """Refuse what is too large, shorten the text window to what is left, keep the best retrieved; return warnings."""
    _limit_tokens(candidates, limits.input_tokens, measure, previously_included)
    limit, pieces = limits.retrieved_chunks, candidates.retrieved
    if len(pieces) <= limit:
        return []
    best = set(sorted(range(len(pieces)), key=lambda index: -pieces[index].fragment.score)[:limit])
    for index, piece in enumerate(pieces):
        if index not in best:
            candidates.drop(piece.fragment, Reason.CHUNK_LIMIT, piece.tokens)
    candidates.retrieved = [piece for index, piece in enumerate(pieces) if index in best]
    return [measure.phrases.format_warning(Code.RETRIEVED_CHUNK_LIMIT, count=len(pieces), limit=limit)]


def drop_summaries(candidates: Candidates) -> None:
    """Drop the short form of a conversation where something of it is told word for word (mem-4)."""
    pieces = [piece for piece in candidates.retrieved if piece.fragment.conversation_id]
    told = {piece.fragment.conversation_id: piece for piece in pieces if piece.kind == INJECTED_KINDS[-1]}
    if not told:
        return
    dropped = [piece for piece in pieces if piece.kind == _SUMMARY_KIND and piece.fragment.conversation_id in told]
    for piece in dropped:
        detail = name_fragment(told[piece.fragment.conversation_id].fragment)
        candidates.drop(piece.fragment, Reason.DUPLICATE, piece.tokens, detail)
    if dropped:
        candidates.retrieved = [piece for piece in candidates.retrieved if piece not in dropped]


def limit_injected(candidates: Candidates, limit: int | None, measure: Measure) -> list[str]:
    """Cap the characters of what a chat is told beside the conversation; return warnings.

    Whole items go from the end: what only the speaker knows, earlier messages, recaps, then the biography; of one kind
    the lowest score first. Fixed prompts go last, with a warning (cnv-7, cnv-8). Earlier messages
    that everybody knows leave a quarter free, so that what only the speaker knows has room and does not change them.
    """
    if limit is None:
        return []
    pieces = [
        (name, piece)
        for name in ("rules", "settings", "retrieved")
        for piece in getattr(candidates, name)
        if piece.kind in INJECTED_KINDS
    ]
    pieces.sort(key=lambda pair: _injection_rank(pair[1]))
    warnings, dropped = [], dict[str, set[int]]()
    used, is_full, is_full_of_messages = 0, False, False
    told = set[object]()  # headings of conversations
    for name, piece in pieces:
        heading = piece.conversation, piece.fragment.placement
        size = len(piece.text) + (0 if piece.heading is None or heading in told else len(piece.heading.text))
        if piece.kind == INJECTED_KINDS[-1] and piece.fragment.placement is None:
            is_full_of_messages |= used + size > limit * 3 // 4
            is_dropped = is_full or is_full_of_messages
        else:
            is_dropped = is_full = is_full or used + size > limit
        if not is_dropped:
            used += size
            told.add(heading)
            continue
        dropped.setdefault(name, set()).add(id(piece))
        candidates.drop(piece.fragment, Reason.INJECTION_CAP, piece.tokens)
        if piece.kind == INJECTED_KINDS[0]:
            prompt = piece.fragment.display_name
            warnings.append(measure.phrases.format_warning(Code.FIXED_PROMPT_DROPPED, name=prompt))
    for name, ids in dropped.items():
        candidates.stable_tokens, candidates.rule_blocks = None, []
        setattr(candidates, name, [piece for piece in getattr(candidates, name) if id(piece) not in ids])
    return warnings


def _injection_rank(piece: MeasuredFragment) -> tuple[bool, bool, int, float]:
    is_fixed = piece.kind == INJECTED_KINDS[0]
    is_own = piece.fragment.placement is not None
    return not is_fixed, is_own, INJECTED_KINDS.index(piece.kind), -piece.fragment.score


def _limit_tokens(candidates: Candidates, limit: int, measure: Measure, previously_included: Sequence[str]) -> None:
    """Refuse a request that gathered too much; messages are left out before that, and the text window is shortened.

    Fragments of the last prompt that are not needed now do not count.
    """
    size = candidates.count_tokens()
    if size > limit and previously_included:
        before = frozenset(previously_included)
        size -= sum(
            piece.tokens
            for piece in candidates.retrieved
            if piece.fragment.source in before and piece.fragment.score < NEEDED
        )
    if size > limit:
        size = _leave_out_messages(candidates, size, limit)
    if size > limit:
        raise FabulaError(
            Code.INPUT_TOO_LARGE,
            message(
                "{size} tokens were gathered, and one prompt is chosen from {limit} at most. "
                "Narrow the search, shorten the instruction, or raise the limit.",
                size=size,
                limit=limit,
            ),
            tokens=size,
            most=limit,
        )
    window = candidates.window
    if window is not None and candidates.window_tokens > limit - size:
        cut = window.fit(measure.tokenizer, limit - size, paragraphs_only=True)
        if cut is not None:
            candidates.window, candidates.window_tokens = replace(window, begin=cut.start), cut.tokens


def _leave_out_messages(candidates: Candidates, size: int, limit: int) -> int:
    """Leave out messages while too much was gathered: earlier ones, then the oldest of the history; return the size.

    So one very long message, or a few, do not stop every later prompt of their conversation.
    """
    earlier = [piece for piece in candidates.retrieved if piece.kind == INJECTED_KINDS[-1]]
    earlier.sort(key=lambda piece: (piece.tokens <= limit, piece.fragment.score))
    dropped: set[int] = set()
    for pieces, reason in ((earlier, Reason.CHUNK_LIMIT), (candidates.history, Reason.HISTORY_CAP)):
        for piece in pieces:
            if size <= limit:
                break
            candidates.drop(piece.fragment, reason, piece.tokens)
            dropped.add(id(piece))
            size -= piece.tokens
    candidates.retrieved = [piece for piece in candidates.retrieved if id(piece) not in dropped]
    candidates.history = [piece for piece in candidates.history if id(piece) not in dropped]
    return size
