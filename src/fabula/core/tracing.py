"""Spans for OpenTelemetry: requests, assemblies, model calls and jobs, where the extra `otel` is installed and set up.

Unless the `OTEL_*` variables of the environment name an exporter, nothing of it is imported, and a span costs one call
of a function. A span has a name, counts and codes: never a text, a title, an address or a key.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from fabula.core.errors import FabulaError

log = logging.getLogger("fabula.tracing")

_ADDRESSES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NAMES = ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES")


class SpanNotes:
    """What is noted of a span while it lasts; nothing, where spans are not recorded."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def add(self, name: str, value: str | int) -> None:
        """Note a count or a code."""
        if self._span is not None:
            self._span.set_attribute(name, value)


_NO_SPAN = nullcontext(SpanNotes())


def record_span(name: str, *, is_current: bool = True, **attributes: str | int) -> AbstractContextManager[SpanNotes]:
    """Record a span while the block runs, with the code of what it raises.

    One that is current is the parent of those that begin within it; in an async generator none may be.
    """
    tracer = find_tracer()
    return _NO_SPAN if tracer is None else _record_span(tracer, name, attributes, is_current=is_current)


@contextmanager
def _record_span(
    tracer: Any, name: str, attributes: Mapping[str, str | int], *, is_current: bool
) -> Iterator[SpanNotes]:
    from opentelemetry.trace import use_span

    span = tracer.start_span(name, attributes=attributes)
    quiet = {"record_exception": False, "set_status_on_exception": False}  # the words of an exception may be a story's
    try:
        with use_span(span, **quiet) if is_current else nullcontext():
            yield SpanNotes(span)
    except Exception as error:
        span.set_attribute("error.type", error.code.value if isinstance(error, FabulaError) else type(error).__name__)
        raise
    finally:
        span.end()


@cache
def find_tracer() -> Any:
    """Return what records spans; None where nobody asked for it, or where its packages are missing."""
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    is_wanted = exporter == "otlp" or (not exporter and any(map(os.environ.get, _ADDRESSES)))
    if not is_wanted or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        provider = trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):  # the program that Fabula is part of has set up none
            own_name = {} if any(map(os.environ.get, _NAMES)) else {"service.name": "fabula"}
            provider = TracerProvider(resource=Resource.create(own_name))
            provider.add_span_processor(BatchSpanProcessor(make_exporter()))
        return provider.get_tracer("fabula")
    except ImportError:
        log.warning("spans are not recorded: install fabula[otel]")
        return None


def make_exporter() -> Any:
    """Make what sends spans by OTLP over HTTP, to where the environment says."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()
