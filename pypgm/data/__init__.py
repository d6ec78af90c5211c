"""Records: columns of codes, tables of files, and how they are counted."""

from __future__ import annotations

from pypgm.data.dataset import Dataset

__all__ = ["Dataset"]
