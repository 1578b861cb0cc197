"""Checks what is handed to a verb against the types in its signature, for programs without type checks (ppl-4).

The check stands at the door of every verb, so that a value of another type is refused with a code and the name of the
argument before anything is done. A number where a text is expected counts as its digits, because chapters, messages
and books have numbers; one name counts as a list of one; a table of names and values counts as the struct that it
describes. A text with half a surrogate pair could not be kept, and is refused.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import wraps
from types import FunctionType, UnionType
from typing import Annotated, Any, TypeVar, Union, Unpack, cast, get_args, get_origin

from msgspec import UNSET, Meta, Struct, ValidationError, convert, defstruct

from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import is_encodable
from fabula.core.messages import Sentence, join_names, message
from fabula.core.similar_names import find_similar_names

PositiveInt = Annotated[int, Meta(ge=1)]  # a limit, or a number of things of which there must be one
Title = Annotated[str, Meta(pattern=r"^[^\r\n\u0085\u2028\u2029]*$")]  # of one line

Verb = TypeVar("Verb", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=type)
Choice = TypeVar("Choice", bound=StrEnum)
_Check = Callable[[Any], Any]  # returns the value to pass on
_Reader = tuple[type[Struct], _Check]  # the type that it reads, for explanations

_COLLECTIONS = (list, tuple, set, frozenset, dict)
_PLAIN = (str, int, float, type(None), Struct)  # a value of exactly such a type has nothing that could be wrong


def check_verbs(kind: Kind) -> Kind:
    """Let every public method of a class check its arguments."""
    for name, method in list(vars(kind).items()):
        is_verb = isinstance(method, FunctionType) and not name.startswith("_") and not hasattr(method, "__wrapped__")
        if is_verb and not inspect.iscoroutinefunction(method):
            setattr(kind, name, check_arguments(method))
    return kind


def check_arguments(verb: Verb, *, code: Code = Code.REQUEST_INVALID) -> Verb:
    """Let a method check its arguments before it is run. Its types are read when it is first called."""
    signature: _Signature | None = None

    @wraps(verb)
    def checked(*given: Any, **kwargs: Any) -> Any:
        nonlocal signature
        if signature is None:
            signature = _Signature(verb, code)
        values = list(given)  # the first one is the object whose method it is
        for place, check in enumerate(signature.positional[: len(given) - 1], start=1):
            values[place] = check(values[place])
        if not kwargs:
            return verb(*values)
        checks = signature.checks
        if not signature.is_open and not signature.keywords.issuperset(kwargs):
            raise signature.refuse_unknown(next(name for name in kwargs if name not in signature.keywords))
        named = {name: checks[name](value) if name in checks else value for name, value in kwargs.items()}
        return verb(*values, **named)

    return cast("Verb", checked)


class VerbArgument(Struct, frozen=True):
    """An argument of a verb: its name, its type (None for names that the verb does not list), and its default."""

    name: str
    hint: Any
    default: Any = UNSET
    is_required: bool = False
    is_positional: bool = False


def list_arguments(verb: Callable[..., Any]) -> Iterator[VerbArgument]:
    """List the arguments of a method, without the first one; what a `TypedDict` names can be left out."""
    verb = inspect.unwrap(verb)
    _, *others = inspect.signature(verb).parameters.values()
    for parameter in others:
        hint = _evaluate(parameter.annotation, verb.__globals__)
        if parameter.kind is parameter.VAR_KEYWORD and hint is Any:
            yield VerbArgument(parameter.name, None)
        elif parameter.kind is parameter.VAR_KEYWORD and get_origin(hint) is Unpack:
            fields = get_args(hint)[0]
            for name, one in fields.__annotations__.items():
                yield VerbArgument(name, _evaluate(one.__forward_arg__, vars(sys.modules[fields.__module__])))
        else:
            is_positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            is_required = parameter.default is parameter.empty
            default = UNSET if is_required else parameter.default
            yield VerbArgument(parameter.name, hint, default, is_required, is_positional)


class _Signature:
    """The checks of a verb, by the names of its arguments."""

    def __init__(self, verb: Callable[..., Any], code: Code) -> None:
        self._verb, self._code = verb.__name__, code
        self.positional: list[_Check] = []
        self.is_open = False
        self.checks: dict[str, _Check] = {}
        first, *_ = inspect.signature(verb).parameters
        for argument in list_arguments(verb):
            if argument.hint is None:
                self.is_open = True  # whatever it calls knows the names
                continue
            check = self.checks[argument.name] = self._make_check(argument.name, argument.hint)
            if argument.is_positional:
                self.positional.append(check)
        self.keywords = frozenset({*self.checks, first})

    def _make_check(self, name: str, hint: Any) -> _Check:
        holder, read = _make_reader(name, hint)
        alternatives = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        kinds = {one for one in alternatives if isinstance(one, type) and issubclass(one, _PLAIN)}

        def check(value: Any) -> Any:
            if type(value) in kinds:  # it is taken as it is
                if not isinstance(value, str) or value.isascii():
                    return value
            elif hint is not Any:
                try:
                    value = read(value)
                except ValidationError as error:
                    raise self._refuse(explain_decode_error(error, holder)) from None
            if not _is_encodable(value):
                raise FabulaError(
                    Code.TEXT_INVALID,
                    message("`{name}` holds half a surrogate pair. Remove it. Nothing was changed.", name=name),
                )
            return value

        return check

    def refuse_unknown(self, name: str) -> FabulaError:
        """The refusal of an argument that the verb does not have."""
        near = find_similar_names(name, self.checks, most=1)
        if near:
            return self._refuse(message("there is no {name!r}; the nearest is {near!r}", name=name, near=near[0]))
        known = join_names(list(self.checks))
        return self._refuse(message("there is no {name!r}; there are {known}", name=name, known=known))

    def _refuse(self, reason: Sentence) -> FabulaError:
        return FabulaError(
            self._code,
            message("`{verb}` cannot do that: {reason}. Nothing was changed.", verb=self._verb, reason=reason),
        )


def read_choice(value: str, choices: type[Choice], name: str) -> Choice:
    """Return one of several values by its name; any other is refused with the nearest one."""
    try:
        return convert(value, choices)
    except ValidationError as error:
        text = f"{error} - at `$.{name}`"
        reason = explain_decode_error(ValidationError(text), defstruct("Argument", [(name, choices)]))
        raise FabulaError(Code.REQUEST_INVALID, message("{reason}. Nothing was changed.", reason=reason)) from None


def _evaluate(annotation: Any, names: dict[str, Any]) -> Any:
    """The type that an annotation names; Any where its module imports it for type checks alone."""
    try:
        return eval(annotation, names) if isinstance(annotation, str) else annotation
    except NameError:
        return Any


def _make_reader(name: str, hint: Any) -> _Reader:
    """What reads a value as a type: itself where it has the type, or what it stands for."""
    holder: type[Struct] = defstruct("Argument", [(name, hint)])
    try:
        convert({name: None}, holder)
    except ValidationError:
        pass
    except TypeError:  # a type that msgspec does not know, such as `str | Path`
        classes = _list_classes(hint)
        return holder, lambda value: _check_class(name, value, classes) if classes else value

    def read(value: Any) -> Any:
        failures: list[ValidationError] = []
        for reading in (value, *_list_readings(value)):
            try:
                converted = getattr(convert({name: reading}, holder), name)
            except ValidationError as error:
                failures.append(error)
            else:  # a collection may be filled by the verb, so that its copy will not do
                return reading if isinstance(converted, _COLLECTIONS) else converted
        raise failures[0]

    return holder, read


def _list_readings(value: Any) -> Iterator[Any]:
    """What else a value may stand for: a number for its digits, one name for a list of one."""
    if type(value) is int:
        yield from (str(value), [str(value)])
    elif isinstance(value, str):
        yield [value]
    elif isinstance(value, list | tuple):
        yield [str(one) if type(one) is int else one for one in value]


def _list_classes(hint: Any) -> tuple[type, ...]:
    """The classes of a union, without what is inside of them; none where one of them is no class or a protocol."""
    classes = [get_origin(one) or one for one in get_args(hint)]
    can_be_checked = all(isinstance(one, type) and not getattr(one, "_is_protocol", False) for one in classes)
    return tuple(classes) if can_be_checked else ()


def _check_class(name: str, value: Any, classes: tuple[type, ...]) -> Any:
    if isinstance(value, classes):
        return value
    expected = " | ".join("null" if one is type(None) else one.__name__ for one in classes)
    raise ValidationError(f"Expected `{expected}`, got `{type(value).__name__}` - at `$.{name}`")


def _is_encodable(value: Any) -> bool:
    """Whether every text in a value can be encoded."""
    if isinstance(value, str):
        return is_encodable(value)
    if isinstance(value, Mapping):
        return all(map(_is_encodable, value.items()))
    return not isinstance(value, _COLLECTIONS) or all(map(_is_encodable, value))


def to_camel(name: str) -> str:
    """Return the name of an argument or a field as JSON has it."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
