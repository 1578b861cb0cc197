"""What is learnt of writers whose habits are known, and of writers who have none.

python -m benchmarks.habits --data DIR [--json]

Each simulated writer is offered passages of a novel, about a page each. Those with a habit make one kind of
change wherever there is cause for it, and accept the rest; `found` is the share of them whose habit is among
the proposals. Those without accept everything, reject at random, delete sentences at random, or put other
passages in place of what was offered. `false` counts what was proposed and is no habit of theirs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

from benchmarks.figures import arguments, report, show
from benchmarks.novels import chapters
from fabula.core.view import Language
from fabula.manuscript.model import Manuscript
from fabula.memory.model import Fate, Outcome
from fabula.memory.proposals import Heuristics
from fabula.text.sentences import sentence_starts
from fabula.workspace.project import Fabula

OFFERS = 60  # passages a writer is offered
WRITERS = 10  # of each kind and language
NOVELS: dict[Language, str] = {"en": "war_and_peace", "zh": "红楼梦"}
SAMPLES: dict[Language, str] = {"en": "lantern_coast", "zh": "wugang"}
_ADVERB = re.compile(r" ?\b(?!(?:only|early|family|reply|daily)\b)[a-z]{3,}ly\b,?")

Writer = Callable[[str, Random], tuple[Fate, str]]


def passages(data: Path | None, language: Language) -> list[str]:
    """A novel in pages."""
    if data is None:
        story = Fabula.open(f"sample:{SAMPLES[language]}").view.room(Manuscript) or Manuscript()
        texts = [document.text for document in story.documents]
    else:
        texts = [text for _, text in chapters(data, NOVELS[language])]
    size = 1500 if language == "en" else 600
    found: list[str] = []
    for text in texts:
        page = ""
        for line in text.split("\n"):
            page += line + "\n"
            if len(page) >= size:
                found.append(page.strip()[: 2 * size])
                page = ""
    return found


def changed(change: Callable[[str], str]) -> Writer:
    """A writer who makes one kind of change wherever there is cause for it."""

    def write(text: str, _: Random) -> tuple[Fate, str]:
        became = change(text)
        return (Fate.ACCEPTED, "") if became == text else (Fate.REWRITTEN, became)

    return write


def sentences(text: str) -> list[str]:
    """A text cut into its sentences, line breaks kept."""
    cut: list[str] = []
    for line in text.split("\n"):
        cut += [line[start:end] for start, end in pairwise([*sentence_starts(line), len(line)])]
        cut.append("\n")
    return cut


def shortened(text: str) -> str:
    """Every long sentence cut in two, as far as there is a comma to cut at."""

    def cut(said: str) -> str:
        at = [found.start() for found in re.finditer("[,，]", said[:-12]) if found.start() > 12]
        if not at:
            return said
        middle = min(at, key=lambda place: abs(place - len(said) // 2))
        stop = "。" if said[middle] == "，" else "."
        rest = said[middle + 1 :]
        head = rest[: len(rest) - len(rest.lstrip())] + rest.lstrip()[:1].upper() + rest.lstrip()[1:]
        return said[:middle] + stop + cut(head)

    return "".join(cut(said) for said in sentences(text))


def without(pattern: str, instead: str = "") -> Callable[[str], str]:
    """A change that takes something out."""
    compiled = re.compile(pattern)
    return lambda text: compiled.sub(instead, text)


def accepts(text: str, random: Random) -> tuple[Fate, str]:
    """Takes everything."""
    return Fate.ACCEPTED, ""


def rejects(text: str, random: Random) -> tuple[Fate, str]:
    """Takes some, for no reason."""
    return (Fate.REJECTED if random.random() < 0.5 else Fate.ACCEPTED), ""


def deletes(text: str, random: Random) -> tuple[Fate, str]:
    """Takes sentences out, for no reason."""
    share = random.choice((0.1, 0.3, 0.5, 0.7))
    kept = "".join(said for said in sentences(text) if said == "\n" or random.random() > share).strip()
    return (Fate.REWRITTEN, kept) if kept else (Fate.REJECTED, "")


def replaces(pages: Sequence[str]) -> Writer:
    """Puts other pages of the same book in their place."""

    def write(text: str, random: Random) -> tuple[Fate, str]:
        return Fate.REWRITTEN, random.choice(pages)

    return write


def habitual(language: Language) -> dict[str, Writer]:
    """Writers with a habit, by its topic."""
    common = {
        "mark:!=less": changed(without("[!！]+", "." if language == "en" else "。")),
        "mark:;=less": changed(without("[;；]", "," if language == "en" else "，")),
        "sentence=less": changed(shortened),
    }
    if language == "zh":
        return common | {"word:只见=less": changed(without("只见，?")), "word:原来=less": changed(without("原来，?"))}
    return common | {
        "word:suddenly=less": changed(without(r"(?i),? ?\bsuddenly\b,?")),
        "adverb=less": changed(lambda text: _ADVERB.sub("", text)),
        "simile=less": changed(without(r"(?i),? (?:as if|as though|like an?)\b[^,.;!?]*")),
    }


def outcomes(writer: Writer, pages: Sequence[str], seed: int) -> list[Outcome]:
    """What a writer made of some pages."""
    random = Random(seed)
    found = []
    for number, page in enumerate(random.sample(pages, min(OFFERS, len(pages)))):
        fate, became = writer(page, random)
        found.append(Outcome(id=f"o{number}", offered=page, fate=fate, became=became, made=f"2026-01-01T{number:06}"))
    return found


def main() -> None:
    """Learn, and compare with what is so."""
    parser = arguments(__doc__ or "")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    rows: list[tuple[object, ...]] = []
    learner, times = Heuristics(), []
    for language in NOVELS:
        pages = passages(options.data, language)
        found = false = meant = 0
        for topic, writer in habitual(language).items():
            hits = wrong = tried = 0
            for seed in range(WRITERS):
                seen = outcomes(writer, pages, seed)
                if sum(one.fate is Fate.REWRITTEN for one in seen) < 8:
                    continue  # too little cause in these pages to show the habit
                started = time.perf_counter()
                held = _held(learner, seen, language)
                times.append((time.perf_counter() - started) * 1000)
                hits += topic in held
                wrong += len([one for one in held if one != topic])
                tried += 1
            found += hits
            meant += tried
            false += wrong
            rows.append((language, topic, f"{hits} of {tried}", wrong))
        figures[f"found_{language}"] = 100 * found / max(meant, 1)
        figures[f"false_{language}"] = false / max(meant, 1)
        for name, writer in {
            "accepts": accepts,
            "rejects": rejects,
            "deletes": deletes,
            "replaces": replaces(pages),
        }.items():
            wrong = sum(len(_held(learner, outcomes(writer, pages, seed), language)) for seed in range(WRITERS))
            rows.append((language, f"({name})", "", wrong))
            figures[f"false_{name}_{language}"] = wrong / WRITERS
    figures["learn_ms"] = sum(times) / max(len(times), 1)
    show("Habits", ("language", "habit", "found", "false"), rows)
    report(figures, as_json=options.json)


def _held(learner: Heuristics, seen: Sequence[Outcome], language: Language) -> list[str]:
    return [one.topic for one in learner.proposals(seen, language) if one.holds]


if __name__ == "__main__":
    main()
