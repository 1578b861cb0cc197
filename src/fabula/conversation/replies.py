"""Text of a reply as a model streams it: in the name of its speaker and nobody else (cht-2).

Models that read lines with names before them write such lines too. The speaker's own name is taken out; where a line
begins with the name of somebody else, the reply ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_AFTER_NAME = re.compile(r"[*_]{0,3}[ \t]*(?:(?:→|->)[^:：\n]{0,80})?[ \t]*")  # whom a whisper is meant for
_NOTHING = re.compile(r"(?!)")


class ReplyText:
    """The text of one reply, piece by piece; `other_name` is in whose name the model went on, if it did."""

    def __init__(self, own_names: Iterable[str], other_names: Iterable[str] = ()) -> None:
        self.text = ""
        self.other_name = ""
        self._names = {name.lower(): name for name in other_names if name.strip()}
        self._names.update((name.lower(), "") for name in own_names if name.strip())
        names = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        label = rf"\s*([*_]{{0,3}})[ \t]*({names})({_AFTER_NAME.pattern})[:：]"
        self._label = re.compile(label, re.IGNORECASE) if names else _NOTHING
        self._pending = ""
        self._begins_line = True
        self._closing_mark: str | None = None  # what may follow on a name: blanks, and the end of its emphasis

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer; return what can be shown of it by now."""
        self._pending += piece
        shown = ""
        while self._pending and not self.other_name:
            if self._begins_line:
                label = self._label.match(self._pending)
                if label is None and self._may_become_label():
                    break
                self._begins_line = False
                if label is not None:
                    self.other_name = self._names[label[2].lower()]
                    self._closing_mark = "" if label[3].startswith(("*", "_")) else label[1]
                    self._pending = self._pending[label.end() :]
            elif self._closing_mark is not None:
                if not self._skip_closing_mark(self._closing_mark):
                    break
                self._closing_mark = None
            else:
                end = self._pending.find("\n") + 1
                self._begins_line = end > 0
                shown += self._pending[: end or None]
                self._pending = self._pending[end:] if end else ""
        return self._add(shown)

    def finish(self) -> str:
        """End the reply; return what was held back, because it might have become a name."""
        rest, self._pending = ("" if self.other_name else self._pending), ""
        return self._add(rest)

    def _add(self, shown: str) -> str:
        shown = shown if self.text else shown.lstrip()
        self.text += shown
        return shown

    def _skip_closing_mark(self, mark: str) -> bool:
        """Leave out blanks and the mark behind a name; return whether what is said has begun."""
        rest = self._pending.lstrip(" \t")
        if mark and rest.startswith(mark):
            rest, mark = rest[len(mark) :].lstrip(" \t"), ""
            self._closing_mark = ""
        is_undecided = not rest or (bool(mark) and mark.startswith(rest))
        self._pending = rest
        return not is_undecided

    def _may_become_label(self) -> bool:
        """Whether the beginning of a line may still turn out to be a name before what is said."""
        begun = self._pending.lstrip().lstrip(" \t*_").lower()
        return any(
            name.startswith(begun) or (begun.startswith(name) and _AFTER_NAME.fullmatch(begun, len(name)) is not None)
            for name in self._names
        )
