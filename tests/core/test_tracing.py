"""Spans for OpenTelemetry: what is recorded, that no text is in it, and that nothing is imported unasked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from fabula.core import tracing
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.jobs import queue
from fabula.jobs.model import Job, JobKind, JobOutcome
from fabula.jobs.worker import Worker
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.server.running import OWNER_TOKEN, run_server

SECRET = "zephyrknot"
Spans = Callable[[], Sequence[Any]]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """What returns the spans that were recorded so far."""
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setattr(export, "BatchSpanProcessor", export.SimpleSpanProcessor)
    monkeypatch.setattr(tracing, "make_exporter", lambda: memory)
    tracing.find_tracer.cache_clear()
    yield memory.get_finished_spans
    tracing.find_tracer.cache_clear()


def test_requests_assemblies_model_calls_and_jobs_are_spans_without_a_text(
    spans: Spans, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Workspace.open(lay(tmp_path_factory.mktemp("spans") / "data")) as workspace:
        project = workspace.create_project(SECRET)
        project.participants.add("Bo", persona=SECRET)
        project.chapters.add(SECRET, f"The {SECRET} is lit.")
        talk = project.chat.start(["Bo"], title=SECRET).record.id
        with run_server(workspace) as server, server.client() as client:
            base = f"/api/projects/{project.id}"
            client.post(f"{base}/chats/{talk}/send", json={"text": f"The {SECRET}?"})
            client.get(f"{base}/codex/{SECRET}")
        with workspace.store.write(project=project.id) as tx:
            queue.enqueue(tx, "note", SECRET)
        kinds = {"note": JobKind(handler=_note)}
        with Worker(workspace.store, kinds, poll_seconds=0.05) as worker:
            worker.drain()
    names = {one.name for one in spans()}
    assert names == {"request", "assembly", "model call", "job"}
    shown = [one.to_json() for one in spans()]
    assert [one for one in shown if SECRET in one or OWNER_TOKEN in one] == []
    parents = {one.context.span_id: one.parent.span_id for one in spans() if one.parent is not None}
    requests = {one.context.span_id for one in spans() if one.name == "request"}
    assert {parents[one.context.span_id] for one in spans() if one.name == "assembly"} <= requests
    assert any('"http.route": "/api/projects/{project}/codex/{entry}"' in one for one in shown), shown


def _note(job: Job, token: object) -> JobOutcome:
    return JobOutcome()


def test_a_span_has_the_code_of_an_error_and_not_its_words(spans: Spans) -> None:
    with pytest.raises(FabulaError), tracing.record_span("job"):
        raise FabulaError(Code.TEXT_INVALID, message("{name} is no text.", name=SECRET))
    (span,) = spans()
    assert SECRET not in span.to_json()
    assert Code.TEXT_INVALID.value in span.to_json()


def test_nothing_is_imported_where_no_exporter_is_named() -> None:
    code = (
        "import sys\nfrom fabula.core.tracing import record_span\n"
        "with record_span('job') as notes:\n    notes.add('a', 1)\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_packages_that_are_missing_cost_a_line_of_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    tracing.find_tracer.cache_clear()
    with tracing.record_span("job") as notes:
        notes.add("a", 1)
    tracing.find_tracer.cache_clear()
    assert "fabula[otel]" in caplog.text
