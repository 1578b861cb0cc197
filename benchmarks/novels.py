"""Real novels as projects of any size."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, cycle, islice
from pathlib import Path
from random import Random

from fabula.codex import Codex, Entry
from fabula.codex.facts import Facts
from fabula.constraints import Constraint, ConstraintOrigin, Constraints
from fabula.core.view import Project, View
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.memory.model import Memory, Preference
from fabula.search.corpus import Corpus
from fabula.text.offsets import normalise
from fabula.workspace.facts import make_facts
from fabula.workspace.read_only import open_read_only
from fabula.workspace.search_corpus import make_corpus

PROJECT = "bench"
_NAME = re.compile(r"(?<=[a-z,;] )[A-ZÀ-Ý][a-zà-ÿ]{2,}(?: [A-ZÀ-Ý][a-zà-ÿ]{2,})?")


def chapters(data: Path | None, novel: str = "war_and_peace") -> list[tuple[str, str]]:
    """Titles and texts of one novel; without data, of the English sample."""
    if data is None:
        sample = open_read_only("sample:lantern_coast").view.snapshot(Manuscript) or Manuscript()
        return [(d.title, d.text) for d in sample.documents]
    file = data if data.is_file() else next(data.rglob("chapters.jsonl"))
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [(row["title"], normalise(row["text"])) for row in rows if row["novel"] == novel]


def manuscript(texts: Sequence[tuple[str, str]], characters: int) -> Manuscript:
    """A manuscript of about that many characters, going round the novel as often as needed."""
    documents: list[Document] = []
    size = 0
    for number, (title, text) in zip(count(1), cycle(texts)):
        if size >= characters:
            break
        documents.append(Document(f"ch-{number}", title, text))
        size += len(text)
    return Manuscript(tuple(documents))


def names(texts: Sequence[tuple[str, str]], most: int) -> list[str]:
    """The names that occur most: capitalised inside a sentence."""
    found = Counter(match for _, text in texts for match in _NAME.findall(text))
    return [name for name, _ in found.most_common(most)]


def sentences(texts: Sequence[tuple[str, str]], seed: int, longest: int = 160) -> Iterator[str]:
    """Sentences of ordinary length, in random order, without end."""
    random = Random(seed)
    pool = [
        sentence.strip()
        for _, text in islice(texts, 40)
        for sentence in re.split(r"(?<=[.!?。！？])\s*", text.replace("\n", " "))
        if 30 < len(sentence) < longest
    ]
    while True:
        yield random.choice(pool)


def project(
    texts: Sequence[tuple[str, str]],
    *,
    characters: int,
    entries: int,
    constraints: int,
    seed: int = 1,
    passages: bool = False,
) -> View:
    """A whole project: manuscript, codex, constraints, preferences, and passages to search if asked for."""
    story = manuscript(texts, characters)
    said, short = sentences(texts, seed), sentences(texts, seed, longest=80)
    codex = Codex(
        PROJECT,
        "en",
        [
            Entry(id=f"e{n}", type="character", name=name, description=" ".join(islice(said, 3)))
            for n, name in enumerate([*names(texts, entries), *(f"Nobody{n}" for n in range(entries))][:entries])
        ],
    )
    rules = Constraints(
        PROJECT,
        [Constraint(id=f"c{n}", text=next(short), origin=list(ConstraintOrigin)[n % 4]) for n in range(constraints)],
    )
    memory = Memory(PROJECT, preferences=[Preference(f"m{n}", next(said), 0.9 - n / 50) for n in range(10)])
    rooms: dict[type, object] = {
        Manuscript: story,
        Codex: codex,
        Constraints: rules,
        Memory: memory,
        Direction: Direction(kind="novel"),
    }
    if passages:
        shelf = rooms[Corpus] = make_corpus(PROJECT, story)
        shelf.build_index()
    view = View(Project(id=PROJECT), story.timeline(), rooms)
    facts = make_facts(view)
    if facts is not None:
        facts.read()
    return View(view.project, view.timeline, {**rooms, Facts: facts})
