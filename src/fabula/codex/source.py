"""The codex source: offers entries to the prompt by level, mention, relation and pin (cdx-2, cdx-3, cdx-5, cdx-9).

`always` entries become rules; detected and requested ones become retrieved fragments. Whoever the scene is about
counts as detected too: the point of view, and the people mentioned most since the scene began. An entry of the previous
prompt that is no longer mentioned is offered again with a lower score, so that it keeps its position while the
budget allows. Where a document and a conversation pin an entry differently, the exclusion wins; what the request
itself includes takes precedence over pins. The gate decides what may be known. This module also asks the gate
before one thing leads to another: a name that is revealed later does not detect its entry yet, and an entry or a
relation that is not known here, or that the request excludes, brings no related entries. Beside an entry that is in
the scene stand a few sentences that the book says of it (`facts/select.py`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from fabula.codex.entry import Entry, Level, PinMode, Progression, Relation
from fabula.codex.facts import Facts
from fabula.codex.facts.select import FactSelector
from fabula.codex.model import Codex
from fabula.context.gate import judge_fragment, judge_visibility
from fabula.context.nearby import Nearby
from fabula.context.reasons import explain_later_name
from fabula.context.request import SourceRequest
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import Sentence, message, plural
from fabula.core.relevance import DETECTED, PREVIOUSLY_INCLUDED, REQUESTED, score_in_range
from fabula.core.story import Timeline, Vantage
from fabula.core.view import View
from fabula.text.names.matcher import NameMatch

log = logging.getLogger("fabula.codex")

_STEPS = 4  # scores change in quarters of nearness, so that rendered fragments are shared between requests
_SCORES = tuple(score_in_range(DETECTED, step / _STEPS) for step in range(_STEPS + 1))
_RELATED_SCORE = DETECTED[0] - 0.1
_SCENE_PEOPLE = 3  # characters that a scene is about at most,
_SCENE_MENTIONS = 2  # each mentioned at least twice
_DETECTABLE = (Level.ALWAYS, Level.WHEN_DETECTED)
_INCLUDED = message("you included it")
_PINNED = message("pinned to this document or conversation")
_VIEWPOINT = message("the point of view of this scene")
_ALWAYS = message("its level says that it is always sent")
_NO_FACTS = message("what the book says of the entries could not be read; the prompt holds the entries alone")
_FACTS_LATER = message("what the book says of the entries is being read; until then the prompt holds the entries alone")
_PREVIOUS = message("named a little earlier, and there is still room")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")
_OMITTED = {
    Level.WHEN_DETECTED: Reason.NOT_DETECTED,
    Level.MANUAL: Reason.LEVEL_MANUAL,
    Level.NEVER: Reason.LEVEL_NEVER,
}


class CodexSource:
    """Offers codex entries by level, mention, relation and pin."""

    name = "codex"
    unavailable_code = Code.KG_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(self, *, relation_depth: int = 1) -> None:
        self._relation_depth = relation_depth

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Offer `always` entries, then the entries that matter here, in prompt order."""
        codex = view.snapshot(Codex)
        if codex is None:
            return ()
        scorer = _EntryScorer(codex, source_request, view, self._relation_depth)
        scores, excluded = scorer.score_entries(), scorer.excluded
        by_id, index = codex.by_id, codex.name_index
        others = [by_id[ident] for ident in sorted(scores, key=index.prompt_order.__getitem__)]
        offered = [*index.always_entries, *[entry for entry in others if entry.level is not Level.ALWAYS]]
        if excluded:
            offered = [entry for entry in offered if entry.id not in excluded]
        facts = _select_facts([(one, scores[one.id]) for one in offered if one.id in scores], source_request, view)
        fragments: list[Fragment] = []
        render = codex.render
        for entry in offered:
            fragments += render(entry, scores.get(entry.id, 0.0))
            if entry.id in facts:
                fragments += facts[entry.id]
        return fragments

    def explain_offered(self, source_request: SourceRequest, view: View) -> Mapping[str, Sentence]:
        """Say of each fragment why its entry is offered: how near it is named, and what else brings it in."""
        codex = view.snapshot(Codex)
        if codex is None:
            return {}
        reasons = _EntryScorer(codex, source_request, view, self._relation_depth).explain_entries()
        return {
            fragment.source: reason
            for ident, reason in reasons.items()
            for fragment in codex.render(codex.by_id[ident], 0.0)
        }

    def find_name(self, ident: str, view: View) -> str | None:
        """The name of a character that the codex has."""
        codex = view.snapshot(Codex)
        entry = codex.by_id.get(ident) if codex is not None else None
        return None if entry is None else entry.name

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterator[Verdict]:
        """Say why each entry that is not offered is left out."""
        codex = view.snapshot(Codex)
        if codex is None:
            return
        scorer = _EntryScorer(codex, source_request, view, self._relation_depth)
        scores, excluded, later_names = scorer.score_entries(), scorer.excluded, scorer.explain_later_names()
        for entry in codex.entries:
            if entry.id in excluded and entry.level is not Level.NEVER:
                layer = Layer.RULES if entry.level is Level.ALWAYS else Layer.RETRIEVED
                yield Verdict(entry.source, entry.name, layer, Reason.PINNED_OUT, 0, 0.0, excluded[entry.id])
            elif entry.level is not Level.ALWAYS and entry.id not in scores:
                reason = _OMITTED[entry.level]
                cause = later_names.get(entry.id) if reason is Reason.NOT_DETECTED else None
                yield Verdict(entry.source, entry.name, Layer.RETRIEVED, reason, 0, 0.0, cause=cause)


