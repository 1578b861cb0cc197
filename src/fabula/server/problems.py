"""Refusals over HTTP: one table of statuses by code, and `application/problem+json` in the reader's language (ppl-2).

Every answer that is an error has a code of `core/errors.py`. An unexpected exception becomes `SERVER_FAILED` with a
reference, under which the log names the type of the exception; its text is neither sent nor logged, because it may
hold a text of the story. Below `/v1` a refusal has the form and the statuses that clients of OpenAI's API expect.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar.exceptions import HTTPException
from msgspec import UNSET, Struct, UnsetType

from fabula.core.errors import Code, FabulaError, describe_place
from fabula.core.ids import new_id
from fabula.core.messages import ENGLISH, list_languages, message, show

log = logging.getLogger("fabula.server")

MEDIA_TYPE = "application/problem+json"
V1 = "/v1"  # OpenAI's API
MAX_BODY = 10_000_000  # bytes of a request that is no upload
RETRY_SECONDS = 1  # that a client waits before it asks again

_CODES_BY_STATUS = {
    400: (
        Code.BUDGET_INVALID_MINIMUM,
        Code.BUDGET_INVALID_RATIO,
        Code.CURSOR_INVALID,
        Code.FRAGMENT_INVALID,
        Code.MODEL_UNKNOWN,
        Code.RECIPE_UNKNOWN,
        Code.REQUEST_INVALID,
        Code.SKILL_UNKNOWN,
        Code.CONSTRAINT_VALIDATION_ERROR,
        Code.CODEX_INVALID,
        Code.LOREBOOK_INVALID,
        Code.PRESET_INVALID,
        Code.PRESET_LAYER_ORDER,
        Code.SETTING_INVALID,
        Code.PROJECT_INVALID,
        Code.IMPORT_UNREADABLE,
        Code.IMPORT_UNSAFE,
        Code.TEXT_INVALID,
        Code.TREE_INVALID,
        Code.SAVE_DAMAGED,
        Code.SAVE_TOO_NEW,
        Code.SAVE_UNSAFE,
        Code.SKILL_INVALID,
        Code.JOB_INVALID,
        Code.LLM_ATTACHMENT_INVALID,
        Code.LLM_ADDRESS_REFUSED,
    ),
    401: (Code.ACCESS_REQUIRED, Code.ACCESS_LINK_INVALID),
    403: (
        Code.INSPECT_FORBIDDEN,
        Code.NOT_ALLOWED,
        Code.SCOPE_VIOLATION,
        Code.ACCESS_ORIGIN_REFUSED,
        Code.ACCESS_PASSWORD_WRONG,
        Code.ACCESS_PROXY_REFUSED,
    ),
    404: (
        Code.ASSEMBLY_UNKNOWN,
        Code.DOCUMENT_UNKNOWN,
        Code.CONSTRAINT_NOT_FOUND,
        Code.PROJECT_NOT_FOUND,
        Code.FILE_NOT_FOUND,
        Code.STORE_NOT_FOUND,
        Code.JOB_NOT_FOUND,
        Code.HTTP_NOT_FOUND,
    ),
    405: (Code.HTTP_METHOD_UNKNOWN,),
    406: (Code.HTTP_NOT_ACCEPTABLE,),
    408: (Code.HTTP_TOO_SLOW,),
    409: (
        Code.ACCESS_LAST_OWNER,
        Code.DOCUMENT_STALE,
        Code.BUDGET_CONFLICT,
        Code.CONSTRAINT_CONFLICT,
        Code.CONSTRAINT_LIMIT,
        Code.EXPORT_REFUSED,
        Code.PROJECT_READ_ONLY,
        Code.STORE_CONFLICT,
        Code.STORE_DUPLICATE,
        Code.JOB_CANCELLED,
        Code.JOB_RUNNING,
        Code.JOB_STOPPED,
        Code.CHAT_THREAD_ELSEWHERE,
        Code.MODE_CHANGED,
        Code.HTTP_KEY_CUT_OFF,
        Code.HTTP_KEY_IN_USE,
        Code.HTTP_KEY_NOT_KEPT,
    ),
    412: (Code.HTTP_VERSION_CONFLICT,),
    413: (Code.INPUT_TOO_LARGE, Code.IMPORT_TOO_LARGE, Code.HTTP_BODY_TOO_LARGE),
    415: (Code.HTTP_CONTENT_TYPE, Code.HTTP_CONTENT_ENCODING),
    421: (Code.ACCESS_HOST_REFUSED,),
    422: (
        Code.RULES_TOO_LARGE,
        Code.RECAP_NO_MODEL,
        Code.EMBEDDING_UNAVAILABLE,
        Code.CHAT_NOBODY_PRESENT,
        Code.CHAT_PROJECT_MISSING,
        Code.MODE_ROLES_INVALID,
        Code.MODE_UNKNOWN,
        Code.LLM_NO_KEY,
        Code.LLM_NOT_INSTALLED,
        Code.MCP_NOT_INSTALLED,
        Code.LLM_TOO_LONG,
        Code.HTTP_KEY_REUSED,
    ),
    429: (
        Code.BACKPRESSURE,
        Code.ACCESS_TOO_MANY_TRIES,
        Code.HTTP_TOO_MANY_OPEN,
        Code.HTTP_TOO_MANY_REQUESTS,
        Code.HTTP_UPLOAD_QUOTA,
    ),
    431: (Code.HTTP_HEADERS_TOO_LARGE,),
    500: (
        Code.JOB_ABANDONED,
        Code.JOB_FAILED,
        Code.JOB_LEASE_LOST,
        Code.MODE_FAILED,
        Code.STORE_DAMAGED,
        Code.STORE_TOO_NEW,
        Code.SERVER_FAILED,
    ),
    502: (
        Code.JOB_ANSWER_INVALID,
        Code.LLM_ANSWER_EMPTY,
        Code.LLM_ANSWER_INVALID,
        Code.LLM_FILTERED,
        Code.LLM_GONE,
        Code.LLM_OTHER_SPEAKER,
        Code.LLM_REFUSED,
    ),
    503: (
        Code.LLM_RATE_LIMITED,
        Code.SERVER_CUT_OFF,
        Code.SERVER_STOPPING,
        Code.STORE_BUSY,
        Code.STORE_CLOSED,
        Code.STORE_READ_ONLY,
        Code.STORE_UNREACHABLE,
    ),
    504: (Code.JOB_TIMEOUT, Code.LLM_TIMEOUT),
    507: (Code.STORE_DISK_FULL,),
}
STATUSES: Mapping[Code, int] = {code: status for status, codes in _CODES_BY_STATUS.items() for code in codes}
_STORE = "STORE_"  # of codes whose titles say enough without it: a thing is not found, not the store
_OPENAI_STATUSES = {Code.LLM_RATE_LIMITED.value: 429}  # where clients of OpenAI's API expect another one
_CODES_OF_LITESTAR = {
    404: Code.HTTP_NOT_FOUND,
    405: Code.HTTP_METHOD_UNKNOWN,
    413: Code.HTTP_BODY_TOO_LARGE,
}


class Problem(Struct, rename="camel", omit_defaults=True):
    """A refusal as RFC 9457 has it; `code` is one of ours, and `current` the present version where one was expected.

    `candidates` are the ids of the things that an ambiguous name may mean.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    current: int | str | UnsetType = UNSET
    candidates: tuple[str, ...] | UnsetType = UNSET
    retry_seconds: int | UnsetType = UNSET  # that a client waits before it asks again
    reference: str | UnsetType = UNSET


