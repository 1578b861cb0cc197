"""Proxy selection: which proxy leads to a URL.

The environment decides (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, or the system settings), unless a
provider's configuration names a proxy or turns them off. This machine itself is never reached through a proxy.
"""

from __future__ import annotations

from ipaddress import ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fabula.core.messages import Sentence, message
from fabula.net.addresses import is_loopback, parse_address, split_url

FROM_ENVIRONMENT, NO_PROXY = "environment", "none"
_SCHEMES = ("http", "https", "socks5", "socks5h")


def find_proxy(url: str, choice: str = FROM_ENVIRONMENT) -> str | None:
    """Find the proxy for a URL; `choice` is FROM_ENVIRONMENT, NO_PROXY or the address of a proxy."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if choice == NO_PROXY or is_loopback(host):
        return None
    if choice != FROM_ENVIRONMENT:
        return choice
    if proxy_bypass(parts.netloc) or proxy_bypass(host) or _is_in_excluded_network(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy or None


def find_proxy_problem(proxy: str, *, from_settings: bool) -> Sentence | None:
    """Why a proxy cannot be used, or None. One from a setting must not contain a password."""
    parts = split_url(proxy, _SCHEMES)
    if parts is None:
        return message("is not valid: it must be like http://host:3128")
    if from_settings and (parts.username is not None or parts.password is not None):
        return message("contains a user name or a password; put them into the environment")
    return None


def _is_in_excluded_network(host: str) -> bool:
    """Whether NO_PROXY contains a network such as 10.0.0.0/8 with this host; `proxy_bypass` ignores networks."""
    address = parse_address(host)
    if address is None:
        return False
    for network in (getproxies().get("no") or "").split(","):
        try:
            if address in ip_network(network.strip(), strict=False):
                return True
        except (TypeError, ValueError):
            continue
    return False
