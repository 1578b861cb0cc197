from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from fabula.core.errors import Code, FabulaError
from fabula.search.embeddings import endpoint
from fabula.search.embeddings.endpoint import EmbeddingEndpoint
from tests.net.proxy import clear_proxies, run_proxy
from tests.search.servers import DIMENSION, Rows, Server, embedding_server, letters

KEY = "sk-very-secret"
TEXT = "the debt was never paid"


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_proxies(monkeypatch)


@pytest.fixture
def server() -> Iterator[Server]:
    with embedding_server() as running:
        yield running


def refused(embedder: EmbeddingEndpoint, texts: list[str]) -> str:
    """What it says instead of vectors."""
    with pytest.raises(FabulaError) as caught:
        embedder.embed(texts)
    assert caught.value.code is Code.EMBEDDING_UNAVAILABLE
    assert KEY not in str(caught.value)
    assert TEXT not in str(caught.value)
    return caught.value.sentence


def test_vectors_come_in_the_order_of_their_texts_and_with_length_1(server: Server) -> None:
    server.change = lambda rows: rows[::-1]
    texts = [chr(ord("a") + at % 26) * 5 + str(at) for at in range(100)]
    vectors = EmbeddingEndpoint(server.url, "letters").embed(texts)
    assert vectors.shape == (100, DIMENSION)
    assert vectors.argmax(axis=1).tolist() == [at % 26 for at in range(100)]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_many_texts_go_in_several_requests(server: Server) -> None:
    EmbeddingEndpoint(server.url, "letters").embed(["a"] * (2 * endpoint.TEXTS_PER_REQUEST + 1))
    assert [len(asked["input"]) for asked in server.asked] == [
        endpoint.TEXTS_PER_REQUEST,
        endpoint.TEXTS_PER_REQUEST,
        1,
    ]
    assert {(asked["model"], asked["encoding_format"]) for asked in server.asked} == {("letters", "float")}
    assert set(server.paths) == {"/v1/embeddings"}


def test_the_key_goes_into_a_header_and_nowhere_else(server: Server) -> None:
    EmbeddingEndpoint(server.url + "/", "letters", key=KEY).embed([TEXT])
    EmbeddingEndpoint(server.url, "letters").embed([TEXT])
    assert [headers.get("Authorization") for headers in server.headers] == [f"Bearer {KEY}", None]
    assert KEY not in json.dumps(server.asked)


def test_texts_are_sent_so_that_a_server_can_take_them(server: Server) -> None:
    EmbeddingEndpoint(server.url, "letters").embed(["", " \n", "x" * 1_000_000, "half \ud800 a pair"])
    sent = server.asked[0]["input"]
    assert sent[:2] == [".", "."]
    assert len(sent[2]) == endpoint.MAX_CHARACTERS
    assert sent[3] == "half ? a pair"


def test_no_texts_ask_nobody(server: Server) -> None:
    assert len(EmbeddingEndpoint(server.url, "letters").embed([])) == 0
    assert server.asked == []


def test_its_name_tells_server_and_model_apart() -> None:
    names = {EmbeddingEndpoint(url, model).name for url in ("http://a/v1", "http://b/v1") for model in ("x", "y")}
    assert len(names) == 4


