"""Planted details: is a sentence from long ago found again when a later scene needs it?

Sixty sentences of our own (a scar, a promise, a debt) are planted in War and Peace and in 红楼梦, each in an earlier
chapter. For each there is a later scene that needs it and does not repeat it. The scene is written into a late
chapter, the cursor stands at its end, and the engine is asked to go on. Found means: the sentence is among the first
2,000 tokens of passages in the prompt. Beside it plain BM25, asked with the last paragraph.

    python -m benchmarks.planted --data DIR [--json]
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from math import log
from pathlib import Path

from msgspec import Struct, convert

from benchmarks.figures import arguments, report, show
from benchmarks.novels import chapters
from fabula.context import Result
from fabula.core.view import Language, Project, View
from fabula.manuscript.model import Document, Manuscript
from fabula.search.corpus import Shelf
from fabula.search.model import Passage
from fabula.text.terms import terms
from fabula.text.tokens.tokenizer import encoding
from fabula.workspace.project import Fabula
from fabula.workspace.search_corpus import shelf_of

ROOM = 2000  # tokens
WINDOW = 32_768
BOOKS: dict[Language, str] = {"en": "war_and_peace", "zh": "红楼梦"}
K1, B = 1.2, 0.5


class Plant(Struct, frozen=True):
    """A sentence, a later scene that needs it, and how far into the book each stands."""

    at: float
    later: float
    sentence: str
    scene: str


def plants(language: Language) -> list[Plant]:
    """Our own sentences and scenes."""
    with (Path(__file__).parent / f"planted_{language}.toml").open("rb") as file:
        return convert(tomllib.load(file)["plant"], list[Plant])


def planted(texts: Sequence[tuple[str, str]], sown: Sequence[Plant], language: Language) -> Fabula:
    """The book with every sentence in its place, behind a paragraph in the middle of a chapter."""
    bodies = [text for _, text in texts]
    for plant in sown:
        number = int(plant.at * len(bodies))
        text = bodies[number]
        middle = text.find("\n", len(text) // 2)
        middle = len(text) if middle < 0 else middle
        bodies[number] = f"{text[:middle]} {plant.sentence}{text[middle:]}"
    documents = [
        Document(f"ch-{n}", title, body)
        for n, ((title, _), body) in enumerate(zip(texts, bodies, strict=True), start=1)
    ]
    story = Manuscript(tuple(documents))
    shelf = shelf_of("planted", story)
    shelf.finished()
    project = Project(id="planted", language=language)
    return Fabula(View(project, story.timeline(), {Manuscript: story, Shelf: shelf}))


def asked(fabula: Fabula, plant: Plant) -> tuple[Result, Document]:
    """What is told to whoever goes on from the scene."""
    story = fabula.view.room(Manuscript)
    assert story is not None
    document = story.documents[int(plant.later * len(story.documents))]
    half = document.text.find("\n", len(document.text) // 2)
    text = f"{document.text[:half].rstrip()}\n\n* * *\n\n{plant.scene.strip()}"
    request = fabula.request(document_id=document.id, unsaved_text=text, cursor=len(text), window=WINDOW)
    return fabula.assemble(request), document


def told(result: Result) -> list[str]:
    """The passages in the prompt, best first, as far as they go into the room."""
    found = sorted(
        (v for v in result.trace if v.included and v.source.startswith("search:")), key=lambda verdict: -verdict.score
    )
    return filled([verdict.text for verdict in found])


def filled(texts: Sequence[str]) -> list[str]:
    """As many as fit, in their order."""
    count, room, kept = encoding("o200k_base").count, ROOM, []
    for text in texts:
        cost = count(text)
        if cost <= room:
            room -= cost
            kept.append(text)
    return kept


class Plain:
    """BM25 over the same passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._counts = [Counter(terms(passage.text)) for passage in passages]
        self._held = Counter(word for counts in self._counts for word in counts)
        self._mean = sum(counts.total() for counts in self._counts) / max(len(passages), 1)

    def best(self, question: str, before: int) -> list[str]:
        """The passages up to some number that share most with a question, as many as fit."""
        words = set(terms(question))
        size, scores = len(self._passages), []
        for at, counts in enumerate(self._counts[:before]):
            norm = K1 * (1 - B + B * counts.total() / self._mean)
            score = sum(
                log(1 + (size - self._held[word] + 0.5) / (self._held[word] + 0.5)) * n * (K1 + 1) / (n + norm)
                for word in words
                if (n := counts.get(word, 0))
            )
            scores.append((-score, at))
        return filled([self._passages[at].text for _, at in sorted(scores)[:60]])


def measure(data: Path | None, language: Language) -> tuple[list[bool], list[bool], list[Plant]]:
    """For each plant: was it found, and would plain BM25 have found it."""
    texts, sown = chapters(data, BOOKS[language]), plants(language)
    fabula = planted(texts, sown, language)
    shelf = fabula.view.room(Shelf)
    assert shelf is not None
    made = shelf.finished()
    plain = Plain(made.index.passages)
    ours, theirs = [], []
    for plant in sown:
        result, document = asked(fabula, plant)
        part = plant.sentence[len(plant.sentence) // 3 : len(plant.sentence) // 2]  # a cut may fall elsewhere in it
        last = plant.scene.strip().rsplit("\n", 1)[-1]
        ours.append(any(part in text for text in told(result)))
        theirs.append(any(part in text for text in plain.best(last, made.first[document.id])))
    return ours, theirs, sown


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--missed", action="store_true", help="list the sentences that were not found")
    options = parser.parse_args()
    rows, all_ours, all_theirs = [], [], []
    languages: tuple[Language, ...] = ("en", "zh") if options.data is not None else ("en",)
    for language in languages:
        ours, theirs, sown = measure(options.data, language)
        rows.append((language, len(sown), 100 * sum(ours) / len(ours), 100 * sum(theirs) / len(theirs)))
        all_ours += ours
        all_theirs += theirs
        if options.missed:
            print("\n".join(f"missed: {plant.sentence}" for plant, hit in zip(sown, ours, strict=True) if not hit))
    show("found within 2,000 tokens, percent", ("book", "planted", "found", "BM25, last paragraph"), rows)
    figures = {"found": 100 * sum(all_ours) / len(all_ours), "bm25": 100 * sum(all_theirs) / len(all_theirs)}
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
