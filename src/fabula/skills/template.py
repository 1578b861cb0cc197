"""Templates: the last words of a prompt, with a few things filled in.

Somebody else may have written a skill, so its template runs in a sandbox, and that sandbox knows little to begin
with: text, the variables below, conditions, loops over beats, a few filters. Nothing is called, kept in variables
of its own, glued together or looked at from inside, so that nothing can grow and nothing can get out. A template
without anything to fill in is plain text and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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
MOST_LOOPS = 8
MOST_BEATS = 200  # a loop goes over; with the two lines above, no template can keep us busy
FILTERS = frozenset({"capitalize", "default", "first", "join", "last", "length", "lower", "title", "trim", "upper"})

LOOP = ("first", "index", "last", "length")  # what a loop may say of itself


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
    given = {**values, "beats": tuple(values.get("beats", ()))[:MOST_BEATS]}
    try:
        for piece in _compiled(template).generate(**given):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                raise _refused("it makes a text without end", 1)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise _refused(f"it fails: {error or type(error).__name__}", getattr(error, "lineno", None) or 1) from error
    return "".join(pieces).strip("\n")


@lru_cache(maxsize=256)
def _compiled(template: str) -> Template:
    with _readable():
        _looked_through(template)
        return _sandbox().from_string(template)


@lru_cache(maxsize=256)
def _asks(template: str) -> frozenset[str]:
    from jinja2 import meta

    with _readable():
        return frozenset(meta.find_undeclared_variables(_looked_through(template)))


@contextmanager
def _readable() -> Iterator[None]:
    """Whatever a template's text makes the reader stumble over is one refusal."""
    from jinja2 import TemplateError

    try:
        yield
    except (TemplateError, SyntaxError, ValueError, RecursionError, MemoryError, AssertionError) as error:
        line = getattr(error, "lineno", None) if isinstance(error, TemplateError) else None
        raise _refused(f"it cannot be read: {error or type(error).__name__}", line or 1) from error


@lru_cache(maxsize=1)
def _sandbox() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    house = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    house.globals.clear()
    house.filters = {name: one for name, one in house.filters.items() if name in FILTERS}
    house.filters["join"] = _joined
    return house


def _joined(values: Iterable[object], between: str = "") -> str:
    texts = [str(value) for value in values]
    if sum(map(len, texts)) + len(str(between)) * len(texts) > 10 * LONGEST:
        raise ValueError("it joins a text without end")
    return str(between).join(texts)


def _looked_through(template: str) -> nodes.Template:
    """A template as it reads; refused where it holds what it has no need of, before anything is worked out of it."""
    from jinja2 import nodes

    parsed = _sandbox().parse(template)

    known = (
        *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const),
        *(nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Test),
        *(nodes.For, nodes.Filter, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Neg),
    )
    loops = 0

    def walk(node: nodes.Node, depth: int) -> None:
        nonlocal loops
        if not isinstance(node, known):
            raise _refused(f"it may not hold {type(node).__name__.lower()}", node.lineno)
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise _refused(f"the filter {node.name} is not among {', '.join(sorted(FILTERS))}", node.lineno)
        if isinstance(node, nodes.Name) and node.name == "self":
            raise _refused("it may not speak of itself", node.lineno)
        if isinstance(node, nodes.Getattr) and not (
            isinstance(node.node, nodes.Name) and node.node.name == "loop" and node.attr in LOOP
        ):
            raise _refused(f"nothing has parts such as {node.attr}; loop has {', '.join(LOOP)}", node.lineno)
        if isinstance(node, nodes.Getitem) and not _by_number(node.arg):
            raise _refused("things in a row are asked for by number", node.lineno)
        if isinstance(node, nodes.For):
            loops += 1
            depth += 1
            if depth > DEEPEST or loops > MOST_LOOPS or node.recursive:
                raise _refused("its loops go too deep, or there are too many", node.lineno)
            if not _is_beats(node.iter):
                raise _refused("a loop goes over beats and nothing else", node.lineno)
        for child in node.iter_child_nodes():
            walk(child, depth)

    walk(parsed, 0)
    return parsed


def _by_number(place: nodes.Expr) -> bool:
    from jinja2 import nodes

    parts = [place.start, place.stop, place.step] if isinstance(place, nodes.Slice) else [place]
    inner = [part.node if isinstance(part, nodes.Neg) else part for part in parts if part is not None]
    return all(isinstance(part, nodes.Const) and type(part.value) is int for part in inner)


def _is_beats(said: nodes.Node) -> bool:
    """`beats`, or some of them: `beats[:3]`."""
    from jinja2 import nodes

    whole = said.node if isinstance(said, nodes.Getitem) and isinstance(said.arg, nodes.Slice) else said
    return isinstance(whole, nodes.Name) and whole.name == "beats"


def _refused(why: str, line: int) -> FabulaError:
    return FabulaError(Code.SKILL_INVALID, f"A template is not used: {why}.", line=line)