def choose_language(accept: str) -> str:
    """Return the language of an `Accept-Language` header that Fabula speaks; English where it names none."""
    if not accept:
        return ENGLISH
    known = list_languages()
    weighed: list[tuple[float, str]] = []
    for part in accept.split(",")[:20]:
        name, _, quality = part.strip().partition(";q=")
        try:
            weight = float(quality) if quality else 1.0
        except ValueError:
            continue
        weighed.append((-weight, name.split("-")[0].lower()))
    return next((name for _, name in sorted(weighed, key=lambda one: one[0]) if name in known), ENGLISH)


def describe_refusal(error: FabulaError, language: str = ENGLISH) -> Problem:
    """Describe a refusal with its code, its sentence and, where a version was expected, the present one."""
    status = STATUSES.get(error.code, 500)
    current, seconds = error.details.get("current"), error.details.get("retry_seconds")
    candidates = error.details.get("candidates")
    return Problem(
        type=f"urn:fabula:error:{error.code.value}",
        title=error.code.value.removeprefix(_STORE).replace("_", " ").capitalize(),
        status=status,
        detail=str(show(error.message, language)),
        code=error.code.value,
        current=current if isinstance(current, int | str) else UNSET,
        candidates=candidates if isinstance(candidates, tuple) else UNSET,
        retry_seconds=seconds if isinstance(seconds, int) else RETRY_SECONDS if status in (429, 503) else UNSET,
    )


