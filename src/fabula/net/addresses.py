"""Address guard: which URLs, hosts and IP addresses must not be contacted.

The URL of a server can come from a file that somebody else wrote. So it is checked twice: as it is written, and as the
addresses that its host resolves to. Link-local addresses and the metadata services of clouds, which hand out
credentials, are refused in every spelling: as numbers, inside IPv6, or behind a name. The functions return a phrase
that completes "The address of the server", or None. The phrase never repeats the address, because an address may
contain a password.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from fabula.core.messages import Sentence, message

Address = IPv4Address | IPv6Address

_METADATA_ADDRESSES = frozenset(
    ip_address(text)
    for text in (
        *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
        *("fd00:ec2::254", "fd20:ce::254"),
    )
)
_METADATA_HOSTS = frozenset({"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"})
_IPV4_EMBEDDING_NETWORKS = tuple(  # NAT64, its local form, IPv4-compatible and IPv4-translated addresses
    map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96"))
)
_LEADS_TO_SECRETS = message("leads to where clouds keep their secrets")


def find_url_problem(url: str) -> Sentence | None:
    """Why a text cannot be the base URL of a server, or None."""
    parts = split_url(url, ("http", "https"))
    if parts is None or "\\" in url or "\x7f" in url:
        return message("is not valid: it must begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        return message("contains a user name or a password; put the key into the environment")
    if parts.query or parts.fragment:
        return message("contains a query or a fragment; it must end with a path such as /v1")
    return None


def split_url(url: str, schemes: Sequence[str]) -> SplitResult | None:
    """The parts of a URL with one of these schemes and a host; None where it has none or is malformed."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_valid and not any(character <= " " for character in url) else None


def find_address_problem(
    address: Address, *, allow_link_local: bool = False, sends_clear_key: bool = False
) -> Sentence | None:
    """Why nothing may be sent to an address, or None; `sends_clear_key`: a key would go unencrypted."""
    targets = _effective_addresses(address)
    for target in targets:
        if target in _METADATA_ADDRESSES:
            return _LEADS_TO_SECRETS
        if target.is_multicast or target.is_unspecified or (isinstance(target, IPv4Address) and target.is_reserved):
            return message("has an address that no server can have")
        if target.is_link_local and not allow_link_local:
            return message("has a link-local address; allow such addresses first")
    if sends_clear_key and all(target.is_global for target in targets):
        return message("would receive the key unencrypted; use https")
    return None


def find_host_problem(host: str) -> Sentence | None:
    """Why a host name must not even be resolved, or None."""
    return _LEADS_TO_SECRETS if host.rstrip(".").lower() in _METADATA_HOSTS else None


def parse_address(host: str) -> Address | None:
    """Parse a host that is an address in any spelling that the system resolver accepts; None for a name."""
    plain = host.strip("[]").partition("%")[0].rstrip(".")
    try:
        return ip_address(plain)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(plain)) if plain[:1].isdigit() else None
    except (OSError, ValueError):
        return None


def collect_addresses(entries: Iterable[tuple[object, object, object, object, tuple[object, ...]]]) -> list[Address]:
    """The addresses in a result of `getaddrinfo`, each once, in order."""
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as far as one can tell without resolving it."""
    address = parse_address(host)
    if address is None:
        return f".{host.rstrip('.').lower()}".endswith(".localhost")
    return any(target.is_loopback for target in _effective_addresses(address))


def _effective_addresses(address: Address) -> list[Address]:
    """An address and the IPv4 addresses embedded in it; only the latter for a mapped one."""
    effective: list[Address] = [address]
    if isinstance(address, IPv6Address) and not address.is_loopback and not address.is_unspecified:
        embedded = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        is_isatap = (int(address) >> 32) & 0xFFFFFFFF == 0x5EFE
        if is_isatap or any(address in network for network in _IPV4_EMBEDDING_NETWORKS):
            embedded.append(IPv4Address(int(address) & 0xFFFFFFFF))
        present = [inner for inner in embedded if inner is not None]
        effective = [*present] if address.ipv4_mapped is not None else [*effective, *present]
    return effective
