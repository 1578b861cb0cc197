"""Help of the whole command line, with the commands in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

GROUPS = {
    "Write": ("assemble", "inspect", "why", "write", "runs", "run", "accept", "reject", "cost", "skills"),
    "Story": ("search", "synopsis", "outline", "constraint", "memory"),
    "Codex": ("codex", "extract", "lorebook", "series"),
    "Conversation": ("recaps", "preset"),
    "Project": ("new", "projects", "import", "export", "save", "load", "verify", "samples"),
    "System": ("setting", "jobs", "doctor", "version"),
}


class GroupedHelp(TyperGroup):
    """A command group whose help lists its commands under the headings of `GROUPS`."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write each group of commands with its first sentences."""
        left = dict.fromkeys(self.list_commands(ctx))
        for heading, names in GROUPS.items():
            self._format_group(ctx, formatter, heading, [name for name in names if name in left])
            for name in names:
                left.pop(name, None)
        self._format_group(ctx, formatter, "Other", list(left))

    def _format_group(self, ctx: Context, formatter: HelpFormatter, heading: str, names: list[str]) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in names]
        rows = [(name, found.get_short_help_str(90)) for name, found in commands if found is not None]
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)
