"""Schemas: every request and answer at the edges, described once.

`--json` of the command line, the HTTP API and its description, the MCP tools and the page's types come from these
Structs. Names are camelCase on the wire; an unknown field is refused.
"""
