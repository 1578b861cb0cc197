"""Rename: change a name everywhere in a project, with preview and undo (man-4)."""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.workspace.rename.rename import RenamePlace, UndoneRename, apply_rename, preview_rename, undo_rename

__all__ = ["RenamePlace", "UndoneRename", "apply_rename", "preview_rename", "undo_rename"]

__getattr__ = import_lazily(
    __name__,
    {
        "RenamePlace": "fabula.workspace.rename.rename",
        "UndoneRename": "fabula.workspace.rename.rename",
        "apply_rename": "fabula.workspace.rename.rename",
        "preview_rename": "fabula.workspace.rename.rename",
        "undo_rename": "fabula.workspace.rename.rename",
    },
)
