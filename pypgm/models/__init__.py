"""Graphical models: estimated from measurements, asked, drawn from, saved."""

from pypgm.models.estimate import estimate
from pypgm.models.load import load
from pypgm.models.model import GraphicalModel

__all__ = ["GraphicalModel", "estimate", "load"]