def _select_facts(
    entries: Sequence[tuple[Entry, float]], source_request: SourceRequest, view: View
) -> Mapping[str, Sequence[Fragment]]:
    """The facts of entries, by id; where they are not read yet, or cannot be, the entries come with a warning alone."""
    facts = view.snapshot(Facts)
    if facts is None or not facts.per_entry or not entries:
        return {}
    try:
        selector = FactSelector(facts, source_request, view)
        if facts.prepare(wait_seconds=selector.wait_seconds):
            return selector.select(entries)
        code, sentence = Code.RETRIEVAL_NOT_READY, _FACTS_LATER
    except Exception as error:
        log.warning("facts could not be read: %s", type(error).__name__)
        code, sentence = Code.KG_UNAVAILABLE, _NO_FACTS
    source_request.warnings.append(f"{code.value}: {sentence.render(source_request.language)}")
    return {}


class _EntryScorer:
    """Scores the entries of a codex for one request; `included` and `excluded` are pinned in and out."""

    def __init__(self, codex: Codex, source_request: SourceRequest, view: View, relation_depth: int) -> None:
        self._codex = codex
        self._source_request = source_request
        self._timeline = view.timeline
        self._relation_depth = relation_depth if codex.relation_depth is None else codex.relation_depth
        request = source_request.request
        self._requested = [entry for name in request.include for entry in codex.find_entries(name)]
        self.included: set[str] = set()
        self.excluded: dict[str, str] = {}  # with the title of the document whose pin says so
        for where_id in (request.document_id, request.conversation_id) if codex.pins else ():
            told = view.timeline.entry(where_id)
            for ident, mode in codex.pins.get(where_id, {}).items():
                if mode is PinMode.EXCLUDE:
                    self.excluded[ident] = "" if told is None else told.title
                elif ident in codex.by_id:
                    self.included.add(ident)
        for entry in self._requested:
            self.excluded.pop(entry.id, None)
        self.included -= self.excluded.keys()
        # What the request excludes is offered, so that the trace names it, and brings nothing along.
        self._barred = {entry.id for name in request.exclude for entry in codex.find_entries(name)}
        self._accepts = make_name_filter(codex, source_request.vantage, view.timeline)

    def score_entries(self) -> dict[str, float]:
        """Score every entry to offer, by id: mentioned, in the scene, related, previously included, or requested."""
        by_id, excluded = self._codex.by_id, self.excluded
        nearness = self._measure_nearness()
        scores = {ident: _SCORES[round(near * _STEPS)] for ident, near in nearness.items() if ident not in excluded}
        for entry in (*self._requested, *(by_id[ident] for ident in self.included)):
            if entry.level is not Level.NEVER:
                scores[entry.id] = REQUESTED
        frontier = [by_id[ident] for ident in scores]
        for ident in (*self._find_viewpoint(), *self._find_scene_people()):
            if ident not in excluded:
                scores.setdefault(ident, DETECTED[0])
        for ident in self._find_related(frontier, scores):
            scores[ident] = _RELATED_SCORE
        for source in self._source_request.previously_included:
            if source.startswith("codex:entity:"):
                previous = by_id.get(source.removeprefix("codex:entity:"))
                if previous is not None and previous.level is Level.WHEN_DETECTED and previous.id not in excluded:
                    scores.setdefault(previous.id, PREVIOUSLY_INCLUDED)
        return scores

    def explain_entries(self) -> dict[str, Sentence]:
        """Why each entry is offered, by id: the strongest reason, in the order in which entries are scored."""
        by_id = self._codex.by_id
        reasons: dict[str, Sentence] = {entry.id: _INCLUDED for entry in self._requested}
        for ident in self.included:
            reasons.setdefault(ident, _PINNED)
        frontier = {*reasons}
        find = self._codex.name_matcher.find
        in_chat = bool(self._source_request.request.speaker_id)
        for nearby in self._source_request.nearby:
            found = nearby.find_nearest(find, self._accepts)
            for ident, reason in _describe_mentions(nearby, *found, in_chat=in_chat).items():
                reasons.setdefault(ident, reason)
                frontier.add(ident)
        for ident in self._find_viewpoint():
            reasons.setdefault(ident, _VIEWPOINT)
        for ident, count in self._find_scene_people().items():
            reasons.setdefault(ident, message("named {count} times since the scene began", count=count))
        related = self._find_related([by_id[ident] for ident in frontier if ident not in self.excluded], reasons)
        for ident, (bringer, kind) in related.items():
            values = {"name": bringer.name, "kind": kind}
            reasons[ident] = (
                message("brought along by {name} ({kind})", **values)
                if kind
                else message("brought along by {name}", name=bringer.name)
            )
        for entry in self._codex.name_index.always_entries:
            reasons.setdefault(entry.id, _ALWAYS)
        for source in self._source_request.previously_included:
            if (ident := source.removeprefix("codex:entity:")) in by_id:
                reasons.setdefault(ident, _PREVIOUS)
        return reasons

    def explain_later_names(self) -> dict[str, Sentence]:
        """Of each entry that is named nearby by a name that is not known here, by id: when the name is revealed."""
        if self._accepts is None:
            return {}
        accepts, vantage, codex = self._accepts, self._source_request.vantage, self._codex
        surfaces: dict[str, str] = {}

        def note_later_name(hit: NameMatch) -> bool:
            if not accepts(hit):
                surfaces.setdefault(hit.owner, hit.surface)
            return False

        for nearby in self._source_request.nearby:
            nearby.find_nearest(codex.name_matcher.find, note_later_name)
        return {
            ident: explain_later_name(surface, progression.since, vantage.position, self._timeline)
            for ident, surface in surfaces.items()
            for progression in codex.by_id[ident].progressions
            if _has_alias(progression, surface)
        }

    def _find_related(self, frontier: list[Entry], known: Container[str]) -> dict[str, tuple[Entry, str]]:
        """The further `when_detected` entries to which entries are related, as many steps away as the project allows.

        Each comes with the entry that brings it, and the kind of the relation.
        """
        by_id = self._codex.by_id
        related: dict[str, tuple[Entry, str]] = {}
        for _ in range(self._relation_depth):
            added: list[Entry] = []
            for entry in frontier:
                if not entry.relations or entry.id in self._barred:
                    continue
                if not _is_known(self._codex.render(entry, 0.0)[0], self._source_request.vantage, self._timeline):
                    continue
                for relation in entry.relations:
                    if relation.is_limited and not self._is_relation_known(relation):
                        continue
                    other = by_id.get(relation.to)
                    if other is None or other.level is not Level.WHEN_DETECTED or other.id in self.excluded:
                        continue
                    if other.id not in known and other.id not in related:
                        related[other.id] = (entry, relation.kind)
                        added.append(other)
            frontier = added
        return related

    def _find_viewpoint(self) -> tuple[str, ...]:
        """The character through whose eyes the document is told, or who speaks."""
        told = self._timeline.entry(self._source_request.request.document_id)
        vantage = self._source_request.vantage
        ident = vantage.character or (told.pov if told is not None else None)
        entries = [self._codex.by_id.get(one) for one in (ident, *vantage.other_ids) if one]
        return tuple(entry.id for entry in entries if entry is not None and entry.level in _DETECTABLE)

    def _find_scene_people(self) -> dict[str, int]:
        """The characters mentioned most since the scene began, and how often."""
        window = self._source_request.text_before_cursor
        if window is None:
            return {}
        cache, find = window.paragraphs.mention_cache, self._codex.name_matcher.find
        scene = cache.count_in_scene(find, window.end)
        if scene is None:
            return {}
        characters, counts = self._codex.name_index.character_ids, scene.counts
        people = [ident for ident in counts if ident in characters]
        if self._accepts is not None:
            later = self._codex.name_index.ids_with_later_names.intersection(people)
            if later:
                mentions = cache.find_between(find, scene.start, window.end) or ()
                names = [hit.owner for _, hit in mentions if hit.owner in later and self._accepts(hit)]
                counts = counts | {ident: names.count(ident) for ident in later}
        people = sorted(people, key=counts.__getitem__, reverse=True)[:_SCENE_PEOPLE]
        return {ident: counts[ident] for ident in people if counts[ident] >= _SCENE_MENTIONS}

    def _measure_nearness(self) -> Mapping[str, float]:
        """How near the nearest mention of each entry is, from 0 to 1."""
        find = self._codex.name_matcher.find
        per_text = [text.nearest_mentions(find, self._accepts) for text in self._source_request.nearby]
        if len(per_text) == 1:
            return per_text[0]
        nearness: dict[str, float] = {}
        for mentions in per_text:
            for owner, near in mentions.items():
                nearness[owner] = max(near, nearness.get(owner, 0.0))
        return nearness

    def _is_relation_known(self, relation: Relation) -> bool:
        limits = self._codex.find_limits(relation)
        verdict = judge_visibility(limits, self._source_request.vantage, self._timeline)
        return verdict in (None, Reason.NOT_REVEALED)


