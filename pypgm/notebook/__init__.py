"""HTML of objects of the package at the end of a notebook's cell."""

from __future__ import annotations

from pypgm._base.html import Markup, element, written
from pypgm.notebook import models, releases, tables  # noqa: F401 - they register their writers

__all__ = ["as_html"]


def as_html(thing: object) -> Markup:
    """Return an object of the package as HTML, everything that came from outside escaped.

    Parameters
    ----------
    thing : object
        Object of a class that has a writer, or is derived from one.

    Raises
    ------
    TypeError
        If its class has none.

    Examples
    --------
    >>> from pypgm import Domain
    >>> "&lt;b&gt;" in as_html(Domain({"<b>": 2}))
    True
    """
    return element("div", written(thing), style="max-width:100%;overflow-x:auto")
