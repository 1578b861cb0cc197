"""The modes there are: those built in, and those that installed packages offer by entry point (cht-4).

A package offers a mode under the entry point group `fabula.modes`; the built-in ones are registered there too. A mode
is loaded when a conversation uses it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points

import msgspec

from fabula.conversation.modes.model import ContextPolicy, Mode
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.text.lookup import find_by_name

GROUP = "fabula.modes"
DEFAULT_MODE = "free_chat"
# The same as in `pyproject.toml`, for a source tree whose package is not installed.
BUILT_IN_MODES = {
    "free_chat": "fabula.conversation.modes.model:Mode",
    "group": "fabula.conversation.modes.group:GroupMode",
    "quiz": "fabula.conversation.modes.quiz:QuizMode",
    "werewolf": "fabula.conversation.modes.werewolf:WerewolfMode",
    "workflow": "fabula.conversation.modes.workflow:WorkflowMode",
}


def list_modes() -> dict[str, EntryPoint]:
    """Return where each mode is found, by name; no package replaces one that is built in."""
    found = {one.name: one for one in entry_points(group=GROUP)}
    return found | {name: EntryPoint(name, value, GROUP) for name, value in BUILT_IN_MODES.items()}


def find_mode_name(name: str, own: Collection[str] = ()) -> str:
    """Return the name of the mode that a spelling means, among `own` ones too; an unknown one is refused."""
    if name in BUILT_IN_MODES or name in own:
        return name
    return find_by_name(
        sorted({*list_modes(), *own}),
        name,
        what=message("mode"),
        id_of=str,
        names_of=lambda one: (one,),
        number_of=lambda one: None,
        label_of=str,
        code=Code.MODE_UNKNOWN,
    )


def load_mode(name: str) -> Mode:
    """Load the mode of a name; one that cannot be loaded, or is none, is refused."""
    built_in = BUILT_IN_MODES.get(name)  # looking through all installed packages takes a while
    found = EntryPoint(name, built_in, GROUP) if built_in else list_modes()[find_mode_name(name)]
    try:
        loaded = found.load()
        mode = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:
        raise FabulaError(
            Code.MODE_FAILED,
            message(
                "The mode {name!r} could not be loaded ({error}). Check the package that offers it. "
                "Nothing was changed.",
                name=name,
                error=f"{type(error).__name__}: {error}",
            ),
        ) from error
    return check_mode(name, mode)


def check_mode(name: str, mode: object) -> Mode:
    """Return a mode; what is none is refused, and one whose policy could not be read again from where it is stored."""
    if not isinstance(mode, Mode):
        raise FabulaError(
            Code.MODE_FAILED,
            message(
                "What is registered as the mode {name!r} is none: it must be a `Mode`. Nothing was changed.", name=name
            ),
        )
    try:
        msgspec.convert(msgspec.to_builtins(mode.policy), ContextPolicy)
    except (TypeError, msgspec.ValidationError) as error:
        raise FabulaError(
            Code.MODE_FAILED,
            message(
                "The context policy of the mode {name!r} is invalid ({error}). Nothing was changed.",
                name=name,
                error=str(error),
            ),
        ) from error
    return mode


@cache
def find_policy(name: str) -> ContextPolicy | None:
    """Find the context policy of an installed mode; None where it cannot be loaded, or belongs to one process alone."""
    try:
        return load_mode(name).policy
    except FabulaError:
        return None
