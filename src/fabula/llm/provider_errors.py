"""Error codes for failed model calls: translates exceptions of SDKs, transport and servers.

Both SDKs raise exceptions of similar shapes. Each becomes a FabulaError with a code and a sentence for the person who
waits. `is_retryable` decides from the error whether another attempt can help: not where the provider reports a billing
problem or asks for a wait over 30 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite, nan
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.net.errors import AddressRefusedError, AnswerRefusedError, ProxyRefusedError

RETRYABLE_CODES = frozenset({Code.LLM_RATE_LIMITED, Code.LLM_GONE, Code.LLM_TIMEOUT})
MAX_RETRY_DELAY = 30.0  # seconds; a provider that asks for more is not asked again

Failure = tuple[Code, Sentence]  # the sentence gets its values when the failure happens

TIMED_OUT = Code.LLM_TIMEOUT, message("{provider} did not answer in time. The text so far is kept. Try again.")
STOPPED = Code.LLM_GONE, message("{provider} stopped in the middle of its answer. The text so far is kept.")
FILTERED = Code.LLM_FILTERED, message("{provider} withheld the answer by its content rules. The text so far is kept.")
_TOO_LONG = (
    Code.LLM_TOO_LONG,
    message("The prompt is too long for {provider}. Choose a smaller window or another model."),
)
_OVERLOADED = Code.LLM_GONE, message("{provider} is overloaded. Try again in a while.")
_TROUBLE = Code.LLM_GONE, message("{provider} is having trouble (HTTP {status}). Try again in a while.")
_BROKE_OFF = Code.LLM_GONE, message("{provider} broke off with an error. The text so far is kept. Try again.")
_FAILED = Code.LLM_GONE, message("{provider} failed ({kind}). The text so far is kept.")
_DISCONNECTED = Code.LLM_GONE, message("{provider} broke off the connection. The text so far is kept. Try again.")
_UNREACHABLE = (
    Code.LLM_GONE,
    message("{provider} cannot be reached. The text so far is kept. Check the address and that the server runs."),
)
_SLOW_DOWN = Code.LLM_RATE_LIMITED, message("{provider} allows no more requests for now. Try again later.")
_WAIT = Code.LLM_RATE_LIMITED, message("{provider} allows no more requests for now. Try again in {seconds} seconds.")
_USED_UP = Code.LLM_RATE_LIMITED, message("Your credit at {provider} is used up. Top it up there.")
_KEY_REFUSED = Code.LLM_REFUSED, message("{provider} refuses the key, or the key may not use this model. Check it.")
_NOT_FOUND = Code.LLM_REFUSED, message("{provider} has no such model or no such address. Check both.")
_NOT_ACCEPTED = Code.LLM_REFUSED, message("{provider} did not accept the request (HTTP {status}).")
_REDIRECTED = Code.LLM_REFUSED, message("{provider} redirects to another address. Give the final base URL.")
_PROXY_LOGIN = Code.LLM_REFUSED, message("The proxy before {provider} wants name and password; see HTTPS_PROXY.")
_PROXY_FAILED = (
    Code.LLM_GONE,
    message("The proxy before {provider} refuses the connection. Check HTTPS_PROXY, or set `proxy` to `none` for it."),
)

_BY_STATUS: Mapping[int, Failure] = {
    **dict.fromkeys((401, 403), _KEY_REFUSED),
    **dict.fromkeys((408, 504), TIMED_OUT),
    **dict.fromkeys((409, 425), _TROUBLE),
    402: _USED_UP,
    404: _NOT_FOUND,
    407: _PROXY_LOGIN,
    413: _TOO_LONG,
    429: _SLOW_DOWN,
}
_BY_PHRASE: Mapping[tuple[str, ...], Failure] = {
    ("context_length", "context length", "maximum context", "context window", "too long", "too many tokens"): _TOO_LONG,
    ("content_filter", "content policy", "content management", "safety"): FILTERED,
    ("overloaded",): _OVERLOADED,
    ("rate limit", "rate_limit"): _SLOW_DOWN,
}
_BILLING = ("insufficient_quota", "credit balance", "billing", "insufficient balance")
_REJECTED = ("unsupported", "not support", "unrecognized", "unknown", "not permitted", "not allowed", "unavailable")
_INVALID_ANSWER_KINDS = frozenset(
    ["APIError", "ValueError", "AttributeError", "TypeError", "LookupError", "RecursionError", "MemoryError"]
)
_NO_ANSWER = message("something that is no answer of a model")


def make_error(failure: Failure, provider: str, **values: object) -> FabulaError:
    """Make the error of a failed call; values that its sentence does not name are details."""
    code, sentence = failure
    return FabulaError(code, Sentence(sentence.template, {"provider": provider, **values}), **values)


def translate_error(error: BaseException, provider: str) -> FabulaError:
    """The FabulaError for any exception of a call; one among its causes is returned as it is."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, FabulaError):
            return cause
        if isinstance(cause, AddressRefusedError):
            return _address_refused_error(cause, provider)
        if isinstance(cause, AnswerRefusedError):
            return invalid_answer_error(provider, cause.problem)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        return _translate_status(status, error, provider)
    kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    if any("Timeout" in kind for kind in kinds):
        return make_error(TIMED_OUT, provider)
    if "ProxyError" in kinds:
        return make_error(_PROXY_FAILED, provider)
    if kinds & {"ReadError", "RemoteProtocolError", "ConnectionResetError", "IncompleteReadError"}:
        return make_error(_DISCONNECTED, provider)
    if kinds & {"APIConnectionError", "TransportError", "ConnectionError", "OSError"}:
        return make_error(_UNREACHABLE, provider)
    is_report = "APIError" in kinds and getattr(error, "body", None)  # the stream itself reported an error
    if is_report or kinds & _INVALID_ANSWER_KINDS:
        failure = _find_failure(_read_message(error)) or (_BROKE_OFF if is_report else None)
        return invalid_answer_error(provider) if failure is None else make_error(failure, provider)
    return make_error(_FAILED, provider, kind=type(error).__name__)


