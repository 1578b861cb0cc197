"""Recall of evidence within a number of tokens, beside three plain rankings.

python -m benchmarks.recall --data FILE [--budget 500 1000 2000 4000] [--folds 2] [--no-semantic] [--json]

Each line of FILE is a conversation or a book: `{"id", "turns": [{"id", "session", "text"}], "questions": [{"text",
"evidence": [turn ids], "category"}]}`. Turns are put into the budget in the order of their rank, those that do not
fit are passed over, and tokens are those of `text` by o200k_base. `rec@B` is the share of evidence inside, `all@B`
the share of questions with all of it inside, `hit@K` of those with some of it among the first K. Fabula is
measured as installed by default and, where the weights are installed, with semantic search (`semantic_`); the others
are the newest turns (`recency_`), BM25 on stems (`bm25_`) and vectors alone (`minilm_`). With `--folds` each
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
from fabula.search.embeddings.embedder import load_local_model
from fabula.search.embeddings.passage_vectors import PassageVectors
from fabula.search.index.index import SearchIndex
from fabula.search.model import Passage, Query, SearchDocument
from fabula.text.stemmer import stem
from fabula.text.terms import is_single_character, split_terms
from fabula.text.tokens.tokenizer import load_encoding

BUDGETS = (500, 1000, 2000, 4000)
K1, B = 1.2, 0.75

Ranking = Sequence[int]
RankPassages = Callable[[str], Ranking]


class Question(Struct):
    """A question, the numbers of the turns with its evidence, and its category."""

    text: str
    evidence: frozenset[int]
    category: str


class Story(Struct):
    """One conversation or book of a file."""

    id: str
    threads: list[SearchDocument]
    tokens: list[int]
    questions: list[Question]

    @property
    def passages(self) -> list[Passage]:
        """All turns in order."""
        return [passage for thread in self.threads for passage in thread.passages]


class Answer(Struct):
    """The figures of one question by name, from 0 to 1."""

    category: str
    fold: int
    figures: dict[str, float]


def read_stories(path: Path) -> Iterator[Story]:
    """The conversations or books of a file."""
    count = load_encoding("o200k_base").count
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            places = {turn["id"]: at for at, turn in enumerate(data["turns"])}
            sessions = groupby(data["turns"], key=lambda turn: turn["session"])
            yield Story(
                data["id"],
                [
                    SearchDocument(f"{number}", tuple(Passage(str(turn["id"]), turn["text"]) for turn in turns))
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


def make_fabula_ranking(index: SearchIndex) -> RankPassages:
    """The ranking of Fabula as installed by default."""
    return lambda question: [hit.passage_number for hit in index.search(_query(question), limit=len(index.passages))]


def make_semantic_ranking(index: SearchIndex, vectors: PassageVectors) -> RankPassages | None:
    """The ranking of Fabula with semantic search; None where the model does not read this language."""
    laid = vectors.set_texts(index.embedding_texts, fill=False)
    vectors.fill()
    if not vectors.has_vectors(laid).any():
        return None

    def rank(question: str) -> Ranking:
        query = _query(question)
        direction = vectors.embed_query(query.parts)
        near = None if direction is None else vectors.scores(direction, laid)
        return [hit.passage_number for hit in index.search(query, limit=len(index.passages), semantic_scores=near)]

    return rank


def make_vector_ranking(index: SearchIndex, vectors: PassageVectors) -> RankPassages:
    """The ranking by vectors alone."""
    laid = vectors.set_texts([passage.text for passage in index.passages], fill=False)
    vectors.fill()

    def rank(question: str) -> Ranking:
        direction = vectors.embed_query(_query(question).parts)
        near = vectors.scores(direction, laid).tolist() if direction is not None else [0.0] * len(index.passages)
        return sorted(range(len(near)), key=lambda at: -near[at])

    return rank


def make_recency_ranking(size: int) -> RankPassages:
    """The newest turns first."""
    return lambda question: range(size - 1, -1, -1)


def split_bm25_terms(text: str) -> list[str]:
    """The terms of a text for BM25."""
    return [*map(stem, split_terms(text)), *filter(is_single_character, text)]


def make_bm25_ranking(texts: Sequence[str]) -> RankPassages:
    """Plain BM25 on stems, and for Chinese on characters and their pairs."""
    held: dict[str, dict[int, int]] = {}
    lengths = []
    for at, text in enumerate(texts):
        words = split_bm25_terms(text)
        lengths.append(len(words))
        for word in words:
            counts = held.setdefault(word, {})
            counts[at] = counts.get(at, 0) + 1
    mean = fmean(lengths)

    def rank(question: str) -> Ranking:
        scores = [0.0] * len(texts)
        for word in set(split_bm25_terms(question)):
            counts = held.get(word, {})
            rarity = log(1 + (len(texts) - len(counts) + 0.5) / (len(counts) + 0.5))
            for at, count in counts.items():
                scores[at] += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[at] / mean))
        return sorted(range(len(texts)), key=lambda at: -scores[at])

    return rank


def score_ranking(
    ranking: Ranking, question: Question, tokens: Sequence[int], budgets: Sequence[int]
) -> dict[str, float]:
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


def make_rankings(story: Story, vectors: PassageVectors | None) -> dict[str, RankPassages]:
    """Every ranking, by the prefix of its figures."""
    index = SearchIndex(story.threads)
    ways = {
        "": make_fabula_ranking(index),
        "recency_": make_recency_ranking(len(index.passages)),
        "bm25_": make_bm25_ranking([p.text for p in story.passages]),
    }
    both = make_semantic_ranking(index, vectors) if vectors is not None else None
    if both is not None and vectors is not None:
        ways |= {"semantic_": both, "minilm_": make_vector_ranking(index, vectors)}
    return ways


def measure(
    told: Sequence[Story], vectors: PassageVectors | None, budgets: Sequence[int], folds: int
) -> dict[str, list[Answer]]:
    """The figures of every question with every ranking."""
    answers: dict[str, list[Answer]] = {}
    for number, story in enumerate(told):
        for prefix, way in make_rankings(story, vectors).items():
            what = f"{story.id} {prefix.rstrip('_') or 'fabula'}"
            for at, question in enumerate(track(story.questions, what, transient=True)):
                fold = (number if len(told) >= folds else at * folds // len(story.questions)) % folds
                figures = score_ranking(way(question.text), question, story.tokens, budgets)
                answers.setdefault(prefix, []).append(Answer(question.category, fold, figures))
    return answers


def average_figures(answers: Sequence[Answer], prefix: str = "") -> dict[str, float]:
    """The average of every figure, in percent."""
    names = answers[0].figures if answers else {}
    return {prefix + name: 100 * fmean(each.figures[name] for each in answers) for name in names}


def show_groups(title: str, groups: Mapping[str, Sequence[Answer]]) -> None:
    """Print groups of answers, one a line."""
    names = list(next(iter(groups.values()))[0].figures)
    rows = [
        [name, str(len(group)), *(f"{average_figures(group)[f]:.1f}" for f in names)] for name, group in groups.items()
    ]
    show(title, ("", "questions", *names), rows)


def group_answers(answers: Sequence[Answer], key: Callable[[Answer], str]) -> dict[str, list[Answer]]:
    """Answers by a key."""
    groups: dict[str, list[Answer]] = {}
    for each in sorted(answers, key=key):
        groups.setdefault(key(each), []).append(each)
    return groups


def report_chat(stories: Sequence[Story], name: str, folds: int, *, as_json: bool) -> None:
    """Measure and print recall in chat prompts."""
    from benchmarks.chat_recall import measure_chat

    answers = measure_chat(stories, folds)
    show_groups(f"{name}, through chat", group_answers(answers, lambda each: each.category))
    show_groups(f"{name}, through chat, by share", group_answers(answers, lambda each: f"share {each.fold + 1}"))
    report(average_figures(answers, "chat_"), as_json=as_json)


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--budget", type=int, nargs="+", default=BUDGETS)
    parser.add_argument("--folds", type=int, default=2, help="shares that are shown by themselves")
    parser.add_argument("--no-semantic", action="store_true", help="leave meaning out, also where the weights are")
    parser.add_argument("--through", choices=("search", "chat"), default="search", help="chat: in chat prompts")
    options = parser.parse_args()
    if options.through == "chat":
        report_chat(list(read_stories(options.data)), options.data.stem, max(options.folds, 1), as_json=options.json)
        return
    model = None if options.no_semantic else load_local_model()
    vectors = PassageVectors(model) if model is not None else None
    answers = measure(list(read_stories(options.data)), vectors, options.budget, max(options.folds, 1))
    names = {"": "fabula", "semantic_": "fabula, with meaning", "recency_": "newest first", "bm25_": "BM25"}
    show_groups(options.data.stem, {names.get(prefix, "MiniLM"): group for prefix, group in answers.items()})
    for prefix in ("", "semantic_"):
        if prefix in answers:
            show_groups(f"{names[prefix]}, by category", group_answers(answers[prefix], lambda each: each.category))
            show_groups(
                f"{names[prefix]}, by share", group_answers(answers[prefix], lambda each: f"share {each.fold + 1}")
            )
    figures = {key: value for prefix, group in answers.items() for key, value in average_figures(group, prefix).items()}
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
