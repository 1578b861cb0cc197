"""Stored continuity: what one request hands to the next, kept in the store across processes (ctx-8)."""

from fabula.continuity.edits import (
    ContinuityKey,
    clear,
    commit,
    commit_assembly,
    load,
    load_prefix,
    record_assemblies,
    save_prefixes,
)

__all__ = [
    "ContinuityKey",
    "clear",
    "commit",
    "commit_assembly",
    "load",
    "load_prefix",
    "record_assemblies",
    "save_prefixes",
]
