"""Gather: ask every source for fragments; skip one that fails (ctx-6), and log it without story text (ctx-10).

A source in memory is a plain call. A source that waits for something outside (a remote index, an
embedding endpoint, code nobody vouches for) is `blocking`, or its `fragments` is a coroutine
function: it runs in a thread beside the others, under a deadline. A source that raises, hangs or
answers rubbish costs its own fragments and a warning, never the assembly. The log holds where it
failed, but not the message of the exception, which may quote the story (ctx-10).
"""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from traceback import extract_tb
from typing import Any, Protocol, cast

from msgspec import Struct

from fabula.context.budget import Limits
from fabula.context.phrases import Phrases
from fabula.context.request import SourceRequest
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment
from fabula.core.messages import Sentence, message
from fabula.core.view import View

log = logging.getLogger("fabula.context")

# Errors that a source may raise about the request: they refuse it.
_REFUSALS = frozenset({Code.CURSOR_INVALID, Code.DOCUMENT_STALE, Code.DOCUMENT_UNKNOWN, Code.SKILL_UNKNOWN})
_NOTHING: tuple[Fragment, ...] = ()  # what many sources answer to most requests
_MAX_HANGING = 8  # calls of one source that may hang before it is not asked any more

SourceAnswer = Iterable[Fragment] | Awaitable[Iterable[Fragment]] | AsyncIterable[Fragment]


class Source(Protocol):
    """Offers fragments for a request.

    Sources that run first offer the text and the conversation; what they offer decides whether a window steps,
    and the other sources are told. A source that also has `renders_input = True` puts the input of the request
    into one of its fragments; where no source does, the engine renders the input as the last user message.
    """

    @property
    def name(self) -> str: ...
    @property
    def unavailable_code(self) -> Code: ...
    @property
    def blocking(self) -> bool: ...
    @property
    def runs_first(self) -> bool: ...
    def fragments(self, source_request: SourceRequest, view: View, /) -> SourceAnswer: ...
    def explain_omitted(self, source_request: SourceRequest, view: View, /) -> Iterable[Verdict]:
        """For a dry run: what was not offered, and why."""
        ...


class StatefulSource(Source, Protocol):
    """A source with state: what it saves is in `source_state` of the next request."""

    def save_state(self, source_request: SourceRequest, view: View, /) -> bytes: ...


class ExplainingSource(Source, Protocol):
    """A source that says, when somebody reads the trace, why it offers each fragment; by the fragment's source."""

    def explain_offered(self, source_request: SourceRequest, view: View, /) -> Mapping[str, Sentence]: ...


class NamingSource(Source, Protocol):
    """A source that knows the names of characters."""

    def find_name(self, ident: str, view: View, /) -> str | None: ...


class FunctionSource(Struct, frozen=True, kw_only=True):
    """A function as a source, plain or a coroutine function. By default it runs under the deadline."""

    name: str
    function: Callable[[SourceRequest, View], SourceAnswer]
    unavailable_code: Code = Code.SOURCE_UNAVAILABLE
    blocking: bool = True
    runs_first: bool = False
    renders_input: bool = False
    name_character: Callable[[str, View], str] = lambda ident, view: ""

    def find_name(self, ident: str, view: View) -> str:
        """The name of a character, if the source knows it."""
        return self.name_character(ident, view)

    def fragments(self, source_request: SourceRequest, view: View) -> SourceAnswer:
        """Whatever the function answers."""
        return self.function(source_request, view)

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """Nothing: a function cannot say what it left out."""
        return ()


class SourceGroup(Struct, frozen=True):
    """Sources in the order in which they are asked, and which of them block or have state."""

    sources: tuple[Source, ...]
    blocking: tuple[Source, ...]
    stateful: tuple[StatefulSource, ...]
    render_input: frozenset[str]  # the names of those that put the input into one of their fragments

    @classmethod
    def from_sources(cls, sources: Iterable[Source]) -> SourceGroup:
        """A group of these sources."""
        asked = tuple(sources)
        blocking = tuple(source for source in asked if source.blocking or _is_async(source))
        stateful = [source for source in asked if hasattr(source, "save_state") and source not in blocking]
        render_input = frozenset(source.name for source in asked if getattr(source, "renders_input", False))
        return cls(asked, blocking, tuple(cast("list[StatefulSource]", stateful)), render_input)


def _is_async(source: Source) -> bool:
    call: object = source.function if isinstance(source, FunctionSource) else source.fragments
    return inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)


def collect_source_state(
    sources: Iterable[StatefulSource], source_request: SourceRequest, view: View
) -> dict[str, bytes]:
    """The state that sources save for the next request. One that fails keeps the state it had."""
    states: dict[str, bytes] = {}
    for source in sources:
        try:
            state = source.save_state(source_request, view)
        except Exception as error:
            log.warning("source %s could not save its state: %s", source.name, describe_failure(error))
            state = source_request.source_state.get(source.name, b"")
        if state:
            states[source.name] = state
    return states


def explain_offered(sources: Iterable[Source], source_request: SourceRequest, view: View) -> dict[str, Sentence]:
    """Why sources offer their fragments, by the fragment's source. One that fails says nothing."""
    reasons: dict[str, Sentence] = {}
    for source in sources:
        if hasattr(source, "explain_offered"):
            try:
                reasons.update(cast("ExplainingSource", source).explain_offered(source_request, view))
            except Exception as error:
                log.warning("source %s could not say why it offers: %s", source.name, describe_failure(error))
    return reasons