def make_name_filter(codex: Codex, vantage: Vantage, timeline: Timeline) -> Callable[[NameMatch], bool] | None:
    """A check whether it is known at a vantage whose name was found; None where no name is revealed later."""
    with_later_names = codex.name_index.ids_with_later_names

    def is_revealed(hit: NameMatch) -> bool:
        if hit.owner not in with_later_names:
            return True
        entry = codex.by_id[hit.owner]
        if hit.surface.casefold() in (name.casefold() for name in (entry.name, *entry.aliases)):
            return True
        known = _find_known_progressions(codex, entry, vantage, timeline)
        return any(_has_alias(progression, hit.surface) for progression in known)

    return is_revealed if with_later_names else None


def list_known_names(codex: Codex, entry: Entry, vantage: Vantage, timeline: Timeline) -> tuple[str, ...]:
    """The names of an entry that are known at a vantage; none of an entry that is not known there."""
    if not _is_known(codex.render(entry, 0.0)[0], vantage, timeline):
        return ()
    known = _find_known_progressions(codex, entry, vantage, timeline)
    later = (alias for progression in known for alias in progression.aliases)
    return tuple(dict.fromkeys((entry.name, *entry.aliases, *later)))


def _find_known_progressions(codex: Codex, entry: Entry, vantage: Vantage, timeline: Timeline) -> Iterator[Progression]:
    """The progressions with names of their own that are known at a vantage; one is known from its position on."""
    fragments = codex.render(entry, 0.0)
    for number, progression in enumerate(entry.progressions, start=1):
        if progression.aliases and _is_known(fragments[number], vantage, timeline):
            yield progression


