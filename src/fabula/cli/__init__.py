"""The command line: commands parse, call one verb of the workspace, and print."""
