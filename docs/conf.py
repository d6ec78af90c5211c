"""The site: README.md, the pages of docs/, the reference of every public name, notebooks as they run, and printouts.

`.ci/site FOLDER` builds it. Sources are found from the root of the tree: links lead where they do on a code host.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

import pypgm

project = "pypgm"
author = "The pypgm developers"
copyright = "the pypgm developers"  # noqa: A001 - the name that Sphinx reads
version = release = pypgm.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "docs/**"]
exclude_patterns = [".*", "docs/_static", "build*", "dist", "tests", "cpp", "pypgm"]

html_theme = "furo"
html_title = "pypgm"
html_static_path = ["_static"]
html_css_files = ["pypgm.css"]
html_show_sphinx = html_copy_source = False

myst_heading_anchors = 4
os.environ["COLUMNS"] = "100"  # of what notebooks print
nb_execution_mode = "force"
nb_execution_in_temp = nb_execution_raise_on_error = nb_merge_streams = True
nb_execution_timeout = 60

autosummary_generate = False
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # types are in the docstrings
numpydoc_show_class_members = False  # autodoc shows them
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*")]  # code in backticks is a link where it names something public

CONTENTS = """

```{toctree}
:hidden:
:caption: A table of your own
docs/your_table
docs/schema
docs/command
docs/operation
docs/installing
docs/r
```
```{toctree}
:hidden:
:caption: From Python
docs/notebooks/index
docs/mechanisms
docs/computing
docs/own_mechanism
docs/networks
docs/mrf
docs/reference/index
```
```{toctree}
:hidden:
:caption: Privacy
docs/privacy
docs/gdp
docs/audit
docs/SECURITY
```
```{toctree}
:hidden:
:caption: Compared
docs/migrating
docs/measured
bench/README
```
```{toctree}
:hidden:
:caption: Inside
CONTRIBUTING
docs/map
docs/glossary
docs/format
CHANGELOG
```
"""
NOTEBOOKS = """

```{toctree}
:hidden:
:glob:
*_*
```
"""
PRINTOUTS = """

{intro}

