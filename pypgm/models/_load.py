"""How models of both kinds are read from their files."""

from __future__ import annotations

from typing import Any, get_args

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.estimation.constraint import Masks
from pypgm.estimation.fit import Fit, Status, Stop
from pypgm.estimation.methods import METHODS
from pypgm.fields import check_fields
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.folding import Folding
from pypgm.models._estimate import LOSSES, estimate_again
from pypgm.models.model import GraphicalModel
from pypgm.models.origin import MEASUREMENTS, Origin
from pypgm.models.region_model import RegionGraphModel
from pypgm.models.stored_model import KINDS, domain_of

__all__ = ["stored_fit"]

Fields = dict[str, object]


_FIT: Fields = {"status": {*get_args(Status)}, "loss": float, "gap": (float, None)}
_FIT |= {"iterations": int, "seconds": float, "history": [float]}
_OPTIONS: Fields = {"loss": {*LOSSES}, "method": {*METHODS}, "stop": {*get_args(Stop)}, "stepsize": (float, None)}
_OPTIONS |= {"iterations": int, "tolerance": float}
_ORIGIN: Fields = {"total_is_known": bool, "options": _OPTIONS, "measurements": MEASUREMENTS, "prior": ([[str]], None)}
_ORIGIN["earlier?"] = _ORIGIN
_MODEL: Fields = {"cliques": [[str]], "total": float, "functions": {str: [object]}, "masks": [[str]]}
_MODEL["origin?"] = (_ORIGIN, None)
_REGIONS = {"regions": [[str]], "edges": [[int]], "prior_cells": float}


def _parts(header: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return what models of both kinds were made of besides their tables."""
    check_fields(header, _MODEL)
    folding = Folding.from_lists(domain_of(header), header["functions"])
    origin = header.get("origin")
    return {
        "folding": folding,
        "fit": stored_fit(header),
        "masks": _masks(folding.inner, header, arrays),
        "origin": None if origin is None else Origin.unpacked(folding.inner, origin, arrays, estimate_again),
    }


def stored_fit(header: dict[str, Any]) -> Fit | None:
    """Return how the estimate of a file's model ended."""
    check_fields(header, {"fit": (_FIT, None)})
    fit = header["fit"]
    return None if fit is None else Fit(**{**fit, "history": tuple(fit["history"])})


def _graphical_model(header: dict[str, Any], arrays: dict[str, Any]) -> GraphicalModel:
    parts = _parts(header, arrays)
    potentials = CliqueVector(parts["folding"].inner, header["cliques"], arrays["potentials"])
    return GraphicalModel(potentials, header["total"], **parts)


def _region_model(header: dict[str, Any], arrays: dict[str, Any]) -> RegionGraphModel:
    check_fields(header, _REGIONS)
    parts = _parts(header, arrays)
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


KINDS[""] = _graphical_model
KINDS["region graph"] = _region_model
