"""Models read back from their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.estimation.fit import Fit
from pypgm.models.model import GraphicalModel
from pypgm.models.storage import read_archive

if TYPE_CHECKING:
    import os

__all__ = ["load"]


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
    >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 2}), ["a"]), 10.0)
    >>> model.save(path)
    >>> pypgm.load(path).project("a").values
    array([5., 5.])
    """
    header, arrays = read_archive(path)
    try:
        domain = Domain(header["attributes"], header["shape"], header["labels"])
        fit = header["fit"]
        if fit is not None:
            fit = Fit(**{**fit, "history": tuple(fit["history"])})
        potentials = CliqueVector(domain, header["cliques"], arrays["potentials"])
        model = GraphicalModel(potentials, header["total"], fit=fit)
        model.not_private = header.get("not_private", "")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a whole pypgm model file ({error})") from error
    return model
