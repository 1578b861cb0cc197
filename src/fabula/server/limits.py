"""Rates of requests: so many a second for each address and each caller, and few tries with keys and passwords.

Each is a token bucket: it holds some tokens, a request takes one, and new ones come at a steady rate. Whoever finds it
empty is refused and told when to come back. The buckets belong to one process, and the longest unused are forgotten;
where several processes answer for one server, each has its share of the rates. Passwords are checked a few at once,
because each check takes much memory and a thread. What is open at once, such as a stream of events, is bounded for each
person and each address too. On the loopback the rates and bounds are a hundred times as high, since programs of this
machine are its own.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from math import ceil

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.net.networks import is_loopback, name_network
from fabula.settings.values import SettingValues

BURST_SECONDS = 10  # of a rate that may come at once
LOOPBACK_FACTOR = 100
TRIES_PER_SECOND, MAX_TRIES = 5.0, 50  # with unknown keys and with passwords: how many a second, and at once
PASSWORDS_AT_ONCE, PASSWORDS_WAITING = 2, 16  # that one process checks, and that wait for that
MAX_BUCKETS = 10_000
OPEN_SECONDS = 5  # after which whoever has too much open may come back


class RateSettings(Struct, frozen=True):
    """How many requests a second one caller and one address may send."""

    for_caller: float = 100.0
    for_address: float = 200.0
    share: float = 1.0  # of these, and of the tries with unknown keys, that one process has


def read_rates(processes: int = 1) -> RateSettings:
    """Return the rates that this machine has, for one of some processes that share them."""
    values = SettingValues()
    for_caller, for_address = values["server.requestsPerSecond"], values["server.addressRequestsPerSecond"]
    return RateSettings(for_caller, for_address, 1 / processes)


class OpenLimits(Struct, frozen=True):
    """How much may be open at once: requests of a person and of an address, and connections of an address."""

    for_person: int = 100
    for_address: int = 400
    connections: int = 800
    share: float = 1.0  # of these that one process has

    def count(self, most: int, address: str) -> int:
        """Return how many of something one process allows to somebody at an address."""
        return max(1, int(most * self.share * (LOOPBACK_FACTOR if is_loopback(address) else 1)))


def read_open_limits(processes: int = 1) -> OpenLimits:
    """Return how much may be open at once on this machine, for one of some processes that share it."""
    values = SettingValues()
    return OpenLimits(
        values["server.openRequests"],
        values["server.addressOpenRequests"],
        values["server.addressConnections"],
        1 / processes,
    )


class OpenRequests:
    """The requests that are open, counted by person and by address; a stream is one for as long as it is read."""

    def __init__(self, limits: OpenLimits) -> None:
        self.limits = limits
        self._people, self._addresses = Counter[str](), Counter[str]()

    def __len__(self) -> int:
        return len(self._people) + len(self._addresses)

    @contextmanager
    def hold(self, person: str | None, address: str) -> Iterator[None]:
        """Count a request while the block runs, or refuse it; what is open to everybody has no person."""
        network, limits = name_network(address), self.limits
        if self._addresses[network] >= limits.count(limits.for_address, address) or (
            person is not None and self._people[person] >= limits.count(limits.for_person, address)
        ):
            raise refuse_open()
        held = [(self._addresses, network)] if person is None else [(self._addresses, network), (self._people, person)]
        for counts, key in held:
            counts[key] += 1
        try:
            yield
        finally:
            for counts, key in held:
                counts[key] -= 1
                if not counts[key]:
                    del counts[key]


class TokenBuckets:
    """A token bucket for each key; not for several threads."""

    def __init__(self, per_second: float, at_once: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._size, self._clock = per_second, at_once, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: str, amount: float = 1.0) -> float:
        """Take tokens; return 0, or the seconds until there are enough. More than a bucket holds are never there."""
        tokens = self._count(key)
        if tokens < amount:
            return (amount - tokens) / self._rate
        self.spend(key, amount)
        return 0.0

    def spend(self, key: str, amount: float) -> None:
        """Take tokens that were used already; what is missing must come in before others are given."""
        self._buckets[key] = (self._count(key) - amount, self._clock())
        self._buckets.move_to_end(key)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)

    def _count(self, key: str) -> float:
        tokens, since = self._buckets.get(key, (self._size, self._clock()))
        return min(self._size, tokens + (self._clock() - since) * self._rate)


class RequestRates:
    """The rates of one server: by address, by caller, and of tries with keys that nobody has and with passwords."""

    def __init__(self, rates: RateSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        def make(rate: float) -> TokenBuckets:
            return TokenBuckets(rate * rates.share, max(1.0, rate * rates.share * BURST_SECONDS), clock=clock)

        self._addresses, self._callers = make(rates.for_address), make(rates.for_caller)
        self._local_addresses = make(rates.for_address * LOOPBACK_FACTOR)
        self._local_callers = make(rates.for_caller * LOOPBACK_FACTOR)
        self._tries = TokenBuckets(TRIES_PER_SECOND * rates.share, max(1.0, MAX_TRIES * rates.share), clock=clock)

    def count_request(self, address: str) -> None:
        """Count a request from an address, or refuse it."""
        buckets = self._local_addresses if is_loopback(address) else self._addresses
        if seconds := buckets.take(name_network(address)):
            raise refuse_rate(seconds)

    def count_caller(self, caller: str, address: str) -> None:
        """Count a request of a caller, or refuse it."""
        if seconds := (self._local_callers if is_loopback(address) else self._callers).take(caller):
            raise refuse_rate(seconds)

    def count_try(self, address: str) -> None:
        """Count a try with a password, or a key that is not known to be valid, or refuse it before it is checked."""
        if seconds := self._tries.take(name_network(address)):
            raise FabulaError(
                Code.ACCESS_TOO_MANY_TRIES,
                message("Too many keys or passwords were tried from this address. Wait a moment, then try again."),
                retry_seconds=ceil(seconds),
            )


class PasswordQueue:
    """Lets few requests of one process check a password at once; some more wait, and others are refused."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PASSWORDS_AT_ONCE)
        self._waiting = 0

    @asynccontextmanager
    async def take_place(self) -> AsyncIterator[None]:
        """Run the block once there is a place for it, or refuse."""
        if self._places.locked() and self._waiting >= PASSWORDS_WAITING:
            raise refuse_rate(1)
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()


def refuse_rate(seconds: float) -> FabulaError:
    """Return the refusal of a request that came too soon."""
    return FabulaError(
        Code.HTTP_TOO_MANY_REQUESTS,
        message("There were too many requests. Wait a moment, then try again. Nothing was changed."),
        retry_seconds=ceil(seconds),
    )


def refuse_open() -> FabulaError:
    """Return the refusal of a request or a connection where too much is open already."""
    return FabulaError(
        Code.HTTP_TOO_MANY_OPEN,
        message(
            "Too many requests, streams or connections are open already for you or your address. Close some, or wait "
            "a moment, then try again. Nothing was changed."
        ),
        retry_seconds=OPEN_SECONDS,
    )
