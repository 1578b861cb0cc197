"""`fabula mcp`: serve stories to programs that speak the Model Context Protocol."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from typer import Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_workspace
from fabula.cli.options import STORE
from fabula.cli.output import current_language

commands = CommandGroup()


@commands.command("mcp")
def serve_mcp(
    project: Annotated[str | None, Option(help="The only project to serve, by its title, number or id.")] = None,
    read_only: Annotated[bool, Option("--read-only", help="Let programs read, and change nothing.")] = False,
    character: Annotated[
        str | None, Option(help="Tell only what this character knows. Needs --project, and changes nothing.")
    ] = None,
    store: STORE = None,
) -> None:
    """Serve your stories to a program that starts this command and speaks MCP with it over standard input and output.

    Example: fabula mcp --project "The Lantern Coast" --read-only
    """
    from fabula.mcp.sdk import require_sdk

    require_sdk()
    import anyio

    from fabula.mcp.access import McpAccess
    from fabula.mcp.server import make_server, serve_stdio

    with open_workspace(store, runs_jobs=False) as workspace:
        project_id = None if project is None else workspace.project(project).id
        access = McpAccess(project_id=project_id, is_read_only=read_only, character=character)
        if project_id is not None:
            access.open_project(workspace)  # a character that there is not is refused before a client waits
        with suppress(KeyboardInterrupt):
            anyio.run(serve_stdio, make_server(workspace, access, language=current_language()))
