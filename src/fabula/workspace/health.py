"""Check a store and a save without changing either."""

from __future__ import annotations

from collections.abc import Callable

from fabula.store.doctor import CHECKS, HealthFinding, examine
from fabula.store.save.checking import verify_save
from fabula.store.store import Store

__all__ = ["examine_store", "verify_save"]

Progress = Callable[[int, int], None]


def examine_store(location: str | None, *, progress: Progress) -> tuple[str, list[HealthFinding]]:
    """Run every check on a store as it is; return where it is, and the findings."""
    store = Store.open(location, inspect_only=True)
    try:
        findings = []
        for found in examine(store):
            findings.append(found)
            progress(len(findings), len(CHECKS))
        return str(store.file or store.engine.url.render_as_string()), findings
    finally:
        store.close()
