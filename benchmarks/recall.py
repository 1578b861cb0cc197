"""How much of what a question needs is found within a number of tokens, beside three plain ways of finding it.

python -m benchmarks.recall --data FILE [--budget 500 1000 2000 4000] [--folds 2] [--no-semantic] [--json]

Each line of FILE is a conversation or a book: `{"id", "turns": [{"id", "session", "text"}], "questions": [{"text",
"evidence": [turn ids], "category"}]}`. Turns are put into the budget in the order of their rank, those that do not
fit are passed over, and tokens are those of `text` by o200k_base. `rec@B` is the share of evidence inside, `all@B`
the share of questions with all of it inside, `hit@K` of those with some of it among the first K. Fabula's own way is
measured as installed by default and, where the weights are there, with meaning (`semantic_`); beside it stand the
newest turns (`recency_`), BM25 on the roots of words (`bm25_`) and vectors alone (`minilm_`). With `--folds` each
share of the conversations, or of the questions where there is one book, is shown by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from math import log
from pathlib import Path
from statistics import fmean

from msgspec import Struct
from rich.progress import track

from benchmarks.figures import arguments, report, show
from fabula.search.embeddings.dense import local
from fabula.search.embeddings.passage_vectors import Vectors
from fabula.search.index.index import Index
from fabula.search.model import Passage, Query, Thread
from fabula.text.stemmer import root
from fabula.text.terms import is_character, terms
from fabula.text.tokens.tokenizer import encoding

BUDGETS = (500, 1000, 2000, 4000)
K1, B = 1.2, 0.75

Ranking = Sequence[int]
Way = Callable[[str], Ranking]


class Question(Struct):
    """A question, the places of the turns that answer it, and its kind."""

    text: str
    evidence: frozenset[int]
    category: str


class Story(Struct):
    """One line of a file."""

    id: str
    threads: list[Thread]
    tokens: list[int]
    questions: list[Question]

    @property
    def passages(self) -> list[Passage]:
        """All turns in order."""
        return [passage for thread in self.threads for passage in thread.passages]


class Answer(Struct):
    """How one question was answered: figures by their names, from 0 to 1."""

    category: str
    fold: int
    figures: dict[str, float]


def stories(path: Path) -> Iterator[Story]:
    """The lines of a file."""
    count = encoding("o200k_base").count
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            places = {turn["id"]: at for at, turn in enumerate(data["turns"])}
            sessions = groupby(data["turns"], key=lambda turn: turn["session"])
            yield Story(
                data["id"],
                [
                    Thread(f"{number}", tuple(Passage(str(turn["id"]), turn["text"]) for turn in turns))
                    for number, (_, turns) in enumerate(sessions)
                ],
                [count(turn["text"]) for turn in data["turns"]],
                [
                    Question(
                        each["text"],
                        frozenset(places[turn] for turn in each["evidence"] if turn in places),
                        str(each["category"]),
                    )
                    for each in data["questions"]
                ],
            )


def _query(question: str) -> Query:
    return Query(parts=((question, 1.0),))


def ours(index: Index) -> Way:
    """Fabula as installed by default."""
    return lambda question: [hit.number for hit in index.search(_query(question), most=len(index.passages))]


def semantic(index: Index, vectors: Vectors) -> Way | None:
    """Fabula with meaning; None where the weights do not read this language."""
    laid = vectors.lay(index.said, fill=False)
    vectors.fill()
    if not vectors.known(laid).any():
        return None

    def rank(question: str) -> Ranking:
        query = _query(question)
        direction = vectors.direction(query.parts)
        near = None if direction is None else vectors.scores(direction, laid)
        return [hit.number for hit in index.search(query, most=len(index.passages), vectors=near)]

    return rank


def meaning(index: Index, vectors: Vectors) -> Way:
    """Vectors alone."""
    laid = vectors.lay([passage.text for passage in index.passages], fill=False)
    vectors.fill()

    def rank(question: str) -> Ranking:
        direction = vectors.direction(_query(question).parts)
        near = vectors.scores(direction, laid).tolist() if direction is not None else [0.0] * len(index.passages)
        return sorted(range(len(near)), key=lambda at: -near[at])

    return rank


def recency(size: int) -> Way:
    """The newest first."""
    return lambda question: range(size - 1, -1, -1)


def plain(text: str) -> list[str]:
    """The words of a text as BM25 gets them."""
    return [*map(root, terms(text)), *filter(is_character, text)]


def bm25(texts: Sequence[str]) -> Way:
    """Roots of words, characters and their pairs for Chinese, weighed as usual."""
    held: dict[str, dict[int, int]] = {}
    lengths = []
    for at, text in enumerate(texts):
        words = plain(text)
        lengths.append(len(words))
        for word in words:
            counts = held.setdefault(word, {})
            counts[at] = counts.get(at, 0) + 1
    mean = fmean(lengths)

    def rank(question: str) -> Ranking:
        scores = [0.0] * len(texts)
        for word in set(plain(question)):
            counts = held.get(word, {})
            rarity = log(1 + (len(texts) - len(counts) + 0.5) / (len(counts) + 0.5))
            for at, count in counts.items():
                scores[at] += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[at] / mean))
        return sorted(range(len(texts)), key=lambda at: -scores[at])

    return rank


def answer(ranking: Ranking, question: Question, tokens: Sequence[int], budgets: Sequence[int]) -> dict[str, float]:
    """The figures of one question."""
    figures: dict[str, float] = {}
    many = max(len(question.evidence), 1)
    for budget in budgets:
        left, inside = budget, 0
        for at in ranking:
            if tokens[at] <= left:
                left -= tokens[at]
                inside += at in question.evidence
        figures[f"rec@{budget}"] = inside / many
        figures[f"all@{budget}"] = float(inside == many)
    for first in (1, 10):
        figures[f"hit@{first}"] = float(any(at in question.evidence for at in ranking[:first]))
    return figures


def ways_of(story: Story, vectors: Vectors | None) -> dict[str, Way]:
    """Every way of ranking, by the prefix of its figures."""
    index = Index(story.threads)
    ways = {"": ours(index), "recency_": recency(len(index.passages)), "bm25_": bm25([p.text for p in story.passages])}
    both = semantic(index, vectors) if vectors is not None else None
    if both is not None and vectors is not None:
        ways |= {"semantic_": both, "minilm_": meaning(index, vectors)}
    return ways


def measure(
    told: Sequence[Story], vectors: Vectors | None, budgets: Sequence[int], folds: int
) -> dict[str, list[Answer]]:
    """Every question answered in every way."""
    answers: dict[str, list[Answer]] = {}
    for number, story in enumerate(told):
        for prefix, way in ways_of(story, vectors).items():
            what = f"{story.id} {prefix.rstrip('_') or 'fabula'}"
            for at, question in enumerate(track(story.questions, what, transient=True)):
                fold = (number if len(told) >= folds else at * folds // len(story.questions)) % folds
                figures = answer(way(question.text), question, story.tokens, budgets)
                answers.setdefault(prefix, []).append(Answer(question.category, fold, figures))
    return answers


def means(answers: Sequence[Answer], prefix: str = "") -> dict[str, float]:
    """The average of every figure, in percent."""
    names = answers[0].figures if answers else {}
    return {prefix + name: 100 * fmean(each.figures[name] for each in answers) for name in names}


def table(title: str, groups: Mapping[str, Sequence[Answer]]) -> None:
    """Groups of answers, one a line."""
    names = list(next(iter(groups.values()))[0].figures)
    rows = [[name, str(len(group)), *(f"{means(group)[f]:.1f}" for f in names)] for name, group in groups.items()]
    show(title, ("", "questions", *names), rows)


def grouped(answers: Sequence[Answer], key: Callable[[Answer], str]) -> dict[str, list[Answer]]:
    """Answers by something they have in common."""
    groups: dict[str, list[Answer]] = {}
    for each in sorted(answers, key=key):
        groups.setdefault(key(each), []).append(each)
    return groups


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--budget", type=int, nargs="+", default=BUDGETS)
    parser.add_argument("--folds", type=int, default=2, help="shares that are shown by themselves")
    parser.add_argument("--no-semantic", action="store_true", help="leave meaning out, also where the weights are")
    options = parser.parse_args()
    model = None if options.no_semantic else local()
    vectors = Vectors(model) if model is not None else None
    answers = measure(list(stories(options.data)), vectors, options.budget, max(options.folds, 1))
    names = {"": "fabula", "semantic_": "fabula, with meaning", "recency_": "newest first", "bm25_": "BM25"}
    table(options.data.stem, {names.get(prefix, "MiniLM"): group for prefix, group in answers.items()})
    for prefix in ("", "semantic_"):
        if prefix in answers:
            table(f"{names[prefix]}, by category", grouped(answers[prefix], lambda each: each.category))
            table(f"{names[prefix]}, by share", grouped(answers[prefix], lambda each: f"share {each.fold + 1}"))
    figures = {key: value for prefix, group in answers.items() for key, value in means(group, prefix).items()}
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
