"""Graphical models: estimated from measurements, asked, drawn from, saved."""

from pypgm.models.estimate import estimate
from pypgm.models.model import GraphicalModel, load

__all__ = ["GraphicalModel", "estimate", "load"]
