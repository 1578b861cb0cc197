"""The command line as `python -m fabula`, where the folder of the command `fabula` is not on the path."""

from __future__ import annotations

from fabula.cli.main import main

if __name__ == "__main__":
    main()
