"""Error codes for failed model calls: translates exceptions of SDKs, transport and servers.

Both SDKs raise exceptions of similar shapes. Each becomes a FabulaError with a code and a sentence for the person who
waits. `is_retryable` decides from the error whether another attempt can help: not where the provider reports a billing
problem or asks for a wait over 30 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite, nan
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Message
from fabula.net.errors import AddressRefusedError, AnswerRefusedError, ProxyRefusedError

RETRYABLE_CODES = frozenset({Code.LLM_RATE_LIMITED, Code.LLM_GONE, Code.LLM_TIMEOUT})
MAX_RETRY_DELAY = 30.0  # seconds; a provider that asks for more is not asked again
_TOO_LONG = ("context_length", "context length", "too long", "maximum context", "too many tokens", "context window")
_INVALID_ANSWER_KINDS = frozenset(
    {"APIError", "ValueError", "UnicodeError", "ValidationError", "AttributeError", "TypeError", "LookupError"}
    | {"RecursionError", "MemoryError"}
)
_BILLING = ("insufficient_quota", "credit balance", "billing", "insufficient balance")
_REJECTED = ("unsupported", "not support", "unrecognized", "unknown", "not permitted", "not allowed", "unavailable")
_FILTERED = ("content_filter", "content policy", "content management", "safety")


def translate_error(error: BaseException, provider: str) -> FabulaError:
    """The FabulaError for any exception of a call; one among its causes is returned as it is."""
    for cause in _causes(error):
        if isinstance(cause, FabulaError):
            return cause
        if isinstance(cause, AddressRefusedError):
            return _address_refused_error(cause, provider)
        if isinstance(cause, AnswerRefusedError):
            return invalid_answer_error(provider, cause.problem)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        return _translate_status(status, error, provider)
    kinds = {kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__}
    if any("Timeout" in kind for kind in kinds):
        return FabulaError(Code.LLM_TIMEOUT, f"{provider} did not answer in time. What came before is kept. Try again.")
    if "ProxyError" in kinds:
        return FabulaError(
            Code.LLM_GONE,
            f"The proxy on the way to {provider} does not let us pass. See HTTPS_PROXY and NO_PROXY, or set `proxy` "
            'to "none" for this provider.',
        )
    if kinds & {"APIConnectionError", "TransportError", "ConnectionError", "OSError"}:
        return FabulaError(
            Code.LLM_GONE,
            f"{provider} cannot be reached, or the connection broke. What came before is kept. "
            "See that the address is right and the server runs, then try again.",
        )
    if "APIError" in kinds and getattr(error, "body", None):  # the stream itself reported an error
        return _translate_message(_read_message(error), provider) or FabulaError(
            Code.LLM_GONE, f"{provider} broke off with an error of its own. What came before is kept. Try again."
        )
    if kinds & _INVALID_ANSWER_KINDS:
        return _translate_message(_read_message(error), provider) or invalid_answer_error(provider)
    return FabulaError(Code.LLM_GONE, f"{provider} failed ({type(error).__name__}). What came before is kept.")


def invalid_answer_error(provider: str, what: str | Message = "something that is no answer of a model") -> FabulaError:
    """The error for an answer that cannot be read."""
    return FabulaError(
        Code.LLM_ANSWER_INVALID,
        f"{provider} sent {what}. What came before is kept. See that the base URL is that of an API.",
    )


def is_retryable(error: FabulaError) -> bool:
    """Whether another attempt can help."""
    delay = requested_delay(error)
    is_short = delay is None or delay <= MAX_RETRY_DELAY
    return error.code in RETRYABLE_CODES and is_short and not error.details.get("used_up")


def requested_delay(error: FabulaError) -> float | None:
    """The seconds that the provider asked to wait, if it did."""
    delay = error.details.get("retry_after")
    return float(delay) if isinstance(delay, int | float) else None


def find_rejected_parameter(error: BaseException, names: Sequence[str]) -> str | None:
    """The request parameter that a server rejects by name, if that is the error."""
    if getattr(error, "status_code", None) not in (400, 422):
        return None
    message = f"{_read_message(error)} {getattr(error, 'param', None)}"
    named = [name for name in names if re.search(rf"\b{name}\b", message)]
    return max(named, key=len) if named and any(phrase in message for phrase in _REJECTED) else None


def _translate_status(status: int, error: BaseException, provider: str) -> FabulaError:
    message = _read_message(error)
    by_message = _translate_message(message, provider)
    if by_message is not None and status in (400, 403, 413, 422):
        return by_message
    if status in (401, 403):
        return FabulaError(
            Code.LLM_REFUSED, f"{provider} does not accept the key, or the key may not use this model. Check it."
        )
    if status == 413:
        return _too_long_error(provider)
    if status == 402 or (status in (400, 403, 429) and any(phrase in message for phrase in _BILLING)):
        return FabulaError(
            Code.LLM_RATE_LIMITED, f"What was paid for at {provider} is used up. Top it up there.", used_up=True
        )
    if status == 429:
        wait = _read_retry_after(error)
        when = f"in {round(wait)} seconds" if wait is not None and wait > MAX_RETRY_DELAY else "later"
        return FabulaError(
            Code.LLM_RATE_LIMITED, f"{provider} asks us to slow down. Try again {when}.", retry_after=wait
        )
    if status in (408, 504):
        return FabulaError(Code.LLM_TIMEOUT, f"{provider} did not answer in time. Try again.")
    if status >= 500 or status in (409, 425):
        return FabulaError(
            Code.LLM_GONE,
            f"{provider} is having trouble (HTTP {status}). Try again in a while.",
            retry_after=_read_retry_after(error),
        )
    if status == 407:
        return FabulaError(
            Code.LLM_REFUSED,
            f"The proxy on the way to {provider} wants a name and a password: put them into HTTPS_PROXY.",
        )
    if 300 <= status < 400:
        return FabulaError(
            Code.LLM_REFUSED, f"{provider} wants to send us elsewhere, which is not followed. Give the final base URL."
        )
    if status == 404:
        return FabulaError(Code.LLM_REFUSED, f"{provider} has no such model or no such address. Check both.")
    return FabulaError(Code.LLM_REFUSED, f"{provider} did not accept the request (HTTP {status}).")


def _translate_message(message: str, provider: str) -> FabulaError | None:
    if any(phrase in message for phrase in _TOO_LONG):
        return _too_long_error(provider)
    if any(phrase in message for phrase in _FILTERED):
        return filtered_error(provider)
    if "overloaded" in message:
        return FabulaError(Code.LLM_GONE, f"{provider} is overloaded. Try again in a while.")
    if "rate limit" in message or "rate_limit" in message:
        return FabulaError(Code.LLM_RATE_LIMITED, f"{provider} asks us to slow down. Try again later.")
    return None


def filtered_error(provider: str) -> FabulaError:
    """The error for an answer that the provider's content filter withheld."""
    return FabulaError(
        Code.LLM_FILTERED, f"{provider} withheld the answer by its content rules. What came before is kept."
    )


