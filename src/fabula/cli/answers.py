"""Answers as they are shown while they come: one streams, several are shown as each is whole.

Where one may be written anew and nobody watches (a pipe, a file), it is held back until it stands, so that what is
sent on is the answer and nothing else. Nothing is hidden: what was left on the way goes to the standard error.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

from fabula.cli.runs import plain
from fabula.core.errors import FabulaError
from fabula.skills.judge import Verdict
from fabula.workspace.writing import Again, Broken, Finished, Piece, Step


class Answers:
    """The answers of one command."""

    def __init__(self, who: str, variants: int, *, anew: bool) -> None:
        self._who, self._several = who, variants > 1
        self._streams = variants == 1 and not (anew and not sys.stdout.isatty())
        self._came: defaultdict[int, str] = defaultdict(str)  # of those that have not ended
        self.ends: list[Finished] = []
        self.failure: FabulaError | None = None

    def show(self, step: Step) -> None:
        """What just came."""
        match step:
            case Piece(variant=variant, text=text):
                self._came[variant] += text
                if self._streams:
                    print(plain(text), end="", flush=True)
            case Again(variant=variant, verdict=verdict):
                left = self._came.pop(variant, "")
                if self._streams:
                    print("\n", flush=True)
                else:
                    _aside(plain(left))
                _say_verdict(verdict)
                _aside(f"{self._head(variant)}Written anew:")
            case Finished():
                self._end(step.variant, step.text)
                self.ends.append(step)
                self._say_end(step)
            case Broken():
                self._end(step.variant, step.text)
                self.failure = step.error
                if self._several:
                    _aside(f"{self._head(step.variant)}{step.error}")
                _say_unrecorded(step)

    def show_rest(self) -> None:
        """What came of answers that were stopped."""
        for variant, text in sorted(self._came.items()):
            if text and not self._streams:
                self._print(variant, text)
        self._came.clear()

    def _end(self, variant: int, text: str) -> None:
        came = self._came.pop(variant, "")
        if not self._streams:
            if text or self._several:
                self._print(variant, text)
        elif came == text:
            print(flush=True)
        else:  # an answer that was left stands after all
            print(f"\n\n{plain(text)}", flush=True)

    def _print(self, variant: int, text: str) -> None:
        print(f"[{variant + 1}]\n{plain(text)}\n" if self._several else plain(text), flush=True)

    def _head(self, variant: int) -> str:
        return f"[{variant + 1}] " if self._several else ""

    def _say_end(self, end: Finished) -> None:
        usage, cost = end.usage, end.cost
        read = f"{usage.input_tokens:,} tokens read"
        read += f" ({usage.cached_tokens:,} from the cache)" if usage.cached_tokens else ""
        price = f"{cost.amount:.4f} {cost.currency}" if cost.known else "no price known"
        told = "" if usage.told else ", by our own count"
        if end.why == "handed_over":
            _aside("Nothing was sent: paste the prompt wherever you like.")
        else:
            _aside(f"{self._who}: {read}, {usage.output_tokens:,} written{told}; {price}.")
        if end.why == "length":
            _aside("It stopped because its length was used up.")
        _say_verdict(end.verdict)
        _say_unrecorded(end)
        if end.run_id:
            how = " --edited FILE takes what came of it" if end.why == "handed_over" else " or fabula reject settles it"
            _aside(f"Run {end.run_id}: fabula accept{how}.")


def _say_verdict(verdict: Verdict) -> None:
    found = Counter(
        f"  {'?' if one.hint else '!'} “{plain(one.words)}”: {plain(one.reason)} [{one.breaks}]"
        for one in verdict.findings
    )
    for line, times in found.items():
        _aside(line + (f" ({times} times)" if times > 1 else ""))
    if verdict.problem:
        _aside(f"  ? {plain(verdict.problem)}")


def _say_unrecorded(end: Finished | Broken) -> None:
    if end.unrecorded is not None:
        _aside(f"This is not on record, so copy it: {end.unrecorded}")


def _aside(line: str) -> None:
    print(line, file=sys.stderr)
