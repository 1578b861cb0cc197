"""Print an assembled prompt and its trace: the budget as a bar, layers in colours, omitted fragments struck through."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from fabula.cli.output import print_line, print_text, printable, render, say, shorten
from fabula.cli.tables import Column, print_table
from fabula.cli.value_names import count_fragments, name_value
from fabula.codex import Codex
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.context.trace import Reason, Verdict
from fabula.conversation.participants import Participants
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
    "attachments": "grey58",
    "framing": "grey42",
    "free": "grey23",
}
LAYER_NAMES = {
    "identity": message("Identity"),
    "preset": message("Preset"),
    "rules": message("Rules"),
    "settings": message("Settings"),
    "retrieved": message("Retrieved"),
    "immediate": message("Immediate"),
    "attachments": message("Files"),
    "framing": message("Framing"),
}
_NAME_WIDTH = 34  # columns of a terminal
_OUTLINE_WIDTH = 100  # columns of a prompt in short
_OUTLINE_LINES = 2  # of each of its parts
_NAMED_MEMBERS = 12  # of a group that stayed out for one reason
_QUIET = frozenset({Reason.NOT_DETECTED, Reason.LEVEL_MANUAL, Reason.LEVEL_NEVER, Reason.NOT_CHOSEN})


def show_assembly(handle: ProjectHandle, request: Request, result: Result) -> None:
    """Print the prompt, then how its budget was spent."""
    for part in result.messages:
        _print_message(render(name_value(part.role)), printable(part.content))
    _print_summary(handle, request, result)
    trimmed = [v for v in result.trace if not v.included or v.reason is Reason.SHORTENED]
    if trimmed:
        _print_verdicts(message("Left out, or shortened"), trimmed)
    _print_warnings(result)


def show_outline(handle: ProjectHandle, request: Request, result: Result) -> None:
    """Print the first lines of each part of the prompt, then how its budget was spent."""
    width = min(shutil.get_terminal_size().columns, _OUTLINE_WIDTH) - 2
    for part in result.messages:
        print_text(Text(f"── {render(name_value(part.role))} ──", style="bold"))
        for heading, lines in _split_parts(printable(part.content)):
            if heading:
                print_text(Text(heading, style="bold grey58"))
            for line in lines[:_OUTLINE_LINES]:
                print_line(f"  {shorten(line, width)}")
            if (count := len(lines) - _OUTLINE_LINES) > 0:
                say(plural(count, "  … {count} more paragraph", "  … {count} more paragraphs"))
    print_line("")
    _print_summary(handle, request, result)
    _print_warnings(result)


def _split_parts(content: str) -> list[tuple[str, list[str]]]:
    """Split a message of a prompt into its parts: the heading in brackets, empty before the first, and the lines."""
    parts: list[tuple[str, list[str]]] = []
    for line in filter(None, map(str.strip, content.split("\n"))):
        is_heading = line.startswith("[") and line.endswith("]")
        if is_heading or not parts:
            parts.append((line, []) if is_heading else ("", [line]))
        else:
            parts[-1][1].append(line)
    return parts


def show_inspection(handle: ProjectHandle, request: Request, result: Result) -> None:
    """Print every fragment of every layer, and why it is in the prompt or not."""
    _print_summary(handle, request, result)
    for layer in (None, *LAYERS):
        verdicts, name = result.trace.layer_verdicts(layer), layer.value if layer is not None else "preset"
        if verdicts:
            _print_verdicts(LAYER_NAMES[name], verdicts, _COLOURS[name])
    _print_warnings(result)


def show_why(name: str, verdicts: Sequence[Verdict]) -> None:
    """Print the verdicts on the fragments of a name, one a line."""
    if not verdicts:
        say("Nothing called {name} was offered or known. Try `fabula inspect` for all names.", name=name)
        return
    columns: list[Column[Verdict]] = [
        Column("", lambda one: message("in") if one.included else message("out")),
        Column(message("name"), lambda one: one.label, style="bold", most=_NAME_WIDTH),
        Column(message("tokens"), lambda one: one.tokens or "", right=True),
        Column(message("why"), lambda one: one.message, wraps=True),
        Column(message("code"), lambda one: one.reason.value, style="grey58"),
    ]
    print_table(verdicts, columns, lambda one: "green" if one.included else "red")


def _print_message(role: str, content: str) -> None:
    """Print one message of a prompt: in a frame on a terminal; elsewhere under its role, with its lines whole."""
    if sys.stdout.isatty():
        Console().print(Panel(Text(content), title=role, title_align="left", border_style="grey42"))
    else:
        print_line(f"── {role} ──\n{content}\n")


def _print_summary(handle: ProjectHandle, request: Request, result: Result) -> None:
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
    print_text(Text(printable(render(head)), style="bold"))
    say(
        "{used} of {total} tokens for {model}, {reply} kept for the answer",
        used=f"{result.token_count:,}",
        total=f"{result.budget.total:,}",
        model=result.model.name,
        reply=f"{result.budget.reply:,}",
    )
    if not result.exact:
        say("Tokens are estimated: this model's vocabulary is not published.")
    parts = {"identity": result.identity_tokens, "preset": result.preset_tokens}
    parts |= {layer.value: result.layers[layer].tokens for layer in LAYERS}
    parts |= {"attachments": result.rendered.attachment_tokens, "framing": result.rendered.overhead}
    print_text(_make_bar(parts, result.budget.total, shutil.get_terminal_size().columns))
    _print_legend(result)


def _find_character_name(handle: ProjectHandle, character: str) -> str:
    codex = handle.view.snapshot(Codex)
    entry = codex.by_id.get(character) if codex is not None else None
    people = handle.view.snapshot(Participants) or Participants()
    return entry.name if entry is not None else people.name_of(character)


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


class _LegendRow(NamedTuple):
    name: str
    tokens: int
    included: int | None = None
    omitted: int | None = None
    truncated: bool = False


def _print_legend(result: Result) -> None:
    rows = [
        _LegendRow(name, tokens)
        for name, tokens in (("identity", result.identity_tokens), ("preset", result.preset_tokens))
        if tokens
    ]
    for layer in LAYERS:
        report = result.layers[layer]
        verdicts = [v for v in result.trace if v.layer is layer and v.reason not in _QUIET]
        inside = sum(v.included for v in verdicts)
        rows.append(_LegendRow(layer.value, report.tokens, inside, len(verdicts) - inside, report.truncated))
    others = (("attachments", result.rendered.attachment_tokens), ("framing", result.rendered.overhead))
    rows += [_LegendRow(name, tokens) for name, tokens in others if tokens]
    columns: list[Column[_LegendRow]] = [
        Column("", lambda row: "■"),
        Column(message("layer"), lambda row: render(LAYER_NAMES[row.name]).lower()),
        Column(message("tokens"), lambda row: f"{row.tokens:,}", right=True),
        Column(message("in"), lambda row: row.included, right=True),
        Column(message("out"), lambda row: row.omitted, right=True),
        Column("", lambda row: message("trimmed") if row.truncated else ""),
    ]
    print_table(rows, columns, lambda row: _COLOURS[row.name])


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


def _name_members(group: Sequence[Verdict]) -> str:
    names = list(dict.fromkeys(one.title or one.label for one in group))
    return render(join_names([*names[:_NAMED_MEMBERS], *(["…"] if len(names) > _NAMED_MEMBERS else [])]))


def _print_verdicts(title: Sentence, verdicts: Sequence[Verdict], colour: str = "grey58") -> None:
    columns: list[Column[tuple[list[Verdict], str]]] = [
        Column(message("name"), lambda one: _name_verdicts(one[0]), most=_NAME_WIDTH),
        Column(message("tokens"), lambda one: _sum_tokens(one[0]), right=True),
        Column(message("score"), lambda one: f"{one[0][0].score:.2f}" if len(one[0]) == 1 else "", right=True),
        Column(message("why"), _explain_verdicts, style="grey58", wraps=True),
    ]
    print_line("")
    print_text(Text(render(title), style=f"bold {colour}"))
    print_table(_group_verdicts(verdicts), columns, lambda one: _style_verdicts(one[0]))


def _sum_tokens(group: Sequence[Verdict]) -> str:
    tokens = sum(verdict.tokens for verdict in group)
    return f"{tokens:,}" if tokens else ""


def _name_verdicts(group: Sequence[Verdict]) -> Sentence | str:
    return group[0].label if len(group) == 1 else count_fragments(_kind_of(group[0]), len(group))


def _explain_verdicts(one: tuple[list[Verdict], str]) -> Sentence | str:
    group, reason = one
    if len(group) > 1 and _kind_of(group[0]) == "codex":  # others have no names, only beginnings
        return message("{reason}: {names}", reason=reason, names=_name_members(group))
    return reason


def _style_verdicts(group: Sequence[Verdict]) -> str:
    return "" if group[0].included else "strike grey58" if len(group) == 1 else "grey58"


def _print_warnings(result: Result) -> None:
    for warning in result.warnings:
        print_text(Text(printable(f"! {render(warning)}"), style="yellow"))
