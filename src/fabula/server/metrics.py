"""Metrics for Prometheus: requests, the queue, assemblies, costs of models, jobs, and the lag of the event loop.

Labels hold routes, states and currencies, never a title, a name or an id. Several processes of one server write into
files of one folder (`PROMETHEUS_MULTIPROC_DIR`, which the supervisor sets), so that any of them answers for all.
What the store knows (jobs, tokens, money) is read when somebody asks, and kept for some seconds.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from fabula.access.model import Right
from fabula.server.security import get_access
from fabula.server.supervisor import METRICS_FOLDER
from fabula.settings.values import SettingValues
from fabula.workspace.workspace import Workspace

METRICS_PATH = "/metrics"
LAG_SECONDS = 0.5  # between two looks at the lag
KEPT_SECONDS = 15.0  # that sums of the store are kept
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ServerMetrics:
    """What one process counts."""

    def __init__(self, workspace: Workspace, count_waiting: Callable[[], int]) -> None:
        self._workspace, self._count_waiting = workspace, count_waiting
        self._registry = CollectorRegistry()
        registry = self._registry
        self._requests = Counter(
            "fabula_http_requests", "Requests by route and status.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "fabula_http_request_seconds", "Time to the first byte of an answer.", buckets=_BUCKETS, registry=registry
        )
        self._assemblies = Counter("fabula_assemblies", "Prompts that were assembled.", registry=registry)
        self._tokens = Counter("fabula_prompt_tokens", "Tokens of the prompts that were assembled.", registry=registry)
        self._waiting = Gauge(
            "fabula_requests_waiting",
            "Requests that wait for their turn.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._lag = Gauge(
            "fabula_event_loop_lag_seconds",
            "How late the event loop was in the last half second; the latest of all processes.",
            multiprocess_mode="livemax",
            registry=registry,
        )
        self._counters: dict[tuple[str, str, str], Counter] = {}  # of requests, by what `labels` would look for
        self._counted = (0, 0)
        self._sums: tuple[float, list[Metric]] = (0.0, [])

    def count_request(self, scope: Any, status: int, seconds: float) -> None:
        """Count an answer."""
        route = scope.get("path_template") or "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        key = (method, route, str(status))
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self._requests.labels(*key)
        counter.inc()
        self._seconds.observe(seconds)

    @asynccontextmanager
    async def watch(self, _: object) -> AsyncGenerator[None, None]:
        """Measure the lag of the event loop and what the engine has made, until the block ends."""
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(LAG_SECONDS)
            self._lag.set(max(0.0, loop.time() - before - LAG_SECONDS))
            self.update()

    def update(self) -> None:
        """Take over the counts of the engine and of the queue."""
        assemblies, tokens = self._workspace.engine.counts
        self._assemblies.inc(assemblies - self._counted[0])
        self._tokens.inc(tokens - self._counted[1])
        self._counted = assemblies, tokens
        self._waiting.set(self._count_waiting())

    def render(self) -> bytes:
        """Return all metrics as text."""
        self.update()
        registry = self._registry
        if METRICS_FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + generate_latest(_SumsCollector(self._sum_up()))

    def _sum_up(self) -> list[Metric]:
        now = time.monotonic()
        if now >= self._sums[0]:
            self._sums = (now + KEPT_SECONDS, list(_describe_sums(self._workspace)))
        return self._sums[1]

    def make_handler(self) -> HTTPRouteHandler:
        """Make the handler for Prometheus, which needs the owner's token unless a setting opens it."""

        @get(METRICS_PATH)
        async def show_metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
            """Show what this server counts."""
            if not is_open():
                get_access(request.scope).require(Right.STORE)
            return Response(await self._workspace.call(self.render), media_type=CONTENT_TYPE_LATEST)

        return show_metrics


class _SumsCollector(CollectorRegistry):
    """Metrics that were made beforehand, as a registry."""

    def __init__(self, metrics: list[Metric]) -> None:
        super().__init__()
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics


def is_open() -> bool:
    """Whether the metrics need no token on this machine."""
    return bool(SettingValues()["server.openMetrics"])


def _describe_sums(workspace: Workspace) -> Iterator[Metric]:
    sums = workspace.sum_activity()
    jobs = GaugeMetricFamily("fabula_jobs", "Background jobs by state.", labels=["state"])
    for state, count in sums.jobs.items():
        jobs.add_metric([state], count)
    yield jobs
    tokens = CounterMetricFamily("fabula_model_tokens", "Tokens that models read and wrote.", labels=["kind"])
    for kind, count in (("input", sums.input_tokens), ("cached", sums.cached_tokens), ("output", sums.output_tokens)):
        tokens.add_metric([kind], count)
    yield tokens
    share = GaugeMetricFamily("fabula_model_cached_share", "Share of the input that a provider had in its cache.")
    share.add_metric([], sums.cached_tokens / sums.input_tokens if sums.input_tokens else 0.0)
    yield share
    money = CounterMetricFamily("fabula_model_cost", "What models cost.", labels=["currency"])
    for currency, micros in sums.micros.items():
        money.add_metric([currency], micros / 1_000_000)
    yield money
