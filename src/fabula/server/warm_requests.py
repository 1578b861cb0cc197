"""Which prompts are made on the event loop: those that this process has made a moment ago, where nothing is new.

A warm assembly takes less time than handing it to a thread and back. It is warm where the project's view is in memory,
and where the same document was read for the same model by an assembly that took little time. Whether the view is at the
versions of the store comes with the continuity, in one statement; where it is not, nothing was made, and the request
begins anew. Everything else happens in a thread: the first prompt of a document, of a long unsaved text, of a
conversation, beside an index that is being built, with a search by meaning, and on PostgreSQL, which is asked over a
network. A request that took too long is no longer warm.
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
MAX_SECONDS = 0.010  # of the processor that it takes
_MAX_PROJECTS = 1_000

Answer = TypeVar("Answer")


class WarmRequests:
    """The documents whose prompts are warm, by project and user, of the present view."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, str], tuple[ref[View], set[str]]] = OrderedDict()

    def find_project(self, project_id: object, access: Access, body: bytes, verb: str = "") -> ProjectHandle | None:
        """Open a project whose prompts were made before, as it is in memory; None where it cannot be done at once."""
        if len(body) > MAX_BODY or not isinstance(project_id, str) or (project_id, access.user) not in self._known:
            return None
        return self._workspace.find_warm_project(project_id, access.make_principal(project_id, verb=verb))

    def is_warm(self, call: Call) -> bool:
        """Whether the prompt of a call, with a project that was found here, can be made on the event loop."""
        key, known = _name_prompt(call), self._known.get((call.handle.id, call.access.user))
        return key is not None and known is not None and known[0]() is call.handle.view and key in known[1]

    def make(self, call: Call, make: Callable[[], Answer], *, is_warm: bool) -> Answer:
        """Make the prompt of a call, and note whether the next one of its kind is warm."""
        start = time.thread_time()  # other threads and programs that take the processor meanwhile do not count
        answer = make()
        is_quick = time.thread_time() - start <= MAX_SECONDS
        if is_quick is not is_warm:
            self._note(call, is_quick=is_quick)
        return answer

    def _note(self, call: Call, *, is_quick: bool) -> None:
        key, project = _name_prompt(call), self._workspace.find_warm_project(call.handle.id, call.handle.principal)
        if key is None or project is None:
            return
        owner, view = (project.id, call.access.user), project.view
        with self._lock:
            before = self._known.pop(owner, None)
            keys = before[1] if before is not None and before[0]() is view else set[str]()
            if is_quick:
                keys.add(key)
            else:
                keys.discard(key)
            self._known[owner] = (ref(view), keys)
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
