"""Print an assembled prompt and its trace: the budget as a bar, layers in colours, omitted fragments struck through."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fabula.cli.output import render, translate
from fabula.cli.value_names import name_value
from fabula.codex import Codex
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.context.trace import Reason, Verdict
from fabula.core.fragment import LAYERS
from fabula.core.messages import Sentence, join_names, message, plural
from fabula.core.story import Perspective
from fabula.workspace.project import ProjectHandle

_COLOURS = {
    "identity": "grey58",
    "preset": "grey42",
    "rules": "red",
    "settings": "yellow",
    "retrieved": "blue",
    "immediate": "green",
    "free": "grey23",
}
LAYER_NAMES = {
    "identity": message("Identity"),
    "preset": message("Preset"),
    "rules": message("Rules"),
    "settings": message("Settings"),
    "retrieved": message("Retrieved"),
    "immediate": message("Immediate"),
}
_NAMED_MEMBERS = 12  # of a group that stayed out for one reason
_QUIET = frozenset({Reason.NOT_DETECTED, Reason.LEVEL_MANUAL, Reason.LEVEL_NEVER, Reason.NOT_CHOSEN})


def show_assembly(handle: ProjectHandle, request: Request, result: Result) -> None:
    """Print the prompt, then how its budget was spent."""
    console = Console()
    for part in result.messages:
        console.print(
            Panel(Text(part.content), title=render(name_value(part.role)), title_align="left", border_style="grey42")
        )
    _print_summary(console, handle, request, result)
    trimmed = [v for v in result.trace if not v.included or v.reason is Reason.SHORTENED]
    if trimmed:
        console.print(_make_verdict_table(message("Left out, or shortened"), trimmed))
    _print_warnings(console, result)


def show_inspection(handle: ProjectHandle, request: Request, result: Result) -> None:
    """Print every fragment of every layer, and why it is in the prompt or not."""
    console = Console()
    _print_summary(console, handle, request, result)
    for layer in (None, *LAYERS):
        verdicts, name = result.trace.layer_verdicts(layer), layer.value if layer is not None else "preset"
        if verdicts:
            console.print(_make_verdict_table(LAYER_NAMES[name], verdicts, _COLOURS[name]))
    _print_warnings(console, result)


def show_why(name: str, verdicts: Sequence[Verdict]) -> None:
    """Print the verdicts on the fragments of a name, one a line."""
    console = Console()
    if not verdicts:
        console.print(
            Text(
                translate("Nothing called {name} was offered or known. Try `fabula inspect` for all names.", name=name)
            )
        )
    for verdict in verdicts:
        word = (translate("in"), "green") if verdict.included else (translate("out"), "red")
        remarks = [verdict.reason.value]
        if verdict.tokens:
            remarks.append(render(plural(verdict.tokens, "{count} token", "{count} tokens")))
        source, codes = (verdict.source, "grey58"), (", ".join(remarks), "grey58")
        title, sentence = (verdict.label, "bold"), render(verdict.message)
        console.print(Text.assemble(word, "  ", title, " ", source, "  ", sentence, "  ", codes))


def _print_summary(console: Console, handle: ProjectHandle, request: Request, result: Result) -> None:
    about = handle.view.project
    entry = handle.view.timeline.entry(request.document_id)
    place = join_names([about.title or about.id, *([entry.title or entry.document] if entry else ())])
    if result.vantage.character:
        name = _find_character_name(handle, result.vantage.character)
        head = message("{place}, through the eyes of {name}", place=place, name=name)
    elif result.vantage.perspective is Perspective.AUTHOR:
        head = message("{place}, through the author's eyes", place=place)
    else:
        head = message("{place}, through the reader's eyes", place=place)
    console.print(Text(render(head), style="bold"))
    spent = translate(
        "{used} of {total} tokens for {model}, {reply} kept for the answer",
        used=f"{result.token_count:,}",
        total=f"{result.budget.total:,}",
        model=result.model.name,
        reply=f"{result.budget.reply:,}",
    )
    console.print(Text(spent))
    if not result.exact:
        console.print(Text(translate("Tokens are estimated: this model's vocabulary is not published.")))
    parts = {"identity": result.identity_tokens, "preset": result.preset_tokens}
    parts |= {layer.value: result.layers[layer].tokens for layer in LAYERS}
    console.print(_make_bar(parts, result.budget.total, console.width))
    console.print(_make_legend(result))


def _find_character_name(handle: ProjectHandle, character: str) -> str:
    codex = handle.view.snapshot(Codex)
    entry = codex.by_id.get(character) if codex is not None else None
    return entry.name if entry is not None else character


def _make_bar(parts: dict[str, int], total: int, width: int) -> Text:
    """Draw the budget as a bar to scale: one colour a part, the free rest dark."""
    length = max(min(width, 100) - 2, 10)
    bar, drawn, used = Text("▕"), 0, 0
    for name, tokens in parts.items():
        used += tokens
        cells = round(length * min(used / max(total, 1), 1.0)) - drawn
        bar.append("█" * cells, style=_COLOURS[name])
        drawn += cells
    bar.append("░" * (length - drawn), style=_COLOURS["free"])
    return bar.append("▏")


def _make_legend(result: Result) -> Table:
    table = Table(translate("layer"), box=None, header_style="grey58", pad_edge=False)
    for column in (translate("tokens"), translate("in"), translate("out")):
        table.add_column(column, justify="right")
    table.add_column()
    for name, tokens in (("identity", result.identity_tokens), ("preset", result.preset_tokens)):
        if tokens:
            table.add_row(_make_layer_name(name), f"{tokens:,}")
    for layer in LAYERS:
        report = result.layers[layer]
        verdicts = [v for v in result.trace if v.layer is layer and v.reason not in _QUIET]
        inside = sum(v.included for v in verdicts)
        table.add_row(
            _make_layer_name(layer.value),
            f"{report.tokens:,}",
            str(inside),
            str(len(verdicts) - inside),
            translate("trimmed") if report.truncated else "",
        )
    return table


def _make_layer_name(name: str) -> Text:
    return Text.assemble(("■", _COLOURS[name]), f" {render(LAYER_NAMES[name]).lower()}")


def _group_verdicts(verdicts: Sequence[Verdict]) -> list[tuple[list[Verdict], str]]:
    """Put verdicts together that left something out for the same reason; each group with its reason in words."""
    groups: dict[object, tuple[list[Verdict], str]] = {}
    for number, verdict in enumerate(verdicts):
        detail = verdict.detail if verdict.layer is None else ""  # of a preset's message: its position
        reason = render(detail if verdict.reason is Reason.KEPT and detail else verdict.message)
        key = number if verdict.included else (_kind_of(verdict), reason)
        groups.setdefault(key, ([], reason))[0].append(verdict)
    return list(groups.values())


def _kind_of(verdict: Verdict) -> str:
    return verdict.source.partition(":")[0]


def _name_group(group: Sequence[Verdict]) -> Sentence:
    """Say how many things stayed out together, and name the first ones."""
    match _kind_of(group[0]):
        case "codex":
            count = plural(len(group), "{count} entry", "{count} entries")
        case "search":
            count = plural(len(group), "{count} passage", "{count} passages")
        case "constraint":
            count = plural(len(group), "{count} rule", "{count} rules")
        case "memory":
            count = plural(len(group), "{count} memory", "{count} memories")
        case "synopsis":
            count = plural(len(group), "{count} synopsis", "{count} synopses")
        case "history":
            count = plural(len(group), "{count} message", "{count} messages")
        case _:
            count = plural(len(group), "{count} text", "{count} texts")
    return count


def _name_members(group: Sequence[Verdict]) -> str:
    names = list(dict.fromkeys(one.title or one.label for one in group))
    return render(join_names([*names[:_NAMED_MEMBERS], *(["…"] if len(names) > _NAMED_MEMBERS else [])]))


def _make_verdict_table(title: Sentence, verdicts: Sequence[Verdict], colour: str = "grey58") -> Group:
    table = Table(box=None, header_style="grey58", pad_edge=False, padding=(0, 1))
    table.add_column(max_width=34, no_wrap=True, overflow="ellipsis")
    table.add_column(translate("tokens"), justify="right")
    table.add_column(translate("score"), justify="right")
    table.add_column(overflow="fold")
    for group, reason in _group_verdicts(verdicts):
        first, tokens = group[0], sum(verdict.tokens for verdict in group)
        name = Text(first.label if len(group) == 1 else render(_name_group(group)))
        if not first.included:
            name.stylize("strike grey58" if len(group) == 1 else "grey58")
        score = f"{first.score:.2f}" if len(group) == 1 else ""
        if len(group) > 1 and _kind_of(first) == "codex":  # others have no names, only beginnings
            reason = translate("{reason}: {names}", reason=reason, names=_name_members(group))
        table.add_row(name, f"{tokens:,}" if tokens else "", score, Text(reason, style="grey58"))
    return Group(Text(f"\n{render(title)}", style=f"bold {colour}"), table)


def _print_warnings(console: Console, result: Result) -> None:
    for warning in result.warnings:
        console.print(Text(f"! {render(warning)}", style="yellow"))
