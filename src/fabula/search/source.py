"""What search offers: the passages nearest in words to what is being written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nlargest

from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.core.errors import Code
from fabula.core.fragments import Fragment, Layer
from fabula.core.scale import PASSAGE, within
from fabula.core.story import Eyes, Position
from fabula.core.view import View
from fabula.search.passages import Passage, Passages
from fabula.text.terms import terms

SHARE = 0.5  # of the retrieved layer's room
MOST = 12
STAYS = 1.5  # how much better than its score a passage told before stands, when all are chosen anew
BETTER = 1.25  # how much a newcomer must beat the best held passage by


class SearchSource:
    """Passages from earlier in the manuscript, never from the window itself."""

    name = "search"
    failing = Code.RETRIEVAL_UNAVAILABLE
    waits = False
    ahead = False

    def fragments(self, ask: Ask, view: View) -> Iterator[Fragment]:
        """The best passages; between two re-rankings, those told before and a clearly better one."""
        passages = view.room(Passages)
        if passages is None or not ask.near:
            return
        scores = self._behind(passages, passages.scores(terms(" ".join(near.text for near in ask.near))), ask, view)
        held = [passages.by_source[source] for source in ask.held if source in passages.by_source]
        best = nlargest(MOST, scores, key=lambda at: (scores[at], -at))
        if held and not ask.fresh:
            limit = max(scores.get(at, 0.0) for at in held)
            best = [*held, *(at for at in best[:1] if at not in held and scores[at] > BETTER * limit)]
        elif held:
            stays = frozenset(held)
            rank = {at: scores.get(at, 0.0) * (STAYS if at in stays else 1.0) for at in (*best, *held)}
            best = sorted(rank, key=lambda at: (-rank[at], at))
        top = max((scores.get(at, 0.0) for at in best), default=0.0)
        room = int(ask.room[Layer.RETRIEVED] * SHARE)
        for at in self._filling(passages, best, room, ask):
            score = within(PASSAGE, scores.get(at, 0.0) / top if top else 0.0)
            yield self._fragment(passages.all[at], score, ask)

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """Every other passage is simply further away."""
        return ()

    @staticmethod
    def _behind(passages: Passages, scores: dict[int, float], ask: Ask, view: View) -> dict[int, float]:
        """Without what the window shows anyway; ranked among what is behind us, since the gate stops the rest."""
        here, knows_all = ask.vantage.position, ask.vantage.eyes is Eyes.AUTHOR
        shown = ask.shown_from()
        kept: dict[int, float] = {}
        for at, score in scores.items():
            passage = passages.all[at]
            if shown is not None and passage.document == shown.document and passage.end > shown.offset:
                continue
            if knows_all or view.timeline.reached(Position(passage.document, passage.end), here):
                kept[at] = score
        return kept

    @staticmethod
    def _filling(passages: Passages, ranked: list[int], room: int, ask: Ask) -> list[int]:
        taken: list[int] = []
        for at in ranked:
            cost = ask.tokenizer.count(passages.all[at].text)
            if cost <= room:
                room -= cost
                taken.append(at)
        return taken

    @staticmethod
    def _fragment(passage: Passage, score: float, ask: Ask) -> Fragment:
        head = f"[{passage.title}·原文] " if ask.language == "zh" else f"[From {passage.title}] "
        return Fragment(
            source=passage.source,
            layer=Layer.RETRIEVED,
            text=head + passage.text,
            project_id=ask.request.project_id,
            title=f"{passage.title} #{passage.number}",
            score=score,
            since=Position(passage.document, passage.end),
            known_to=passage.known_to,
        )
