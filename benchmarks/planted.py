"""Planted details: is a sentence from long ago found again when a later scene needs it?

Sixty sentences of our own (a scar, a promise, a debt) are planted in War and Peace and in 红楼梦, each in an earlier
chapter. For each there is a later scene that needs it and does not repeat it. The scene is written into a late
chapter, the cursor stands at its end, and the engine assembles a prompt. Found means that the sentence is among the
first 2,000 tokens of passages in the prompt. For comparison: plain BM25 with the last paragraph as its query, and with
the whole scene.

With `--kinds` forty-eight other cases in Moby Dick and 三国演义 are tried, a third of each kind: the scene shares a
name and one other word with its sentence (`name+word`), a name alone (`name`), or neither (`paraphrase`). `--cases`
takes other cases (`planted_en.toml` and `planted_zh.toml`, with a field `link`), and `--book` another novel of a
language: its name in the file of `--data`, or a file like that one. With `--codex` the project has the entries that
extraction proposes for the book, and what the book says of them (facts) counts among the passages.

    python -m benchmarks.planted --data DIR [--codex] [--json] [--missed]
    python -m benchmarks.planted --data DIR --kinds [--codex] [--json] [--missed]
    python -m benchmarks.planted --cases DIR --book en=FILE --book zh=FILE [--json] [--missed]
"""

from __future__ import annotations

import json
import re
import tomllib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import Literal

from msgspec import Struct, convert

from benchmarks.figures import arguments, report, show
from benchmarks.novels import chapters
from fabula.codex import Codex, Entry
from fabula.codex.facts import Facts
from fabula.context import Result
from fabula.core.view import Language, Project, View
from fabula.manuscript.model import Document, Manuscript
from fabula.search.corpus import Corpus
from fabula.search.model import Passage
from fabula.text.extraction.propose import propose_entries
from fabula.text.offsets import normalise
from fabula.text.terms import split_terms
from fabula.text.tokens.tokenizer import load_encoding
from fabula.workspace.facts import make_facts
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from fabula.workspace.search_corpus import make_corpus

MAX_TOKENS = 2000  # tokens
WINDOW = 32_768
BOOKS: dict[Language, str] = {"en": "war_and_peace", "zh": "红楼梦"}
KINDS_BOOKS: dict[Language, str] = {"en": "moby_dick", "zh": "三国演义"}
KINDS_CASES = Path(__file__).parent / "planted_kinds"
K1, B = 1.2, 0.5
_HAN = re.compile("[\u4e00-\u9fff]")


Link = Literal["name+word", "name", "paraphrase"]
FIGURE_NAMES: dict[Link, str] = {"name+word": "name_word", "name": "name", "paraphrase": "paraphrase"}
KINDS: tuple[Link, ...] = tuple(FIGURE_NAMES)


class Plant(Struct, frozen=True):
    """A sentence, a later scene that needs it, and how far into the book each stands."""

    at: float
    later: float
    sentence: str
    scene: str
    link: Link = "name+word"  # what sentence and scene share


class Outcome(Struct, frozen=True):
    """Of one plant: was it found, and would plain BM25 have found it."""

    plant: Plant
    is_found: bool
    by_paragraph: bool  # BM25 asked with the last paragraph
    by_scene: bool  # BM25 asked with the whole scene


def read_plants(language: Language, folder: Path | None = None) -> list[Plant]:
    """Sentences and scenes of a folder, or our own sixty."""
    with ((folder or Path(__file__).parent) / f"planted_{language}.toml").open("rb") as file:
        return convert(tomllib.load(file)["plant"], list[Plant])


def read_book(data: Path | None, language: Language, book: str) -> list[tuple[str, str]]:
    """The chapters of a novel of the data file, or of a file with a novel in that language."""
    file = Path(book)
    if not file.is_file():
        return chapters(data, book)
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    novels: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        novels.setdefault(row.get("novel", ""), []).append((row.get("title", ""), normalise(row["text"])))
    matching = (texts for texts in novels.values() if _is_chinese(texts[-1][1]) == (language == "zh"))
    return next(matching, next(iter(novels.values())))


def _is_chinese(text: str) -> bool:
    return 3 * len(_HAN.findall(text)) > len(text)


def plant_sentences(
    texts: Sequence[tuple[str, str]], sown: Sequence[Plant], language: Language, *, with_codex: bool = False
) -> ProjectHandle:
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
    snapshots: dict[type, object] = {Manuscript: story, Corpus: corpus}
    if with_codex:
        proposals = propose_entries([(one.id, one.text) for one in documents], language=language)
        entries = [
            Entry(id=f"e{n}", type=one.kind, name=one.name, aliases=one.aliases) for n, one in enumerate(proposals)
        ]
        snapshots[Codex] = Codex("planted", language, entries, story.timeline())
        facts = snapshots[Facts] = make_facts(View(project, story.timeline(), snapshots))
        if facts is not None:
            facts.read()
    return open_view(View(project, story.timeline(), snapshots))


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
    kinds = (v for v in result.trace if v.included and (v.source.startswith("search:") or "#fact:" in v.source))
    found = sorted(kinds, key=lambda verdict: -verdict.score)
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


