"""Precision and recall of known names in running text, beside three plain methods.

python -m benchmarks.names --data FILE [--type PER] [--scope document|collection] [--ignore-case] [--json]

Each line of FILE is `{"id", "lang", "text", "spans": [[start, end, type]]}`. The names looked for are the
marked ones of the type (of 2 to 4 characters in Chinese), of the same document or of the whole file. A hit is
*strictly* right when exactly that stretch is marked with the type, and *leniently* right when it lies inside
something marked, whatever the type; a marked name is recalled when a hit covers it.

For Chinese, `new_names_ms` is what a new set of a thousand names costs until its first text is searched.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median

from ahocorasick_rs import AhoCorasick, MatchKind
from msgspec import Struct
from rich.progress import track
from rjieba import Jieba

from benchmarks.figures import arguments, report, show
from fabula.text.names.matcher import CaseMatching, NameMatcher, NameRules
from fabula.text.names.surnames import SURNAMES
from fabula.text.segmenter import load_segmenter

Spans = set[tuple[int, int]]
Finder = Callable[[str], Spans]


class AnnotatedDocument(Struct):
    """One document with its annotated names."""

    id: str
    lang: str
    text: str
    spans: list[tuple[int, int, str]]

    def names(self, kind: str) -> set[str]:
        """The marked names of a type."""
        found = {self.text[start:end] for start, end, type_ in self.spans if type_ == kind}
        return {name for name in found if name.strip() and (self.lang != "zh" or 2 <= len(name) <= 4)}


class Score(Struct):
    """Sums over documents."""

    hits: int = 0
    strict: int = 0
    lenient: int = 0
    gold: int = 0
    found: int = 0

    def add(self, hits: Spans, gold: Spans, marked: Iterable[tuple[int, int]]) -> None:
        """One more document."""
        around = list(marked)
        self.hits += len(hits)
        self.strict += len(hits & gold)
        self.lenient += sum(any(a <= start and end <= b for a, b in around) for start, end in hits)
        self.gold += len(gold)
        self.found += sum(any(start <= a and b <= end for start, end in hits) for a, b in gold)

    def percent(self) -> tuple[float, float, float]:
        """Strict precision, lenient precision, recall."""
        hits, gold = max(self.hits, 1), max(self.gold, 1)
        return 100 * self.strict / hits, 100 * self.lenient / hits, 100 * self.found / gold


def make_fabula_finder(names: set[str], *, person: bool, case: CaseMatching) -> Finder:
    """The name matcher of Fabula."""
    rules = NameRules(is_person=person, case=case)
    known = NameMatcher({name: (name,) for name in names}, rules=dict.fromkeys(names, rules))
    return lambda text: {(hit.start, hit.end) for hit in known.find(text)}


def make_substring_finder(names: set[str]) -> Finder:
    """Every occurrence as a substring."""
    machine = AhoCorasick(sorted(names), matchkind=MatchKind.Standard)
    return lambda text: {(start, end) for _, start, end in machine.find_matches_as_indexes(text, overlapping=True)}


def make_longest_finder(names: set[str]) -> Finder:
    """The longest match at each place, from left to right."""
    machine = AhoCorasick(sorted(names), matchkind=MatchKind.LeftmostLongest)
    return lambda text: {(start, end) for _, start, end in machine.find_matches_as_indexes(text)}


def make_segmenter_finder(names: set[str]) -> Finder:
    """The words of a segmenter to which the names were added."""
    segmenter = Jieba()
    for name in sorted(names):
        segmenter.add_word(name, 1000, "nr")

    def find(text: str) -> Spans:
        found, place = set(), 0
        for word in segmenter.cut(text, False):
            if word in names:
                found.add((place, place + len(word)))
            place += len(word)
        return found

    return find


def read_documents(path: Path) -> Iterator[AnnotatedDocument]:
    """The lines of a file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            yield AnnotatedDocument(data["id"], data["lang"], data["text"], [(s, e, t) for s, e, t in data["spans"]])


def measure(
    marked: list[AnnotatedDocument], kind: str, scope: str, make: Callable[[set[str]], Finder], what: str
) -> Score:
    """The score of one method over all documents."""
    together = set().union(*(document.names(kind) for document in marked))
    finder = make(together) if scope == "collection" else None
    score = Score()
    for document in track(marked, what, transient=True):
        names = together if scope == "collection" else document.names(kind)
        if not names:
            continue
        gold = {(s, e) for s, e, type_ in document.spans if type_ == kind and document.text[s:e] in names}
        hits = (finder or make(names))(document.text)
        score.add(hits, gold, [(start, end) for start, end, _ in document.spans])
    return score


def measure_new_names(documents: list[AnnotatedDocument]) -> float:
    """Milliseconds until a new set of a thousand Chinese names has been searched for in a text: the median of nine."""
    rng = random.Random(7)
    characters = sorted({c for document in documents[:200] for c in document.text if "\u4e00" <= c <= "\u9fff"})
    surnames = sorted(SURNAMES)
    text = max((document.text[:500] for document in documents), key=len)
    load_segmenter()
    times = []
    for _ in range(9):
        names = {rng.choice(surnames) + "".join(rng.choices(characters, k=rng.choice((1, 2)))) for _ in range(1100)}
        some = dict.fromkeys([text[:2], text[-3:-1], *sorted(names)][:1000])
        start = time.perf_counter()
        make_fabula_finder(set(some), person=True, case=CaseMatching.SMART)(text)
        times.append(1000 * (time.perf_counter() - start))
    return median(times)


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--type", default="PER")
    parser.add_argument("--scope", choices=("document", "collection"), default="document")
    parser.add_argument("--ignore-case", action="store_true", help="names in small letters and in capitals, too")
    options = parser.parse_args()
    marked = list(read_documents(options.data))
    case = CaseMatching.SMART if options.ignore_case else CaseMatching.EXACT
    person = options.type == "PER"
    rows = []
    chosen = Score()
    ways: list[tuple[str, Callable[[set[str]], Finder]]] = [
        ("fabula", lambda names: make_fabula_finder(names, person=person, case=case)),
        ("substring", make_substring_finder),
        ("longest match", make_longest_finder),
    ]
    if marked and marked[0].lang == "zh":
        ways.append(("jieba edges", make_segmenter_finder))
    for name, make in ways:
        score = measure(marked, options.type, options.scope, make, name)
        rows.append((name, *score.percent()))
        chosen = score if name == "fabula" else chosen
    show(f"{options.data.stem}, {options.type}, {options.scope}", ("way", "strict", "lenient", "recall"), rows)
    strict, lenient, recall = chosen.percent()
    figures = {"strict_precision": strict, "lenient_precision": lenient, "recall": recall}
    if marked and marked[0].lang == "zh":
        figures["new_names_ms"] = measure_new_names(marked)
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
