"""Reading a model that was saved."""

from __future__ import annotations

import copyreg
import io
from typing import TYPE_CHECKING, Any

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.estimation.constraint import Masks
from pypgm.estimation.fit import Fit
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.folding import Folding
from pypgm.models._estimate import estimate_again
from pypgm.models.kinds import Reader, ReleasedModel, reader_of
from pypgm.models.model import GraphicalModel
from pypgm.models.origin import Origin
from pypgm.models.region_model import RegionGraphModel
from pypgm.models.storage import archive_bytes, parse_archive, read_archive

if TYPE_CHECKING:
    import os

__all__ = ["load", "model_of_archive", "stored_fit", "unpickled"]


def load(path: str | os.PathLike[str]) -> ReleasedModel:
    """Read a model that its `save` wrote.

    Returns
    -------
    GraphicalModel, RegionGraphModel or CountedNetwork
        The same model; the marginals of a graphical model are computed again.

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
    return model_of_archive(*read_archive(path), str(path))


def model_of_archive(header: dict[str, Any], arrays: dict[str, Any], path: str) -> ReleasedModel:
    """Return the model whose `archive` this is; ``ValueError`` that names where it was read if it is none."""
    try:
        read: Reader = reader_of(header.get("kind", "")) or _estimated_model
        model = read(header, arrays)
        model.not_private = header.get("not_private", "")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a whole pypgm model file ({error})") from error
    return model


def _estimated_model(header: dict[str, Any], arrays: dict[str, Any]) -> GraphicalModel | RegionGraphModel:
    domain = Domain(header["attributes"], header["shape"], header["labels"])
    folding = Folding.from_lists(domain, header["functions"])
    origin = header.get("origin")
    read = _region_model if header.get("kind") == "region graph" else _graphical_model
    parts = {
        "folding": folding,
        "fit": stored_fit(header),
        "masks": _masks(folding.inner, header, arrays),
        "origin": None if origin is None else Origin.unpacked(folding.inner, origin, arrays, estimate_again),
    }
    return read(header, arrays, parts)


def unpickled(packed: bytes) -> ReleasedModel:
    """Return the model of an archive's bytes."""
    return model_of_archive(*parse_archive(io.BytesIO(packed), "a pickle"), "a pickle")


def _pickled(model: GraphicalModel | RegionGraphModel) -> tuple[Any, ...]:
    return unpickled, (archive_bytes(*model.archive()),)


# A model is pickled and copied as what its file holds: plans and caches are rebuilt.
copyreg.pickle(GraphicalModel, _pickled)
copyreg.pickle(RegionGraphModel, _pickled)


def stored_fit(header: dict[str, Any]) -> Fit | None:
    """Return how the estimate of a file's model ended."""
    fit = header["fit"]
    return None if fit is None else Fit(**{**fit, "history": tuple(fit["history"])})


def _graphical_model(header: dict[str, Any], arrays: dict[str, Any], parts: dict[str, Any]) -> GraphicalModel:
    potentials = CliqueVector(parts["folding"].inner, header["cliques"], arrays["potentials"])
    return GraphicalModel(potentials, header["total"], **parts)


def _region_model(header: dict[str, Any], arrays: dict[str, Any], parts: dict[str, Any]) -> RegionGraphModel:
    domain = parts["folding"].inner
    regions = [domain.indices(r) for r in header["regions"]]
    edges = [(int(parent), int(child)) for parent, child in header["edges"]]
    graph = RegionGraph(domain, [tuple(c) for c in header["cliques"]], regions, edges)
    marginals, potentials = (CliqueVector(domain, graph.regions, arrays[name]) for name in ("marginals", "potentials"))
    parts |= {"potentials": potentials, "prior_cells": header["prior_cells"]}
    return RegionGraphModel(graph, marginals, header["total"], **parts)


def _masks(domain: Domain, header: dict[str, Any], arrays: dict[str, Any]) -> Masks:
    masks = [(domain.canonical(c), arrays[f"mask {i}"].astype(bool)) for i, c in enumerate(header["masks"])]
    if any(mask.shape != (domain.size(clique),) for clique, mask in masks):
        raise ValueError("a mask does not fit its clique")
    return masks
