"""Learn from simulated writers with a known habit, and from writers without one.

python -m benchmarks.habits --data DIR [--json]

Each simulated writer gets pages of a novel as suggestions. A writer with a habit makes one kind of change
wherever possible and accepts the rest; `found` is the share of these writers whose habit is proposed. Writers
without a habit accept everything, reject at random, delete sentences at random, or replace pages by other
pages. `false` counts proposals that are not a habit of the writer.
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
from fabula.memory.model import Decision, SuggestionOutcome
from fabula.memory.proposals import find_proposals
from fabula.text.sentences import find_sentence_starts
from fabula.workspace.read_only import open_read_only

SUGGESTIONS = 60  # for each writer
WRITERS = 10  # of each kind and language
NOVELS: dict[Language, str] = {"en": "war_and_peace", "zh": "红楼梦"}
SAMPLES: dict[Language, str] = {"en": "lantern_coast", "zh": "wugang"}
_ADVERB = re.compile(r" ?\b(?!(?:only|early|family|reply|daily)\b)[a-z]{3,}ly\b,?")

Writer = Callable[[str, Random], tuple[Decision, str]]


def load_pages(data: Path | None, language: Language) -> list[str]:
    """Load a novel in pages."""
    if data is None:
        story = open_read_only(f"sample:{SAMPLES[language]}").view.snapshot(Manuscript) or Manuscript()
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


def make_rewriter(change: Callable[[str], str]) -> Writer:
    """Make a writer who makes one kind of change wherever possible."""

    def write(text: str, _: Random) -> tuple[Decision, str]:
        became = change(text)
        return (Decision.ACCEPTED, "") if became == text else (Decision.REWRITTEN, became)

    return write


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences and line breaks."""
    cut: list[str] = []
    for line in text.split("\n"):
        cut += [line[start:end] for start, end in pairwise([*find_sentence_starts(line), len(line)])]
        cut.append("\n")
    return cut


def shorten_sentences(text: str) -> str:
    """Split every long sentence at its commas."""

    def cut(said: str) -> str:
        at = [found.start() for found in re.finditer("[,，]", said[:-12]) if found.start() > 12]
        if not at:
            return said
        middle = min(at, key=lambda place: abs(place - len(said) // 2))
        stop = "。" if said[middle] == "，" else "."
        rest = said[middle + 1 :]
        head = rest[: len(rest) - len(rest.lstrip())] + rest.lstrip()[:1].upper() + rest.lstrip()[1:]
        return said[:middle] + stop + cut(head)

    return "".join(cut(said) for said in split_sentences(text))


def make_removal(pattern: str, instead: str = "") -> Callable[[str], str]:
    """Make a change that removes or replaces a pattern."""
    compiled = re.compile(pattern)
    return lambda text: compiled.sub(instead, text)


def accept_all(text: str, random: Random) -> tuple[Decision, str]:
    """Accept everything."""
    return Decision.ACCEPTED, ""


def reject_at_random(text: str, random: Random) -> tuple[Decision, str]:
    """Reject at random."""
    return (Decision.REJECTED if random.random() < 0.5 else Decision.ACCEPTED), ""


def delete_at_random(text: str, random: Random) -> tuple[Decision, str]:
    """Delete sentences at random."""
    share = random.choice((0.1, 0.3, 0.5, 0.7))
    kept = "".join(said for said in split_sentences(text) if said == "\n" or random.random() > share).strip()
    return (Decision.REWRITTEN, kept) if kept else (Decision.REJECTED, "")


def make_replacing_writer(pages: Sequence[str]) -> Writer:
    """Make a writer who replaces pages by other pages of the book."""

    def write(text: str, random: Random) -> tuple[Decision, str]:
        return Decision.REWRITTEN, random.choice(pages)

    return write


def list_writers(language: Language) -> dict[str, Writer]:
    """List writers with a habit, by its topic."""
    common = {
        "mark:!=less": make_rewriter(make_removal("[!！]+", "." if language == "en" else "。")),
        "mark:;=less": make_rewriter(make_removal("[;；]", "," if language == "en" else "，")),
        "sentence=less": make_rewriter(shorten_sentences),
    }
    if language == "zh":
        return common | {
            "word:只见=less": make_rewriter(make_removal("只见，?")),
            "word:原来=less": make_rewriter(make_removal("原来，?")),
        }
    return common | {
        "word:suddenly=less": make_rewriter(make_removal(r"(?i),? ?\bsuddenly\b,?")),
        "adverb=less": make_rewriter(lambda text: _ADVERB.sub("", text)),
        "simile=less": make_rewriter(make_removal(r"(?i),? (?:as if|as though|like an?)\b[^,.;!?]*")),
    }


def make_outcomes(writer: Writer, pages: Sequence[str], seed: int) -> list[SuggestionOutcome]:
    """Return the outcomes of a writer's work on some pages."""
    random = Random(seed)
    found = []
    for number, page in enumerate(random.sample(pages, min(SUGGESTIONS, len(pages)))):
        fate, became = writer(page, random)
        found.append(
            SuggestionOutcome(
                id=f"o{number}",
                suggestion=page,
                decision=fate,
                rewritten_text=became,
                created_at=f"2026-01-01T{number:06}",
            )
        )
    return found


def main() -> None:
    """Learn from all writers and compare with their habits."""
    parser = arguments(__doc__ or "")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    rows: list[tuple[object, ...]] = []
    times = []
    for language in NOVELS:
        pages = load_pages(options.data, language)
        found = false = meant = 0
        for topic, writer in list_writers(language).items():
            hits = wrong = tried = 0
            for seed in range(WRITERS):
                seen = make_outcomes(writer, pages, seed)
                if sum(one.decision is Decision.REWRITTEN for one in seen) < 8:
                    continue  # too little cause in these pages to show the habit
                started = time.perf_counter()
                held = _find_supported_topics(seen, language)
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
            "accepts": accept_all,
            "rejects": reject_at_random,
            "deletes": delete_at_random,
            "replaces": make_replacing_writer(pages),
        }.items():
            wrong = sum(
                len(_find_supported_topics(make_outcomes(writer, pages, seed), language)) for seed in range(WRITERS)
            )
            rows.append((language, f"({name})", "", wrong))
            figures[f"false_{name}_{language}"] = wrong / WRITERS
    figures["learn_ms"] = sum(times) / max(len(times), 1)
    show("Habits", ("language", "habit", "found", "false"), rows)
    report(figures, as_json=options.json)


def _find_supported_topics(seen: Sequence[SuggestionOutcome], language: Language) -> list[str]:
    return [one.topic for one in find_proposals(seen, language) if one.is_supported]


if __name__ == "__main__":
    main()
