"""Graphical models: estimation, answers, records and files."""

from pypgm.models._estimate import estimate
from pypgm.models.graphical_model import GraphicalModel
from pypgm.models.marginal import Marginal, RegionAnswer
from pypgm.models.region_model import RegionGraphModel

__all__ = ["GraphicalModel", "Marginal", "RegionAnswer", "RegionGraphModel", "estimate"]
