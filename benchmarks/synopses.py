"""The time to summarise a whole novel, and how often a synopsis names all main characters.

The chapters of War and Peace and 红楼梦 by the built-in method; then War and Peace in a store, refreshed from
nothing and after one edit; then a warm assembly with all synopses kept, beside one without any of them.

    python -m benchmarks.synopses --data DIR [--json]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from benchmarks.assemble import warm
from benchmarks.figures import arguments, percentile, report, show
from benchmarks.novels import chapters, names, project
from fabula.context import Engine
from fabula.context.recipes import NOVEL
from fabula.core.view import View
from fabula.manuscript import documents, projects
from fabula.manuscript.drafts import DocumentDraft, ManuscriptDraft
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses import editing as synopses
from fabula.store.store import Store
from fabula.text.names.main_characters import CharacterFinder
from fabula.text.summaries import extract_summary
from fabula.workspace.sources import all_sources

Texts = Sequence[tuple[str, str]]


def summarise_all(texts: Texts) -> tuple[float, list[str]]:
    """The seconds that all chapters take, and their synopses."""
    start = time.perf_counter()
    summaries = [extract_summary(text) for _, text in texts]
    return time.perf_counter() - start, summaries


def measure_naming(texts: Texts) -> float:
    """The share of chapters whose synopsis names all main characters, where they are known beforehand."""
    finder = CharacterFinder.from_names(dict.fromkeys(names(texts, 200), ()))
    complete = 0
    for _, text in texts:
        main = finder.find_main_characters(text)
        complete += not finder.find_missing(main, extract_summary(text, names=list(main.values())))
    return complete / max(len(texts), 1)


def measure_store(texts: Texts) -> tuple[float, float]:
    """In a store: all synopses from nothing, and the one of a chapter that was edited."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        ident = projects.create(store, "Novel")
        with store.write(project=ident) as tx:
            book = ManuscriptDraft(drafts=tuple(DocumentDraft(title=title, text=text) for title, text in texts))
            added = documents.add_draft(tx, book)
        times = []
        for edit in (False, True):
            if edit:
                with store.write(project=ident) as tx:
                    documents.write(tx, added[len(added) // 2], texts[0][1] + "\n\nOne more line.")
            start = time.perf_counter()
            synopses.refresh_synopses(store, ident)
            times.append(time.perf_counter() - start)
        store.close()
    return times[0], times[1]


def measure_assembly(texts: Texts) -> tuple[float, float, float]:
    """Warm assemblies: without synopses, with those worked out on the way, with all of them kept."""
    view = project(texts, characters=1_000_000, entries=1000, constraints=50)
    story = view.snapshot(Manuscript)
    assert story is not None
    kept = Manuscript(
        tuple(replace(d, synopsis=extract_summary(d.text), synopsis_origin="extract") for d in story.documents)
    )
    without = changed(NOVEL, sources=tuple(name for name in NOVEL.sources if name != "synopses"))
    runs = (
        (Engine(all_sources(), recipes={"novel": without}), view),
        (Engine(all_sources()), view),
        (Engine(all_sources()), View(view.project, view.timeline, {**view.snapshots, Manuscript: kept})),
    )
    first, second, third = (percentile(warm(engine, told, 300), 0.5) for engine, told in runs)
    return first, second, third


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    english = chapters(options.data)
    chinese = chapters(options.data, "红楼梦") if options.data is not None else english
    english_s, _ = summarise_all(english)
    chinese_s, _ = summarise_all(chinese)
    refresh_s, edited_s = measure_store(english)
    without, derived, kept = measure_assembly(english)
    figures = {
        "english_s": english_s,
        "chinese_s": chinese_s,
        "refresh_s": refresh_s,
        "edited_s": edited_s,
        "named": measure_naming(english),
        "warm_without_ms": without,
        "warm_derived_ms": derived,
        "warm_kept_ms": kept,
    }
    show("synopses", ("what", "figure"), list(figures.items()))
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
