"""Model files: an .npz archive of arrays and one JSON header; no pickle."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.estimation.fit import Fit
from pypgm.models.model import GraphicalModel

__all__ = ["load", "save"]

_FORMAT = "pypgm model"
_VERSION = 1


def save(model: GraphicalModel, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, whole or not at all.

    Raises
    ------
    OSError
        If the file cannot be written; nothing is left behind then.
    """
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "attributes": model.domain.attributes,
        "shape": model.domain.shape,
        "labels": model.domain.labels,
        "cliques": model.cliques,
        "total": model.total,
        "fit": None if model.fit is None else dataclasses.asdict(model.fit),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, header=text, potentials=model.potentials.values)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> GraphicalModel:
    """Read a model that `GraphicalModel.save` wrote.

    Returns
    -------
    GraphicalModel
        The same model; its marginals are computed anew.

    Raises
    ------
    ValueError
        If the file is not a model file, is truncated, or is of another version.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile, pypgm
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> model = GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 2}), ["a"]), 10.0)
    >>> model.save(path)
    >>> pypgm.load(path).project("a").values
    array([5., 5.])
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes().decode())
            potentials = archive["potentials"]
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a whole pypgm model file ({error})") from error
    return _build(header, potentials, path)


def _build(header: Any, potentials: np.ndarray[Any, Any], path: str | os.PathLike[str]) -> GraphicalModel:
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ValueError(f"{path}: not a pypgm model file")
    if header.get("version") != _VERSION:
        raise ValueError(f"{path}: model files of version {_VERSION} can be read, got version {header.get('version')}")
    domain = Domain(header["attributes"], header["shape"], header["labels"])
    fit = None if header["fit"] is None else Fit(**{**header["fit"], "history": tuple(header["fit"]["history"])})
    return GraphicalModel(CliqueVector(domain, header["cliques"], potentials), header["total"], fit=fit)
