"""Errors of the HTTP client: refused addresses and refused answers.

They carry a phrase that completes a sentence about the server. The packages that use the client have error codes of
their own and write the sentence. The phrase never repeats an address, because an address may contain a password.
"""

from __future__ import annotations


class AddressRefusedError(Exception):
    """The client must not connect to this address; `problem` follows "The address of the server"."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class ProxyRefusedError(AddressRefusedError):
    """The configured proxy cannot be used; `problem` follows "The address of the proxy"."""


class AnswerRefusedError(Exception):
    """The client does not read this answer on; `problem` follows "The server sent"."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
