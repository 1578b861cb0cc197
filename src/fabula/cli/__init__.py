"""The command line: commands parse, call one verb of the workspace, and print."""

__all__: list[str] = []  # `fabula.cli.main:main` is the entry point of the command, and no part of the library
