"""How much of each prompt is a byte-identical prefix of the one before, which is what providers cache.

A writing session is replayed over a real novel: 200 continuations of 230 words, 400 names as codex
entries, passages on. Then a chat of 400 messages, 60 words each. Beside it a plain sliding window:
the same material, chosen afresh for every request and always filled to the brim.

    python -m benchmarks.prefix --data DIR [--json]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from benchmarks.figures import arguments, report, show
from benchmarks.novels import PROJECT, chapters, names, sentences
from fabula.codex import Codex, Entry
from fabula.constraints import Constraint, Constraints
from fabula.context import NO_CONTINUITY, Engine, EngineSettings, Limits, Reason, Request, Result
from fabula.context.recipes import CHAT, NOVEL, Recipe
from fabula.conversation.model import Conversations, Message
from fabula.core.view import Project, View
from fabula.manuscript.model import Document, Manuscript
from fabula.memory.model import Memory, Preference
from fabula.search.corpus import Corpus
from fabula.text.tokens.tokenizer import load_encoding
from fabula.workspace.search_corpus import make_corpus
from fabula.workspace.sources import all_sources

MODEL = "gpt-4o"
REQUESTS, WORDS, NAMES = 200, 230, 400
MESSAGES, SAID = 400, 60
FIRST = 30  # the chapter the session begins in, so that there is something to look back on
_WORD = re.compile(r"\S+\s*")
Listener = Callable[[Result], None]


class Reuse:
    """Counts prefix tokens over a run of prompts."""

    def __init__(self) -> None:
        self.shared = 0
        self.total = 0
        self._last: str | None = None

    def add(self, prompt: str) -> float:
        """One more prompt; the share of it that was there before."""
        count = load_encoding("o200k_base").count
        tokens, shared = count(prompt), 0
        if self._last is not None:
            shared = count(prompt[: _common(prompt, self._last)])
            self.total += tokens
            self.shared += shared
        self._last = prompt
        return shared / tokens

    @property
    def share(self) -> float:
        """The share over the whole run."""
        return self.shared / max(self.total, 1)


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def novel(texts: Sequence[tuple[str, str]]) -> View:
    """The whole book with its characters."""
    said = sentences(texts, 1)
    documents = tuple(Document(f"ch-{n}", title, text) for n, (title, text) in enumerate(texts, start=1))
    story = Manuscript(documents)
    characters = [
        Entry(id=f"e{n}", type="character", name=name, description=" ".join(islice(said, 2)))
        for n, name in enumerate(names(texts, NAMES))
    ]
    corpus = make_corpus(PROJECT, story)
    corpus.build_index()
    snapshots = {
        Manuscript: story,
        Codex: Codex(PROJECT, "en", characters),
        Constraints: Constraints(PROJECT, [Constraint(id=f"c{n}", text=next(said)) for n in range(10)]),
        Memory: Memory(PROJECT, preferences=[Preference(f"m{n}", next(said), 0.8) for n in range(6)]),
        Corpus: corpus,
    }
    return View(Project(id=PROJECT), story.timeline(), snapshots)


def session(view: View) -> Iterator[tuple[str, int]]:
    """Where the writer stands: every 230 words, through one chapter after another."""
    story = view.snapshot(Manuscript)
    assert story is not None
    given, due = 0, WORDS
    for document in story.documents[min(FIRST, len(story.documents) // 3) :]:
        for word in _WORD.finditer(document.text):
            due -= 1
            if due == 0:
                yield document.id, word.end()
                given, due = given + 1, WORDS
                if given == REQUESTS:
                    return


def write(
    view: View, window: int, *, late: bool, plain: bool = False, check: bool = True, listen: Listener | None = None
) -> Reuse:
    """Replay the session; whoever listens is told every result."""
    engine = _engine(NOVEL, plain=plain)
    reuse, before = Reuse(), NO_CONTINUITY
    story = view.snapshot(Manuscript)
    assert story is not None
    for document, cursor in session(view):
        request = Request(
            project_id=PROJECT,
            document_id=document,
            cursor=cursor,
            unsaved_text=story.by_id[document].text[:cursor],
            skill_id="continue",
            model=MODEL,
            window=window,
            late_joiners=late,
        )
        result = engine.assemble(request, view, continuity=before)
        if not plain:
            before = result.continuity
        if check:
            _nothing_given_up(result, view, story.by_id[document].text[:cursor])
        reuse.add(result.prompt)
        if listen is not None:
            listen(result)
    return reuse


def _nothing_given_up(result: Result, view: View, text: str) -> None:
    """Every entry detected here is in the prompt or traced as not fitting; the nearest text is in it."""
    codex = view.snapshot(Codex)
    assert codex is not None
    told = {verdict.source: verdict for verdict in result.trace}
    for hit in codex.name_matcher.find(text[-500:]):
        verdict = told[f"codex:entity:{hit.owner}"]
        assert verdict.included or verdict.reason in (Reason.NO_ROOM, Reason.PASSED_OVER, Reason.TOO_LARGE), verdict
    assert text[-2000:].rstrip() in result.prompt


def talk(texts: Sequence[tuple[str, str]], *, plain: bool = False, listen: Listener | None = None) -> Reuse:
    """A chat: every second message is the user's, and asks for an answer."""
    first = min(FIRST, len(texts) // 3)
    words = _WORD.findall(" ".join(text.replace("\n", " ") for _, text in texts[first : first + 40]))
    said = [
        Message(
            id=str(n),
            role="assistant" if n % 2 else "user",
            content="".join(words[n * SAID : (n + 1) * SAID]).strip(),
        )
        for n in range(min(MESSAGES, len(words) // SAID))
    ]
    engine = _engine(CHAT, plain=plain)
    whole = Conversations(PROJECT, {"talk": said}).fragments["talk"]
    reuse, before = Reuse(), NO_CONTINUITY
    for turn in range(0, len(said), 2):
        history = Conversations(PROJECT, {})
        history.fragments["talk"] = whole[:turn]
        view = View(Project(id=PROJECT), snapshots={Conversations: history})
        request = Request(
            project_id=PROJECT,
            conversation_id="talk",
            recipe="chat",
            skill_id="chat",
            additional_input=said[turn].content,
            model=MODEL,
            window=8192,
        )
        result = engine.assemble(request, view, continuity=before)
        if not plain:
            before = result.continuity
        reuse.add(result.prompt)
        if listen is not None:
            listen(result)
    return reuse


def _engine(recipe: Recipe, *, plain: bool) -> Engine:
    if plain:
        recipe = replace(recipe, window_step=0.0, history_step=0.0)
    settings = EngineSettings(limits=Limits(input_tokens=1_000_000))
    return Engine(all_sources(), settings=settings, recipes={recipe.name: recipe})


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    texts = chapters(options.data)
    view = novel(texts)
    runs: dict[str, Callable[[], Reuse]] = {
        "novel_reuse": lambda: write(view, 8192, late=True),
        "novel_reuse_strict": lambda: write(view, 8192, late=False),
        "novel_reuse_32k": lambda: write(view, 32_768, late=True),
        "novel_reuse_32k_strict": lambda: write(view, 32_768, late=False),
        "novel_plain": lambda: write(view, 8192, late=False, plain=True),
        "novel_plain_32k": lambda: write(view, 32_768, late=False, plain=True),
        "chat_reuse": lambda: talk(texts),
        "chat_plain": lambda: talk(texts, plain=True),
    }
    found = {name: run() for name, run in runs.items()}
    show(
        "share of prompt tokens that are a prefix of the previous prompt",
        ("run", "share", "tokens a prompt"),
        [(name, reuse.share, reuse.total // (REQUESTS - 1)) for name, reuse in found.items()],
    )
    report({name: reuse.share for name, reuse in found.items()}, as_json=options.json)


if __name__ == "__main__":
    main()
