"""Modules of mbi before 2.0 that are extensions now."""

from __future__ import annotations

from pypgm.compat.mbi.extensions import mixture_of_products
from pypgm.compat.mbi.extensions import reweighted_dataset as public_support

__all__ = ["mixture_of_products", "public_support"]
