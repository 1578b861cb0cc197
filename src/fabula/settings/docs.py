"""Write `docs/settings.md` from the registry: `python -m fabula.settings.docs [FILE]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from fabula.settings.registry import GROUPS, SCOPES, SETTINGS, SettingDefinition

_INTRODUCTION = """\
# Settings

Generated from `fabula.settings.registry` by `python -m fabula.settings.docs`; do not edit.

    fabula setting list "The Harbour"                         every setting, its value and where that comes from
    fabula setting get "The Harbour" codex.relationDepth      one of them
    fabula setting set "The Harbour" codex.relationDepth 2    for a project
    fabula setting set --user judge.policy regenerate         for you, in all your books
    fabula setting reset "The Harbour" codex.relationDepth    back to the default

A project's value goes before yours, yours before the machine's (an environment variable), and each of them before \
the default. A change takes effect with the next prompt, recap or job. A name that is not in these tables is refused \
with the nearest ones, and a value out of bounds with the bounds. Names are found in any case, and former names still \
work. Money, prices and providers belong to you or to the machine: a project's settings travel with its save, and a \
save may come from anybody. Keys are no settings: they live in the OS keyring or the environment.
"""


def write_page() -> str:
    """Write the page as Markdown."""
    return "\n".join([_INTRODUCTION, *_write_groups()])


def _write_groups() -> Iterator[str]:
    for group, title in GROUPS.items():
        yield f"## {title}\n"
        yield "| Setting | Values | Default | Set by | Meaning |"
        yield "|---|---|---|---|---|"
        for definition in SETTINGS.values():
            if definition.group == group:
                yield _write_row(definition)
        yield ""


def _write_row(definition: SettingDefinition) -> str:
    default = definition.default
    shown = str(definition.without_value) if default is None else f"`{json.dumps(default)}`"
    scopes = [
        f"machine (`{definition.variable}`)" if scope == "machine" else scope
        for scope in SCOPES
        if scope in definition.scopes
    ]
    former = f" Formerly `{'`, `'.join(definition.aliases)}`." if definition.aliases else ""
    cells = (
        f"`{definition.name}`",
        str(definition.describe_values()),
        shown,
        ", ".join(scopes),
        f"{definition.sentence}{former}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/settings.md").write_text(write_page(), encoding="utf-8")
