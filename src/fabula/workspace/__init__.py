"""The workspace: the use cases that every interface calls.

`Workspace` opens a store and its projects, `open_read_only` a sample, a folder or a file; both give a `ProjectHandle`,
which has a verb for each thing a person can do. A name is imported when it is first used, so that a small command
starts at once.
"""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.read_only import open_read_only, open_view, read_view
    from fabula.workspace.schemas.saves import LoadChoices
    from fabula.workspace.workspace import Workspace
    from fabula.workspace.writing import Completed, Failed, Retry, TextDelta, Writer
    from fabula.workspace.writing_options import ModelChoice, WritingOptions

__all__ = [
    "Completed",
    "Failed",
    "LoadChoices",
    "ModelChoice",
    "ProjectHandle",
    "Retry",
    "TextDelta",
    "Workspace",
    "Writer",
    "WritingOptions",
    "open_read_only",
    "open_view",
    "read_view",
]

__getattr__ = import_lazily(
    __name__,
    {
        "Completed": "fabula.workspace.writing",
        "Failed": "fabula.workspace.writing",
        "LoadChoices": "fabula.workspace.schemas.saves",
        "ModelChoice": "fabula.workspace.writing_options",
        "ProjectHandle": "fabula.workspace.project",
        "Retry": "fabula.workspace.writing",
        "TextDelta": "fabula.workspace.writing",
        "Workspace": "fabula.workspace.workspace",
        "Writer": "fabula.workspace.writing",
        "WritingOptions": "fabula.workspace.writing_options",
        "open_read_only": "fabula.workspace.read_only",
        "open_view": "fabula.workspace.read_only",
        "read_view": "fabula.workspace.read_only",
    },
)
