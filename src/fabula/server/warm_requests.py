"""Which prompts are made on the event loop: those that this process has made a moment ago, where nothing is new.

A warm assembly takes less time than handing it to a thread and back. It is warm where the project's view is in memory,
and where the same document was read for the same model by an assembly that took little time. Whether the view is at the
versions of the store comes with the continuity, in one statement; where it is not, nothing was made, and the request
begins anew. Everything else happens in a thread: the first prompt of a document, of a long unsaved text, of a
conversation, beside an index that is being built, with a search by meaning, and on PostgreSQL, which is asked over a
network. A request that took too long is no longer warm.

What counts is the time of the processor, so that other programs and threads make no prompt cold. To ask for it costs
several times as much as to ask a clock, which is enough for a prompt that took little time in any case. So a warm
prompt is timed by the clock; the next one of its kind is timed by the processor where that was too long.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TypeVar
from weakref import ref

from fabula.core.view import View
from fabula.server.access import Access
from fabula.server.routes.route import Call
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.context import AssembleRequest
from fabula.workspace.workspace import Workspace

MAX_BODY = 4_000  # bytes of a request that is made on the loop
MAX_SECONDS = 0.010  # that it takes
_MAX_PROJECTS = 1_000

Answer = TypeVar("Answer")
Timer = Callable[[], float]  # the clock, or the time that the processor spent on the thread


class WarmRequests:
    """The documents whose prompts are warm, by project and user, of the present view."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, str], tuple[ref[View], dict[str, Timer]]] = OrderedDict()

    def find_project(self, project_id: object, access: Access, body: bytes, verb: str = "") -> ProjectHandle | None:
        """Open a project whose prompts were made before, as it is in memory; None where it cannot be done at once."""
        if len(body) > MAX_BODY or not isinstance(project_id, str) or (project_id, access.user) not in self._known:
            return None
        return self._workspace.find_warm_project(project_id, access.make_principal(project_id, verb=verb))

    def find_timer(self, call: Call) -> Timer | None:
        """What a prompt is timed by that can be made on the event loop, of a project that was found here; else None."""
        key, known = _name_prompt(call), self._known.get((call.handle.id, call.access.user))
        if key is None or known is None or known[0]() is not call.handle.view:
            return None
        return known[1].get(key)

    def make(self, call: Call, make: Callable[[], Answer], timer: Timer | None) -> Answer:
        """Make the prompt of a call, and note whether the next one of its kind is warm; without a timer, it was not."""
        measure = timer or time.thread_time
        start = measure()
        answer = make()
        if measure() - start > MAX_SECONDS:
            self._note(call, None if measure is time.thread_time else time.thread_time)
        elif timer is not time.perf_counter:
            self._note(call, time.perf_counter)
        return answer

    def _note(self, call: Call, timer: Timer | None) -> None:
        """Note what the next prompt of the same kind is timed by; None where it is not warm."""
        key, project = _name_prompt(call), self._workspace.find_warm_project(call.handle.id, call.handle.principal)
        if key is None or project is None:
            return
        owner, view = (project.id, call.access.user), project.view
        with self._lock:
            before = self._known.pop(owner, None)
            timers = before[1] if before is not None and before[0]() is view else dict[str, Timer]()
            if timer is not None:
                timers[key] = timer
            else:
                timers.pop(key, None)
            self._known[owner] = (ref(view), timers)
            if len(self._known) > _MAX_PROJECTS:
                self._known.popitem(last=False)


def _name_prompt(call: Call) -> str | None:
    """What a prompt's cost depends on; None where it is not made on the loop."""
    request = call.arguments.get("request")
    if not isinstance(request, AssembleRequest) or request.conversation_id or request.attachments:
        return None
    if request.project_id not in ("", call.handle.id, call.handle.view.project.title):  # the store finds the project
        return None
    return "\x1f".join((request.document_id, request.model, request.recipe, str(request.window), str(request.encoding)))
