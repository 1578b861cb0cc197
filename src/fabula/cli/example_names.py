"""The names and texts in the examples of help, so that a reader finds the story of their own language there."""

from __future__ import annotations

import re
from collections.abc import Callable

from fabula.core.messages import message

EXAMPLE_NAMES = (
    message("sample:lantern_coast"),
    message("The Lantern Coast"),
    message("The Coast"),
    message("The Harbour"),
    message("The Drowned Bell"),
    message("The Lamp"),
    message("The Bell"),
    message("The Answer"),
    message("The Dark Hour"),
    message("The old mill"),
    message("Harbour"),
    message("isles"),
    message("Mara Venn"),
    message("Captain Venn"),
    message("Will Venn"),
    message("Grace Odell"),
    message("Mara"),
    message("Maren"),
    message("Ann Tarn"),
    message("my script"),
    message("Tom"),
    message("Tuesday"),
    message("My style"),
    message("no-okay"),
    message("evening-talk"),
    message("On the pier"),
    message("ch-01"),
    message("ch-02"),
    message("ch-03"),
    message("ch-04"),
    message("ch-05"),
    message("ch-07"),
    message("ch-03:she said no."),
    message("sister"),
    message("grey"),
    message("gray"),
    message("the lamp"),
    message("who put out the lamp"),
    message("Who lit the lamp?"),
    message("Who put the lamp out?"),
    message("the lamp is hidden in the well"),
    message("sent to the editor"),
    message("Will climbs the tower."),
    message("They agreed to leave at dawn."),
    message("You are the keeper of Harrow Light."),
    message("Mara never sells the barometer."),
    message("A night on the pier."),
    message("The keeper's daughter. Speaks little."),
    message("Mara finds the letter."),
    message("There was a memory"),
    message("a doorpost."),
    message("Likes short chapters."),
    message("Writes at night, for grown-ups."),
    message("Wants British spelling."),
    message("The keeper came."),
    message("content=Mara keeps the light."),
    message("key=Mara"),
    message("Keeps the light."),
    message("She has lost her sight."),
    message("Nobody says 'okay'."),
    message("Grew up beside the lighthouse."),
    message("Grew up in the lighthouse."),
    message("last"),
    message("character"),
    message("always"),
)
_TEMPLATES = frozenset(name.template for name in EXAMPLE_NAMES)
_PART = re.compile(r'"([^"]+)"|(who put out the lamp)|([^\s"]+)')


def translate_example(command: str, translate: Callable[[str], str]) -> str:
    """Return an example of help with the names and texts that a reader of another language would write."""

    def replace(part: re.Match[str]) -> str:
        text = part[1] or part[2] or part[3]
        if text not in _TEMPLATES or (part.start() == 0 and not part[1]):
            return part[0]
        return f'"{translate(text)}"' if part[1] else translate(text)

    return _PART.sub(replace, command)
