"""Addresses: where nothing of ours is ever sent.

The address of a server can come from a file somebody else wrote. So it is looked at twice: as it is written, and as
what it leads to once its name was looked up. Link-local addresses and the well-known places where clouds keep their
secrets are refused however they are spelled: as numbers, inside IPv6, or behind a name. Everything here says what is
wrong in a few words, or nothing; the rooms that ask have codes of their own. No address is ever repeated in those
words, since somebody may have written a password into it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address

_SECRETS = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
        ),
    )
)
_NAMES = frozenset({"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"})
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))


def wrong_with_url(url: str) -> str:
    """Why a text cannot be a server's address, or nothing."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or any(character <= " " or character == "\x7f" for character in url) or "\\" in url:
        return "is none: it begins with http:// or https:// and a host"
    if parts.username is not None or parts.password is not None:
        return "holds a name or a password; a key belongs into the environment"
    if parts.query or parts.fragment:
        return "holds a question or a fragment; it ends with a path such as /v1"
    return ""


def wrong_with(address: Address, *, link_local: bool = False, clear_key: bool = False) -> str:
    """Why nothing should be sent to an address, or nothing; `clear_key` where a key would go along unencrypted."""
    for real in _meant(address):
        if real in _SECRETS:
            return "leads to where clouds keep their secrets"
        if real.is_multicast or real.is_unspecified or (isinstance(real, IPv4Address) and real.is_reserved):
            return "has an address that is no server's"
        if real.is_link_local and not link_local:
            return "has a link-local address, which must be allowed first"
    if clear_key and all(real.is_global for real in _meant(address)):
        return "would get its key in the clear; use https"
    return ""


def wrong_with_name(host: str) -> str:
    """Why a name should not even be looked up, or nothing."""
    return "leads to where clouds keep their secrets" if host.rstrip(".").lower() in _NAMES else ""


def spelled(host: str) -> Address | None:
    """The address that a host already is, in any spelling that a system's own look-up takes; None for a name."""
    plain = host.strip("[]").partition("%")[0].rstrip(".")
    try:
        return ip_address(plain)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(plain)) if plain[:1].isdigit() else None
    except (OSError, ValueError):
        return None


def found(looked_up: Iterable[tuple[object, object, object, object, tuple[object, ...]]]) -> list[Address]:
    """The addresses in what a look-up gave, each once, in its order."""
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in looked_up))


def is_loopback(host: str) -> bool:
    """Is it this very machine, as far as one can tell without looking it up?"""
    address = spelled(host)
    if address is None:
        return host.rstrip(".").lower() == "localhost" or host.rstrip(".").lower().endswith(".localhost")
    return any(real.is_loopback for real in _meant(address))


def _meant(address: Address) -> list[Address]:
    """An address, and those that ways through IPv6 would carry it to."""
    meant: list[Address] = [address]
    if isinstance(address, IPv6Address) and not address.is_loopback and not address.is_unspecified:
        inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if any(address in network for network in _TRANSLATED) or (int(address) >> 32) & 0xFFFFFFFF == 0x5EFE:
            inside.append(IPv4Address(int(address) & 0xFFFFFFFF))
        found = [one for one in inside if one is not None]
        meant = [*found] if address.ipv4_mapped is not None else [*meant, *found]
    return meant
