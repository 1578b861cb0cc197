"""The form of every schema, and how one is encoded and decoded."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError

T = TypeVar("T", bound="Schema")


class Schema(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A request or an answer at the edge of the program."""


def encode(value: object) -> bytes:
    """Encode a schema, or a list of them, as readable JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def decode(data: bytes | str, kind: type[T], *, what: str) -> T:
    """Decode JSON; an unknown field is refused with the nearest right one. `what` names it in the refusal."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        sentence = f"The {what} could not be read: {explain_decode_error(error, kind)}"
        raise FabulaError(Code.REQUEST_INVALID, sentence) from error
