"""Where nothing is ever sent, however it is spelled."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from fabula.net.addresses import is_loopback, spelled, wrong_with, wrong_with_name, wrong_with_url


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
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
    ],
)
def test_where_clouds_keep_their_secrets_nothing_goes_even_where_link_local_is_allowed(address: str) -> None:
    assert "secrets" in wrong_with(ip_address(address), link_local=True)


@pytest.mark.parametrize("address", ["169.254.1.1", "fe80::1", "::ffff:169.254.1.1", "64:ff9b::a9fe:101"])
def test_link_local_addresses_must_be_allowed_first(address: str) -> None:
    assert "link-local" in wrong_with(ip_address(address))
    assert wrong_with(ip_address(address), link_local=True) == ""


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "240.1.1.1"])
def test_addresses_of_nobody_are_refused(address: str) -> None:
    assert "no server" in wrong_with(ip_address(address))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "192.168.1.20", "10.0.0.7", "fd12::1"])
def test_servers_at_home_may_have_a_key_without_https(address: str) -> None:
    assert wrong_with(ip_address(address), clear_key=True) == ""


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808"])
def test_elsewhere_a_key_wants_https(address: str) -> None:
    assert wrong_with(ip_address(address)) == ""
    assert "https" in wrong_with(ip_address(address), clear_key=True)


@pytest.mark.parametrize(
    "host",
    ["2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518", "0xa9.254.0251.254", "169.254.169.254."],
)
def test_numbers_in_other_spellings_are_the_address_they_mean(host: str) -> None:
    assert spelled(host) == ip_address("169.254.169.254")


@pytest.mark.parametrize("host", ["example.com", "1password.com", "a9.example", "", "256.1.1.1", "localhost"])
def test_names_are_no_addresses(host: str) -> None:
    assert spelled(host) is None


def test_names_of_such_places_are_not_even_looked_up() -> None:
    assert wrong_with_name("Metadata.Google.Internal.")
    assert wrong_with_name("api.openai.com") == ""


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "ollama.localhost", "127.8.8.8", "[::1]", "2130706433"])
def test_this_machine_is_known_by_all_its_names(host: str) -> None:
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
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    assert wrong_with_url(url)
    assert "secret" not in wrong_with_url(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:11434/v1", "https://api.openai.com/v1", "http://[::1]:8080"])
def test_an_address_is_one(url: str) -> None:
    assert wrong_with_url(url) == ""
