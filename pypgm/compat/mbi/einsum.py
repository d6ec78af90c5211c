"""Contractions of mbi, which are refused: they only steer JAX's compiler."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"mbi.einsum.{name} needs JAX, which it compiles for: install mbi for it")
