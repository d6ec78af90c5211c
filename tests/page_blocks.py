"""Blocks of Python on a page of the documentation, run in order as a reader would."""

from __future__ import annotations

import re

__all__ = ["blocks_of", "run"]


def blocks_of(page):
    """Return the blocks of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def run(page, blocks=None, **names):
    """Run blocks of a page, all by default, and return the names that they bind, beside given ones."""
    for block in blocks_of(page) if blocks is None else blocks:
        exec(compile(block, str(page), "exec"), names)
    return names
