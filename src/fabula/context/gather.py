"""Gather: ask every source, and survive each of them.

A source in memory is a plain call. One that waits on something (a remote index, an embedding
endpoint, a plug-in nobody vouches for) says so, and then runs beside the others under a deadline.
A source that raises, hangs or answers rubbish costs its own fragments and a warning, never the
assembly.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol, cast

from msgspec import Struct

from fabula.context.budget import Limits
from fabula.context.phrases import Words
from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment
from fabula.core.view import View

log = logging.getLogger("fabula.context")

# Refusals that a source may decide: they are about the request, not about the source.
_REFUSALS = frozenset({Code.CURSOR_INVALID, Code.DOCUMENT_STALE, Code.DOCUMENT_UNKNOWN, Code.SKILL_UNKNOWN})
_VETTED = 1000  # snapshots' groups already looked through
_STUCK = 8  # calls of one source that may hang before it is no longer asked


class Source(Protocol):
    """Something that knows fragments.

    `ahead` sources are asked first: what they offer (the text, the conversation) decides whether a
    window steps, and the others are told.
    """

    @property
    def name(self) -> str: ...
    @property
    def failing(self) -> Code: ...
    @property
    def waits(self) -> bool: ...
    @property
    def ahead(self) -> bool: ...
    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]: ...
    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """For a dry run: what was not offered, and why."""
        ...


class Leaving(Source, Protocol):
    """A source that has something to remember: what it leaves behind is in `ask.left` of the next request."""

    def leaves(self, ask: Ask, view: View) -> bytes: ...


class Line(Struct, frozen=True):
    """Sources in the order they are asked, and which of them wait on something or leave something behind."""

    sources: tuple[Source, ...]
    waiting: tuple[Source, ...]
    leaving: tuple[Leaving, ...]

    @classmethod
    def of(cls, sources: Iterable[Source]) -> Line:
        """A line of these sources."""
        found = tuple(sources)
        leaving = [cast("Leaving", source) for source in found if hasattr(source, "leaves") and not source.waits]
        return cls(found, tuple(source for source in found if source.waits), tuple(leaving))


def left_by(sources: Iterable[Leaving], ask: Ask, view: View) -> dict[str, bytes]:
    """What sources leave behind for the next request. One that fails is told again what it was told."""
    left: dict[str, bytes] = {}
    for source in sources:
        try:
            found = source.leaves(ask, view)
        except Exception as error:
            log.warning("source %s could not leave anything behind: %s", source.name, type(error).__name__)
            found = ask.left.get(source.name, b"")
        if found:
            left[source.name] = found
    return left


class Called(Struct, frozen=True, kw_only=True):
    """A plain function as a source. Nobody vouches for it, so it runs under the deadline."""

    name: str
    call: Callable[[Ask, View], Iterable[Fragment]]
    failing: Code = Code.SOURCE_UNAVAILABLE
    waits: bool = True
    ahead: bool = False

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """Whatever the function answers."""
        return self.call(ask, view)

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """A function cannot say what it left out."""
        return ()


class Gathered(Struct):
    """What the sources offered, a group each, in the order of the recipe, and who failed.

    A group that is a tuple belongs to a snapshot and comes again unchanged; work done on it is kept.
    """

    groups: list[Sequence[Fragment]]
    warnings: list[str]


class Gatherer:
    """Asks sources; remembers which of them are hanging, and which groups it has looked through."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._hanging: dict[str, int] = {}
        self._vetted: dict[int, Sequence[Fragment]] = {}
        self._lock = threading.Lock()

    def gather(self, line: Line, ask: Ask, view: View, words: Words) -> Gathered:
        """Every source's fragments, or a warning in their place."""
        waiting = {source.name: self._start(source, ask, view) for source in line.waiting}
        deadline = time.monotonic() + self._limits.source_seconds if waiting else 0.0
        found, vetted = Gathered([], []), self._vetted
        answer: Sequence[Fragment]
        for source in line.sources:
            try:
                if waiting and source.name in waiting:
                    answer = self._wait(source, waiting[source.name], deadline)
                else:
                    offered = source.fragments(ask, view)
                    if type(offered) is tuple and (not offered or vetted.get(id(offered)) is offered):
                        answer = offered
                    else:
                        answer = self._listed(offered)
            except FabulaError as error:
                if error.code in _REFUSALS:
                    raise
                found.warnings.append(_warning(source, error.sentence, words))
            except _HangingError:
                found.warnings.append(_warning(source, f"no answer in {self._limits.source_seconds:g} s", words))
            except Exception as error:
                found.warnings.append(_warning(source, type(error).__name__, words))
            else:
                if answer:
                    found.groups.append(answer)
        return found

    def _listed(self, offered: Iterable[Fragment]) -> Sequence[Fragment]:
        most = self._limits.source_fragments
        answer = offered if type(offered) is tuple else list(islice(offered, most + 1))
        if len(answer) > most:
            raise FabulaError(Code.FRAGMENT_INVALID, f"more than {most} fragments")
        for kind in set(map(type, answer)):
            if not issubclass(kind, Fragment):
                raise FabulaError(Code.FRAGMENT_INVALID, f"a {kind.__name__} where a fragment belongs")
        if answer and type(answer) is tuple:
            if len(self._vetted) >= _VETTED:
                self._vetted.clear()
            self._vetted[id(answer)] = answer
        return answer

    def _start(self, source: Source, ask: Ask, view: View) -> _Call:
        call = _Call()
        with self._lock:
            if self._hanging.get(source.name, 0) >= _STUCK:
                call.error = _HangingError()
                call.done.set()
                return call

        def run() -> None:
            try:
                call.answer = self._listed(source.fragments(ask, view))
            except Exception as error:
                call.error = error
            except BaseException as error:  # an exit is the source's own affair, not the caller's
                call.error = RuntimeError(type(error).__name__)
            with self._lock:
                call.done.set()
                if call.hung:
                    self._hanging[source.name] -= 1

        threading.Thread(target=run, name=f"source-{source.name}", daemon=True).start()
        return call

    def _wait(self, source: Source, call: _Call, deadline: float) -> Sequence[Fragment]:
        """The answer of a call, if it comes in time; a call that does not counts as hanging until it ends."""
        if not call.done.wait(max(0.0, deadline - time.monotonic())):
            with self._lock:
                if not call.done.is_set():
                    call.hung = True
                    self._hanging[source.name] = self._hanging.get(source.name, 0) + 1
                    raise _HangingError
        if call.error is not None:
            raise call.error
        return call.answer


class _HangingError(Exception):
    pass


class _Call:
    __slots__ = ("answer", "done", "error", "hung")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.answer: Sequence[Fragment] = ()
        self.error: Exception | None = None
        self.hung = False


def _warning(source: Source, why: str, words: Words) -> str:
    log.warning("source %s left out: %s", source.name, why)
    code = source.failing
    if code in words.warnings:
        return words.warn(code, name=source.name)
    return f"{code.value}: {words.warnings[Code.SOURCE_UNAVAILABLE].format(name=source.name)}"
