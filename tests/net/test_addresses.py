"""The address guard: refused addresses in every notation."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from fabula.net.addresses import find_address_problem, find_host_problem, find_url_problem, is_loopback, parse_address


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
    ],
)
def test_metadata_services_are_refused_even_where_link_local_is_allowed(address: str) -> None:
    assert "secrets" in str(find_address_problem(ip_address(address), allow_link_local=True))


@pytest.mark.parametrize("address", ["169.254.1.1", "fe80::1", "::ffff:169.254.1.1", "64:ff9b::a9fe:101"])
def test_link_local_addresses_must_be_allowed_first(address: str) -> None:
    assert "link-local" in str(find_address_problem(ip_address(address)))
    assert find_address_problem(ip_address(address), allow_link_local=True) is None


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "240.1.1.1"])
def test_addresses_that_no_server_has_are_refused(address: str) -> None:
    assert "no server" in str(find_address_problem(ip_address(address)))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "192.168.1.20", "10.0.0.7", "fd12::1"])
def test_servers_in_the_local_network_may_get_a_key_without_https(address: str) -> None:
    assert find_address_problem(ip_address(address), sends_clear_key=True) is None


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808"])
def test_other_servers_get_a_key_only_with_https(address: str) -> None:
    assert find_address_problem(ip_address(address)) is None
    assert "https" in str(find_address_problem(ip_address(address), sends_clear_key=True))


@pytest.mark.parametrize(
    "host",
    ["2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518", "0xa9.254.0251.254", "169.254.169.254."],
)
def test_addresses_in_other_notations_are_parsed(host: str) -> None:
    assert parse_address(host) == ip_address("169.254.169.254")


@pytest.mark.parametrize("host", ["example.com", "1password.com", "a9.example", "", "256.1.1.1", "localhost"])
def test_names_are_not_addresses(host: str) -> None:
    assert parse_address(host) is None


def test_names_of_metadata_services_are_refused() -> None:
    assert find_host_problem("Metadata.Google.Internal.")
    assert find_host_problem("api.openai.com") is None


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "ollama.localhost", "127.8.8.8", "[::1]", "2130706433"])
def test_all_names_of_this_machine_are_loopback(host: str) -> None:
    assert is_loopback(host)
    assert not is_loopback(f"{host.strip('[].')}.example.com")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:1234/v1",
        "file:///etc/passwd",
        "ftp://u:secret@host/v1",
        "http:///v1",
        "http://name:secret@host/v1",
        "http://secret@host/v1",
        "http://host:99999/v1",
        "http://host:0/v1",
        "http://host/v1?key=secret",
        "http://host/v1#secret",
        "http://ho st/v1",
        "http://host/v1\r\nX: secret",
        "http://[::1/v1",
        "http://host\\@169.254.169.254/",
    ],
)
def test_an_invalid_url_is_refused_without_repeating_it(url: str) -> None:
    assert find_url_problem(url)
    assert "secret" not in str(find_url_problem(url))


@pytest.mark.parametrize("url", ["http://127.0.0.1:11434/v1", "https://api.openai.com/v1", "http://[::1]:8080"])
def test_a_valid_url_has_no_problem(url: str) -> None:
    assert find_url_problem(url) is None
