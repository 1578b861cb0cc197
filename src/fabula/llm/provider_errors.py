"""One code for each way a model can fail us, whoever the provider is.

The two clients raise exceptions of the same shapes; here they become our codes, with a sentence for the
person who waits. A code also says whether trying again can help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite, nan
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Ended, Usage, Why

RETRYABLE = frozenset({Code.LLM_RATE_LIMITED, Code.LLM_GONE, Code.LLM_TIMEOUT})
LONGEST_WAIT = 30.0  # seconds a provider may ask us to wait
_TOO_LONG = ("context_length", "context length", "too long", "maximum context", "too many tokens", "context window")
_RUBBISH = frozenset(
    {"APIError", "ValueError", "UnicodeError", "ValidationError", "AttributeError", "TypeError", "LookupError"}
    | {"RecursionError", "MemoryError"}
)
_USED_UP = ("insufficient_quota", "credit balance", "billing", "insufficient balance")
_NOT_TAKEN = ("unsupported", "not support", "unrecognized", "unknown", "not permitted", "not allowed", "unavailable")
_FILTERED = ("content_filter", "content policy", "content management", "safety")


def coded(error: BaseException, provider: str) -> FabulaError:
    """The failure of a call as ours. One that is ours already stays as it is."""
    own = next((cause for cause in _causes(error) if isinstance(cause, FabulaError)), None)
    if own is not None:
        return own
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        return _refusal(status, error, provider)
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
    if "APIError" in kinds and getattr(error, "body", None):  # it began to answer, and then said what went wrong
        return _by_words(_message(error), provider) or FabulaError(
            Code.LLM_GONE, f"{provider} broke off with an error of its own. What came before is kept. Try again."
        )
    if kinds & _RUBBISH:
        return _by_words(_message(error), provider) or nonsense(provider)
    return FabulaError(Code.LLM_GONE, f"{provider} failed ({type(error).__name__}). What came before is kept.")


def nonsense(provider: str, what: str = "something that is no answer of a model") -> FabulaError:
    """The answer makes no sense."""
    return FabulaError(
        Code.LLM_ANSWER_INVALID,
        f"{provider} sent {what}. What came before is kept. See that the base URL is that of an API.",
    )


def ending(why: Why | None, usage: Usage, provider: str) -> Ended:
    """The end of a stream; one that gave no reason stopped in the middle, one that was filtered is a failure."""
    if why == "filtered":
        raise filtered(provider)
    if why is None:
        raise FabulaError(Code.LLM_GONE, f"{provider} stopped in the middle of its answer. What came before is kept.")
    return Ended(why=why, usage=usage)


def not_installed(provider: str) -> FabulaError:
    """The client for this provider is an extra."""
    return FabulaError(
        Code.LLM_NOT_INSTALLED,
        f"To speak with {provider}, install Fabula with its models: pip install 'fabula[models]'. "
        "Without, `--provider clipboard` hands you the prompt.",
    )


def may_pass(error: FabulaError) -> bool:
    """Can trying again help? Not where money is missing, nor where we were asked to stay away for long."""
    asked = error.details.get("retry_after")
    short = not isinstance(asked, int | float) or asked <= LONGEST_WAIT
    return error.code in RETRYABLE and short and not error.details.get("used_up")


def wait_asked(error: FabulaError) -> float | None:
    """How many seconds the provider asked us to wait."""
    asked = error.details.get("retry_after")
    return float(asked) if isinstance(asked, int | float) else None


def unwanted(error: BaseException, names: Sequence[str]) -> str | None:
    """Which of what was asked for a server says it does not take, if that is its complaint."""
    if getattr(error, "status_code", None) not in (400, 422):
        return None
    message = f"{_message(error)} {getattr(error, 'param', None)}"
    named = [name for name in names if re.search(rf"\b{name}\b", message)]
    return max(named, key=len) if named and any(words in message for words in _NOT_TAKEN) else None


def _refusal(status: int, error: BaseException, provider: str) -> FabulaError:
    message = _message(error)
    by_words = _by_words(message, provider)
    if by_words is not None and status in (400, 403, 413, 422):
        return by_words
    if status in (401, 403):
        return FabulaError(
            Code.LLM_REFUSED, f"{provider} does not accept the key, or the key may not use this model. Check it."
        )
    if status == 413:
        return _too_long(provider)
    if status == 402 or (status in (400, 403, 429) and any(words in message for words in _USED_UP)):
        return FabulaError(
            Code.LLM_RATE_LIMITED, f"What was paid for at {provider} is used up. Top it up there.", used_up=True
        )
    if status == 429:
        wait = _retry_after(error)
        when = f"in {round(wait)} seconds" if wait is not None and wait > LONGEST_WAIT else "later"
        return FabulaError(
            Code.LLM_RATE_LIMITED, f"{provider} asks us to slow down. Try again {when}.", retry_after=wait
        )
    if status in (408, 504):
        return FabulaError(Code.LLM_TIMEOUT, f"{provider} did not answer in time. Try again.")
    if status >= 500 or status in (409, 425):
        return FabulaError(
            Code.LLM_GONE,
            f"{provider} is having trouble (HTTP {status}). Try again in a while.",
            retry_after=_retry_after(error),
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


def _by_words(message: str, provider: str) -> FabulaError | None:
    if any(words in message for words in _TOO_LONG):
        return _too_long(provider)
    if any(words in message for words in _FILTERED):
        return filtered(provider)
    if "overloaded" in message:
        return FabulaError(Code.LLM_GONE, f"{provider} is overloaded. Try again in a while.")
    if "rate limit" in message or "rate_limit" in message:
        return FabulaError(Code.LLM_RATE_LIMITED, f"{provider} asks us to slow down. Try again later.")
    return None


def filtered(provider: str) -> FabulaError:
    """The provider's filter stepped in."""
    return FabulaError(
        Code.LLM_FILTERED, f"{provider} withheld the answer by its content rules. What came before is kept."
    )


def _too_long(provider: str) -> FabulaError:
    return FabulaError(
        Code.LLM_TOO_LONG, f"The prompt is longer than {provider} takes. Choose a smaller window or another model."
    )


def _message(error: BaseException) -> str:
    body: Any = getattr(error, "body", None)
    return f"{error} {body if isinstance(body, str | dict) else ''}".lower()[:4000]


def _retry_after(error: BaseException) -> float | None:
    """The seconds a server asks us to wait, which it may say in milliseconds, seconds or as a date."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        said = str(headers.get(name, "")).strip()
        try:
            seconds = float(said) / unit
        except ValueError:
            seconds = _until(said)
        if isfinite(seconds):
            return max(0.0, seconds)
    return None


def _until(date: str) -> float:
    try:
        return (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return nan


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen = 0
    cause: BaseException | None = error
    while cause is not None and seen < 10:
        yield cause
        seen += 1
        cause = cause.__cause__ or cause.__context__