def test_a_server_that_is_down() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        assert "cannot be reached" in refused(
            EmbeddingEndpoint(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", "m"), [TEXT]
        )


def test_a_server_that_does_not_speak_tls(server: Server) -> None:
    assert "cannot be reached" in refused(
        EmbeddingEndpoint(server.url.replace("http:", "https:"), "m", seconds=2), [TEXT]
    )


def test_a_server_nobody_knows() -> None:
    assert "cannot be reached" in refused(EmbeddingEndpoint("http://nobody.invalid/v1", "m"), [TEXT])


def test_a_server_that_does_not_answer_in_time(server: Server) -> None:
    server.slow = 60
    assert "in time" in refused(EmbeddingEndpoint(server.url, "m", seconds=0.2), [TEXT])


def test_a_server_that_sends_a_byte_now_and_then(server: Server) -> None:
    server.drip = 0.05
    refused(EmbeddingEndpoint(server.url, "m", seconds=0.3), [TEXT])


def test_a_server_that_hangs_up_half_way(server: Server) -> None:
    whole = json.dumps({"data": [{"index": 0, "embedding": letters(TEXT)}]}).encode()
    server.raw = whole[: len(whole) // 2]
    server.claims = len(whole)
    refused(EmbeddingEndpoint(server.url, "m", seconds=2), [TEXT])


def test_a_server_that_changes_its_dimension_half_way(server: Server) -> None:
    embedder = EmbeddingEndpoint(server.url, "m")
    before = embedder.embed([TEXT])
    server.change = lambda rows: [{**row, "embedding": [1.0] * 30} for row in rows]
    assert "other lengths" in refused(embedder, [TEXT])
    server.change = lambda rows: rows
    assert np.array_equal(embedder.embed([TEXT]), before)


def test_a_server_that_mixes_dimensions(server: Server) -> None:
    server.change = lambda rows: [{**row, "embedding": [1.0] * (3 + row["index"])} for row in rows]
    assert "other lengths" in refused(EmbeddingEndpoint(server.url, "m"), ["a", "b"])


@pytest.mark.parametrize(
    "numbers",
    [
        [float("nan"), 1.0],
        [float("inf"), 1.0],
        [0.0, 0.0],
        [],
        [None, 1.0],
        ["1", "2"],
        "AAAA",
        [[1.0], [2.0]],
        [1.0] * (endpoint.MAX_DIMENSIONS + 1),
    ],
    ids=["nan", "inf", "zero", "empty", "null", "text", "base64", "nested", "endless"],
)
def test_a_server_whose_vectors_are_none(server: Server, numbers: object) -> None:
    server.change = lambda rows: [{**row, "embedding": numbers} for row in rows]
    refused(EmbeddingEndpoint(server.url, "m"), [TEXT])


def test_numbers_too_large_for_json_are_no_direction(server: Server) -> None:
    server.raw = b'{"data": [{"index": 0, "embedding": [1e999, 1]}]}'
    refused(EmbeddingEndpoint(server.url, "m"), [TEXT])


@pytest.mark.parametrize("number", [1e300, 1e-300])
def test_huge_and_tiny_vectors_have_a_direction_all_the_same(server: Server, number: float) -> None:
    server.change = lambda rows: [{**row, "embedding": [number, -number]} for row in rows]
    assert np.allclose(EmbeddingEndpoint(server.url, "m").embed([TEXT]), [[0.5**0.5, -(0.5**0.5)]])


def fewer(rows: Rows) -> Rows:
    return rows[:-1]


def more(rows: Rows) -> Rows:
    return [*rows, {**rows[0], "index": len(rows)}]


def twice(rows: Rows) -> Rows:
    return [{**row, "index": 0} for row in rows]


def unnumbered(rows: Rows) -> Rows:
    return [{"embedding": row["embedding"]} for row in rows]


@pytest.mark.parametrize("change", [fewer, more, twice, unnumbered])
def test_a_server_that_cannot_count(server: Server, change: object) -> None:
    assert callable(change)
    server.change = change
    refused(EmbeddingEndpoint(server.url, "m"), ["a", "b", "c"])


@pytest.mark.parametrize(
    "answer", [b"", b"<html><body>It works!</body></html>", b"[]", b"{}", b"null", b"\xff\xfe", b"[" * 100_000]
)
def test_a_server_that_says_something_else(server: Server, answer: bytes) -> None:
    server.raw = answer
    assert "no list of vectors" in refused(EmbeddingEndpoint(server.url, "m"), [TEXT])


def test_a_server_that_never_stops(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_ANSWER_BYTES", 10_000)
    server.raw = b" " * 10_001
    assert "too long" in refused(EmbeddingEndpoint(server.url, "m"), [TEXT])


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_a_server_that_refuses(server: Server, status: int) -> None:
    server.status = status
    assert str(status) in refused(EmbeddingEndpoint(server.url, "m", key=KEY), [TEXT])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_server_that_sends_us_elsewhere_is_not_followed(server: Server, status: int) -> None:
    with embedding_server() as elsewhere:
        server.status = status
        server.location = f"{elsewhere.url}/embeddings"
        assert "redirects" in refused(EmbeddingEndpoint(server.url, "m", key=KEY), [TEXT])
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/v1",
        "http://[fe80::1]/v1",
        "http://[::ffff:169.254.169.254]/v1",
        "http://100.100.100.200/v1",
        "http://[fd00:ec2::254]/v1",
        "http://0.0.0.0:9/v1",
        "http://224.0.0.1/v1",
        "http://2852039166/v1",
        "http://0251.0376.0251.0376/v1",
        "http://[64:ff9b::a9fe:a9fe]/v1",
        "http://metadata.google.internal/v1",
    ],
)
def test_addresses_where_no_server_of_ours_can_be_are_refused(url: str) -> None:
    said = refused(EmbeddingEndpoint(url, "m", seconds=0.2), [TEXT])
    assert "address" in said or "secrets" in said


def test_a_link_local_address_can_be_allowed_but_not_that_of_secrets() -> None:
    assert "secrets" in refused(
        EmbeddingEndpoint("http://169.254.169.254:9/v1", "m", allow_link_local=True, seconds=0.2), [TEXT]
    )
    assert "link-local" not in refused(
        EmbeddingEndpoint("http://169.254.3.3:9/v1", "m", allow_link_local=True, seconds=0.2), [TEXT]
    )


def test_a_key_is_not_sent_in_the_clear_over_the_internet() -> None:
    assert "https" in refused(EmbeddingEndpoint("http://8.8.8.8:9/v1", "m", key=KEY, seconds=0.2), [TEXT])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:1234/v1",
        "file:///etc/passwd",
        "ftp://host/v1",
        "http:///v1",
        "http://name:word@host/v1",
        "http://host:99999/v1",
        "http://host/v1?key=1",
        "http://host/v1#x",
        "http://ho st/v1",
        "http://host/v1\r\nX: y",
        "http://[::1/v1",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(FabulaError) as caught:
        EmbeddingEndpoint(url, "m")
    assert caught.value.code is Code.EMBEDDING_UNAVAILABLE
    assert "word@" not in caught.value.sentence


def test_a_proxy_of_this_machine_leads_to_the_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_proxy(int(server.url.split(":")[2].split("/")[0])) as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:word@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        assert EmbeddingEndpoint("http://embeddings.invalid:8000/v1", "m").embed([TEXT]).shape == (1, DIMENSION)
        assert proxy.request_lines == ["POST http://embeddings.invalid:8000/v1/embeddings HTTP/1.1"]
        assert proxy.headers[0]["proxy-authorization"] == "Basic bWU6d29yZA=="
        assert "reached" in refused(EmbeddingEndpoint("https://embeddings.invalid/v1", "m", key=KEY, seconds=5), [TEXT])
        assert proxy.request_lines[1] == "CONNECT embeddings.invalid:443 HTTP/1.1"
        assert KEY not in str(proxy.headers)
        assert "secrets" in refused(EmbeddingEndpoint("http://169.254.169.254/v1", "m"), [TEXT])
        EmbeddingEndpoint(server.url, "m").embed([TEXT])
        assert len(proxy.request_lines) == 2  # neither what is refused nor this machine itself goes through it


def test_a_proxy_that_does_not_let_us_through(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_proxy(0) as proxy:
        proxy.refusal_status = 407
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        assert "reached" in refused(EmbeddingEndpoint("https://embeddings.invalid/v1", "m", seconds=5), [TEXT])
        monkeypatch.setenv("https_proxy", f"socks5://127.0.0.1:{proxy.port}")
        assert "NO_PROXY" in refused(EmbeddingEndpoint("https://embeddings.invalid/v1", "m", seconds=5), [TEXT])
