"""What is told of the story so far: the last chapters in short, those that bear on this, and the rest rolled up.

What is told depends on the place in the story and on whose eyes look, not on the cursor, so it is worked out
once for each chapter and stays as it is while that chapter is written. Only the relevant chapters are chosen by
the text around the cursor, when the retrieved layer is chosen anew or the writer asks for something. Nothing is
held back for the story's sake here; the gate is asked beforehand, so that no place is given to what it will stop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from fabula.context.gate import judge
from fabula.context.request import Ask
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.relevance import KEPT, SYNOPSIS, within
from fabula.core.view import Language, View
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses.chapters import Chapter
from fabula.manuscript.synopses.plan import Plan, Tellings, knows
from fabula.manuscript.synopses.rollups import LATEST, SO_FAR, Rollup
from fabula.text.names.main_characters import NOBODY, Cast

log = logging.getLogger("fabula.manuscript")

FAR = 0.3  # of the retrieved layer's room may be the story so far
SHARE = 0.15  # and as much the roll-ups and chapters between that and the latest ones
STEP = 512  # tokens; room is looked at in steps, so that a little less of it changes nothing
RELEVANT = 3
STAYS = 1.5  # how much better than its score a relevant chapter told before stands
_TRIED = 12  # relevant chapters that are asked about
_NEARNESS = {"relevant": 0.3, "between": 0.25, "run": 0.2, "far": 0.1}  # of the scale, below the latest chapters
_MADE = 16  # fragments kept for one chapter

_SAYS: dict[Language, dict[str, str]] = {
    "en": {
        "synopsis": "[{title}, in short] {text}",
        "excerpt": "[{title}, in its own sentences] {text}",
        "run": "[{first} to {last}, in short] {text}",
        "run excerpt": "[{first} to {last}, in their own sentences] {text}",
        "far": "[The story so far, to {last}] {text}",
    },
    "zh": {
        "synopsis": "[{title}·梗概] {text}",
        "excerpt": "[{title}·摘录] {text}",
        "run": "[{first}至{last}·梗概] {text}",
        "run excerpt": "[{first}至{last}·摘录] {text}",
        "far": "[此前的故事，至{last}] {text}",
    },
}
_STALE = "the text has changed since this was written"
_DERIVED = "none is kept, so it is told in its own sentences"
_RELEVANT = "it shares words with what is near"
_HERE = "it is being written"
_ROLLED = "it is told in a roll-up"
_UNTOLD = "no synopses are kept for these chapters yet"
_SPENT = "nearer ones took the room for synopses"

People = Callable[[View], Cast]
_Offer = tuple[Chapter | Rollup, float]  # what may be told, and how near it is


def no_people(view: View) -> Cast:
    """Nobody is known by name."""
    return NOBODY


class SynopsesSource:
    """Earlier chapters in short. Whether they may be known is for the gate to say."""

    name = "synopses"
    failing = Code.RETRIEVAL_UNAVAILABLE
    waits = False
    ahead = False

    def __init__(self, people: People = no_people) -> None:
        """`people` says who plays in a story: those a chapter is mostly about are named in its own sentences."""
        self._people = people

    def fragments(self, ask: Ask, view: View) -> Sequence[Fragment]:
        """The story so far, what was told last time, and what bears on this."""
        manuscript = view.room(Manuscript)
        if manuscript is None or not manuscript.documents:
            return ()
        tellings = Tellings.of(manuscript, self._cast(view))
        plan = tellings.plan(ask.request.document_id, ask.vantage, view.timeline)
        offered = _standing(plan, ask)
        if not ask.held and not self._looks_back(tellings, plan, ask):
            return offered
        held = [*self._held(tellings, plan, offered, ask, view)]
        told = {ident for one in (*offered, *held) if (ident := _told_alone(one))}
        more = {one.source: one for one in (*held, *self._relevant(tellings, plan, told, ask, view))}
        return [*offered, *more.values()] if more else offered

    def _cast(self, view: View) -> Cast:
        """The people of the story; a codex that cannot be read does not keep us from telling it."""
        try:
            return self._people(view)
        except Exception as error:
            log.warning("the people of the story could not be named: %s", type(error).__name__)
            return NOBODY

    @staticmethod
    def _held(tellings: Tellings, plan: Plan, offered: Sequence[Fragment], ask: Ask, view: View) -> Iterator[Fragment]:
        """Chapters told last time that no roll-up tells now: they stay until all is chosen anew."""
        told = {fragment.source for fragment in offered}
        rolled: frozenset[str] | None = None
        for source in ask.held:
            kind, _, ident = source.partition(":")
            if kind not in ("synopsis", "relevant") or f"synopsis:{ident}" in told:
                continue
            chapter = tellings.by_id.get(ident)
            if chapter is None or not _behind(tellings, chapter, ask):
                continue
            if ask.fresh and (kind == "relevant" or chapter not in plan.told.between):
                continue  # it is chosen anew if it is relevant
            if rolled is None:
                rolled = frozenset().union(*(run.ids for run in _rollups(plan) if run.source in told))
            if (kind == "relevant" or ident not in rolled) and knows(chapter, ask.vantage, view.timeline):
                yield _fragment(chapter, KEPT, ask, kind)

    @staticmethod
    def _looks_back(tellings: Tellings, plan: Plan, ask: Ask) -> bool:
        """Is anything told further back than the latest chapters, and is it to be chosen from now?"""
        if not (ask.fresh or ask.request.additional_input) or not tellings.relevance:
            return False
        told = plan.told
        return told.far is not None or bool(told.runs or told.untold or told.between)

    @staticmethod
    def _relevant(tellings: Tellings, plan: Plan, told: Set[str], ask: Ask, view: View) -> Iterator[Fragment]:
        """The chapters further back that have most to do with what is near."""
        if not SynopsesSource._looks_back(tellings, plan, ask):
            return
        scores = tellings.relevance.scores(near.text for near in ask.near)
        held = frozenset(ask.held)

        def rank(place: int) -> tuple[float, int]:
            stays = STAYS if f"relevant:{tellings.chapters[place].id}" in held else 1.0
            return -scores[place] * stays, -place

        found = 0
        for place in sorted(scores, key=rank)[: _TRIED if RELEVANT else 0]:
            chapter = tellings.chapters[place]
            if chapter.id in told or not _behind(tellings, chapter, ask):
                continue
            if knows(chapter, ask.vantage, view.timeline):
                yield _fragment(chapter, within(SYNOPSIS, _NEARNESS["relevant"]), ask, "relevant")
                found += 1
                if found == RELEVANT:
                    return

    def absent(self, ask: Ask, view: View) -> Iterator[Verdict]:
        """Chapters that are not told, or not by themselves, and why."""
        manuscript = view.room(Manuscript)
        if manuscript is None:
            return
        told = {fragment.source for fragment in self.fragments(ask, view)}
        tellings = Tellings.of(manuscript)
        plan = tellings.plan(ask.request.document_id, ask.vantage, view.timeline)
        rolled = {ident for run in _rollups(plan) if run.source in told for ident in run.ids}
        for run in _rollups(plan):
            if run.source not in told:
                yield _left_out(run.source, _title(run), Reason.NOT_CHOSEN, _SPENT)
        for chapter in tellings.chapters:
            source = f"synopsis:{chapter.id}"
            if chapter.empty or source in told or f"relevant:{chapter.id}" in told:
                continue
            reason = judge(chapter.unsaid, ask.vantage, view.timeline)
            if chapter.id == ask.request.document_id or not _behind(tellings, chapter, ask):
                here = tellings.places.get(chapter.id) == tellings.places.get(ask.request.document_id)
                yield _left_out(source, chapter.title, Reason.NOT_CHOSEN if here else Reason.NOT_YET, _HERE * here)
            elif reason not in (None, Reason.NOT_REVEALED):
                yield _left_out(source, chapter.title, reason or Reason.NOT_YET)
            else:
                why = _ROLLED if chapter.id in rolled else _UNTOLD if chapter.id in plan.told.untold else _SPENT
                yield _left_out(source, chapter.title, Reason.NOT_CHOSEN, why)


def _told_alone(fragment: Fragment) -> str:
    """The chapter that a fragment tells for good, if it is one of a chapter."""
    return fragment.source.removeprefix("synopsis:") if fragment.source.startswith("synopsis:") else ""


def _left_out(source: str, title: str, reason: Reason, detail: str = "") -> Verdict:
    return Verdict(source, title, Layer.RETRIEVED, reason, 0, 0.0, detail)


def _behind(tellings: Tellings, chapter: Chapter, ask: Ask) -> bool:
    """Does a chapter stand before the one that is being written?"""
    places = tellings.places
    return places[chapter.id] < places.get(ask.request.document_id, len(tellings.chapters))


def _rollups(plan: Plan) -> list[Rollup]:
    far = plan.told.far
    return [*([far] if far is not None else ()), *plan.told.runs]


def _standing(plan: Plan, ask: Ask) -> Sequence[Fragment]:
    """What is told at this place whatever the cursor: the latest chapters, and of the rest what there is room for."""
    room = ask.room[Layer.RETRIEVED]
    room = room - room % STEP if room > STEP else room
    key = (ask.request.project_id, ask.language, ask.tokenizer.name, room)
    found = plan.offered.get(key)
    if found is None:
        found = plan.offered[key] = tuple(_chosen(plan, ask, room))
    return found


def _chosen(plan: Plan, ask: Ask, room: int) -> Iterator[Fragment]:
    told = plan.told
    far: list[_Offer] = [] if told.far is None else [(told.far, _NEARNESS["far"])]
    back: list[_Offer] = [(run, _NEARNESS["run"] - 0.01 * n) for n, run in enumerate(reversed(told.runs))]
    back += ((chapter, _NEARNESS["between"] - 0.01 * n) for n, chapter in enumerate(reversed(told.between)))
    for offers, share in ((far, FAR), (back, SHARE)):
        kept = reversed(list(_fitting(offers, int(room * share), ask)))
        # What changes seldom comes before the rest.
        yield from sorted(kept, key=lambda one: one.source.startswith("synopsis:"))
    for nearness, chapter in enumerate(told.latest, start=LATEST + 1 - len(told.latest)):
        if chapter.told.text:
            yield _fragment(chapter, within(SYNOPSIS, nearness / LATEST), ask)


def _fitting(offers: Iterable[_Offer], room: int, ask: Ask) -> Iterator[Fragment]:
    """Those there is room for, the first ones first; nothing is summarised that would find none."""
    for told, nearness in offers:
        if told.expected > room or not told.told.text:
            continue
        score = within(SYNOPSIS, nearness)
        fragment = _rollup(told, score, ask) if isinstance(told, Rollup) else _fragment(told, score, ask)
        cost = ask.tokenizer.count(fragment.text)
        if cost <= room:
            room -= cost
            yield fragment


def _fragment(chapter: Chapter, score: float, ask: Ask, kind: str = "synopsis") -> Fragment:
    """A chapter's synopsis as a fragment; the same one again for the same wish."""
    key = (ask.request.project_id, ask.language, score, kind)
    made = chapter.made.get(key)
    if made is None:
        told = chapter.told
        why = [
            _RELEVANT if kind == "relevant" else "",
            _STALE if told.stale else _DERIVED if told.origin == "derived" else "",
        ]
        if len(chapter.made) >= _MADE:
            chapter.made.clear()
        made = chapter.made[key] = Fragment(
            source=f"{kind}:{chapter.id}",
            layer=Layer.RETRIEVED,
            text=_SAYS[ask.language]["excerpt" if told.excerpt else "synopsis"].format(
                title=chapter.title, text=told.text
            ),
            project_id=ask.request.project_id,
            title=chapter.title,
            score=score,
            derived_from=chapter.terms,
            because="; ".join(filter(None, why)),
        )
    return made


def _rollup(run: Rollup, score: float, ask: Ask) -> Fragment:
    key = (ask.request.project_id, ask.language, score)
    made = run.made.get(key)
    if made is None:
        if len(run.made) >= _MADE:
            run.made.clear()
        made = run.made[key] = Fragment(
            source=run.source,
            layer=Layer.RETRIEVED,
            text=_SAYS[ask.language][_pattern(run)].format(
                title=run.first, first=run.first, last=run.last, text=run.told.text
            ),
            project_id=ask.request.project_id,
            title=_title(run),
            score=score,
            derived_from=run.terms,
            because=_STALE if run.told.stale else "",
        )
    return made


def _pattern(run: Rollup) -> str:
    if run.source == SO_FAR:
        return "far"
    if run.first == run.last:
        return "excerpt" if run.told.excerpt else "synopsis"
    return "run excerpt" if run.told.excerpt else "run"


def _title(run: Rollup) -> str:
    return run.first if run.first == run.last else f"{run.first} – {run.last}"
