"""Saves: save a whole project to one readable file, check it and load it (sav-2)."""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.store.save.checking import SaveReport, verify_save
    from fabula.store.save.loading import LoadResult, list_project_backups, load_save
    from fabula.store.save.manifest import SaveManifest
    from fabula.store.save.saving import save_project
    from fabula.store.save.secrets import is_secret_name

__all__ = [
    "LoadResult",
    "SaveManifest",
    "SaveReport",
    "is_secret_name",
    "list_project_backups",
    "load_save",
    "save_project",
    "verify_save",
]

__getattr__ = import_lazily(
    __name__,
    {
        "LoadResult": "fabula.store.save.loading",
        "SaveManifest": "fabula.store.save.manifest",
        "SaveReport": "fabula.store.save.checking",
        "is_secret_name": "fabula.store.save.secrets",
        "list_project_backups": "fabula.store.save.loading",
        "load_save": "fabula.store.save.loading",
        "save_project": "fabula.store.save.saving",
        "verify_save": "fabula.store.save.checking",
    },
)
