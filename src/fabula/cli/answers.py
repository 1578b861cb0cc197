"""Print answers while they come: a single one streams, of several each is printed when it is complete.

Where the judge may have an answer written again and the output is no terminal, the answer is printed only when it is
final, so that another program reads the answer and nothing else. Texts that were replaced go to the standard error.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping

from fabula.cli.output import describe_error, print_line, printable, quote_name, render, translate, warn
from fabula.cli.progress import ProgressDisplay
from fabula.cli.runs import describe_price
from fabula.cli.value_names import add_rule_number
from fabula.core.errors import FabulaError
from fabula.core.messages import message
from fabula.llm.model import HANDED_OVER
from fabula.skills.judge import JudgeVerdict
from fabula.workspace.runs import LAST
from fabula.workspace.writing import Completed, Failed, JudgeStart, Retry, TextDelta, WritingEvent


class AnswerPrinter:
    """Prints the answers of one command, and collects those that are complete."""

    def __init__(
        self, project: str, model: str, variants: int, *, may_retry: bool, rule_numbers: Mapping[str, int]
    ) -> None:
        self._project = quote_name(project)
        self._rule_numbers = rule_numbers
        self._model, self._is_several = model, variants > 1
        self._streams = variants == 1 and not (may_retry and not sys.stdout.isatty())
        self._waiting = ProgressDisplay(message("Waiting for {model}", model=model))
        self._judging = ProgressDisplay(message("{model} checks the answer against the rules", model=model))
        self._unfinished: defaultdict[int, str] = defaultdict(str)  # texts so far, by variant
        self.completed: list[Completed] = []
        self.failure: FabulaError | None = None

    def wait(self) -> None:
        """Show who is at work, if nothing comes for two seconds."""
        self._waiting.start()

    def show(self, event: WritingEvent) -> None:
        """Print what just came."""
        if self._streams or not isinstance(event, TextDelta):
            self._waiting.stop()
            self._judging.stop()
        match event:
            case TextDelta(variant=variant, text=text):
                self._unfinished[variant] += text
                if self._streams:
                    print(printable(text), end="", flush=True)
            case JudgeStart():
                self._judging.start()
            case Retry(variant=variant, verdict=verdict):
                replaced = self._unfinished.pop(variant, "")
                if self._streams:
                    print("\n", flush=True)
                else:
                    print_line(replaced, file=sys.stderr)
                print_verdict(verdict, self._rule_numbers)
                warn("{head}Written anew:", head=self._head(variant))
                self.wait()
            case Completed():
                self._finish(event.variant, event.text)
                self.completed.append(event)
                self._print_summary(event)
                self.wait()
            case Failed():
                self._finish(event.variant, event.text)
                self.failure = event.error
                if self._is_several:
                    line = f"{self._head(event.variant)}{describe_error(event.error)}"
                    print_line(line, file=sys.stderr)
                _print_record_error(event)
                self.wait()

    def show_rest(self) -> None:
        """Print what came of answers that were stopped."""
        self._waiting.stop()
        self._judging.stop()
        for variant, text in sorted(self._unfinished.items()):
            if text and not self._streams:
                self._print(variant, text)
        self._unfinished.clear()

    def print_next_steps(self, run_numbers: Mapping[str, int]) -> None:
        """Print how to take or leave the answers; several go by the numbers of their runs, which lists show by id."""
        for answer in sorted(self.completed, key=lambda one: one.variant):
            if not answer.run_id:
                continue
            run = run_numbers.get(answer.run_id, answer.run_id) if self._is_several else LAST
            if answer.finish_reason in HANDED_OVER:
                warn(
                    "{head}When the answer is in a file, take it with: fabula accept {project} {run} --edited FILE",
                    head=self._head(answer.variant),
                    project=self._project,
                    run=run,
                )
            else:
                warn(
                    "{head}Take it: fabula accept {project} {run}\n{head}Leave it: fabula reject {project} {run}",
                    head=self._head(answer.variant),
                    project=self._project,
                    run=run,
                )

    def _finish(self, variant: int, text: str) -> None:
        streamed = self._unfinished.pop(variant, "")
        if not self._streams:
            if text or self._is_several:
                self._print(variant, text)
        elif streamed == text:
            print(flush=True)
        else:  # a text that was to be replaced is the answer after all
            print(f"\n\n{printable(text)}", flush=True)

    def _print(self, variant: int, text: str) -> None:
        print(f"[{variant + 1}]\n{printable(text)}\n" if self._is_several else printable(text), flush=True)

    def _head(self, variant: int) -> str:
        return f"[{variant + 1}] " if self._is_several else ""

    def _print_summary(self, answer: Completed) -> None:
        usage, cost = answer.usage, answer.cost
        if answer.finish_reason not in HANDED_OVER:
            warn(
                "{model}: {read}, {written}; {price}.",
                model=self._model,
                read=message(
                    "{read:,} tokens read ({cached:,} from the cache)"
                    if usage.cached_tokens
                    else "{read:,} tokens read",
                    read=usage.input_tokens,
                    cached=usage.cached_tokens,
                ),
                written=message(
                    "{written:,} written" if usage.reported_by_provider else "{written:,} written, by our own count",
                    written=usage.output_tokens,
                ),
                price=describe_price(cost),
            )
        elif answer.finish_reason == "copied":
            warn("Nothing was sent: the prompt is on the clipboard, so paste it wherever you like.")
        else:
            warn("Nothing was sent. There is no clipboard here, so copy the prompt wherever you like.")
        if answer.finish_reason == "length":
            warn("It stopped because it reached the greatest length allowed.")
        print_verdict(answer.verdict, self._rule_numbers)
        _print_record_error(answer)


def print_verdict(verdict: JudgeVerdict, rule_numbers: Mapping[str, int]) -> None:
    """Print what the judge found, equal findings once, with the numbers of the constraints by id."""
    lines = Counter(
        translate(
            "  {sign} “{quote}”: {reason}",
            sign="?" if finding.is_hint else "!",
            quote=finding.quote,
            reason=render(add_rule_number(finding.reason, finding.rule_id, rule_numbers)),
        )
        for finding in verdict.findings
    )
    for finding, count in lines.items():
        if count > 1:
            warn("{finding} ({count} times)", finding=finding, count=count)
        else:
            print_line(finding, file=sys.stderr)
    if verdict.problem:
        print_line(f"  ? {render(verdict.problem)}", file=sys.stderr)


def _print_record_error(answer: Completed | Failed) -> None:
    if answer.record_error is not None:
        warn("This answer could not be recorded, so copy it: {error}", error=describe_error(answer.record_error))