def measure(
    texts: Sequence[tuple[str, str]], sown: Sequence[Plant], language: Language, *, with_codex: bool = False
) -> list[Outcome]:
    """What became of each plant."""
    fabula = plant_sentences(texts, sown, language, with_codex=with_codex)
    corpus = fabula.view.snapshot(Corpus)
    assert corpus is not None
    built = corpus.build_index()
    plain = PlainBm25(built.passages)
    outcomes = []
    for plant in sown:
        result, document = assemble_scene(fabula, plant)
        part = plant.sentence[len(plant.sentence) // 3 : len(plant.sentence) // 2]  # a cut may fall elsewhere in it
        scene, before = plant.scene.strip(), built.first_passages[document.id]
        asked = [list_passages(result), *(plain.find(text, before) for text in (scene.rsplit("\n", 1)[-1], scene))]
        outcomes.append(Outcome(plant, *(any(part in text for text in texts) for texts in asked)))
    return outcomes


def count_percent(hits: Sequence[bool]) -> float:
    """The share of hits in percent."""
    return 100 * sum(hits) / len(hits) if hits else 0.0


def make_row(name: str, outcomes: Sequence[Outcome]) -> tuple[object, ...]:
    """The figures of some plants, as a row of a table."""
    figures = _make_figures(outcomes)
    return name, len(outcomes), figures["found"], figures["bm25"], figures["bm25_scene"]


def _make_figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    return {
        "found": count_percent([one.is_found for one in outcomes]),
        "bm25": count_percent([one.by_paragraph for one in outcomes]),
        "bm25_scene": count_percent([one.by_scene for one in outcomes]),
    }


def _select(outcomes: Sequence[Outcome], link: Link) -> list[Outcome]:
    return [one for one in outcomes if one.plant.link == link]


def _read_books(parser: ArgumentParser, pairs: Sequence[str], usual: Mapping[Language, str]) -> dict[Language, str]:
    """The book of each language; what `--book` says comes first."""
    books = dict(usual)
    for pair in pairs:
        language, sign, name = pair.partition("=")
        if not sign or language not in ("en", "zh"):
            parser.error(f"--book takes en=FILE or zh=FILE, not {pair}")
        books["zh" if language == "zh" else "en"] = name
    return books


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--missed", action="store_true", help="list the sentences that were not found")
    parser.add_argument("--kinds", action="store_true", help="the cases by what sentence and scene share")
    parser.add_argument("--cases", type=Path, help="a folder with planted_en.toml and planted_zh.toml; implies --kinds")
    parser.add_argument("--codex", action="store_true", help="with the entries that extraction proposes, and facts")
    parser.add_argument("--book", action="append", default=[], metavar="LANGUAGE=FILE", help="another novel")
    options = parser.parse_args()
    by_kind = options.kinds or options.cases is not None
    cases = options.cases or (KINDS_CASES if by_kind else None)
    books = _read_books(parser, options.book, KINDS_BOOKS if by_kind else BOOKS)
    languages: tuple[Language, ...] = ("en", "zh")
    rows: list[tuple[object, ...]] = []
    outcomes: list[Outcome] = []
    for language in languages:
        has_book = options.data is not None or Path(books[language]).is_file()
        if not has_book and (language == "zh" or by_kind):
            continue
        texts, plants = read_book(options.data, language, books[language]), read_plants(language, cases)
        measured = measure(texts, plants, language, with_codex=options.codex)
        rows.append(make_row(language, measured))
        if by_kind:
            rows += [make_row(f"{language}, {kind}", _select(measured, kind)) for kind in KINDS]
        outcomes += measured
    if not outcomes:
        parser.error("no novel: --data names the file of novels, or --book en=FILE one of them")
    if options.missed:
        print("\n".join(f"missed: {one.plant.link}: {one.plant.sentence}" for one in outcomes if not one.is_found))
    show("found within 2,000 tokens, percent", ("book", "planted", "found", "BM25, paragraph", "BM25, scene"), rows)
    figures = _make_figures(outcomes)
    if by_kind:
        for kind in KINDS:
            chosen = _make_figures(_select(outcomes, kind))
            figures |= {f"{name}_{FIGURE_NAMES[kind]}": value for name, value in chosen.items()}
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
