"""Proxies: through whom one leaves this network, where it has such a door.

What counts is what the machine says (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, or the system's own
settings where it has some), unless somebody says otherwise. This very machine is never reached through a proxy. A
proxy looks names up by itself: whoever sends something through one can look at the name and at what it leads to from
here, and not at where the proxy goes with it.
"""

from __future__ import annotations

from ipaddress import ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fabula.net.addresses import is_loopback, spelled

ENVIRONMENT, NONE = "environment", "none"
_SCHEMES = ("http", "https", "socks5", "socks5h")


def proxy_for(url: str, choice: str = ENVIRONMENT) -> str | None:
    """The proxy that leads to an address: as the machine says, none, or the one that was named."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if choice == NONE or is_loopback(host):
        return None
    if choice != ENVIRONMENT:
        return choice
    if proxy_bypass(f"{host}:{parts.port}" if parts.port else host) or proxy_bypass(host) or _left_out(host):
        return None
    known = getproxies()
    named = known.get(parts.scheme) or known.get("all") or ""
    if not named:
        return None
    return named if "://" in named else f"http://{named}"


def wrong_with_proxy(proxy: str, *, named: bool) -> str:
    """Why a proxy cannot be used, or nothing. One that is named in a setting may hold no password."""
    try:
        parts = urlsplit(proxy)
        sound = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or any(character <= " " for character in proxy):
        return "is none: it is like http://host:3128"
    if named and (parts.username is not None or parts.password is not None):
        return "holds a name or a password; those belong into the environment"
    return ""


def _left_out(host: str) -> bool:
    """Networks such as 10.0.0.0/8 in NO_PROXY, which the system's own reading of it does not know."""
    address = spelled(host)
    if address is None:
        return False
    for one in (getproxies().get("no") or "").split(","):
        try:
            if address in ip_network(one.strip(), strict=False):
                return True
        except (TypeError, ValueError):
            continue
    return False
