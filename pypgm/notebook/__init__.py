"""How objects of the package show themselves at the end of a notebook's cell."""

from __future__ import annotations

import importlib

from pypgm.html import Markup, element

__all__ = ["WRITERS", "as_html"]

WRITERS = {  # by the class that they write: modules of this package, with a function of the name in lower case
    "tables": (
        "CliqueVector",
        "ComparedTables",
        "Dataset",
        "Declaration",
        "Domain",
        "Evaluation",
        "Factor",
        "LinearMeasurement",
        "Marginal",
        "Workload",
    ),
    "releases": ("Fit", "LedgerReport", "Plan", "PrivateTable", "RelatedRelease", "Release", "Structure"),
    "models": (
        "AnswerComparison",
        "BayesianNetwork",
        "JunctionTree",
        "MarkovRandomField",
        "Model",
        "RegionGraph",
        "Sample",
        "TableComparison",
        "UaiModel",
    ),
}
_HOMES = {name: home for home, names in WRITERS.items() for name in names}


def as_html(thing: object) -> Markup:
    """Return an object of the package as HTML, everything that came from outside escaped.

    Parameters
    ----------
    thing : object
        Of a class that has a writer, or is derived from one.

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
    for kind in type(thing).__mro__:
        if kind.__name__ in _HOMES and kind.__module__.startswith("pypgm."):
            module = importlib.import_module(f"pypgm.notebook.{_HOMES[kind.__name__]}")
            written: Markup = getattr(module, kind.__name__.lower())(thing)
            return element("div", written, style="max-width:100%;overflow-x:auto")
    raise TypeError(f"objects of class {type(thing).__name__} have no HTML")
