"""Log of the package: what happens to a run from outside, never a value of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


def logger() -> logging.Logger:
    """Return the logger ``pypgm``."""
    import logging  # a mebibyte, of use here alone

    return logging.getLogger("pypgm")
