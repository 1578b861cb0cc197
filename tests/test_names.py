"""Names and docstrings of the package: one public name for one thing, and a first line for everything public.

Only the syntax tree is read, so the check also works while a module cannot be imported. Migrations are left out:
they are history.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "fabula"
MIN_WORDS = 3  # of the first line of a docstring

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax tree of every module, by its path inside the package."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts)
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text("utf-8")) for path in paths}


def is_public(name: str) -> bool:
    return not name.startswith("_")


def public_definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Public classes and functions of a module, and public methods of its classes, by dotted name."""
    for node in body:
        if isinstance(node, Definition) and is_public(node.name):
            yield f"{prefix}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body, f"{prefix}{node.name}.")


def decorators(node: Definition) -> set[str]:
    names = set()
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        names.add(called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", ""))
    return names


def needs_docstring(node: Definition) -> bool:
    """Properties, overrides and overloads are exempt; a stub of a protocol says enough by its signature."""
    if isinstance(node, ast.ClassDef):
        return True
    exempt = {"property", "cached_property", "setter", "override", "overload"} & decorators(node)
    last = node.body[-1]
    is_stub = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is ...
    return not exempt and not is_stub


def flaw(node: ast.Module | Definition) -> str | None:
    """What is wrong with a docstring, or None."""
    text = (ast.get_docstring(node) or "").strip()
    if not text:
        return "no docstring"
    first_line = text.splitlines()[0]
    if len(first_line.split()) < MIN_WORDS:
        return f"too short: {first_line!r}"
    return None if first_line.rstrip('`"”)').endswith((".", "?", "!", "…", ":")) else f"no sentence: {first_line!r}"


def test_no_two_public_classes_share_a_name() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and is_public(node.name):
                homes[node.name].append(path)
    shared = [f"{name}: {', '.join(paths)}" for name, paths in sorted(homes.items()) if len(paths) > 1]
    assert not shared, "\n" + "\n".join(shared)


def test_everything_public_has_a_docstring_that_begins_with_a_sentence() -> None:
    flaws: list[str] = []
    for path, tree in modules().items():
        stem = Path(path).parent.name if path.endswith("__init__.py") else Path(path).stem
        if (is_public(stem) or stem == "__main__") and (problem := flaw(tree)):
            flaws.append(f"{path}: {problem}")
        for name, node in public_definitions(tree.body):
            if needs_docstring(node) and (problem := flaw(node)):
                flaws.append(f"{path}:{node.lineno} {name}: {problem}")
    assert not flaws, "\n" + "\n".join(flaws)


def packages() -> list[str]:
    """The dotted name of every package."""
    inits = (path for path in PACKAGE.rglob("__init__.py") if "migrations" not in path.parts)
    return sorted(".".join(path.parent.relative_to(PACKAGE.parent).parts) for path in inits)


@pytest.mark.parametrize("name", packages())
def test_every_package_lists_its_public_names(name: str) -> None:
    package = import_module(name)
    assert isinstance(package.__all__, list)
    missing = [one for one in package.__all__ if not hasattr(package, one) and find_spec(f"{name}.{one}") is None]
    assert not missing  # a public name, or a module
