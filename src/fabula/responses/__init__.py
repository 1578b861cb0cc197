"""Answers that are kept for callers from outside: by the key of their request, and as events of a stream.

They are kept for a while only, in no save, and change no version. Losing one means that a request is refused or must
be sent anew, never that it is done twice.
"""

__all__: list[str] = []
