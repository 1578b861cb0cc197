"""Networks: which addresses count as one, wherever tries, requests or connections of an address are counted."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network


def name_network(address: str) -> str:
    """Return what counts as one address: of IPv6 the network of 64 bits that one customer has."""
    if ":" not in address:
        return address
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((found, 64), strict=False))


def is_loopback(address: str) -> bool:
    """Whether an address is one of this machine, also as a socket for both kinds of addresses shows it."""
    return address.removeprefix("::ffff:").startswith("127.") or address == "::1"
