"""Public names of a package are found without importing their modules first."""

from __future__ import annotations

from importlib import import_module

import pytest

PACKAGES = ["fabula", "fabula.store", "fabula.store.save", "fabula.jobs", "fabula.jobs.triggers"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_found(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_a_name_that_does_not_exist_is_not_found() -> None:
    assert not hasattr(import_module("fabula.store.save"), "save_everything")
