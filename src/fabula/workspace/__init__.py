"""The workspace: the use cases that every interface calls.

`Workspace` opens a store and its projects, `open_read_only` a sample, a folder or a file; both give a `ProjectHandle`,
which has a verb for each thing a person can do. A name is imported when it is first used, so that a small command
starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.read_only import open_read_only, open_view
    from fabula.workspace.workspace import Workspace
    from fabula.workspace.writing import Writer
    from fabula.workspace.writing_options import ModelChoice, WritingOptions

_HOMES = {
    "ModelChoice": "writing_options",
    "ProjectHandle": "project",
    "Workspace": "workspace",
    "Writer": "writing",
    "WritingOptions": "writing_options",
    "open_read_only": "read_only",
    "open_view": "read_only",
}

__all__ = ["ModelChoice", "ProjectHandle", "Workspace", "Writer", "WritingOptions", "open_read_only", "open_view"]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
