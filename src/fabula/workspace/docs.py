"""Write `docs/verbs.md` from the classes of the workspace: `python -m fabula.workspace.docs [FILE]`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from fabula.workspace.account import AccountVerbs
from fabula.workspace.people import PeopleVerbs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.settings import SettingVerbs
from fabula.workspace.verbs import LazyVerbs
from fabula.workspace.workspace import Workspace
from fabula.workspace.writing_options import ModelWish

_INTRODUCTION = """\
# Verbs

Generated from the classes of `fabula.workspace` by `python -m fabula.workspace.docs`; do not edit.

A verb is what a person can do. It is one transaction, takes and returns plain values, and accepts a thing by whatever \
a person calls it: its id, name, alias or number, or an unambiguous beginning of its name. Arguments are checked \
(`CONTEXT_REQUEST_INVALID` names the wrong one), and `workspace.undo()` takes back what changed something. See [the \
library](library.md) for examples; `help(project.codex.add)` has the whole text of a verb.
"""
_UNPACKED = re.compile(r"Unpack\[(\w+)\]")


class _Written(str):
    """A type as its annotation is written."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def list_subjects() -> dict[str, type]:
    """Return the classes that have verbs, by how they are reached from a workspace."""
    names = [name for name, value in vars(ProjectHandle).items() if isinstance(value, LazyVerbs)]
    return {
        "workspace": Workspace,
        "workspace.account(principal)": AccountVerbs,
        "workspace.people": PeopleVerbs,
        "workspace.settings(project)": SettingVerbs,
        "project": ProjectHandle,
        **{f"project.{name}": getattr(ProjectHandle, name) for name in sorted(names)},
    }


def list_verbs(kind: type) -> dict[str, Any]:
    """Return the public methods and properties of a class, by name; those that it inherits come first."""
    return {
        name: value
        for one in reversed(kind.__mro__)
        for name, value in vars(one).items()
        if not name.startswith("_") and isinstance(value, FunctionType | classmethod | property | cached_property)
    }


def write_page() -> str:
    """Write the page as Markdown."""
    return "\n".join([_INTRODUCTION, *_write_subjects()])


def _write_subjects() -> Iterator[str]:
    for path, kind in list_subjects().items():
        yield f"## `{path}`\n"
        yield f"{_read_first_line(kind)}\n"
        for name, value in list_verbs(kind).items():
            yield from _write_verb(name, value)
        yield ""


def _write_verb(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, property | cached_property):
        yield f"- `{name}`: {_read_first_line(value)}"
        return
    function = inspect.unwrap(getattr(value, "__func__", value))
    signature = inspect.signature(function)
    given = [
        one.replace(annotation=_Written(_UNPACKED.sub(r"\1", str(one.annotation))))
        for one in signature.parameters.values()
        if one.name not in ("self", "cls")
    ]
    shown = signature.replace(parameters=given, return_annotation=_Written(signature.return_annotation))
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    yield f"- `{prefix}{name}{shown}`: {_read_first_line(function)}"
    for one in signature.parameters.values():
        unpacked = _UNPACKED.fullmatch(str(one.annotation))
        if unpacked:
            fields = {**function.__globals__, "ModelWish": ModelWish}[unpacked[1]].__annotations__
            names = ", ".join(f"`{field}: {kind.__forward_arg__}`" for field, kind in fields.items())
            yield f"  - `{unpacked[1]}`: {names}"


def _read_first_line(described: Any) -> str:
    return (inspect.getdoc(described) or "").partition("\n")[0]


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/verbs.md").write_text(write_page(), encoding="utf-8")
