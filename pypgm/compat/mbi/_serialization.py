"""Files of models and measurements: arrays without pickles, and a description in JSON."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.factor import Factor
from pypgm.compat.mbi.marginal_loss import DatavectorQuery, LinearMeasurement, SlicedQuery, WeightedQuery
from pypgm.compat.mbi.markov_random_field import MarkovRandomField

_MADE: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    kind.__name__: (kind, fields)
    for kind, fields in (
        (Domain, ("attributes", "shape", "labels")),
        (Factor, ("domain", "values")),
        (CliqueVector, ("domain", "cliques", "tables")),
        (Constraint, ("domain", "valid", "invalid", "mapping", "weights")),
        (MarkovRandomField, ("potentials", "marginals", "total", "constraints")),
        (LinearMeasurement, ("noisy_measurement", "clique", "stddev", "query")),
        (DatavectorQuery, ("use_for_total_estimation",)),
        (SlicedQuery, ("start",)),
        (WeightedQuery, ("weights",)),
    )
}


def save(obj: Any, file: str | Path | BinaryIO) -> None:
    """Write models, tables, measurements, arrays, and lists and dicts of them.

    Raises
    ------
    TypeError
        If any object is of another type.
    """
    arrays: dict[str, Any] = {}

    def packed(value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if type(value).__name__ in _MADE and isinstance(value, _MADE[type(value).__name__][0]):  # type: ignore[arg-type]
            fields = _MADE[type(value).__name__][1]
            return {"is": type(value).__name__, "of": [packed(getattr(value, name)) for name in fields]}
        if isinstance(value, dict):
            return {"is": "dict", "of": [[packed(k), packed(v)] for k, v in value.items()]}
        if isinstance(value, list | tuple):
            return {"is": "list" if isinstance(value, list) else "tuple", "of": [packed(v) for v in value]}
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"save takes models, tables, measurements and arrays, got {type(value).__name__}")
        arrays[f"a{len(arrays)}"] = array
        return {"is": "array", "of": f"a{len(arrays) - 1}"}

    text = json.dumps(packed(obj))
    np.savez(file, allow_pickle=False, description=np.array(text), **arrays)


def load(file: str | Path | BinaryIO) -> Any:
    """Read a file that `save` wrote.

    Raises
    ------
    ValueError
        If `save` did not write the file: mbi's own are pickles of JAX, which are not loaded from strangers.
    """
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        description = json.loads(str(arrays.pop("description")))
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        needed = "a file that pypgm.compat.mbi saved; mbi's own need JAX and are pickles: load them there"
        raise ValueError(f"load needs {needed}") from error

    def unpacked(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        kind, of = value["is"], value["of"]
        if kind == "array":
            return arrays[of]
        if kind == "dict":
            return {unpacked(k): unpacked(v) for k, v in of}
        parts = [unpacked(v) for v in of]
        if kind in _MADE:
            return _MADE[kind][0](*parts)
        return parts if kind == "list" else tuple(parts)

    return unpacked(description)
