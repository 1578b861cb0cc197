"""What search offers: the passages that bear on what is being written or asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.context.gate import judge
from fabula.context.request import Ask
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Because, Fragment, Layer
from fabula.core.relevance import PASSAGE, within
from fabula.core.view import Language, View
from fabula.search.corpus import TALK, Made, Shelf
from fabula.search.dates import day_of
from fabula.search.embeddings.choice import Chosen, Way
from fabula.search.find import Stand, allowed, apart, find, tellable, words_of
from fabula.search.model import Hit, Passage, Query
from fabula.search.query import query_of

log = logging.getLogger("fabula.search")

MISSED = 24  # near ones that a dry run names though they were not offered
SHARE = 0.5  # of the retrieved layer's room
MOST, FEWEST = 64, 8  # passages looked at, depending on the room,
SHORT = 25  # where one takes at least so many tokens, or nearly
BESIDE = 0.5  # of a passage's score is what those right beside it get
BRINGS = 2  # of the best bring along those beside them
STAYS = 1.5  # how much better than its score a passage told before stands, when all are chosen anew
BETTER = 1.25  # how much a newcomer must beat the best held passage by
_SHOWN = 4  # words named as the reason
_ENDLESS = 1 << 60
_TITLE = 24  # characters of a passage that its title shows

Finder = Callable[[Ask, View], Sequence[str]]

_SAYS: dict[Language, dict[str, str]] = {
    "en": {
        "document": "[From {title}] ",
        "talk": "[Said before, {title}] ",
        "making": "the search index is being made ({percent} % done); until then no passages are found",
        "cache": "the search cache could not be used ({why}); the index was made without it",
        "dense": "passages could not be compared by meaning; search goes by words alone",
        "because": "shares {words} with what is near",
        "beside": "stands beside a passage that was found",
    },
    "zh": {
        "document": "[{title}·原文] ",
        "talk": "[先前的对话·{title}] ",
        "making": "检索索引正在建立（已完成 {percent}%），在此之前没有检索结果",
        "cache": "检索缓存无法使用（{why}），索引已另行建立",
        "dense": "无法按语义比较原文，目前只按字词检索",
        "because": "与此处同有 {words}",
        "beside": "紧邻一段检索到的原文",
    },
}


def no_names(ask: Ask, view: View) -> Sequence[str]:
    """Nobody is known by name."""
    return ()


class SearchSource:
    """Passages from earlier in the manuscript and from conversations, never from the window itself."""

    name = "search"
    failing = Code.RETRIEVAL_UNAVAILABLE
    waits = False
    ahead = False

    def __init__(self, names: Finder = no_names, chosen: Chosen | None = None) -> None:
        """`names` says who is near, all the names of each; `chosen` what else than words is gone by."""
        self._names = names
        self._chosen = chosen

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """The best passages; between two re-rankings, those told before and a clearly better one."""
        made = self._made(ask, view)
        return () if made is None else self._best(made, ask, view)

    def _best(self, made: Made, ask: Ask, view: View) -> Iterator[Fragment]:
        query, stand = self._query(made, ask, view), stand_of(made, ask, view)
        if not query.parts:
            return
        may, room = allowed(made, stand), int(ask.room[Layer.RETRIEVED] * SHARE)
        most = min(MOST, max(room // SHORT, FEWEST))
        chosen = _chosen(made, find(made, query, may, most, self._near(made, query, ask, view)), ask, may)
        say = _SAYS[ask.language]
        for number, score, beside in chosen:
            passage = made.index.passages[number]
            cost = ask.tokenizer.count(passage.text)
            if cost <= room and not _in_window(passage, ask):
                room -= cost
                why = say["beside"] if beside else _Because(made, number, query, ask.language)
                yield _fragment(made, number, score, why, ask, stand)

    def absent(self, ask: Ask, view: View) -> Iterator[Verdict]:
        """What would have been near, and why it was not offered; a conversation speaks for its own messages."""
        shelf = view.room(Shelf)
        made = shelf.look() if shelf is not None else None
        if made is None:
            return
        query = self._query(made, ask, view)
        if not query.parts:
            return
        stand = stand_of(made, ask, view)
        offered = {fragment.source for fragment in self.fragments(ask, view)}
        may, own = allowed(made, stand), TALK + ask.request.conversation_id
        for hit in find(made, query, None, MISSED + len(offered)):
            fragment = _fragment(made, hit.number, hit.score, "", ask, stand)
            if fragment.source not in offered and _thread(made, hit.number) != own:
                reason, detail = judge(fragment, ask.vantage, view.timeline), ""
                if reason in (None, Reason.NOT_REVEALED) and not may[hit.number]:
                    reason, detail = Reason.DUPLICATE, "editor:cursor-window"
                verdict = Reason.NOT_CHOSEN if reason in (None, Reason.NOT_REVEALED) else reason
                yield Verdict(fragment.source, fragment.title, Layer.RETRIEVED, verdict, 0, fragment.score, detail)

    def _query(self, made: Made, ask: Ask, view: View) -> Query:
        """What to look for; whoever cannot say which names are near does not keep us from looking."""
        try:
            names = self._names(ask, view)
        except Exception as error:
            log.warning("names near the cursor could not be found: %s", type(error).__name__)
            names = ()
        return query_of(ask, names, _today(made, ask))

    def _near(self, made: Made, query: Query, ask: Ask, view: View) -> NDArray[np.float32] | None:
        """How near each passage is in meaning, where that can be told."""
        way = Way() if self._chosen is None else self._chosen.way(view)
        if way.warning:
            ask.notes.append(way.warning)
        if way.meaning is None:
            return None
        near = way.meaning.near(ask.request.project_id, made, query)
        if near.trouble:
            ask.notes.append(f"{Code.EMBEDDING_UNAVAILABLE.value}: {_SAYS[ask.language]['dense']}")
        return near.scores

    @staticmethod
    def _made(ask: Ask, view: View) -> Made | None:
        shelf = view.room(Shelf)
        if shelf is None or not (ask.near or ask.text):
            return None
        made, say = shelf.look(), _SAYS[ask.language]
        if made is None:
            done, total = shelf.progress
            sentence = say["making"].format(percent=100 * done // max(total, 1))
            ask.notes.append(f"{Code.RETRIEVAL_NOT_READY.value}: {sentence}")
        elif made.trouble:
            ask.notes.append(f"{Code.RETRIEVAL_CACHE.value}: {say['cache'].format(why=made.trouble)}")
        return made


def stand_of(made: Made, ask: Ask, view: View) -> Stand:
    """Where a request stands."""
    talk, speaker = ask.request.conversation_id, ask.request.speaker_id
    return Stand(ask.vantage, view.timeline, talk, speaker, ask.shown_from(), _heard(made, talk, ask))


def _heard(made: Made, conversation: str, ask: Ask) -> int:
    """How many of the latest messages the prompt shows, or could show where nobody knows yet."""
    first = made.first.get(TALK + conversation) if conversation else None
    if first is None or ask.talk.since == "":
        return 0
    passages, talk = made.thread_of(first).passages, ask.talk
    shown = made.index.by_source.get(talk.since) if talk.since else None
    if shown is not None:
        return max(first + len(passages) - shown, 0)
    tokens = ask.window if talk.tokens is None else min(talk.tokens, ask.window)
    characters = _ENDLESS if talk.characters is None else talk.characters
    heard = 0
    for passage in reversed(passages[-talk.messages :] if talk.messages else passages):
        tokens -= ask.tokenizer.count(passage.text)
        characters -= len(passage.text)
        if min(tokens, characters) < 0:
            break
        heard += 1
    return heard


Choice = tuple[int, float, bool]  # a passage, its score, and whether it only stands beside one that was found


def _chosen(made: Made, hits: Sequence[Hit], ask: Ask, may: NDArray[np.bool_]) -> list[Choice]:
    """In the order in which they fill the room."""
    scores = {hit.number: hit.score for hit in hits}
    held = [at for source in ask.held if (at := made.index.by_source.get(source)) is not None and may[at]]
    if held and not ask.fresh:
        limit = BETTER * max(scores.get(at, 0.0) for at in held)
        new = [hit.number for hit in hits[:1] if hit.number not in held and hit.score > limit]
        return [
            (hit.number, hit.score, False)
            for hit in apart(made, [Hit(at, scores.get(at, 0.0)) for at in (*held, *new)])
        ]
    rank = dict(scores)
    least = hits[-1].score if hits else 0.0  # nobody says how near one is that was not found; not nearer than this
    for at in held:
        rank[at] = scores.get(at, least) * STAYS
    beside: set[int] = set()
    for hit in hits[:BRINGS]:
        for at in made.index.beside(hit.number):
            if may[at] and at not in rank:
                beside.add(at)
                rank[at] = scores[at] = BESIDE * hit.score
    place = {at: n for n, at in enumerate(held)}  # of what nobody needs now, the latest told goes first
    ordered = sorted(rank, key=lambda at: (-rank[at], place.get(at, len(place)), at))
    order = [Hit(at, scores.get(at, 0.0)) for at in ordered]
    order = apart(made, order) if held else order
    return [(hit.number, hit.score, hit.number in beside) for hit in order]


def _today(made: Made, ask: Ask) -> str:
    """The day of asking, from which "last summer" counts: as the session has it, else that of the latest message."""
    said = next((value for _, value in sorted(ask.request.session.items()) if day_of(value)), "")
    first = made.first.get(TALK + ask.request.conversation_id) if ask.request.conversation_id else None
    if said or first is None:
        return said
    return next((passage.at for passage in reversed(made.thread_of(first).passages) if passage.at), "")


def _thread(made: Made, number: int) -> str:
    return made.thread_of(number).id


def _in_window(passage: Passage, ask: Ask) -> bool:
    """Do the very words stand in the text before the cursor, wherever they were found?"""
    return ask.text is not None and ask.text.paragraphs.text.find(passage.text, ask.text.begin, ask.text.end) >= 0


class _Because(Struct, frozen=True, eq=False):
    """What brought a passage here: the names and words it shares with what is looked for."""

    made: Made
    number: int
    query: Query
    language: Language

    def __str__(self) -> str:
        index, own = self.made.index, words_of(self.made, self.number)
        text, words = index.passages[self.number].text, index.spoken(self.query)
        same = sorted([own[word] for word in words.intersection(own)])
        shared = [name for name in self.query.names if name in text] + sorted(same, key=len, reverse=True)
        shown = list(dict.fromkeys([word.casefold() for word in shared if len(word) > 1]))[:_SHOWN]
        return _SAYS[self.language]["because"].format(words=", ".join(shown)) if shown else ""


def _fragment(made: Made, number: int, score: float, why: str | Because, ask: Ask, stand: Stand) -> Fragment:
    passage, thread = made.index.passages[number], made.thread_of(number).id
    terms_ = tellable(passage, thread, stand)
    told = made.told.get((number, ask.language))
    if told is None:
        kind, title = "talk" if thread.startswith(TALK) else "document", passage.title or thread
        text = _SAYS[ask.language][kind].format(title=title) + passage.text
        told = made.told[number, ask.language] = text, f"{title}: {passage.text[:_TITLE].strip()}…"
    return Fragment(
        source=passage.source,
        layer=Layer.RETRIEVED,
        text=told[0],
        project_id=ask.request.project_id,
        title=told[1],
        score=within(PASSAGE, score),
        since=terms_.since,
        known_to=terms_.known_to,
        because=why,
    )
