"""Groups of commands: their help, and the errors of a wrong command line, in the language of this run.

Typer vendors a click that knows only English. So help is translated where it is written out, and a usage error where
it is shown. Docstrings and `help=` of the commands are templates like any other sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, TypeVar

import typer
from typer._click import Command, Context, HelpFormatter, Parameter
from typer._click.exceptions import BadParameter, NoArgsIsHelpError, UsageError
from typer.core import TyperArgument, TyperCommand, TyperGroup

from fabula.cli.example_names import translate_example
from fabula.cli.output import choose_language, current_language, translate, warn
from fabula.cli.tables import measure_width
from fabula.core.messages import ENGLISH, Sentence, join_alternatives, load_translations, message

HEADINGS = (
    (
        message("Write"),
        ("assemble", "inspect", "why", "write", "runs", "accept", "reject", "undo", "redo", "cost", "skills"),
    ),
    (
        message("Story"),
        ("chapter", "revision", "search", "need", "timeline", "synopsis", "outline", "constraint", "memory"),
    ),
    (message("Codex"), ("codex", "extract", "fact", "lorebook", "series")),
    (message("Conversation"), ("chat", "history", "participant", "biography", "recap", "preset")),
    (message("Project"), ("new", "projects", "project", "import", "export", "save", "load", "verify", "samples")),
    (message("System"), ("serve", "mcp", "account", "setting", "jobs", "doctor", "backup", "version")),
)

# What typer and pydantic print. A text that matches one of these is translated, and so are its values.
FOREIGN_SENTENCES = (
    message("Arguments"),
    message("Options"),
    message("Commands"),
    message("Show this message and exit."),
    message("Example: {command}"),
    message("{help}  [{remarks}]"),
    message("default: {value}"),
    message("env var: {name}"),
    message("required"),
    message("Missing command."),
    message("Missing argument {name}."),
    message("Missing option {name}."),
    message("No such command {name}. Did you mean {names}?"),
    message("No such command {name}."),
    message("No such option: {name} (Possible options: {names})"),
    message("No such option: {name}"),
    message("Got unexpected extra argument(s) ({words})"),
    message("Option {name} requires an argument."),
    message("Option {name} does not take a value."),
    message("Invalid value for {name}: {reason}"),
    message("Input should be a valid integer, unable to parse string as an integer"),
    message("Input should be a valid number, unable to parse string as a number"),
    message("Input should be greater than or equal to {least}"),
    message("Input should be less than or equal to {most}"),
    message("{first}; {second}"),
)
# What stands for a value that a person types, in help and in lines of usage.
PLACEHOLDERS = (
    message("OPTIONS"),
    message("COMMAND"),
    message("ARGS"),
    message("ACCOUNT"),
    message("AMOUNT"),
    message("BEAT"),
    message("BOOK"),
    message("BOOKS"),
    message("CHAPTER"),
    message("CHAPTERS"),
    message("CHARACTER"),
    message("CONSTRAINT"),
    message("CONVERSATION"),
    message("COPY"),
    message("DOCUMENT"),
    message("ENTRY"),
    message("FACT"),
    message("FIELDS"),
    message("FILE"),
    message("FIRST"),
    message("ID"),
    message("ITEM"),
    message("ITEMS"),
    message("JOB"),
    message("KEY"),
    message("LABEL"),
    message("LANGUAGE"),
    message("MEMORY"),
    message("NAME"),
    message("NAMES"),
    message("NEED"),
    message("NEW"),
    message("NUMBER"),
    message("OFFERED"),
    message("OLD"),
    message("OTHER"),
    message("PARTICIPANT"),
    message("PATH"),
    message("PLACE"),
    message("PROJECT"),
    message("REVISION"),
    message("ROLE"),
    message("RUN"),
    message("SECOND"),
    message("SERIES"),
    message("SPEAKER"),
    message("TEXT"),
    message("TITLE"),
    message("VALUE"),
    message("WHERE"),
    message("WHO"),
    message("WORDS"),
)
_TYPES = {
    "str": "TEXT",
    "list[str]": "TEXT",
    "int": "NUMBER",
    "int range": "NUMBER",
    "float": "NUMBER",
    "float range": "NUMBER",
    "path": "FILE",
    "list[Path]": "FILE",
}
Function = TypeVar("Function", bound=Callable[..., Any])
_MAX_GROUPS = 4  # that a miss is answered with
_UNBREAKABLE = re.compile(r"[（“]*(?:[!-~]+|.)[，。；：、！？）”…]*")


def translate_text(text: str) -> str:
    """Return a text of typer, or a help text of a command, in the language of this run."""
    if current_language() == ENGLISH:
        return text
    if text in load_translations(current_language()):
        return translate(text)
    for template, pattern in _foreign_patterns():
        if matched := pattern.fullmatch(text):
            values = {name: translate_text(value) for name, value in matched.groupdict().items()}
            if "command" in values:
                values["command"] = translate_example(values["command"], translate)
            return Sentence(template, values).render(current_language())
    return text


def name_placeholder(name: str) -> str:
    """Return what stands for an argument in a line of usage: PROJECT, or its word in the language of this run."""
    return re.sub(r"[A-Za-z]+", lambda word: translate_text(word[0].upper()), name)


def _name_row(name: str) -> str:
    """Return the left side of a line of help: an argument by its placeholder, an option with that of its value."""
    if not name.startswith("-") and name.endswith(">"):
        return name_placeholder(name.rpartition(" <")[0])
    return re.sub(r"<([^>]+)>", lambda kind: name_placeholder(_TYPES.get(kind[1], kind[1])), name)


def _name_bounds(text: str) -> str:
    """Return a help text with the bounds of a number in words."""
    text = re.sub(r"(\d+)<=x<=(\d+)", lambda found: translate("{least} to {most}", least=found[1], most=found[2]), text)
    return re.sub(r"x>=(\d+)", lambda found: translate("at least {least}", least=found[1]), text)


@cache
def _foreign_patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (one.template, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(one.template))))
        for one in FOREIGN_SENTENCES
    ]


class _TranslatedHelp(HelpFormatter):
    """Writes help in the language of this run."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, translate("Usage: "))

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{translate('{heading}:', heading=translate_text(heading))}\n")

    def write_text(self, text: str) -> None:
        width = self.width - self.current_indent
        super().write_text("\n\n".join(_translate_paragraph(one, width) for one in text.split("\n\n")))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        named = [(_name_row(name), _name_bounds(text)) for name, text in rows]
        width = self.width - min(max(measure_width(name) for name, _ in named), col_max) - col_spacing - 2
        super().write_dl([(name, _translate_paragraph(text, width)) for name, text in named], col_max, col_spacing)


