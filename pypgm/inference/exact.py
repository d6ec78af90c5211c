"""Exact marginals of a log-linear model."""

from __future__ import annotations

from pypgm.clique_vector import CliqueVector
from pypgm.domain import check_kind
from pypgm.graphs.evidence import Evidence
from pypgm.graphs.junction_tree import JunctionTree


def marginals(
    potentials: CliqueVector, total: float = 1.0, *, evidence: Evidence | None = None, n_threads: int = 0
) -> CliqueVector:
    r"""Compute the marginals of :math:`p(x) \propto \exp \sum_C \theta_C(x_C)` over the cliques of its potentials.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs :math:`\theta_C`; -inf is a structural zero. Tables over the same scope add up.
    total : float
        Sum of each marginal (counts; 1 for probabilities).
    evidence : mapping, optional
        Attribute to label, code, list of them, or likelihood vector. Marginals keep their shape; cells against
        the evidence are 0.
    n_threads : int
        0 for all threads; the bits of the answer do not depend on it.

    Returns
    -------
    CliqueVector
        Marginals over the same cliques.

    Raises
    ------
    ImpossibleEvidenceError
        If no joint assignment keeps any weight.
    ModelTooLargeError
        If the junction tree does not fit the memory available.
    ValueError
        If potentials hold NaN or +inf, or `total` is not positive and finite.

    Examples
    --------
    >>> import pypgm
    >>> potentials = pypgm.CliqueVector(pypgm.Domain({"a": 2, "b": 2}), [("a", "b")], [0.0, 0.0, 0.0, 1.0])
    >>> pypgm.marginals(potentials).project("a").values.round(4)
    array([0.3498, 0.6502])
    """
    check_kind("potentials", potentials, CliqueVector, "pypgm.CliqueVector(domain, cliques, values)")
    tree = JunctionTree.of(potentials)
    return tree.marginals(potentials, total, evidence, n_threads=n_threads)
