"""Reading a model that was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.estimation.fit import Fit
from pypgm.inference.folding import Folding
from pypgm.models.model import GraphicalModel
from pypgm.models.origin import Origin
from pypgm.models.region_model import RegionGraphModel
from pypgm.models.storage import read_archive

if TYPE_CHECKING:
    import os

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> GraphicalModel | RegionGraphModel:
    """Read a model that its `save` wrote.

    Returns
    -------
    GraphicalModel or RegionGraphModel
        The same model; the marginals of a graphical model are computed anew.

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
    header, arrays = read_archive(path)
    try:
        if header.get("kind") == "region graph":
            return RegionGraphModel.from_archive(header, arrays)
        domain = Domain(header["attributes"], header["shape"], header["labels"])
        fit = header["fit"]
        if fit is not None:
            fit = Fit(**{**fit, "history": tuple(fit["history"])})
        folding = Folding.from_lists(domain, header.get("functions", {}))
        inner = domain if folding is None else folding.inner
        potentials = CliqueVector(inner, header["cliques"], arrays["potentials"])
        model = GraphicalModel(potentials, header["total"], fit=fit, folding=folding)
        if header.get("origin") is not None:
            model.origin = Origin.unpacked(inner, header["origin"], arrays)
        model.not_private = header.get("not_private", "")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a whole pypgm model file ({error})") from error
    return model
