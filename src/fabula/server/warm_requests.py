"""Which prompts are made on the event loop: those that this process has made a moment ago, where nothing is new.

A warm assembly takes less time than handing it to a thread and back. It is warm where the project's view is in memory
and at the versions of the store, and where the same document was read for the same model by an assembly that took
little time. Everything else happens in a thread: the first prompt of a document, of a long unsaved text, of a
conversation, beside an index that is being built, with a search by meaning, and on PostgreSQL, which is asked over a
network. A request that took too long is no longer warm.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from fabula.server.routes.route import Call
from fabula.workspace.schemas.context import AssembleRequest
from fabula.workspace.workspace import Workspace

MAX_BODY = 4_000  # bytes of a request that is made on the loop
MAX_SECONDS = 0.010  # of processor time
_MAX_PROJECTS = 1_000

Answer = TypeVar("Answer")


class WarmRequests:
    """The documents whose prompts are warm, by project and user, at the versions of the store."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, str], tuple[tuple[int, ...], set[str]]] = OrderedDict()

    def may_be_warm(self, project_id: object, user: str, body: bytes) -> bool:
        """Whether a request is short and of a project whose prompts were made before; it costs next to nothing."""
        return len(body) <= MAX_BODY and (project_id, user) in self._known

    def is_warm(self, call: Call) -> bool:
        """Whether the prompt of a call can be made on the event loop."""
        key, versions = _name_prompt(call), self._find_versions(call)
        known = self._known.get((call.handle.id, call.access.user))
        return key is not None and known is not None and known[0] == versions and key in known[1]

    def make(self, call: Call, make: Callable[[], Answer]) -> Answer:
        """Make the prompt of a call, and note whether the next one of its kind is warm."""
        start = time.thread_time()
        answer = make()
        seconds = time.thread_time() - start
        key, versions = _name_prompt(call), self._find_versions(call)
        if key is None or versions is None:
            return answer
        owner = (call.handle.id, call.access.user)
        with self._lock:
            before = self._known.pop(owner, None)
            keys = before[1] if before is not None and before[0] == versions else set[str]()
            if seconds <= MAX_SECONDS:
                keys.add(key)
            else:
                keys.discard(key)
            self._known[owner] = (versions, keys)
            if len(self._known) > _MAX_PROJECTS:
                self._known.popitem(last=False)
        return answer

    def _find_versions(self, call: Call) -> tuple[int, ...] | None:
        return self._workspace.find_warm_versions(call.handle.id, user=call.access.user)


def _name_prompt(call: Call) -> str | None:
    """What a prompt's cost depends on; None where it is not made on the loop."""
    request = call.arguments.get("request")
    if not isinstance(request, AssembleRequest) or request.conversation_id or request.attachments:
        return None
    return "\x1f".join((request.document_id, request.model, request.recipe, str(request.window), str(request.encoding)))
