"""The MCP server: tools, resources and prompts of a story for programs that speak the Model Context Protocol.

It stands beside the command line: it parses, calls the verbs of the workspace and answers with their schemas. The
protocol itself is the package `mcp`, an extra; `require_sdk` says how to install it. A name is imported when it is
first used.
"""

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily

if TYPE_CHECKING:
    from fabula.mcp.access import McpAccess
    from fabula.mcp.sdk import require_sdk
    from fabula.mcp.server import make_http_app, make_server, serve_stdio

__all__ = ["McpAccess", "make_http_app", "make_server", "require_sdk", "serve_stdio"]

__getattr__ = import_lazily(
    __name__,
    {
        "McpAccess": "fabula.mcp.access",
        "make_http_app": "fabula.mcp.server",
        "make_server": "fabula.mcp.server",
        "require_sdk": "fabula.mcp.sdk",
        "serve_stdio": "fabula.mcp.server",
    },
)
