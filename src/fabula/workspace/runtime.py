"""What a process keeps for one open store: the engine, the views, the continuity, threads and the worker.

It connects the job triggers, so that every change queues the background work that follows from it. What only some
commands need is imported and made when it is first used, so that a small command starts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.arguments import PositiveInt, check_verbs

if TYPE_CHECKING:
    from collections import Counter
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event

    from fabula.context.engine import Engine, EngineSettings
    from fabula.context.gather import Source
    from fabula.context.request import Principal
    from fabula.jobs.model import JobState
    from fabula.jobs.worker import Worker
    from fabula.search.embeddings.choice import EmbeddingChoice
    from fabula.search.embeddings.semantic_search import SemanticSearch
    from fabula.workspace.change_feed import ChangeFollower
    from fabula.workspace.continuity import StoredContinuity
    from fabula.workspace.jobs import JobsLeft, ProjectJobs
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.responses import ResponseLog
    from fabula.workspace.transfer import Progress
    from fabula.workspace.views import ProjectViews

THREADS = 16  # verbs that run beside an event loop at once

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


@check_verbs
class WorkspaceRuntime:
    """An open store with what this process keeps for it; `Workspace` has the verbs on top."""

    def __init__(
        self,
        store: Store,
        *,
        settings: EngineSettings | None = None,
        meaning: SemanticSearch | None = None,
        sources: Iterable[Source] = (),
    ) -> None:
        """Take over an open store. `meaning` compares passages by meaning, whatever the settings say.

        `sources` are asked for fragments beside those of the project, with every recipe.
        """
        store.hooks.on_first_write(self._connect_triggers)
        self._store = store
        self._queued_jobs: set[tuple[str, str]] = set()  # by this process: project and key
        self._settings = settings
        self._meaning = meaning
        self._more_sources = tuple(sources)
        self._worker: Worker | None = None

    @classmethod
    def open(cls, location: str | Path | None = None, *, worker: bool = False, sources: Iterable[Source] = ()) -> Self:
        """Open a data folder, a database file or a PostgreSQL address; the usual data folder by default.

        The store is made or brought up to date first. With `worker`, background jobs run in this process. `sources`
        are asked for fragments beside those of the project, with every recipe.
        """
        workspace = cls(Store.open(location), sources=sources)
        if worker:
            workspace.start_worker()
        return workspace

    @property
    def store(self) -> Store:
        """The open store; refused once the workspace was closed."""
        self._store.require_open()
        return self._store

    @cached_property
    def views(self) -> ProjectViews:
        """The projects as immutable views, cached for all callers."""
        from fabula.settings.values import read_memory_limit
        from fabula.workspace.views import CACHE_MEGABYTES, MEGABYTE, ProjectViews

        return ProjectViews(self.store, max_bytes=(read_memory_limit() - CACHE_MEGABYTES) * MEGABYTE)

    @cached_property
    def engine(self) -> Engine:
        """The one engine of this process."""
        from msgspec.structs import replace

        from fabula.context.engine import Engine, EngineSettings
        from fabula.context.recipes import RECIPES
        from fabula.llm.local_model import find_counted_model, load_tokenizer
        from fabula.settings.values import read_machine_limits
        from fabula.workspace.sources import all_sources

        names = tuple(source.name for source in self._more_sources)
        recipes = {name: replace(one, sources=(*one.sources, *names)) for name, one in RECIPES.items()}
        return Engine(
            (*all_sources(self._embedding), *self._more_sources),
            recipes=recipes if names else RECIPES,
            settings=self._settings or EngineSettings(limits=read_machine_limits()),
            tokenizer_for=load_tokenizer,
            model_for=find_counted_model,
        )

    @property
    def responses(self) -> ResponseLog:
        """The answers that are kept for callers from outside."""
        from fabula.workspace.responses import ResponseLog

        return ResponseLog(self.store)

    @cached_property
    def change_follower(self) -> ChangeFollower:
        """What tells of changes of projects, whichever process makes them."""
        from fabula.workspace.change_feed import ChangeFollower

        return ChangeFollower(self.store)

    @cached_property
    def _embedding(self) -> EmbeddingChoice:
        from fabula.search.embeddings.choice import EmbeddingChoice

        return EmbeddingChoice(self._meaning)

    @cached_property
    def _continuity(self) -> StoredContinuity:
        from fabula.workspace.continuity import StoredContinuity

        return StoredContinuity(self.store)

    @cached_property
    def _open_handle(self) -> Callable[..., ProjectHandle]:
        """What makes the handle of a project, with what all of them share."""
        from fabula.workspace.project import ProjectHandle

        return partial(ProjectHandle, embedding=self._embedding, continuity=self._continuity, store=self._store)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(THREADS, thread_name_prefix="fabula")

    def find_warm_project(self, project_id: str, principal: Principal) -> ProjectHandle | None:
        """Open a project as it is in memory, where its prompts wait for nothing; None for any other.

        What it assembles is refused where the project has changed since (`OutdatedViewError`), and `is_current` says
        whether it has. Its view is in memory, and its search index where prompts have passages. It neither searches by
        meaning nor asks a database server, nor sources that may wait.
        """
        may_wait = self.store.file is None or bool(self._more_sources)
        ready = None if may_wait else self.views.find_ready(project_id, user=principal.user)
        if ready is None or self._embedding.resolve(ready[0]).search is not None:
            return None
        view, expected = ready
        return self._open_handle(
            lambda conversation: (
                self.views.view(project_id, user=principal.user, conversation=conversation) if conversation else view
            ),
            self.engine,
            principal=principal,
            project_id=project_id,
            expected=expected,
        )

    def start_worker(self, *, threads: PositiveInt = 2) -> Worker:
        """Run background jobs of all projects in this process until the workspace is closed."""
        from fabula.jobs.worker import Worker
        from fabula.workspace.handlers.job_kinds import job_kinds

        store = self.store
        if self._worker is None:
            self._worker = Worker(store, job_kinds(self.views), threads=threads)
            self._worker.start()
        return self._worker

    def list_jobs(
        self, project: str | None = None, *, states: Sequence[str] = (), limit: PositiveInt = 100
    ) -> list[ProjectJobs]:
        """List background jobs of one project by id or title, or of all; `limit` counts for each project."""
        from fabula.workspace.jobs import list_project_jobs

        found = projects.list_projects(self.store) if project is None else [projects.find_project(self.store, project)]
        return list_project_jobs(self.store, found, states=states, limit=limit)

    def run_jobs(
        self, *, threads: PositiveInt = 2, until: Event | None = None, progress: Progress | None = None
    ) -> Counter[JobState]:
        """Run what is due in all projects, or go on until an event; return how many jobs ended how, or wait."""
        from collections import Counter

        from fabula.jobs import queue
        from fabula.jobs.worker import Worker
        from fabula.workspace.handlers.job_kinds import job_kinds

        worker = Worker(self.store, job_kinds(self.views), threads=threads)
        with self.store.read() as reading:
            started_at = reading.current_time()
        if until is None:
            due = sum(len(one.jobs) for one in self.list_jobs(states=("queued",)))
            worker.drain(progress=None if progress is None else lambda done: progress(done, max(done, due)))
        else:
            with worker:
                until.wait()
        counts: Counter[JobState] = Counter()
        for project_id in self.store.project_ids():
            with self.store.read(project=project_id) as reading:
                counts.update(queue.count_jobs(reading, ended_since=started_at))
        return counts

    def run_short_jobs(self, *, seconds: float, progress: Progress | None = None) -> JobsLeft:
        """Run the short jobs that changes of this process have queued, for some seconds; return how many are left.

        Jobs that ask a model are not short.
        """
        from fabula.workspace.jobs import JobsLeft, run_short_jobs

        self._store.require_open()
        if not self._queued_jobs:
            return JobsLeft()

        queued, self._queued_jobs = self._queued_jobs, set()
        return run_short_jobs(self.views, queued, seconds=seconds, progress=progress)

    def _connect_triggers(self) -> None:
        from fabula.jobs.tables import jobs
        from fabula.jobs.triggers.connect import connect_triggers

        connect_triggers(self.store)
        self.store.hooks.add_before_commit(
            jobs, lambda tx, keys: self._queued_jobs.update((tx.owner_id("project"), key) for key in keys)
        )

    async def call(
        self, verb: Callable[Parameters, Answer], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Answer:
        """Run a verb beside the event loop: `await workspace.call(project.assemble, request)`."""
        import asyncio

        self._store.require_open()
        context = copy_context()  # so that its spans belong to those of the caller
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, context.run, lambda: verb(*args, **kwargs)
        )

    def require_before_change(self, check: Callable[[], None]) -> AbstractContextManager[None]:
        """Run a check under the lock of the first change inside the block; what it raises ends the change."""
        from fabula.store.precondition import require_before_change

        self._store.require_open()
        return require_before_change(check)

    def collect_versions(self) -> AbstractContextManager[Mapping[str, int]]:
        """Collect the versions that changes inside the block make; `store.has_versions` says whether they still are."""
        from fabula.store.precondition import collect_versions

        self._store.require_open()
        return collect_versions()

    def collect_steps(self) -> AbstractContextManager[Sequence[tuple[str, int]]]:
        """Collect the steps that changes inside the block leave to be undone: the id of the project, and the number."""
        from fabula.store.precondition import collect_steps

        self._store.require_open()
        return collect_steps()

    def flush(self) -> None:
        """Write what is queued to be written: after it, another process sees all that this one remembers."""
        self._store.require_open()
        self._continuity.flush()

    def close(self) -> None:
        """Stop the worker, write what is queued, and let go of the store."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
        in_use = vars(self)  # what was never used was never made
        if "change_follower" in in_use:
            self.change_follower.close()
        if "_threads" in in_use:
            self._threads.shutdown()
        if "_continuity" in in_use:
            self._continuity.close()
        if "_embedding" in in_use:
            self._embedding.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
