"""Reverse proxies before the server: whom they name, for which client they speak, and under which names (ppl-2).

What a proxy says is believed only where the request comes from the address of a trusted one. By default none is.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.settings.values import SettingValues


class ProxySettings(Struct, frozen=True):
    """Which proxies are trusted, the header by which they name a person, and the names of the server before them."""

    header: str = ""
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    hosts: tuple[str, ...] = ()

    def is_trusted(self, address: str) -> bool:
        """Whether an address is one of a trusted proxy."""
        if not self.networks:
            return False
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        return any(found in network for network in self.networks)

    def find_client(self, address: str, forwarded: str) -> str:
        """Return for whom a request was forwarded: the last address that is not one of a trusted proxy."""
        for one in (address, *(part.strip() for part in reversed(forwarded.split(",")[-20:]))):
            if one and not self.is_trusted(one):
                return one[:60]
        return address


def read_proxy_settings() -> ProxySettings:
    """Return what this machine says of proxies; addresses that are none are refused."""
    values = SettingValues()
    named = values["server.trustedProxies"] or ""
    try:
        networks = tuple(ip_network(one.strip(), strict=False) for one in named.split(",") if one.strip())
    except ValueError:
        raise FabulaError(
            Code.SETTING_INVALID,
            message(
                "server.trustedProxies is a list of addresses and networks such as 10.0.0.5, 192.168.1.0/24, "
                "not {value!r}.",
                value=named[:100],
            ),
        ) from None
    hosts = (values["server.hosts"] or "").split(",")
    return ProxySettings(
        header=(values["server.proxyHeader"] or "").strip().lower(),
        networks=networks,
        hosts=tuple(one.strip().lower() for one in hosts if one.strip()),
    )
