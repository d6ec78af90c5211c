"""How models of both kinds are read from their files."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.estimation.constraint import Masks
from pypgm.estimation.fit import Fit, Status, Stop
from pypgm.estimation.methods import METHODS
from pypgm.fields import ANY_NUMBER, check_fields
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.folding import Folding
from pypgm.models._estimate import LOSSES, estimate_again
from pypgm.models.model import GraphicalModel
from pypgm.models.origin import MEASUREMENTS, Origin
from pypgm.models.region_model import RegionGraphModel
from pypgm.models.stored_model import KINDS, domain_of

__all__ = ["stored_fit"]

Fields = dict[str, object]


_FIT: Fields = {"status": {*get_args(Status)}, "loss": ANY_NUMBER, "gap": (ANY_NUMBER, None)}
_FIT |= {"iterations": int, "seconds": float, "history": [ANY_NUMBER]}
_OPTIONS: Fields = {"loss": {*LOSSES}, "method": {*METHODS}, "stop": {*get_args(Stop)}, "stepsize": (float, None)}
_OPTIONS |= {"iterations": int, "tolerance": float}
_ORIGIN: Fields = {"total_is_known": bool, "options": _OPTIONS, "measurements": MEASUREMENTS}
_ORIGIN |= {"prior": ({"cliques": [[str]], "values": np.ndarray}, None), "earlier": (_ORIGIN, None)}
_MODEL: Fields = {"cliques": [[str]], "total": float, "functions": {str: [(str, [int])]}, "potentials": np.ndarray}
_MODEL |= {"masks": [{"clique": [str], "allowed": np.ndarray}], "origin?": _ORIGIN}
_REGIONS = {"regions": [[str]], "edges": [[int]], "prior_cells": float, "marginals": np.ndarray}


def _parts(fields: dict[str, Any]) -> dict[str, Any]:
    """Return what models of both kinds were made of besides their tables."""
    check_fields(fields, _MODEL)
    folding = Folding.from_lists(domain_of(fields), fields["functions"])
    return {
        "folding": folding,
        "fit": stored_fit(fields),
        "masks": _masks(folding.inner, fields["masks"]),
        "origin": Origin.unpacked(folding.inner, fields["origin"], estimate_again) if "origin" in fields else None,
    }


def stored_fit(fields: dict[str, Any]) -> Fit | None:
    """Return how the estimate of a file's model ended."""
    check_fields(fields, {"fit": (_FIT, None)})
    fit = fields["fit"]
    return None if fit is None else Fit(**{**fit, "history": tuple(fit["history"])})


def _graphical_model(fields: dict[str, Any]) -> GraphicalModel:
    parts = _parts(fields)
    potentials = CliqueVector(parts["folding"].inner, fields["cliques"], fields["potentials"])
    return GraphicalModel(potentials, fields["total"], **parts)


def _region_model(fields: dict[str, Any]) -> RegionGraphModel:
    check_fields(fields, _REGIONS)
    parts = _parts(fields)
    domain = parts["folding"].inner
    regions = [domain.indices(r) for r in fields["regions"]]
    if any(len(edge) != 2 for edge in fields["edges"]):
        raise ValueError("field edges needs pairs of regions")
    edges = [(int(parent), int(child)) for parent, child in fields["edges"]]
    graph = RegionGraph(domain, map(domain.indices, fields["cliques"]), regions, edges)
    marginals, potentials = (CliqueVector(domain, graph.regions, fields[name]) for name in ("marginals", "potentials"))
    parts |= {"potentials": potentials, "prior_cells": fields["prior_cells"]}
    return RegionGraphModel(graph, marginals, fields["total"], **parts)


def _masks(domain: Domain, stored: list[dict[str, Any]]) -> Masks:
    masks = [(domain.canonical(m["clique"]), m["allowed"]) for m in stored]
    if any(mask.shape != (domain.size(clique),) or mask.dtype != bool for clique, mask in masks):
        raise ValueError("a mask does not fit its clique")
    return masks


KINDS[""] = _graphical_model
KINDS["region graph"] = _region_model
