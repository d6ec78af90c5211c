"""No array and no frame is made of the raw values of several records before a schema has read them, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from raw_flow import made_of_raw_values

import pypgm

ROOT = Path(pypgm.__file__).parent
RAW = {"Values", "Frame", "ArrayLike", "Table", "Sequence[Any]", "Iterable[object]", "list[Any]"}
"""Annotations of raw values; in the modules below `Any` is one too."""

OF_ANY = ["integrations/smartnoise.py", "integrations/sdv.py", "integrations/_synthesizer.py", "mechanisms/related.py"]
OF_ANY += ["bayes/frames.py", "compat/mbi/dataset.py", "data/sources/frames.py"]
PUBLIC = {"weights", "mapping", "image", "labels", "metadata", "mesh", "attributes", "otherwise", "points", "module"}
"""Parameters that hold no records: weights are numbers by definition, points are settled, the others are public."""

OF_MODELS = {"opendp", "pgmpy", "pyagrum"}
"""Integrations that take models and measurements, no records."""

MODULES = sorted(
    list((ROOT / "data").rglob("*.py"))
    + [path for path in (ROOT / "integrations").rglob("*.py") if path.stem not in OF_MODELS]
    + [ROOT / name for name in ("compat/mbi/dataset.py", "bayes/frames.py", "mechanisms/related.py")]
    + [
        ROOT / name
        for name in ("mechanisms/tables.py", "privacy/tables.py", "privacy/private_column.py", "privacy/settling.py")
    ]
)
NOT_PRIVATE = {"draft", "draft_column", "draft_dependence", "draft_readers"}
"""Drafts are made of records, and marked so."""


def is_raw(of_any):
    def decide(name, annotation):
        parts = {part.strip() for part in annotation.replace('"', "").split(" | ")}
        return name not in PUBLIC and bool(parts & (RAW | ({"Any", "object"} if of_any else set())))

    return decide


def test_values_of_records_reach_no_array_before_they_are_read():
    reached = set()
    for path in MODULES:
        name = path.relative_to(ROOT).as_posix()
        if path.stem in NOT_PRIVATE:
            continue
        made, functions = made_of_raw_values(path.read_text(encoding="utf-8"), is_raw(name in OF_ANY))
        assert made == [], name
        reached |= {f"{name}:{function}" for function in functions}
    for door in ("integrations/smartnoise.py:_columns", "mechanisms/related.py:_keys", "bayes/frames.py:_encode"):
        assert door in reached
    for door in (
        "data/columns/closed.py:encode",
        "data/columns/bins.py:_placed",
        "data/sources/encoding.py:encoded",
        "data/sources/frames.py:as_columns",
    ):
        assert door in reached
    assert len(reached) > 60


@pytest.mark.parametrize(
    "planted",
    [
        "frame = {i: np.asarray(column) for i, column in enumerate(zip(*data))}",
        "columns = data if isinstance(data, np.ndarray) else list(data)\nreturn np.array(columns)",
        "for row in data:\n    pandas.DataFrame(row)",
        "return guarded(partial(np.asarray, data))",
        "if not isinstance(data, np.ndarray):\n    return np.unique(data)",
        "if np.ndim(data) > 1:\n    raise ValueError",
        "return other(data)\n\ndef other(values):\n    kept = [*values, None]\n    return np.array(kept)",
        "if is_plain(data, 'iu') or True:\n    return np.unique(data)",
        "return data.factorize()",
    ],
)
def test_such_calls_are_found(planted):
    inner = planted.replace("\n", "\n    ").replace("\n    \n    def", "\n\ndef")
    made, _ = made_of_raw_values(f"def fit(data: Any):\n    {inner}\n", is_raw(of_any=True))
    assert len(made) == 1


@pytest.mark.parametrize(
    "sound",
    [
        "return {i: list(column) for i, column in enumerate(zip(*data))}",
        "if isinstance(data, np.ndarray) and np.unique(data).size:\n        return 1",
        "return np.unique(data) if is_plain(data, 'biuf') else None",
        "return list(data) if isinstance(data, list | tuple) else np.atleast_1d(data)",
        "return np.array([*data, None], dtype=object)",
        "return [np.array([value]) for value in data]",
        "return np.array([code_of(value) for value in data])",
        "return np.asarray(data.shape)",
    ],
)
def test_what_reads_values_one_by_one_is_let_pass(sound):
    made, reached = made_of_raw_values(f"def fit(data: Any):\n    {sound}\n", is_raw(of_any=True))
    assert made == []
    assert reached == {"fit"}
