"""Lines that a person types, with completion of @names and /commands, or that another program sends."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress

from fabula.cli.output import invalid_request

BLOCK_END = "."  # the line that ends a text of several lines


class LineReader:
    """Reads lines from the terminal or a pipe."""

    def __init__(self, *, shows_prompts: bool = True) -> None:
        self.is_terminal = sys.stdin.isatty()
        self._shows_prompts = shows_prompts and self.is_terminal
        self._names: tuple[str, ...] = ()
        self._commands: tuple[str, ...] = ()
        self._completions: list[str] = []
        self._has_readline = self._shows_prompts and sys.stdout.isatty() and self._set_up_completion()

    def offer(self, names: Iterable[str], commands: Iterable[str]) -> None:
        """Set the names and the commands that the tab key completes."""
        self._names, self._commands = tuple(names), tuple(commands)

    def read(self, prompt: str = "", style: tuple[str, str] = ("", "")) -> str | None:
        """Read a line; None at the end of the input. `style` is what goes before and after a prompt on a terminal."""
        if not self.is_terminal:
            return self._read_piped()
        before, after = style
        if self._has_readline:  # which must know what takes no room on the line
            before, after = (f"\001{one}\002" if one else "" for one in style)
        if self._shows_prompts and not sys.stdout.isatty():
            print(prompt, end="", file=sys.stderr, flush=True)
        try:
            return input(f"{before}{prompt}{after}" if self._shows_prompts and sys.stdout.isatty() else "")
        except EOFError:
            return None

    def read_block(self) -> str | None:
        """Read lines up to one with a single dot, up to Ctrl-C or the end of the input; None where that comes first."""
        lines: list[str] = []
        try:
            while (line := self.read()) is not None:
                if line.strip() == BLOCK_END:
                    return "\n".join(lines)
                lines.append(line)
        except KeyboardInterrupt:
            print(file=sys.stderr)
        return "\n".join(lines) if lines else None

    def _read_piped(self) -> str | None:
        line = sys.stdin.buffer.readline()
        try:
            return line.decode("utf-8-sig").rstrip("\r\n") if line else None
        except UnicodeDecodeError:
            raise invalid_request("This line is not text in UTF-8. It was left out.") from None

    def _set_up_completion(self) -> bool:
        try:
            import readline
        except ImportError:  # as on Windows
            return False
        readline.set_completer(self._complete)
        readline.set_completer_delims("@＠/\n")  # names may have blanks
        is_libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
        with suppress(AttributeError):
            readline.set_auto_history(True)
        return True

    def _complete(self, text: str, state: int) -> str | None:
        import readline

        if state == 0:
            line, start = readline.get_line_buffer(), readline.get_begidx()
            sign = line[start - 1 : start]
            self._completions = list_completions(
                text, sign, is_first=start == 1, names=self._names, commands=self._commands
            )
        return self._completions[state] if state < len(self._completions) else None


def list_completions(
    text: str, sign: str, *, is_first: bool, names: Sequence[str], commands: Sequence[str]
) -> list[str]:
    """Return what can stand for a beginning behind a sign: names behind @, commands behind a / that begins a line.

    Behind a command, names complete what it is about.
    """
    if sign in ("@", "＠"):
        return [f"{name} " for name in names if name.casefold().startswith(text.casefold())]
    if sign != "/" or not is_first:
        return []
    command, blank, begun = text.partition(" ")
    if blank:
        return [f"{command} {name}" for name in names if name.casefold().startswith(begun.lstrip().casefold())]
    return [f"{name} " for name in commands if name.startswith(text.casefold())]
