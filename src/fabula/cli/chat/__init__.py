"""`fabula chat`: talk with the participants of a story in the terminal, or line by line from another program."""

from fabula.cli.chat.command import commands

__all__ = ["commands"]
