"""Answers from noisy measurements by other ways than a graphical model, to compare it with.

Each function takes a domain and measurements, and returns an object with ``project(clique)``, counts, and
``synthetic_data(rows, rng)``, as models have them.
"""

from __future__ import annotations

from pypgm.reconstruction.consistency import Views, priview
from pypgm.reconstruction.full_table import FullTable, LocalTables, least_squares, local_least_squares
from pypgm.reconstruction.mixture import ProductMixture, relaxed_projection
from pypgm.reconstruction.residuals import Residuals, residual_least_squares
from pypgm.reconstruction.weighted_records import reweight
from pypgm.reconstruction.weights import multiplicative_weights

__all__ = [
    "FullTable",
    "LocalTables",
    "ProductMixture",
    "Residuals",
    "Views",
    "least_squares",
    "local_least_squares",
    "multiplicative_weights",
    "priview",
    "relaxed_projection",
    "residual_least_squares",
    "reweight",
]
