"""Readers of the files of both kinds of models."""

from __future__ import annotations

from typing import Any

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.estimation.constraint import Masks
from pypgm.estimation.fit import Fit
from pypgm.estimation.total import check_range
from pypgm.files.stored_model import domain_of
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.folding import Folding
from pypgm.models.graphical_model import GraphicalModel
from pypgm.models.recipe import Recipe
from pypgm.models.region_model import RegionGraphModel


def _parts(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a model of either kind besides its tables."""
    folding = Folding.from_lists(domain_of(fields), fields["functions"])
    recipe = Recipe.unpacked(folding.inner, fields["recipe"]) if "recipe" in fields else None
    if recipe is not None:
        check_range(recipe.measurements, fields["total"])
    return {
        "folding": folding,
        "fit": stored_fit(fields),
        "masks": _masks(folding.inner, fields["masks"]),
        "recipe": recipe,
    }


def stored_fit(fields: dict[str, Any]) -> Fit | None:
    """Return the fit of a file's model: how its estimate ended."""
    fit = fields["fit"]
    if fit is not None and fit["gap"] is not None and fit["gap"] < 0:
        raise ValueError(f"field fit.gap needs 0 or more, got {fit['gap']}")
    return None if fit is None else Fit(**{**fit, "history": tuple(fit["history"])})


def graphical_model(fields: dict[str, Any]) -> GraphicalModel:
    """Return the model with a junction tree of the fields of its file."""
    parts = _parts(fields)
    potentials = CliqueVector(parts["folding"].inner, fields["cliques"], fields["potentials"])
    return GraphicalModel(potentials, fields["total"], **parts)


def region_model(fields: dict[str, Any]) -> RegionGraphModel:
    """Return the model on a region graph of the fields of its file."""
    parts = _parts(fields)
    domain = parts["folding"].inner
    regions = [domain.indices(r) for r in fields["regions"]]
    if any(len(edge) != 2 for edge in fields["edges"]):
        raise ValueError("field edges needs pairs of regions")
    if any(not 0 <= number < len(regions) for edge in fields["edges"] for number in edge):
        raise ValueError(f"field edges needs numbers of the {len(regions)} regions")
    edges = [(int(parent), int(child)) for parent, child in fields["edges"]]
    graph = RegionGraph(domain, map(domain.indices, fields["cliques"]), regions, edges)
    marginals, potentials = (CliqueVector(domain, graph.regions, fields[name]) for name in ("marginals", "potentials"))
    parts |= {"potentials": potentials, "tree_cells": fields["tree_cells"]}
    return RegionGraphModel(graph, marginals, fields["total"], **parts)


def _masks(domain: Domain, stored: list[dict[str, Any]]) -> Masks:
    masks = [(domain.canonical(m["clique"]), m["allowed"]) for m in stored]
    if any(mask.shape != (domain.size(clique),) or mask.dtype != bool for clique, mask in masks):
        raise ValueError("a mask does not fit its clique")
    return masks
