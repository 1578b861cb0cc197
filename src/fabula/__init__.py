"""Fabula: a context engine and writing room for stories made with language models (ppl-2).

`Workspace` opens a store and its projects; `open_read_only` opens a sample, a folder or a file; `Engine` assembles
prompts by itself, from fragments and sources of your own. A name is imported when it is first used, so that
`import fabula` costs next to nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily
from fabula.core.version import __version__

if TYPE_CHECKING:
    from fabula.context import (
        Condition,
        Continuity,
        Engine,
        Fragment,
        FunctionSource,
        Layer,
        Part,
        Preset,
        Request,
        Result,
        Role,
        Source,
        SourceRequest,
        UserProfile,
        View,
    )
    from fabula.context.request import Principal
    from fabula.core.errors import Code, FabulaError
    from fabula.core.story import Perspective, Position
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.read_only import open_read_only
    from fabula.workspace.workspace import Workspace

logging.getLogger("fabula").addHandler(logging.NullHandler())  # a library is quiet unless asked

_HOMES = {
    "Workspace": "fabula.workspace.workspace",
    "ProjectHandle": "fabula.workspace.project",
    "open_read_only": "fabula.workspace.read_only",
    "Code": "fabula.core.errors",
    "FabulaError": "fabula.core.errors",
    "Perspective": "fabula.core.story",
    "Position": "fabula.core.story",
    "Principal": "fabula.context.request",
}

__all__ = [
    "Code",
    "Condition",
    "Continuity",
    "Engine",
    "FabulaError",
    "Fragment",
    "FunctionSource",
    "Layer",
    "Part",
    "Perspective",
    "Position",
    "Preset",
    "Principal",
    "ProjectHandle",
    "Request",
    "Result",
    "Role",
    "Source",
    "SourceRequest",
    "UserProfile",
    "View",
    "Workspace",
    "__version__",
    "open_read_only",
]

__getattr__ = import_lazily(__name__, {name: _HOMES.get(name, "fabula.context") for name in __all__})
