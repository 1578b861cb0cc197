"""Which addresses count as one, and which are of this machine."""

from __future__ import annotations

import pytest

from fabula.net.networks import is_loopback, name_network


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a:b", "a:b"),
        ("", ""),
    ],
)
def test_a_customer_with_many_addresses_is_one(address: str, network: str) -> None:
    assert name_network(address) == network


def test_addresses_of_this_machine_are_known_in_both_forms() -> None:
    assert [one for one in ("127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1") if not is_loopback(one)] == []
    assert [one for one in ("10.0.0.1", "::ffff:10.0.0.1", "::2", "", "1270.0.0.1") if is_loopback(one)] == []