def find_character_name(sources: Iterable[Source], ident: str, view: View) -> str:
    """The name of a character as a source knows it, else its id without the namespace and revision of a participant."""
    key = ident.partition(":")[2].partition("#")[0] or ident
    naming = [cast("NamingSource", source) for source in sources if hasattr(source, "find_name")]
    names = (source.find_name(one, view) for one in (ident, key) for source in naming)
    return next((name for name in names if name), key)


class GatheredFragments(Struct):
    """The fragments of each source that answered, in the order of the group, and warnings about the others.

    A group that is a tuple belongs to a snapshot and comes again unchanged with the next request.
    """

    groups: list[Sequence[Fragment]]
    warnings: list[str]
    input_rendered: bool = False  # by a source that says so


class Gatherer:
    """Asks sources for fragments, and remembers which of them hang."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._hanging: dict[str, int] = {}
        self._lock = threading.Lock()

    def gather(
        self, group: SourceGroup, source_request: SourceRequest, view: View, phrases: Phrases
    ) -> GatheredFragments:
        """The fragments of every source, or a warning in their place."""
        calls = {source.name: self._start(source, source_request, view) for source in group.blocking}
        deadline = time.monotonic() + self._limits.source_seconds if calls else 0.0
        gathered = GatheredFragments([], [])
        for source in group.sources:
            try:
                if calls and source.name in calls:
                    fragments = self._wait(source, calls[source.name], deadline)
                else:
                    answer = source.fragments(source_request, view)
                    fragments = _NOTHING if answer is _NOTHING else self._check(answer)
            except Exception as error:
                if isinstance(error, FabulaError) and error.code in _REFUSALS:
                    raise
                log.warning("source %s left out: %s", source.name, describe_failure(error))
                kind = "TimeoutError" if isinstance(error, _HangingError) else _name_failure(error)
                gathered.warnings.append(phrases.format_unavailable(source.unavailable_code, source.name, kind))
                continue
            if fragments:
                gathered.groups.append(fragments)
            if group.render_input and source.name in group.render_input:
                gathered.input_rendered = True
        return gathered

    def _check(self, answer: Any) -> Sequence[Fragment]:
        """The answer of a source as a sequence of fragments, of which there may be only so many."""
        kind, limit = type(answer), self._limits.source_fragments
        fragments = answer if kind is tuple or kind is list else list(islice(answer, limit + 1))
        if not fragments:
            return fragments
        if len(fragments) > limit:
            raise FabulaError(Code.FRAGMENT_INVALID, message("more than {limit} fragments", limit=limit))
        for kind in set(map(type, fragments)):
            if kind is not Fragment and not issubclass(kind, Fragment):
                raise FabulaError(Code.FRAGMENT_INVALID, message("{kind} is no fragment", kind=kind.__name__))
        return fragments

    def _start(self, source: Source, source_request: SourceRequest, view: View) -> _Call:
        """Call a source in a thread of its own."""
        call = _Call()
        with self._lock:
            if self._hanging.get(source.name, 0) >= _MAX_HANGING:
                call.error = _HangingError("too many calls hang")
                call.done.set()
                return call

        def run() -> None:
            try:
                answer = source.fragments(source_request, view)
                if isinstance(answer, Awaitable | AsyncIterable):
                    answer = _run_coroutine(answer, self._limits.source_seconds)
                call.fragments = self._check(answer)
            except Exception as error:
                call.error = error
            except BaseException as error:  # an exit of the source must not end the caller
                call.error = RuntimeError(type(error).__name__)
            with self._lock:
                call.done.set()
                if call.hangs:
                    self._hanging[source.name] -= 1

        threading.Thread(target=run, name=f"source-{source.name}", daemon=True).start()
        return call

    def _wait(self, source: Source, call: _Call, deadline: float) -> Sequence[Fragment]:
        """The answer of a call before the deadline; a call that misses it counts as hanging until it ends."""
        if not call.done.wait(max(0.0, deadline - time.monotonic())):
            with self._lock:
                if not call.done.is_set():
                    call.hangs = True
                    self._hanging[source.name] = self._hanging.get(source.name, 0) + 1
                    raise _HangingError("no answer in time")
        if call.error is not None:
            raise call.error
        return call.fragments


def _run_coroutine(
    answer: Awaitable[Iterable[Fragment]] | AsyncIterable[Fragment], seconds: float
) -> Iterable[Fragment]:
    """Run a coroutine, or an async generator, to its end in this thread."""
    import asyncio  # takes a quarter of the import time of the engine

    async def collect() -> Iterable[Fragment]:
        async with asyncio.timeout(seconds):
            return [one async for one in answer] if isinstance(answer, AsyncIterable) else await answer

    return asyncio.run(collect())


class _HangingError(Exception):
    pass


class _Call:
    __slots__ = ("done", "error", "fragments", "hangs")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.fragments: Sequence[Fragment] = ()
        self.error: Exception | None = None
        self.hangs = False


def _name_failure(error: BaseException) -> str:
    return error.code.value if isinstance(error, FabulaError) else type(error).__name__


def describe_failure(error: BaseException) -> str:
    """The type of an exception and its stack as file:line:function, without its message."""
    name = f"{type(error).__name__} {error.code.value}" if isinstance(error, FabulaError) else type(error).__name__
    frames = [f"{Path(frame.filename).name}:{frame.lineno}:{frame.name}" for frame in extract_tb(error.__traceback__)]
    return " < ".join((name, *reversed(frames)))
