from __future__ import annotations

import subprocess
import sys

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.search.embeddings.embedder import URL_VARIABLE, WEIGHTS_PACKAGE, load_local_model, make_embedder
from fabula.search.embeddings.endpoint import EmbeddingEndpoint
from fabula.search.embeddings.minilm import MiniLM

SERVER = {"FABULA_EMBEDDING_URL": "http://127.0.0.1:9/v1", "FABULA_EMBEDDING_MODEL": "m"}


def test_with_the_weights_installed_they_are_used() -> None:
    assert isinstance(make_embedder("auto", {}), MiniLM)
    assert isinstance(make_embedder("local", SERVER), MiniLM)


def test_a_server_that_is_named_is_used_instead() -> None:
    for choice in ("auto", "endpoint"):
        found = make_embedder(choice, SERVER)
        assert isinstance(found, EmbeddingEndpoint)
        assert not found.is_local


def test_without_the_weights_there_is_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.search.embeddings.embedder.WEIGHTS_PACKAGE", "no_such_package_here")
    assert load_local_model() is None
    for choice in ("auto", "local"):
        with pytest.raises(FabulaError, match="semantic") as caught:
            make_embedder(choice, {})
        assert caught.value.code is Code.EMBEDDING_UNAVAILABLE


def test_weights_that_cannot_be_read_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.search.embeddings.embedder.WEIGHTS_PACKAGE", "json")  # a package without weights
    with pytest.raises(FabulaError, match="install them again") as caught:
        load_local_model()
    assert caught.value.code is Code.EMBEDDING_UNAVAILABLE


@pytest.mark.parametrize("library", ["tokenizers", "safetensors", "onnx", "onnxruntime"])
def test_weights_without_a_library_they_need_say_which(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(FabulaError, match=library) as caught:
        load_local_model()
    assert caught.value.code is Code.EMBEDDING_UNAVAILABLE


@pytest.mark.parametrize(
    "environ", [{}, {URL_VARIABLE: SERVER[URL_VARIABLE]}, {URL_VARIABLE: "nonsense", "FABULA_EMBEDDING_MODEL": "m"}]
)
def test_a_server_that_is_not_named_rightly_is_unavailable(environ: dict[str, str]) -> None:
    with pytest.raises(FabulaError) as caught:
        make_embedder("endpoint", environ)
    assert caught.value.code is Code.EMBEDDING_UNAVAILABLE


@pytest.mark.parametrize("choice", ["remote", 1, ["local"]])
def test_another_choice_is_refused(choice: object) -> None:
    with pytest.raises(FabulaError) as caught:
        make_embedder(choice, SERVER)
    assert caught.value.code is Code.SETTING_INVALID


def test_an_address_in_a_setting_is_never_used() -> None:
    for choice in ("http://somebody.invalid/v1", {"url": "http://somebody.invalid/v1"}):
        with pytest.raises(FabulaError) as caught:
            make_embedder(choice, {})
        assert caught.value.code is Code.SETTING_INVALID


def test_the_package_of_the_weights_is_not_run_and_neither_http_nor_tls_is_loaded() -> None:
    code = (
        "import sys; from fabula.search.embeddings.embedder import load_local_model; assert load_local_model();"
        f"print([name for name in ('{WEIGHTS_PACKAGE}', 'torch', 'ssl', 'http.client') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
