"""The package of the Model Context Protocol: an extra, which is imported only when a server is made."""

from __future__ import annotations

from importlib.util import find_spec

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message


def require_sdk() -> None:
    """Refuse to go on where the package `mcp` is not installed, and say how to install it."""
    if find_spec("mcp") is None:
        raise FabulaError(
            Code.MCP_NOT_INSTALLED,
            message("To serve other programs over MCP, install Fabula with it: pip install 'fabula[mcp]'"),
        )
