"""Tables and models that do not fit the memory are refused with their size."""

from __future__ import annotations

import pytest

from pypgm._base import memory
from pypgm.errors import ModelTooLargeError


def test_the_limit_is_half_of_what_is_available(monkeypatch):
    monkeypatch.setattr(memory, "_available", lambda: 100.0)
    assert memory.memory_limit(None) == 50
    assert memory.memory_limit(7) == 7
    with pytest.raises(ValueError, match="max_bytes must be positive, got 0"):
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


def test_the_own_control_group_counts_and_those_around_it(tmp_path):
    def group(path, **texts):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (tmp_path / path / name.replace("_", ".", 1)).write_text(text, encoding="ascii")

    group("proc")
    (tmp_path / "proc" / "cgroup").write_text("0::/slice/job\n", encoding="ascii")

    def available():
        return memory._cgroup_available(tmp_path / "proc", tmp_path / "mount")

    assert available() is None
    group("mount/slice/job", memory_max="max\n", memory_current="10\n")
    assert available() is None
    group("mount/slice", memory_max="500\n", memory_current="100\n")
    assert available() == 400
    group("mount/slice/job", memory_max="200\n", memory_current="50\n")
    assert available() == 150
    group("mount", memory_max="100\n", memory_current="130\n")
    assert available() == 0


def test_control_groups_of_version_1_keep_memory_apart(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cgroup").write_text("3:cpu,cpuacct:/a\n2:memory:/outside/the/container\n", encoding="ascii")
    root = tmp_path / "mount" / "memory"
    root.mkdir(parents=True)
    (root / "memory.limit_in_bytes").write_text("1000\n", encoding="ascii")
    (root / "memory.usage_in_bytes").write_text("300\n", encoding="ascii")
    assert memory._cgroup_available(tmp_path / "proc", tmp_path / "mount") == 700
