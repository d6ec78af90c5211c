"""What does not fit memory is refused with its size."""

from __future__ import annotations

import pytest

from pypgm import memory
from pypgm.errors import ModelTooLargeError


def test_the_limit_is_half_of_what_is_available(monkeypatch):
    monkeypatch.setattr(memory, "_available", lambda: 100.0)
    assert memory.memory_limit(None) == 50
    assert memory.memory_limit(7) == 7
    with pytest.raises(ValueError, match="max_bytes needs to be positive, got 0"):
        memory.memory_limit(0)


def test_something_is_available():
    assert memory.memory_limit(None) > 0


def test_the_refusal_names_size_limit_and_way_out():
    memory.check_fits(100, 100, "it")
    with pytest.raises(ModelTooLargeError, match=r"^it; all tables need 2 GiB, the limit is 1 GiB: .*max_bytes$"):
        memory.check_fits(2**31, 2**30, "it")
    with pytest.raises(ModelTooLargeError, match=r"^it; all tables need 1e\+990 GiB, .*: wait$"):
        memory.check_fits(10**999, 2**30, "it", "wait")


def test_small_tables_always_fit(monkeypatch):
    monkeypatch.setattr(memory, "_available", lambda: 0.0)
    memory.check_fits(1000, None, "it")
    with pytest.raises(ModelTooLargeError):
        memory.check_fits(2**25, None, "it")