def invalid_answer_error(provider: str, what: str | Sentence = _NO_ANSWER) -> FabulaError:
    """The error for an answer that cannot be read."""
    return FabulaError(
        Code.LLM_ANSWER_INVALID,
        message(
            "{provider} sent {what}. The text so far is kept. Check that the base URL is that of an API.",
            provider=provider,
            what=what,
        ),
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
    text = f"{_read_message(error)} {getattr(error, 'param', None)}"
    named = [name for name in names if re.search(rf"\b{name}\b", text)]
    return max(named, key=len) if named and any(map(text.__contains__, _REJECTED)) else None


def _translate_status(status: int, error: BaseException, provider: str) -> FabulaError:
    text = _read_message(error)
    default = _REDIRECTED if status < 400 else _NOT_ACCEPTED if status < 500 else _TROUBLE
    failure = _BY_STATUS.get(status, default)
    if status in (400, 429) and any(map(text.__contains__, _BILLING)):
        failure = _USED_UP
    if status in (400, 403, 413, 422):
        failure = _find_failure(text) or failure
    wait = _read_retry_after(error)
    if failure is _SLOW_DOWN and wait is not None and wait > MAX_RETRY_DELAY:
        return make_error(_WAIT, provider, seconds=round(wait), retry_after=wait)
    return make_error(failure, provider, status=status, retry_after=wait, used_up=failure is _USED_UP)


def _find_failure(text: str) -> Failure | None:
    return next((failure for phrases, failure in _BY_PHRASE.items() if any(map(text.__contains__, phrases))), None)


def _address_refused_error(error: AddressRefusedError, provider: str) -> FabulaError:
    if isinstance(error, ProxyRefusedError):
        sentence = message(
            "The address of the proxy before {provider} {problem}.", provider=provider, problem=error.problem
        )
    else:
        sentence = message(
            "The address of this provider {problem}. Nothing was sent. If you mean exactly that address, set "
            "`allow_any_address` for this provider.",
            problem=error.problem,
        )
    return FabulaError(Code.LLM_ADDRESS_REFUSED, sentence)


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
