"""Text of a reply as a model streams it: in the name of its speaker and nobody else (cht-2).

Models that read lines with names before them write such lines too. The speaker's own name is taken out; where a line
begins with the name of somebody else, the reply ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARKS = r"[ \t*_]*"
_TO = r"(?:(?:→|->)[^:：\n]{0,80})?"  # whom a whisper is meant for
_AFTER_NAME = re.compile(rf"{_MARKS}{_TO}")
_NOTHING = re.compile(r"(?!)")


class ReplyText:
    """The text of one reply, piece by piece; `other_name` is in whose name the model went on, if it did."""

    def __init__(self, own_names: Iterable[str], other_names: Iterable[str] = ()) -> None:
        self.text = ""
        self.other_name = ""
        self._own = {name.lower() for name in own_names if name.strip()}
        self._names = {name.lower(): name for name in other_names if name.strip()}
        self._names.update(dict.fromkeys(self._own, ""))
        longest_first = sorted(self._names, key=len, reverse=True)
        names = "|".join(map(re.escape, longest_first))
        self._label = re.compile(rf"\s*{_MARKS}({names}){_AFTER_NAME.pattern}{_MARKS}[:：]{_MARKS}", re.IGNORECASE)
        if not names:
            self._label = _NOTHING
        self._pending = ""
        self._begins_line = True

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer; return what can be shown of it by now."""
        self._pending += piece
        shown = []
        while self._pending and not self.other_name:
            if self._begins_line:
                label = self._label.match(self._pending)
                if label is None and self._may_become_label():
                    break
                if label is not None:
                    self.other_name = self._names[label[1].lower()]
                    self._pending = self._pending[label.end() :]
                self._begins_line = False
                continue
            end = self._pending.find("\n") + 1
            self._begins_line = end > 0
            shown.append(self._pending[: end or None])
            self._pending = self._pending[end:] if end else ""
        return self._add("".join(shown))

    def finish(self) -> str:
        """End the reply; return what was held back, because it might have become a name."""
        rest, self._pending = ("" if self.other_name else self._pending), ""
        return self._add(rest)

    def _add(self, shown: str) -> str:
        shown = shown if self.text else shown.lstrip()
        self.text += shown
        return shown

    def _may_become_label(self) -> bool:
        """Whether the beginning of a line may still turn out to be a name before what is said."""
        begun = self._pending.lstrip().lstrip(" \t*_").lower()
        for name in self._names:
            if name.startswith(begun):
                return True
            if begun.startswith(name) and _AFTER_NAME.fullmatch(begun, len(name)):
                return True
        return False