def _is_known(fragment: Fragment, vantage: Vantage, timeline: Timeline) -> bool:
    return judge_fragment(fragment, vantage, timeline) in (None, Reason.NOT_REVEALED)


def _has_alias(progression: Progression, surface: str) -> bool:
    """Does a progression bring the name found, in any case, or as a plural?"""
    lowered = surface.casefold()
    return any(lowered.startswith(alias.casefold()[:-2] or alias.casefold()) for alias in progression.aliases)


def _describe_mentions(
    nearby: Nearby,
    before: Mapping[str, int],
    after: Mapping[str, int],
    uncertain: Iterable[str],
    *,
    in_chat: bool = False,
) -> dict[str, Sentence]:
    """Where each entry is named in a nearby text, by its id; a chat has no cursor and no instruction."""
    reasons = dict.fromkeys(uncertain, message("perhaps named nearby: the word may mean something else"))
    match nearby.kind:
        case "cursor" if in_chat:
            return reasons | dict.fromkeys((*before, *after), message("named at the end of the chapter"))
        case "input" if not in_chat:
            return reasons | dict.fromkeys(before, message("named in the instruction"))
        case "selection":
            return reasons | dict.fromkeys(before, message("named in the selected text"))
        case "message" | "input":
            return reasons | dict.fromkeys(before, message("named in the latest messages"))
    cursor, text = nearby.cursor or 0, nearby.full_text
    for ident in (*before, *after):
        end, start = before.get(ident), after.get(ident)
        if end is not None and (start is None or cursor - end <= start - cursor):
            reasons[ident] = _describe_distance(text[end:cursor], is_before=True)
        elif start is not None:
            reasons[ident] = _describe_distance(text[cursor:start], is_before=False)
    return reasons


def _describe_distance(between: str, *, is_before: bool) -> Sentence:
    """How far a name is from the cursor, in words, or in characters where a script has no spaces."""
    characters = len(_UNSPACED.findall(between))
    words = len(_WORD.findall(between))
    if not words:
        return message("named right at the cursor")
    if 2 * characters > len(between):
        if is_before:
            return message("named {count} characters before the cursor", count=characters)
        return message("named {count} characters after the cursor", count=characters)
    if is_before:
        return plural(words, "named {count} word before the cursor", "named {count} words before the cursor")
    return plural(words, "named {count} word after the cursor", "named {count} words after the cursor")