def _address_refused_error(error: AddressRefusedError, provider: str) -> FabulaError:
    if isinstance(error, ProxyRefusedError):
        return FabulaError(Code.LLM_ADDRESS_REFUSED, f"The address of the proxy before {provider} {error.problem}.")
    return FabulaError(
        Code.LLM_ADDRESS_REFUSED,
        f"The address of this provider {error.problem}. Nothing was sent. If you mean just that address, set "
        "`allow_any_address` for this provider.",
    )


def _too_long_error(provider: str) -> FabulaError:
    return FabulaError(
        Code.LLM_TOO_LONG, f"The prompt is longer than {provider} takes. Choose a smaller window or another model."
    )


def _read_message(error: BaseException) -> str:
    body: Any = getattr(error, "body", None)
    return f"{error} {body if isinstance(body, str | dict) else ''}".lower()[:4000]


def _read_retry_after(error: BaseException) -> float | None:
    """The requested delay in seconds; servers give milliseconds, seconds or a date."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = str(headers.get(name, "")).strip()
        try:
            seconds = float(value) / unit
        except ValueError:
            seconds = _seconds_until(value)
        if isfinite(seconds):
            return max(0.0, seconds)
    return None


def _seconds_until(date: str) -> float:
    try:
        return (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return nan


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception and up to nine that it came from."""
    cause: BaseException | None = error
    for _ in range(10):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
