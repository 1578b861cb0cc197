"""Print answers while they come: a single one streams, of several each is printed when it is complete.

Where the judge may have an answer written again and the output is no terminal, the answer is printed only when it is
final, so that another program reads the answer and nothing else. Texts that were replaced go to the standard error.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

from fabula.cli.opening import printable
from fabula.core.errors import FabulaError
from fabula.skills.judge import JudgeVerdict
from fabula.workspace.writing import Completed, Failed, Retry, TextDelta, WritingEvent


class AnswerPrinter:
    """Prints the answers of one command, and collects those that are complete."""

    def __init__(self, model: str, variants: int, *, may_retry: bool) -> None:
        self._model, self._is_several = model, variants > 1
        self._streams = variants == 1 and not (may_retry and not sys.stdout.isatty())
        self._unfinished: defaultdict[int, str] = defaultdict(str)  # texts so far, by variant
        self.completed: list[Completed] = []
        self.failure: FabulaError | None = None

    def show(self, event: WritingEvent) -> None:
        """Print what just came."""
        match event:
            case TextDelta(variant=variant, text=text):
                self._unfinished[variant] += text
                if self._streams:
                    print(printable(text), end="", flush=True)
            case Retry(variant=variant, verdict=verdict):
                replaced = self._unfinished.pop(variant, "")
                if self._streams:
                    print("\n", flush=True)
                else:
                    _print_error(printable(replaced))
                _print_verdict(verdict)
                _print_error(f"{self._head(variant)}Written anew:")
            case Completed():
                self._finish(event.variant, event.text)
                self.completed.append(event)
                self._print_summary(event)
            case Failed():
                self._finish(event.variant, event.text)
                self.failure = event.error
                if self._is_several:
                    _print_error(f"{self._head(event.variant)}{event.error}")
                _print_record_error(event)

    def show_rest(self) -> None:
        """Print what came of answers that were stopped."""
        for variant, text in sorted(self._unfinished.items()):
            if text and not self._streams:
                self._print(variant, text)
        self._unfinished.clear()

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
        read = f"{usage.input_tokens:,} tokens read"
        read += f" ({usage.cached_tokens:,} from the cache)" if usage.cached_tokens else ""
        price = f"{cost.amount:.4f} {cost.currency}" if cost.is_known else "no price known"
        counted = "" if usage.reported_by_provider else ", by our own count"
        was_sent = answer.finish_reason != "handed_over"
        if was_sent:
            _print_error(f"{self._model}: {read}, {usage.output_tokens:,} written{counted}; {price}.")
        else:
            _print_error("Nothing was sent: paste the prompt wherever you like.")
        if answer.finish_reason == "length":
            _print_error("It stopped because it reached the greatest length allowed.")
        _print_verdict(answer.verdict)
        _print_record_error(answer)
        if answer.run_id and was_sent:
            _print_error(f"Run {answer.run_id}: take it with fabula accept, or leave it with fabula reject.")
        elif answer.run_id:
            _print_error(f"Run {answer.run_id}: fabula accept --edited FILE takes what came of it.")


def _print_verdict(verdict: JudgeVerdict) -> None:
    found = Counter(
        f"  {'?' if finding.is_hint else '!'} “{printable(finding.quote)}”: "
        f"{printable(finding.reason)} [{finding.rule_id}]"
        for finding in verdict.findings
    )
    for line, times in found.items():
        _print_error(line + (f" ({times} times)" if times > 1 else ""))
    if verdict.problem:
        _print_error(f"  ? {printable(verdict.problem)}")


def _print_record_error(answer: Completed | Failed) -> None:
    if answer.record_error is not None:
        _print_error(f"This answer could not be recorded, so copy it: {answer.record_error}")


def _print_error(line: str) -> None:
    print(line, file=sys.stderr)
