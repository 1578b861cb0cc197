"""What the terminal shows: a budget as a bar, layers in their colours, what stayed out struck through."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fabula.codex.model import Codex
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.context.trace import Reason, Verdict
from fabula.core.fragment import LAYERS
from fabula.core.story import Eyes
from fabula.workspace.project import Fabula

_COLOURS = {
    "identity": "grey58",
    "preset": "grey42",
    "rules": "red",
    "settings": "yellow",
    "retrieved": "blue",
    "immediate": "green",
    "free": "grey23",
}
_QUIET = frozenset({Reason.NOT_DETECTED, Reason.LEVEL_MANUAL, Reason.LEVEL_NEVER, Reason.NOT_CHOSEN})


def show_assembly(house: Fabula, request: Request, result: Result) -> None:
    """The prompt, then how its room was spent."""
    console = Console()
    for message in result.messages:
        console.print(Panel(Text(message.content), title=message.role, title_align="left", border_style="grey42"))
    _summary(console, house, request, result)
    trimmed = [v for v in result.trace if not v.included or v.reason is Reason.SHORTENED]
    if trimmed:
        console.print(_verdicts("Left out, or shortened", trimmed))
    _warnings(console, result)


def show_inspection(house: Fabula, request: Request, result: Result) -> None:
    """Every fragment of every layer, and why it is in or out."""
    console = Console()
    _summary(console, house, request, result)
    for layer in (None, *LAYERS):
        verdicts, name = result.trace.of_layer(layer), layer.value if layer is not None else "preset"
        if verdicts:
            console.print(_verdicts(name.capitalize(), verdicts, _COLOURS[name]))
    _warnings(console, result)


def show_why(name: str, verdicts: Sequence[Verdict]) -> None:
    """One answer a line."""
    console = Console()
    if not verdicts:
        console.print(f"Nothing called {escape(name)} was offered or known. Try `fabula inspect` for all names.")
    for verdict in verdicts:
        word = "[green]in[/]" if verdict.included else "[red]out[/]"
        console.print(
            f"{word}  [bold]{escape(_called(verdict))}[/] [grey58]{escape(verdict.source)}[/]  "
            f"{escape(verdict.sentence)}  [grey58]{verdict.reason.value}"
            + (f", {verdict.tokens} tokens" if verdict.tokens else "")
            + "[/]",
            highlight=False,
        )


def _summary(console: Console, house: Fabula, request: Request, result: Result) -> None:
    project = house.view.project
    moment = house.view.timeline.moment(request.document_id)
    place = f", {moment.title or moment.document}" if moment else ""
    eyes = "the author's eyes" if result.vantage.eyes is Eyes.AUTHOR else "the reader's eyes"
    if result.vantage.character:
        eyes = f"the eyes of {_who(house, result.vantage.character)}"
    about = "" if result.exact else " (estimated: this model's vocabulary is not published)"
    console.print(
        f"[bold]{escape(project.title or project.id)}[/]{escape(place)}, through {escape(eyes)}", highlight=False
    )
    console.print(
        f"{result.token_count:,} of {result.budget.total:,} tokens{about} for {escape(result.model.name)}, "
        f"{result.budget.reply:,} kept for the answer",
        highlight=False,
    )
    parts = {"identity": result.identity_tokens, "preset": result.preset_tokens}
    parts |= {layer.value: result.layers[layer].tokens for layer in LAYERS}
    console.print(_bar(parts, result.budget.total, console.width))
    console.print(_legend(result))


def _who(house: Fabula, character: str) -> str:
    codex = house.view.room(Codex)
    entry = codex.by_id.get(character) if codex is not None else None
    return entry.name if entry is not None else character


def _bar(parts: dict[str, int], total: int, width: int) -> Text:
    """One coloured stretch a part, to scale; what is free stays dark."""
    room = max(min(width, 100) - 2, 10)
    bar, drawn, seen = Text("▕"), 0, 0
    for name, tokens in parts.items():
        seen += tokens
        cells = round(room * min(seen / max(total, 1), 1.0)) - drawn
        bar.append("█" * cells, style=_COLOURS[name])
        drawn += cells
    bar.append("░" * (room - drawn), style=_COLOURS["free"])
    return bar.append("▏")


def _legend(result: Result) -> Table:
    table = Table(box=None, show_header=True, header_style="grey58", pad_edge=False)
    for column in ("layer", "tokens", "in", "out", ""):
        table.add_column(column, justify="right" if column in ("tokens", "in", "out") else "left")
    for name, tokens in (("identity", result.identity_tokens), ("preset", result.preset_tokens)):
        if tokens:
            table.add_row(f"[{_COLOURS[name]}]■[/] {name}", f"{tokens:,}", "", "", "")
    for layer in LAYERS:
        report = result.layers[layer]
        verdicts = [v for v in result.trace if v.layer is layer and v.reason not in _QUIET]
        inside = sum(v.included for v in verdicts)
        note = "trimmed" if report.truncated else ""
        table.add_row(
            f"[{_COLOURS[layer.value]}]■[/] {layer.value}",
            f"{report.tokens:,}",
            str(inside),
            str(len(verdicts) - inside),
            note,
        )
    return table


def _verdicts(title: str, verdicts: Sequence[Verdict], colour: str = "grey58") -> Group:
    table = Table(box=None, header_style="grey58", pad_edge=False, padding=(0, 1))
    table.add_column(max_width=34, no_wrap=True, overflow="ellipsis")
    table.add_column("tokens", justify="right")
    table.add_column("score", justify="right")
    table.add_column()
    for verdict in verdicts:
        name = Text(_name(verdict))
        if not verdict.included:
            name.stylize("strike grey58")
        said = verdict.detail if verdict.layer is None else ""  # of a message of the preset: its place
        reason = said if verdict.reason is Reason.KEPT else verdict.sentence
        table.add_row(
            name, f"{verdict.tokens:,}" if verdict.tokens else "", f"{verdict.score:.2f}", Text(reason, style="grey58")
        )
    return Group(Text(f"\n{title}", style=f"bold {colour}"), table)


def _name(verdict: Verdict) -> str:
    """What it is called, and which of several it is."""
    number = verdict.source.partition("#")[2]
    counted = verdict.title and len(number) < 4 and number.isdecimal()  # not the mark of a passage
    return f"{_called(verdict)} #{number}" if counted else _called(verdict)


def _called(verdict: Verdict) -> str:
    """Its title, or its own first words, on one line."""
    words = " ".join((verdict.title or verdict.text[:200]).split())
    return (words if len(words) <= 60 else f"{words[:59]}…") or verdict.source


def _warnings(console: Console, result: Result) -> None:
    for warning in result.warnings:
        console.print(Text(f"! {warning}", style="yellow"))
