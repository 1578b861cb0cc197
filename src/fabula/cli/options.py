"""Options that several commands share: written once, and shown by each as if it were its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., None])


def sharing(options: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Give a command these options, by name and type; it finds those that were said, or None, in its `**said`."""

    def decorate(command: Command) -> Command:
        plain = signature(command, eval_str=True)
        own = [one for one in plain.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        more = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=kind)
            for name, kind in options.items()
        ]
        needed = [one for one in own if one.default is Parameter.empty]
        optional = [one for one in own if one.default is not Parameter.empty]
        shown = [*needed, *more, *optional]
        command.__annotations__ = {one.name: one.annotation for one in shown}
        vars(command)["__signature__"] = plain.replace(parameters=shown)
        return command

    return decorate
