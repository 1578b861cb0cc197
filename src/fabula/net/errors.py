"""Errors of the HTTP client: refused addresses and refused answers.

They carry a phrase that completes a sentence about the server. The packages that use the client have error codes of
their own and write the sentence. The phrase never repeats an address, because an address may contain a password.
"""

from __future__ import annotations

from fabula.core.messages import Sentence


class _RefusedError(Exception):
    """A refusal with a phrase that says why."""

    def __init__(self, problem: Sentence) -> None:
        super().__init__(problem)
        self.problem = problem


class AddressRefusedError(_RefusedError):
    """The client must not connect to this address; `problem` follows "The address of the server"."""


class ProxyRefusedError(AddressRefusedError):
    """The configured proxy cannot be used; `problem` follows "The address of the proxy"."""


class AnswerRefusedError(_RefusedError):
    """The client does not read this answer on; `problem` follows "The server sent"."""
