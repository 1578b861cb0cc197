"""Planted details: is a sentence from long ago found again when a later scene needs it?

Sixty sentences of our own (a scar, a promise, a debt) are planted in War and Peace and in 红楼梦, each in an earlier
chapter. For each there is a later scene that needs it and does not repeat it. The scene is written into a late
chapter, the cursor stands at its end, and the engine assembles a prompt. Found means that the sentence is among the
first 2,000 tokens of passages in the prompt. For comparison: plain BM25 with the last paragraph as its query.

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
from fabula.search.corpus import Corpus
from fabula.search.model import Passage
from fabula.text.terms import split_terms
from fabula.text.tokens.tokenizer import load_encoding
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from fabula.workspace.search_corpus import make_corpus

MAX_TOKENS = 2000  # tokens
WINDOW = 32_768
BOOKS: dict[Language, str] = {"en": "war_and_peace", "zh": "红楼梦"}
K1, B = 1.2, 0.5


class Plant(Struct, frozen=True):
    """A sentence, a later scene that needs it, and how far into the book each stands."""

    at: float
    later: float
    sentence: str
    scene: str


def read_plants(language: Language) -> list[Plant]:
    """Our own sentences and scenes."""
    with (Path(__file__).parent / f"planted_{language}.toml").open("rb") as file:
        return convert(tomllib.load(file)["plant"], list[Plant])


def plant_sentences(texts: Sequence[tuple[str, str]], sown: Sequence[Plant], language: Language) -> ProjectHandle:
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
    corpus = make_corpus("planted", story)
    corpus.build_index()
    project = Project(id="planted", language=language)
    return open_view(View(project, story.timeline(), {Manuscript: story, Corpus: corpus}))


def assemble_scene(fabula: ProjectHandle, plant: Plant) -> tuple[Result, Document]:
    """The assembled prompt at the end of a scene, and its document."""
    story = fabula.view.snapshot(Manuscript)
    assert story is not None
    document = story.documents[int(plant.later * len(story.documents))]
    half = document.text.find("\n", len(document.text) // 2)
    text = f"{document.text[:half].rstrip()}\n\n* * *\n\n{plant.scene.strip()}"
    request = fabula.request(document_id=document.id, unsaved_text=text, cursor=len(text), window=WINDOW)
    return fabula.assemble(request), document


def list_passages(result: Result) -> list[str]:
    """The passages in the prompt, best first, as many as fit."""
    found = sorted(
        (v for v in result.trace if v.included and v.source.startswith("search:")), key=lambda verdict: -verdict.score
    )
    return take_fitting([verdict.text for verdict in found])


def take_fitting(texts: Sequence[str]) -> list[str]:
    """The texts that fit into the token limit, in order."""
    count, room, kept = load_encoding("o200k_base").count, MAX_TOKENS, []
    for text in texts:
        cost = count(text)
        if cost <= room:
            room -= cost
            kept.append(text)
    return kept


class PlainBm25:
    """BM25 over the same passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._counts = [Counter(split_terms(passage.text)) for passage in passages]
        self._held = Counter(word for counts in self._counts for word in counts)
        self._mean = sum(counts.total() for counts in self._counts) / max(len(passages), 1)

    def find(self, question: str, before: int) -> list[str]:
        """The passages up to some number that share most with a question, as many as fit."""
        words = set(split_terms(question))
        size, scores = len(self._passages), []
        for at, counts in enumerate(self._counts[:before]):
            norm = K1 * (1 - B + B * counts.total() / self._mean)
            score = sum(
                log(1 + (size - self._held[word] + 0.5) / (self._held[word] + 0.5)) * n * (K1 + 1) / (n + norm)
                for word in words
                if (n := counts.get(word, 0))
            )
            scores.append((-score, at))
        return take_fitting([self._passages[at].text for _, at in sorted(scores)[:60]])


def measure(data: Path | None, language: Language) -> tuple[list[bool], list[bool], list[Plant]]:
    """For each plant: was it found, and would plain BM25 have found it."""
    texts, sown = chapters(data, BOOKS[language]), read_plants(language)
    fabula = plant_sentences(texts, sown, language)
    corpus = fabula.view.snapshot(Corpus)
    assert corpus is not None
    built = corpus.build_index()
    plain = PlainBm25(built.passages)
    ours, theirs = [], []
    for plant in sown:
        result, document = assemble_scene(fabula, plant)
        part = plant.sentence[len(plant.sentence) // 3 : len(plant.sentence) // 2]  # a cut may fall elsewhere in it
        last = plant.scene.strip().rsplit("\n", 1)[-1]
        ours.append(any(part in text for text in list_passages(result)))
        theirs.append(any(part in text for text in plain.find(last, built.first_passages[document.id])))
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
