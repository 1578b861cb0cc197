"""The page is handed out with its nonce and its files, and says plainly where it was not built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from fabula.server.page import NONCE_MARK, make_page_handlers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(f'<meta name="csp-nonce" content="{NONCE_MARK}">', "utf-8")
    (tmp_path / "assets" / "main-a1b2.js").write_text("start()", "utf-8")
    (tmp_path / "secret.txt").write_text("outside", "utf-8")
    return tmp_path


def test_the_index_has_another_nonce_every_time_and_its_policy_has_the_same(folder: Path) -> None:
    with TestClient(Litestar(make_page_handlers(folder), openapi_config=None)) as client:
        nonces = []
        for _ in range(2):
            answer = client.get("/")
            found = re.search(r'content="([\w-]{20,})"', answer.text)
            assert found is not None
            policy = answer.headers["content-security-policy"]
            assert f"style-src 'self' 'nonce-{found[1]}'" in policy
            assert "unsafe" not in policy
            assert "script-src 'self';" in policy
            nonces.append(found[1])
        assert nonces[0] != nonces[1]


def test_files_of_the_page_are_kept_for_good_and_nothing_else_is_handed_out(folder: Path) -> None:
    with TestClient(Litestar(make_page_handlers(folder), openapi_config=None)) as client:
        asset = client.get("/assets/main-a1b2.js")
        assert asset.text == "start()"
        assert asset.headers["content-type"].startswith("text/javascript")
        assert "immutable" in asset.headers["cache-control"]
        for path in ("/assets/other.js", "/assets/..%2Fsecret.txt", "/assets/%2e%2e/secret.txt", "/secret.txt"):
            refused = client.get(path)
            assert not refused.is_success
            assert "outside" not in refused.text


def test_a_page_that_was_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    with TestClient(Litestar(make_page_handlers(tmp_path), openapi_config=None)) as client:
        answer = client.get("/")
        assert answer.status_code == 503
        assert "make page" in answer.text
        assert "网页" in client.get("/", headers={"accept-language": "zh-CN"}).text
