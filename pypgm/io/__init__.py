"""Readers of other tools' model files."""

from pypgm.io.uai import read_uai

__all__ = ["read_uai"]
