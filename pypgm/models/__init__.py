"""Graphical models: estimated from measurements, asked, drawn from, saved."""

from pypgm.models._estimate import estimate
from pypgm.models.answer import Answer
from pypgm.models.model import GraphicalModel
from pypgm.models.region_model import RegionGraphModel

__all__ = ["Answer", "GraphicalModel", "RegionGraphModel", "estimate"]