def _translate_paragraph(text: str, width: int) -> str:
    """Translate a paragraph of help; click breaks lines at blanks only, so where it cannot, they are broken here."""
    from rich.cells import cell_len

    translated = translate_text(re.sub(r"\n *", " ", text))
    if cell_len(translated) == len(translated):
        return translated
    lines = [""]
    for part in _UNBREAKABLE.findall(translated):
        if cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(("\b", *map(str.rstrip, lines)))  # \b: click leaves the lines of this paragraph alone


class _Context(Context):
    formatter_class = _TranslatedHelp


class _Translated(Command):
    context_class = _Context

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first paragraph of the help, which the formatter translates as a whole."""
        return (self.help or "").partition("\n\n")[0]

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """Return the words of the line of usage: PROJECT for what must be given, [RUN] for what may be."""
        pieces = super().collect_usage_pieces(ctx)
        plain = (re.sub(r"^\{(.*)\}", r"\1", piece).replace("[[", "[").replace("]]", "]") for piece in pieces)
        return [name_placeholder(piece) for piece in plain]


class TranslatedCommand(_Translated, TyperCommand):
    """A command whose help is in the language of this run."""


class TranslatedGroup(_Translated, TyperGroup):
    """A group of commands whose help is in the language of this run."""


class CommandWithOptions(TranslatedCommand):
    """A command with options that other commands have too; it finds them as `options` in `context.obj`."""

    options: ClassVar[Callable[..., object]]  # a dataclass: typer makes an option of each field

    def __init__(self, name: str | None, *, params: list[Parameter] | None = None, **settings: Any) -> None:
        shared = typer.Typer(add_completion=False)
        shared.command()(self.options)
        self._shared = typer.main.get_command(shared)
        super().__init__(name, params=[*self._shared.params, *(params or ())], **settings)

    def invoke(self, ctx: Context) -> Any:
        """Make the options of what was given, then run the command."""
        values = {param.name: ctx.params.pop(param.name) for param in self._shared.params}
        assert self._shared.callback is not None
        ctx.obj = self._shared.callback(**values)
        return super().invoke(ctx)


class CommandGroup(typer.Typer):
    """Commands of one subject. Those of a group without a name stand beside the groups."""

    def __init__(self, name: str | None = None, *, cls: type[TyperGroup] = TranslatedGroup, **settings: Any) -> None:
        super().__init__(
            name=name,
            cls=cls,
            add_completion=False,
            no_args_is_help=True,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            **settings,
        )

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **settings: Any
    ) -> Callable[[Function], Function]:
        """Make a command of a function."""
        return super().command(name, cls=cls or TranslatedCommand, **settings)


class RootGroup(TranslatedGroup):
    """The whole command line: its help lists the commands under `HEADINGS`."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write each group of commands with its first sentences."""
        for heading, names in HEADINGS:
            with formatter.section(heading.template):
                formatter.write_dl([(name, self.commands[name].get_short_help_str()) for name in names])

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """Find the command that was typed; one that only groups have is refused with their names."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError:
            known = [(name, self.commands.get(name)) for _, names in HEADINGS for name in names]
            groups = [name for name, one in known if isinstance(one, TyperGroup) and args[0] in one.commands]
            if not groups:
                raise
            spelled = join_alternatives([f"fabula {name} {args[0]}" for name in groups[:_MAX_GROUPS]])
            sentence = message("There is no command {name!r}. Say of what: {commands}.", name=args[0], commands=spelled)
            ctx.fail(sentence.render(current_language()))

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command line; one that makes no sense is explained in the language of this run."""
        choose_language()
        try:
            exit_code = super().main(*args, **{**settings, "standalone_mode": False})
        except NoArgsIsHelpError as error:
            error.show()
            raise SystemExit(error.exit_code) from None
        except typer.Abort:  # Ctrl-C or Ctrl-D at a question
            warn("Stopped. Nothing was changed.")
            raise SystemExit(130) from None
        except UsageError as error:
            if error.ctx is not None:
                usage, command = error.ctx.get_usage(), error.ctx.command_path
                warn("{usage}\nTry '{command} --help' for help.\n", usage=usage, command=command)
            if isinstance(error, BadParameter) and isinstance(error.param, TyperArgument):
                error.param_hint = name_placeholder(error.param.display_name_raw)
            warn("Error: {sentence}", sentence=translate_text(error.format_message()))
            raise SystemExit(error.exit_code) from None
        raise SystemExit(exit_code)
