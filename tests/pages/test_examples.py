"""The examples in docstrings run as they stand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import pypgm

MODULES = ["pypgm", *(m.name for m in pkgutil.walk_packages(pypgm.__path__, "pypgm.") if "__main__" not in m.name)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("pypgm"):
            raise
        pytest.skip(f"needs {error.name}")
    assert doctest.testmod(module).failed == 0
