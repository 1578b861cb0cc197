"""Aim: what a skill works on. A selection must be there where it needs one; a whole document is seen from its end.

Whoever selects something and says no more stands at its end: what comes later in the document is not known there yet.
"""

from __future__ import annotations

from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.skills.model import Skill


def aimed(request: Request, skill: Skill) -> Request:
    """The request, standing where the skill works."""
    if request.selection is not None:
        first, last = sorted(request.selection)
        cursor = last if request.cursor is None else request.cursor
        request = replace(request, selection=(first, last), cursor=cursor)
        if first < last:
            return request
    if "cursor" in skill.works_on:
        return request
    if "document" in skill.works_on:
        return replace(request, cursor=None)
    raise FabulaError(
        Code.REQUEST_INVALID,
        f"The skill {skill.id!r} works on selected text: select some (--selection START:END). Nothing was sent.",
        skill=skill.id,
    )