def describe_exception(error: Exception, language: str = ENGLISH) -> Problem:
    """Describe any exception: a refusal as it is, what Litestar refuses by a code, and all else without its text."""
    if isinstance(error, FabulaError):
        return describe_refusal(error, language)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return describe_refusal(_translate_exception(error), language)
    reference = new_id()
    log.error("request failed: reference=%s exception=%s", reference, describe_place(error))
    problem = describe_refusal(
        FabulaError(
            Code.SERVER_FAILED,
            message("Something went wrong in the server. Its log has more under {reference}.", reference=reference),
        ),
        language,
    )
    return msgspec.structs.replace(problem, reference=reference)


def describe_openai_error(problem: Problem) -> tuple[int, dict[str, Any]]:
    """Return the status and the form that a refusal has in OpenAI's API."""
    status = _OPENAI_STATUSES.get(problem.code, problem.status)
    kind = "invalid_request_error" if status < 500 else "server_error"
    return status, {"error": {"message": problem.detail, "type": kind, "param": None, "code": problem.code}}


def encode_refusal(problem: Problem, path: str) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body of the answer to a request that is refused, by its address."""
    status, headers, body = _encode_problem(problem)
    if path == V1 or path.startswith(f"{V1}/"):
        status, shown = describe_openai_error(problem)
        return status, {**headers, "content-type": "application/json"}, msgspec.json.encode(shown)
    return status, headers, body


def _encode_problem(problem: Problem) -> tuple[int, dict[str, str], bytes]:
    headers = {"content-type": MEDIA_TYPE}
    if isinstance(problem.retry_seconds, int):
        headers["retry-after"] = str(problem.retry_seconds)
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    if problem.status == 412 and isinstance(problem.current, str):
        headers["etag"] = problem.current
    return problem.status, headers, msgspec.json.encode(problem)


def refuse_address() -> FabulaError:
    """Return the refusal of an address at which there is nothing."""
    return FabulaError(
        Code.HTTP_NOT_FOUND, message("There is nothing at this address. The list of addresses is at /api.")
    )


def refuse_size(most: int = MAX_BODY) -> FabulaError:
    """Return the refusal of a body of more than so many bytes, with what to do."""
    advice = (
        message("Split what it says over several requests.")
        if most <= MAX_BODY
        else message("Divide the file, leave out what is not text, or import it on the machine of the server.")
    )
    return FabulaError(
        Code.HTTP_BODY_TOO_LARGE,
        message(
            "The body of the request is too long: it may have {megabytes} MB. {advice} Nothing was changed.",
            megabytes=most // 1_000_000,
            advice=advice,
        ),
    )


def _translate_exception(error: HTTPException) -> FabulaError:
    """Return what Litestar refuses as a refusal of ours."""
    code = _CODES_OF_LITESTAR.get(error.status_code, Code.REQUEST_INVALID)
    if code is Code.HTTP_NOT_FOUND:
        return refuse_address()
    if code is Code.HTTP_BODY_TOO_LARGE:
        return refuse_size()
    sentences: dict[Code, Any] = {
        Code.HTTP_METHOD_UNKNOWN: message("This address has no such method. The list of methods is at /api."),
    }
    return FabulaError(code, sentences.get(code, message("The request could not be read. Nothing was changed.")))
