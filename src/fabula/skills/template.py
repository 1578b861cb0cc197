"""Templates of skills: validates and renders Jinja templates in a sandbox with a small vocabulary.

Anybody may have written a skill, so its template may use only text, the variables below, conditions, loops over beats
and a few filters. It cannot call functions, assign variables, concatenate or read attributes: so it can neither grow
without bound nor escape from the sandbox. A template without placeholders is plain text and does not import Jinja.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message

if TYPE_CHECKING:
    from jinja2 import Template, nodes
    from jinja2.sandbox import SandboxedEnvironment

# The variables of a template and their meaning; a test compares them with `docs/skills.md`.
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
    "reader_language": "the language of whoever reads what the model explains: en or zh",
}
MAX_CHARACTERS = 20_000  # of a template, and of its output beyond the values filled in
MAX_LOOP_DEPTH = 2
MAX_LOOPS = 8
MAX_NESTING = 40  # of expressions and blocks; compiling takes cubic time
MAX_BEATS = 200  # of a loop; the three limits together bound the time of rendering
FILTERS = frozenset({"capitalize", "default", "first", "join", "last", "length", "lower", "title", "trim", "upper"})

LOOP_ATTRIBUTES = ("first", "index", "last", "length")  # of the variable `loop`


def has_placeholders(template: str) -> bool:
    """Whether a template contains anything to render."""
    return "{{" in template or "{%" in template or "{#" in template


def find_variables(template: str) -> frozenset[str]:
    """Find the variables that a template uses."""
    return _parse_variables(template) if has_placeholders(template) else frozenset()


def validate_template(template: str) -> None:
    """Refuse an invalid template; `line` in the details of the error counts from its beginning."""
    if len(template) > MAX_CHARACTERS:
        raise _invalid_template(message("it is longer than {limit:,} characters", limit=MAX_CHARACTERS), 1)
    if has_placeholders(template):
        unknown = sorted(_parse_variables(template) - set(VARIABLES))
        if unknown:
            lines = enumerate(template.splitlines(), 1)
            line = next((number for number, text in lines if any(name in text for name in unknown)), 1)
            problem = message(
                "it uses {unknown}. There are: {names}", unknown=join_names(unknown), names=join_names(list(VARIABLES))
            )
            raise _invalid_template(problem, line)
        _compile(template)


def render_template(template: str, values: Mapping[str, Any]) -> str:
    """Render a template with values for its variables."""
    if not has_placeholders(template):
        return template
    from jinja2 import TemplateError

    remaining = MAX_CHARACTERS + sum(len(value) for value in values.values() if isinstance(value, str))
    pieces: list[str] = []
    arguments = {**values, "beats": tuple(values.get("beats", ()))[:MAX_BEATS]}
    try:
        for piece in _compile(template).generate(**arguments):
            pieces.append(piece)
            remaining -= len(piece)
            if remaining < 0:
                raise _invalid_template(message("it makes a text without end"), 1)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError) as error:
        problem = message("it fails: {error}", error=error or type(error).__name__)
        raise _invalid_template(problem, getattr(error, "lineno", None) or 1) from error
    return "".join(pieces).strip("\n")


@lru_cache(maxsize=256)
def _compile(template: str) -> Template:
    with _refusing_errors():
        _parse(template)
        return _sandbox().from_string(template)


@lru_cache(maxsize=256)
def _parse_variables(template: str) -> frozenset[str]:
    from jinja2 import meta

    with _refusing_errors():
        return frozenset(meta.find_undeclared_variables(_parse(template)))


@contextmanager
def _refusing_errors() -> Iterator[None]:
    """Turn any error of Jinja on the text of a template into a refusal."""
    from jinja2 import TemplateError

    try:
        yield
    except (TemplateError, SyntaxError, ValueError, RecursionError, MemoryError, AssertionError) as error:
        line = getattr(error, "lineno", None) if isinstance(error, TemplateError) else None
        problem = message("it cannot be read: {error}", error=error or type(error).__name__)
        raise _invalid_template(problem, line or 1) from error


@lru_cache(maxsize=1)
def _sandbox() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.clear()
    environment.filters = {name: filter_ for name, filter_ in environment.filters.items() if name in FILTERS}
    environment.filters["join"] = _join
    return environment


def _join(values: Iterable[object], separator: str = "") -> str:
    """The filter `join` with a bound on its output."""
    texts = [str(value) for value in values]
    if sum(map(len, texts)) + len(str(separator)) * len(texts) > 10 * MAX_CHARACTERS:
        raise ValueError("it joins a text without end")
    return str(separator).join(texts)


def _parse(template: str) -> nodes.Template:
    """Parse a template and refuse any node that is not in the vocabulary, before anything is evaluated."""
    from jinja2 import nodes

    parsed = _sandbox().parse(template)
    allowed = (
        *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const),
        *(nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Test),
        *(nodes.For, nodes.Filter, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Neg),
    )
    loops = 0

    def walk(node: nodes.Node, depth: int, nesting: int) -> None:
        nonlocal loops
        problem = _find_problem(node, allowed)
        if nesting > MAX_NESTING:
            problem = message("it is nested more than {depth} levels deep", depth=MAX_NESTING)
        if isinstance(node, nodes.For):
            loops += 1
            depth += 1
            if depth > MAX_LOOP_DEPTH or loops > MAX_LOOPS or node.recursive:
                problem = message("its loops go too deep, or there are too many")
        if problem is not None:
            raise _invalid_template(problem, node.lineno)
        for child in node.iter_child_nodes():
            walk(child, depth, nesting + 1)

    walk(parsed, 0, 0)
    return parsed


def _find_problem(node: nodes.Node, allowed: tuple[type[nodes.Node], ...]) -> Sentence | None:
    """Why a node may not be in a template."""
    from jinja2 import nodes

    if not isinstance(node, allowed) or (isinstance(node, nodes.Name) and node.name == "self"):
        return message("it may not contain {name}", name=getattr(node, "name", type(node).__name__.lower()))
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        names = join_names(sorted(FILTERS))
        return message("there is no filter {name}. There are: {names}", name=node.name, names=names)
    if isinstance(node, nodes.Getattr) and not (
        isinstance(node.node, nodes.Name) and node.node.name == "loop" and node.attr in LOOP_ATTRIBUTES
    ):
        names = join_names(LOOP_ATTRIBUTES)
        return message("nothing has the attribute {name}. A loop has: {names}", name=node.attr, names=names)
    if isinstance(node, nodes.Const) and isinstance(node.value, float) and not isfinite(node.value):
        return message("a number in it is too large")
    if isinstance(node, nodes.Getitem) and not _is_number(node.arg):
        return message("an index must be a number")
    if isinstance(node, nodes.For) and not _is_beats(node.iter):
        return message("a loop can only go over beats")
    return None


def _is_number(index: nodes.Expr) -> bool:
    """Whether an index is an integer constant, or a slice of such."""
    from jinja2 import nodes

    parts = [index.start, index.stop, index.step] if isinstance(index, nodes.Slice) else [index]
    inner = [part.node if isinstance(part, nodes.Neg) else part for part in parts if part is not None]
    return all(isinstance(part, nodes.Const) and type(part.value) is int for part in inner)


def _is_beats(node: nodes.Node) -> bool:
    """Whether a node is `beats` or a slice of it, such as `beats[:3]`."""
    from jinja2 import nodes

    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        node = node.node
    return isinstance(node, nodes.Name) and node.name == "beats"


def _invalid_template(why: Sentence, line: int) -> FabulaError:
    return FabulaError(Code.SKILL_INVALID, message("A template cannot be used: {why}.", why=why), why=why, line=line)
