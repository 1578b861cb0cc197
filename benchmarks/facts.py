"""Facts: what the program finds the book to say of each entry, drawn at random to be judged by a reader.

The codex of each of the four novels is what `fabula extract` proposes. A fact counts as good if it is true of the entry
under which it is listed, and if a writer would want that line. `--draw` prints so many that may enter prompts,
from all novels; `often` are the entries that are mentioned thirty times or more, `with_five` those of them with five
such facts, and `listed` those with five sentences on their card.

    python -m benchmarks.facts --data DIR [--draw 100] [--seed 1] [--json]
"""

from __future__ import annotations

import time
from random import Random

from benchmarks.figures import arguments, report, show
from benchmarks.novels import chapters
from fabula.codex import Codex, Entry
from fabula.codex.facts import Fact, Facts, FactText
from fabula.core.view import Language
from fabula.text.extraction.propose import propose_entries

BOOKS: tuple[tuple[str, Language], ...] = (
    ("war_and_peace", "en"),
    ("moby_dick", "en"),
    ("红楼梦", "zh"),
    ("三国演义", "zh"),
)
OFTEN = 30  # mentions


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--draw", type=int, default=0, help="print so many facts, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data names the file of novels")
    rows: list[tuple[object, ...]] = []
    drawn: list[tuple[str, str, Fact]] = []
    often_all, with_five_all, listed_all = 0, 0, 0
    for novel, language in BOOKS:
        texts = chapters(options.data, novel)
        proposals = propose_entries([(f"{n}", text) for n, (_, text) in enumerate(texts, 1)], language=language)
        entries = [
            Entry(id=f"e{n}", type=one.kind, name=one.name, aliases=one.aliases) for n, one in enumerate(proposals)
        ]
        mentions = {f"e{n}": one.mentions for n, one in enumerate(proposals)}
        facts = Facts([FactText(f"{n}", text) for n, (_, text) in enumerate(texts, 1)], Codex(novel, language, entries))
        started = time.process_time()
        everything = facts.by_entry()
        seconds = time.process_time() - started
        found = {ident: [fact for fact in each if fact.is_lasting] for ident, each in everything.items()}
        often = [ident for ident, count in mentions.items() if count >= OFTEN]
        with_five = [ident for ident in often if len(found.get(ident, ())) >= 5]
        listed = [ident for ident in often if len(everything.get(ident, ())) >= 5]
        rows.append(
            (novel, len(entries), len(often), len(with_five), len(listed), sum(map(len, found.values())), seconds)
        )
        drawn += [(novel, entry.name, fact) for entry in entries for fact in found.get(entry.id, ())]
        often_all += len(often)
        with_five_all += len(with_five)
        listed_all += len(listed)
    for novel, name, fact in Random(options.seed).sample(drawn, min(options.draw, len(drawn))):
        print(f"{novel} {fact.since.document} | {name} | {fact.text}")
    show("facts by program", ("novel", "entries", "often", "with five", "five listed", "facts", "seconds"), rows)
    report(
        {"facts": len(drawn), "often": often_all, "with_five": with_five_all, "listed": listed_all},
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