```{{toctree}}
{pages}
```
"""
PRINTED = {
    "docs/audit": (
        "## Made for this site\n\nFrom the checks and the planted defects of this version:",
        "checks",
        "mutants",
    ),
    "docs/measured": ("## Made for this site\n\nFrom the results in `bench/`:", "performance", "reproduction"),
}

PUBLIC = {
    "pypgm": "what most scripts need",
    "pypgm.mechanisms": "whole mechanisms: a table in, a release out",
    "pypgm.data": "tables, schemas and their columns",
    "pypgm.workloads": "which queries should be accurate",
    "pypgm.queries": "linear queries, with their exact sensitivities",
    "pypgm.privacy": "budgets, ledgers, private tables",
    "pypgm.privacy.laws": "the laws of noise, with their costs",
    "pypgm.models": "models that an estimate returns",
    "pypgm.estimation": "measurements, constraints, the result of an estimate",
    "pypgm.estimation.losses": "objectives of estimates",
    "pypgm.intervals": "bounds for any statistic of the original records",
    "pypgm.reconstruction": "other ways to estimate answers, for comparison",
    "pypgm.graphs": "junction trees and region graphs",
    "pypgm.inference": "marginals of a model, exact and by region graphs",
    "pypgm.bayes": "Bayesian networks, queried and learned privately",
    "pypgm.mrf": "Markov random fields, learned privately",
    "pypgm.plot": "plots",
    "pypgm.io": "files of other tools",
    "pypgm.errors": "exceptions and warnings",
    "pypgm.audit": "checks that a mechanism is as private as it says",
    "pypgm.compat": "mbi's interface over this engine",
    "pypgm.integrations.opendp": "an estimator for OpenDP, and the measurements of its tables",
    "pypgm.integrations.pgmpy": "networks and fields, from and to pgmpy",
    "pypgm.integrations.pyagrum": "networks and fields, from and to pyAgrum",
    "pypgm.integrations.records": "synthetic records straight into PostgreSQL and Spark",
    "pypgm.integrations.smartnoise": "a synthesizer with SmartNoise's methods",
    "pypgm.integrations.sdv": "a synthesizer with SDV's methods",
}


def names_by_home() -> dict[str, dict[str, str]]:
    """Return the public names of each module, each with the place that describes it: the first module that has it."""
    described: dict[int, str] = {}
    homes: dict[str, dict[str, str]] = {}
    for module in PUBLIC:
        home = importlib.import_module(module)
        homes[module] = {}
        for name in sorted(home.__all__, key=str.lower):
            thing = getattr(home, name)
            if isinstance(thing, ModuleType):
                homes[module][name] = thing.__name__
            else:
                homes[module][name] = described.setdefault(id(thing), f"{module}.{name}")
    return homes


def directive_of(place: str) -> str:
    """Return the directive that describes the object at a place."""
    module, name = place.rsplit(".", 1)
    thing = getattr(importlib.import_module(module), name)
    if inspect.isclass(thing):
        kind, options = (
            ("exception", []) if issubclass(thing, BaseException) else ("class", ["members", "inherited-members"])
        )
    elif callable(thing):
        kind, options = "function", []
    else:
        known = f"   :type: {type(thing).__name__}\n" if type(thing).__module__ == "builtins" else ""
        return f".. py:data:: {name}\n   :module: {module}\n{known}"
    return "\n".join([f".. auto{kind}:: {place}", *(f"   :{option}:" for option in options), ""])


def page_of(module: str, names: dict[str, str]) -> str:
    """Return the page of a module: its docstring, a list of its names, then each that is described here."""
    described = [place for name, place in names.items() if place == f"{module}.{name}" and place not in PUBLIC]
    others = [place for place in names.values() if place not in described]
    kept = [f".. automodule:: {module}", "   :no-members:", ""]
    listed = [
        place for place in described if callable(getattr(importlib.import_module(module), place.rpartition(".")[2]))
    ]
    if listed:
        kept += [".. autosummary::", "   :nosignatures:", ""]
        kept += [*(f"   {place.rpartition('.')[2]}" for place in listed), ""]
    if others:
        roles = (f":py:{'mod' if place in PUBLIC else 'obj'}:`{place}`" for place in others)
        kept += ["Also here: " + ", ".join(roles) + ".", ""]
    return "\n".join([module, "=" * len(module), "", *kept, *map(directive_of, described)])


def page_of_checks() -> str:
    """Return the page of the checks of a wheel and of tests/selfcheck, with the number of defects that each reports."""
    groups, planted = (
        json.loads((Path(pypgm.__file__).parent / "reporting" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("checks", "planted")
    )
    parts = ["# Checks of the audit\n"]
    for group in groups:
        parts.append(
            f"\n## {group['title']}\n\n{group['blind']}\n\n| check | reports | planted defects |\n|---|---|---:|\n"
        )
        parts += [
            f"| {name} | {reports} | {len(planted.get(name, [])) or ''} |\n"
            for name, reports in group["checks"].items()
        ]
    return "".join(parts)


def write_printouts(app: Sphinx) -> None:
    """Write the pages that are made from planted defects, checks and the results of benchmarks."""
    root, folder = Path(app.srcdir), Path(app.srcdir) / "docs" / "printed"
    sys.path += [str(root), str(root / "bench")]  # last: pypgm is the installed one
    from bench.paper import __main__ as paper
    from bench.paper import page as figures

    performance = importlib.import_module("performance_page")
    figures.write(paper.FIGURES, folder)
    performance.write(folder)
    defects = runpy.run_path(str(root / ".ci" / "mutants_page"))
    (folder / "mutants.md").write_text(defects["page"](), encoding="utf-8")
    (folder / "checks.md").write_text(page_of_checks(), encoding="utf-8")


def write_reference(app: Sphinx) -> None:
    """Write the pages of the reference that are missing or stale."""
    folder = Path(app.srcdir) / "docs" / "reference"
    folder.mkdir(exist_ok=True)
    rows = (f"   * - :doc:`{module} <{module}>`\n     - {what}" for module, what in PUBLIC.items())
    head = "Reference\n=========\n\nEvery public name, by the module it is in.\n\n.. list-table::\n\n"
    tree = "\n\n.. toctree::\n   :hidden:\n\n" + "\n".join(f"   {module}" for module in PUBLIC)
    pages = {"index": head + "\n".join(rows) + tree + "\n"}
    pages |= {module: page_of(module, names) for module, names in names_by_home().items()}
    for name, text in pages.items():
        page = folder / f"{name}.rst"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def check_reference(app: Sphinx, env: Any) -> None:
    """Warn of each public name that no page describes, and of each public module without a page."""
    objects = {entry[0] for entry in env.domains["py"].get_objects()}
    logger = logging.getLogger("pypgm")
    for module in dir(pypgm):
        if isinstance(getattr(pypgm, module), ModuleType) and getattr(pypgm, module).__name__ not in {
            *PUBLIC,
            "pypgm.planning",
        }:
            logger.warning("pypgm.%s is public, and has no page", module)
    for names in names_by_home().values():
        for place in names.values():
            if place not in objects:
                logger.warning("%s is public, and no page describes it", place)


def add_contents(app: Sphinx, name: str, text: list[str]) -> None:
    """Add tables of contents, which a code host would show as code, to the home page and to that of the notebooks."""
    text[0] += {root_doc: CONTENTS, "docs/notebooks/index": NOTEBOOKS}.get(name, "")
    if name in PRINTED:
        intro, *pages = PRINTED[name]
        text[0] += PRINTOUTS.format(intro=intro, pages="\n".join(f"printed/{page}" for page in pages))


def skip_foreign(app: Sphinx, kind: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out methods that a class has from other packages."""
    module = getattr(inspect.unwrap(thing) if callable(thing) else thing, "__module__", None) or ""
    return True if callable(thing) and not module.startswith("pypgm") else None


def setup(app: Sphinx) -> None:
    """Connect these functions to the build."""
    app.connect("builder-inited", write_reference)
    app.connect("builder-inited", write_printouts)
    app.connect("source-read", add_contents)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("env-check-consistency", check_reference)
