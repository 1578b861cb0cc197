"""Templates: the last words of a prompt, with a few things filled in.

Somebody else may have written a skill, so its template runs in a sandbox: no attributes with underscores, no
imports, no macros, no calls, a few filters, loops and results within bounds. A template without anything to
fill in is plain text and costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from jinja2 import Template, nodes
    from jinja2.sandbox import SandboxedEnvironment

# What a template may use, and what each stands for; `docs/skills.md` lists them, and a test compares.
VARIABLES: Mapping[str, str] = {
    "instruction": "what the writer asked for in their own words, or nothing",
    "selection": "the selected text, or nothing",
    "beat": "the next beat of the outline that is not done yet, or nothing",
    "beats": "all beats of this document that are not done yet",
    "title": "the document's title",
    "chapter": "the number of its chapter, or nothing",
    "pov": "the character whose scene it is, or nothing",
    "project": "the project's title",
    "language": "the project's language: en or zh",
}
LONGEST = 20_000  # characters of a template, and of what it makes beyond what is filled in
DEEPEST = 2  # loops within loops
FILTERS = frozenset({"capitalize", "default", "first", "join", "last", "length", "lower", "title", "trim", "upper"})


def fills_in(template: str) -> bool:
    """Is there anything to fill in?"""
    return "{{" in template or "{%" in template or "{#" in template


def uses(template: str) -> frozenset[str]:
    """The variables a template asks for."""
    if not fills_in(template):
        return frozenset()
    return _asks(template)


def check(template: str) -> None:
    """Refuse a template that cannot be used; `line` in the error's details counts within it."""
    if len(template) > LONGEST:
        raise _refused(f"it is longer than {LONGEST} characters", 1)
    if fills_in(template):
        strange = _asks(template) - set(VARIABLES)
        if strange:
            line = next((n for n, text in enumerate(template.splitlines(), 1) if any(s in text for s in strange)), 1)
            raise _refused(f"it asks for {', '.join(sorted(strange))}. There are: {', '.join(VARIABLES)}", line)
        _compiled(template)


def render(template: str, values: Mapping[str, Any]) -> str:
    """The template with its blanks filled in."""
    if not fills_in(template):
        return template
    from jinja2 import TemplateError

    room = LONGEST + sum(len(value) for value in values.values() if isinstance(value, str))
    pieces: list[str] = []
    try:
        for piece in _compiled(template).generate(**values):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                raise _refused("it makes a text without end", 1)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise _refused(f"it fails: {error}", getattr(error, "lineno", None) or 1) from error
    return "".join(pieces).strip("\n")


@lru_cache(maxsize=256)
def _compiled(template: str) -> Template:
    from jinja2 import TemplateError

    house = _sandbox()
    _look_through(house, template)
    try:
        return house.from_string(template)
    except (TemplateError, ValueError, RecursionError) as error:
        raise _refused(f"it cannot be read: {error}", getattr(error, "lineno", None) or 1) from error


@lru_cache(maxsize=256)
def _asks(template: str) -> frozenset[str]:
    from jinja2 import meta

    return frozenset(meta.find_undeclared_variables(_parsed(_sandbox(), template)))


@lru_cache(maxsize=1)
def _sandbox() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """Without growth: nothing is multiplied or raised to powers."""

        intercepted_binops = frozenset({"*", "**", "%"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            small = all(isinstance(side, int | float) and abs(side) < 1e6 for side in (left, right))
            if operator == "**" or not small:
                raise ValueError(f"{operator} is for small numbers only")
            return SandboxedEnvironment.call_binop(self, context, operator, left, right)

    house = Sandbox(undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True)
    house.globals.clear()
    return house


def _parsed(house: SandboxedEnvironment, template: str) -> nodes.Template:
    from jinja2 import TemplateSyntaxError

    try:
        return house.parse(template)
    except (TemplateSyntaxError, RecursionError) as error:
        raise _refused(f"it cannot be read: {error}", getattr(error, "lineno", None) or 1) from error


def _look_through(house: SandboxedEnvironment, template: str) -> None:
    """Refuse what a template has no need of."""
    from jinja2 import nodes

    unwanted = (
        nodes.Macro,
        nodes.Import,
        nodes.FromImport,
        nodes.Include,
        nodes.Extends,
        nodes.CallBlock,
        nodes.Block,
        nodes.Call,
    )

    def walk(node: nodes.Node, depth: int) -> None:
        if isinstance(node, unwanted):
            raise _refused(f"it may not hold {type(node).__name__.lower()}", node.lineno)
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise _refused(f"the filter {node.name} is not among {', '.join(sorted(FILTERS))}", node.lineno)
        depth += isinstance(node, nodes.For)
        if depth > DEEPEST or (isinstance(node, nodes.For) and node.recursive):
            raise _refused("its loops go too deep", node.lineno)
        for child in node.iter_child_nodes():
            walk(child, depth)

    walk(_parsed(house, template), 0)


def _refused(why: str, line: int) -> FabulaError:
    return FabulaError(Code.SKILL_INVALID, f"A template is not used: {why}.", line=line)
