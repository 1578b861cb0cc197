"""The server: the workspace over HTTP (ppl-2). It parses, calls one verb, and encodes; it has no rules of its own.

`routes/` lists what there is, `handlers.py` makes handlers of it, `access.py` says who may do what, and `problems.py`
how a refusal looks. `make_app` puts them together.
"""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.server.access import Access
    from fabula.server.app import make_app

__all__ = ["Access", "make_app"]

__getattr__ = import_lazily(
    __name__,
    {
        "Access": "fabula.server.access",
        "make_app": "fabula.server.app",
    },
)
