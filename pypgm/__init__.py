"""pypgm: graphical models from differentially private marginals.

Three ways in:

- **A table that must not be shown.** ``release = pypgm.synthesize(table, schema, epsilon=1, delta=1e-9)`` spends a
  privacy budget once; ``release.to_frame()`` gives synthetic records as the table has them, ``release.marginal("age")``
  counts with their errors, ``release.report_html(path)`` a page to show. ``pypgm.Schema.from_types(table)`` begins the
  schema. ``pypgm.mechanisms`` has each method by name, ``pypgm.mechanisms.plan`` says beforehand what a
  mechanism would do, and ``pypgm.privacy`` has what your own mechanism needs.
- **Noisy answers of your own.** ``pypgm.estimate(pypgm.Domain({"age": 85, "sex": ["F", "M"]}), measurements)`` with
  `LinearMeasurement` gives the one model that explains them best: ``model.project(...)``, ``model.query(...)``,
  ``model.synthetic_data()``.
- **A graphical model.** ``pypgm.bayes`` for Bayesian networks, ``pypgm.mrf`` for Markov random fields,
  ``pypgm.JunctionTree``, ``pypgm.marginals``, ``pypgm.read_uai`` for inference alone.

Pictures are in ``pypgm.plot``; objects show themselves at the end of a notebook's cell. ``python -m pypgm.audit``
checks the privacy of a mechanism. The command ``pypgm`` does the same as the first way without a line of Python.
"""

from __future__ import annotations

from pypgm._base import waiting as _waiting  # noqa: F401
from pypgm._base.lazy import attached

_HOMES, __all__, __getattr__, __dir__ = attached(__name__)
