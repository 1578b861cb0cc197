"""Work in the background of a process that answers requests: it gives way to them, and ends with the process.

Python runs one thread at a time. A thread in the background calls `Turns.give_way` after each small part of its work.
While a request is answered it waits there, so that the request need not share the interpreter, but never so long that
it would not get on. A pause must last a moment: a lock that is given back for no time is taken again at once. Short
work that every request needs goes first: other work in the background waits for it too.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

WORK_SECONDS, REST_SECONDS = 0.001, 0.0005  # in turn, while no request is answered
FIRST_WORK_SECONDS = 0.002  # the same for work that goes first
WORK_BESIDE_SECONDS = 0.0002  # while one is answered
MAX_WAIT_SECONDS = 0.02  # for requests
WAIT_SECONDS, MAX_WAIT_FOR_FIRST_SECONDS = 0.005, 0.5  # at a time and in all, for work that goes first
EXIT_SECONDS = 5.0  # that the process waits at its end for the last part of the work

_requests: list[None] = []  # one for each request that is answered; lists change in one step
_first: list[None] = []  # one for each thread whose work is done before that of the others
_waiting: list[None] = []  # one for each request that waits for work in the background
_threads: set[threading.Thread] = set()
_is_ending = threading.Event()


class ProcessEnds(BaseException):
    """Raised in the background where the process ends."""


class Turns:
    """The turns of one thread in the background."""

    def __init__(self, *, goes_first: bool = False) -> None:
        self._last = time.perf_counter()
        self._goes_first = goes_first
        self._work_seconds = FIRST_WORK_SECONDS if goes_first else WORK_SECONDS

    def give_way(self) -> None:
        """Rest a moment if the last rest was long enough ago, and longer where something goes before this work."""
        if _is_ending.is_set():
            raise ProcessEnds
        now = time.perf_counter()
        comes_second = bool(_first) and not self._goes_first
        if now - self._last > (WORK_BESIDE_SECONDS if _requests or comes_second else self._work_seconds):
            until = now + MAX_WAIT_SECONDS
            time.sleep(REST_SECONDS)
            while _requests and not _waiting and time.perf_counter() < until:
                time.sleep(REST_SECONDS)
            until = now + MAX_WAIT_FOR_FIRST_SECONDS
            while comes_second and _first and not _waiting and time.perf_counter() < until:
                time.sleep(WAIT_SECONDS)
            self._last = time.perf_counter()


def work_on() -> None:
    """Go on at once: what somebody waits for gives way to nobody."""


class RequestMark:
    """Marks that a request is answered, which work in the background gives way to."""

    __slots__ = ()

    def __enter__(self) -> None:
        _requests.append(None)

    def __exit__(self, *_: object) -> None:
        _requests.pop()


class WaitMark:
    """Marks that a request waits for work in the background, which then gives way to nobody."""

    __slots__ = ()

    def __enter__(self) -> None:
        _waiting.append(None)

    def __exit__(self, *_: object) -> None:
        _waiting.pop()


ANSWERING, WAITING = RequestMark(), WaitMark()


def start_in_background(work: Callable[[Callable[[], None]], None], name: str, *, goes_first: bool = False) -> None:
    """Do some work in a thread; it is given what to call after each small part of it.

    With `goes_first`, for short work that every request needs, other work in the background gives way to it too.
    """

    def run() -> None:
        if goes_first:
            _first.append(None)
        try:
            work(Turns(goes_first=goes_first).give_way)
        except ProcessEnds:
            pass
        finally:
            if goes_first:
                _first.pop()
            _threads.discard(thread)

    thread = threading.Thread(target=run, name=name, daemon=True)
    _threads.add(thread)
    thread.start()


@atexit.register
def _end() -> None:
    """Let the work end where it is: a thread that the interpreter's end cuts off may abort the process."""
    _is_ending.set()
    until = time.monotonic() + EXIT_SECONDS
    for thread in tuple(_threads):
        thread.join(max(0.0, until - time.monotonic()))
