"""Memory over a long day: edits, prompts, searches, recorded messages and saves over twenty projects.

python -m benchmarks.soak [--minutes 20] [--projects 20] [--seed 1] [--data FILE] [--json]

Every action picks a project and one of its chapters at random. Texts keep their length and conversations are replaced
when they are long, so that what is stored does not grow and memory should not either. `rss_growth` is the largest
resident memory after the first tenth of the time over that at its end, less one. `indexes_alive` is the largest number
of search indexes that were alive when the collector had run; it should be the number of projects. `descriptors` says
how many more files were open at the end than after the first tenth, and `errors` counts actions that raised.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from msgspec import Struct

from benchmarks.figures import arguments, report, show
from benchmarks.novels import chapters, project, sentences
from fabula.conversation import edits as conversation
from fabula.conversation.model import Message
from fabula.manuscript import documents
from fabula.manuscript.model import Manuscript
from fabula.search.corpus import Corpus
from fabula.search.index.disk_cache import CACHE_VARIABLE
from fabula.search.index.index import SearchIndex
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

MINUTES = 20.0
PROJECTS = 20
CHARACTERS = (60_000, 300_000)  # of the smallest and the largest book
ENTRIES = 100
CONSTRAINTS = 10
MAX_MESSAGES = 200  # of a conversation before it is replaced
SAMPLES = 100
TALK = "talk"


class MemorySample(Struct, frozen=True, kw_only=True):
    """What the process held at one moment."""

    resident: int  # MiB
    indexes: int
    descriptors: int


class Soak:
    """Projects in a store of their own, and the actions that a writer repeats all day."""

    def __init__(
        self, folder: Path, *, projects: int, characters: tuple[int, int], texts: Sequence[tuple[str, str]], seed: int
    ) -> None:
        """Make the projects; the search index of each is built."""
        self._random = Random(seed)
        self._sentences: Iterator[str] = sentences(texts, seed)
        self._save = folder / "saved.fabula"
        self.workspace = Workspace.open(folder / "store")
        self.projects = [self._make_project(texts, characters, number, projects) for number in range(projects)]
        self._messages = Counter[str]()
        self.errors = Counter[str]()
        self.actions = Counter[str]()

    def _make_project(
        self, texts: Sequence[tuple[str, str]], characters: tuple[int, int], number: int, projects: int
    ) -> ProjectHandle:
        smallest, largest = characters
        size = smallest + (largest - smallest) * number // max(projects - 1, 1)
        view = project(texts, characters=size, entries=ENTRIES, constraints=CONSTRAINTS, seed=number)
        made = self.workspace.copy_project(view, title=f"Book {number + 1}")
        corpus = made.view.snapshot(Corpus)
        assert corpus is not None
        corpus.build_index()
        return made

    def edit(self, handle: ProjectHandle) -> None:
        """Replace one paragraph of a chapter by a sentence, and save the chapter."""
        chapter = self._choose_chapter(handle)
        story = handle.view.snapshot(Manuscript)
        assert story is not None
        paragraphs = story.by_id[chapter].text.split("\n\n")
        paragraphs[self._random.randrange(len(paragraphs))] = next(self._sentences)
        with self.workspace.store.write(project=handle.id) as tx:
            documents.write(tx, chapter, "\n\n".join(paragraphs))

    def prompt(self, handle: ProjectHandle) -> None:
        """Assemble a prompt for the end of a chapter, and report its answer."""
        result = handle.assemble(handle.request(document_id=self._choose_chapter(handle)))
        handle.report_answer(result.assembly_id)

    def search(self, handle: ProjectHandle) -> None:
        """Look for a few words in the whole project."""
        handle.search(" ".join(next(self._sentences).split()[:6]))

    def record(self, handle: ProjectHandle) -> None:
        """Record a message and its answer, then assemble the next prompt of the conversation."""
        project_id = handle.id
        with self.workspace.store.write(project=project_id) as tx:
            if self._messages[project_id] % MAX_MESSAGES == 0:
                if self._messages[project_id]:
                    conversation.remove_conversation(tx, TALK)
                conversation.start_conversation(tx, TALK)
            for role in ("user", "assistant"):
                conversation.add_message(tx, TALK, Message(id="", role=role, content=next(self._sentences)))
        self._messages[project_id] += 2
        handle.assemble(handle.request(document_id=self._choose_chapter(handle), conversation_id=TALK, recipe="chat"))

    def save(self, handle: ProjectHandle) -> None:
        """Save the project as a file."""
        handle.save(self._save, overwrite=True)

    def step(self) -> None:
        """Do one action of one project; an error is counted."""
        handle = self._random.choice(self.projects)
        action: Callable[[ProjectHandle], None] = self._random.choices(
            (self.edit, self.prompt, self.search, self.record, self.save), (30, 30, 25, 14, 1)
        )[0]
        self.actions[action.__name__] += 1
        try:
            action(handle)
        except Exception as error:
            self.errors[f"{action.__name__}: {type(error).__name__}"] += 1

    def _choose_chapter(self, handle: ProjectHandle) -> str:
        story = handle.view.snapshot(Manuscript)
        assert story is not None
        return self._random.choice(story.documents).id


def count_indexes() -> int:
    """How many search indexes are alive, once the collector has run."""
    gc.collect()
    return sum(isinstance(one, SearchIndex) for one in gc.get_objects())


def take_sample() -> MemorySample:
    """Measure this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE") >> 20
    return MemorySample(resident=resident, indexes=count_indexes(), descriptors=len(os.listdir("/proc/self/fd")))


def run(soak: Soak, seconds: float, *, samples: int = SAMPLES) -> list[MemorySample]:
    """Act for so many seconds; return a sample of each part of them."""
    begin, taken = time.monotonic(), list[MemorySample]()
    while len(taken) < samples:
        while time.monotonic() - begin < seconds * (len(taken) + 1) / samples:
            soak.step()
        taken.append(take_sample())
    return taken


def summarise(samples: Sequence[MemorySample], errors: int) -> dict[str, float]:
    """The figures of a run: how memory, indexes and open files went on after the first tenth."""
    first = samples[max(len(samples) // 10, 1) - 1]
    later = samples[len(samples) // 10 :]
    return {
        "rss_growth": max(sample.resident for sample in later) / first.resident - 1,
        "rss_mb": float(first.resident),
        "indexes_alive": max(sample.indexes for sample in samples),
        "descriptors": later[-1].descriptors - first.descriptors,
        "errors": errors,
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--projects", type=int, default=PROJECTS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fabula-soak-") as folder:
        os.environ[CACHE_VARIABLE] = str(Path(folder) / "cache")
        soak = Soak(
            Path(folder),
            projects=options.projects,
            characters=CHARACTERS,
            texts=chapters(options.data),
            seed=options.seed,
        )
        with soak.workspace:
            samples = run(soak, options.minutes * 60)
    tenths = samples[len(samples) // 10 - 1 :: len(samples) // 10]
    rows = [(f"{number} / 10", one.resident, one.indexes, one.descriptors) for number, one in enumerate(tenths, 1)]
    show("after each tenth", ("part", "resident MiB", "indexes", "descriptors"), rows)
    show("actions", ("action", "times"), sorted(soak.actions.items()))
    if soak.errors:
        show("errors", ("error", "times"), sorted(soak.errors.items()))
    report({**summarise(samples, soak.errors.total()), "projects": options.projects}, as_json=options.json)


if __name__ == "__main__":
    main()
