"""Information in a network's answers, the worth of findings, sensitivity to tables, the best explanations."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm._base.memory import check_fits
from pypgm._base.numeric import checked_integer
from pypgm.bayes.checks import check_network
from pypgm.bayes.network import BayesianNetwork
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Label, as_clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, LogLikelihood, check_evidence, code_of, codes_of, log_likelihoods

_EXPLANATION_BYTES = 250  # of an attribute's value in an explanation, with two more explanations that wait


def entropy(
    net: BayesianNetwork, targets: str | Iterable[str] | None = None, evidence: Evidence | None = None
) -> float:
    r"""Return the entropy of some attributes together, given evidence, in nats.

    Parameters
    ----------
    net : BayesianNetwork
    targets : str or sequence of str, optional
        All attributes by default, for which their joint table is not needed.
    evidence : mapping, optional
        See `BayesianNetwork.query`.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    ModelTooLargeError
        If the table of the targets does not fit.
    ValueError
        If an attribute, label or code is unknown.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0.5, 0.5]]})
    >>> round(entropy(net), 4), round(entropy(net, "a", {"b": 0}), 4)
    (1.0397, 0.6365)
    """
    check_network(net)
    if targets is not None:
        return _entropy(net.query(as_clique(targets), evidence).values)
    # log P(e) less the mean of the logs of all factors, those of the evidence among them.
    families = net.tree.marginals(net.potentials, 1.0, evidence)
    mean = _mean(families.values, net.potentials.values)
    posteriors = net.marginals(evidence)
    for a, logs in _logs(net, evidence).items():
        mean += _mean(posteriors[a].values, logs)
    return max(0.0, net.tree.log_partition(net.potentials, evidence) - mean)


def mutual_information(
    net: BayesianNetwork,
    one: str | Iterable[str],
    other: str | Iterable[str],
    evidence: Evidence | None = None,
    *,
    given: str | Iterable[str] = (),
) -> float:
    """Return the mutual information of two sets of attributes, in nats.

    Parameters
    ----------
    net : BayesianNetwork
    one, other : str or sequence of str
    evidence : mapping, optional
        See `BayesianNetwork.query`.
    given : str or sequence of str
        A third set, over whose values the information is averaged.

    Raises
    ------
    ValueError
        If an attribute, label or code is unknown, or an attribute is in two of the sets; otherwise as `entropy`.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]})
    >>> round(mutual_information(net, "a", "b"), 4), mutual_information(net, "a", "b", {"b": 1})
    (0.6931, 0.0)
    """
    check_network(net)
    sets = [as_clique(names) for names in (one, other, given)]
    joint = net.query([a for names in sets for a in names], evidence)
    here, there, known = sets
    parts = [_entropy(joint.project(scope).values) for scope in ((*here, *known), (*there, *known), known)]
    return max(0.0, parts[0] + parts[1] - parts[2] - _entropy(joint.values))


def findings_worth(
    net: BayesianNetwork, target: str, evidence: Evidence | None = None, findings: str | Iterable[str] | None = None
) -> dict[str, float]:
    """Return how much each finding is expected to tell about a target, in nats, the most telling one first.

    This is their mutual information, given what is known: the expected fall of the target's entropy.

    Parameters
    ----------
    net : BayesianNetwork
    target : str
    evidence : mapping, optional
        What is known already, see `BayesianNetwork.query`.
    findings : str or sequence of str, optional
        By default all attributes without evidence.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    ValueError
        If an attribute, label or code is unknown, or the target is among the findings.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> tables = {"ill": [0.5, 0.5], "test": [[0.9, 0.1], [0.1, 0.9]], "guess": [[0.6, 0.4], [0.4, 0.6]]}
    >>> net = BayesianNetwork({"ill": 2, "guess": 2, "test": 2}, [("ill", "test"), ("ill", "guess")], tables)
    >>> {a: round(worth, 4) for a, worth in findings_worth(net, "ill").items()}
    {'test': 0.3681, 'guess': 0.0201}
    """
    check_network(net)
    net.domain.index(target)
    check_evidence(evidence)
    names = [a for a in net.domain if a not in (evidence or {})] if findings is None else as_clique(findings)
    net.domain.indices(tuple(names))
    if findings is not None and target in names:
        raise ValueError(f"{target!r} is the target, and cannot be a finding about itself")
    known, base = _logs(net, evidence), net.marginals(evidence)
    worth = {a: _entropy(base[a].values) for a in names if a != target}
    # One propagation for each value of the target serves all findings.
    for code, share in enumerate(base[target].values.tolist()):
        if share > 0:
            posterior = net.marginals(_evidence({**known, target: _only(net, known, target, code)}))
            for a in worth:
                worth[a] -= share * _entropy(posterior[a].values)
    return dict(sorted(((a, max(0.0, w)) for a, w in worth.items()), key=lambda pair: -pair[1]))


def sensitivity(
    net: BayesianNetwork, query: Mapping[str, Label], evidence: Evidence | None = None
) -> dict[str, NDArray[np.float64]]:
    r"""Return the derivative of a posterior probability by each probability of the network's tables.

    When :math:`\theta(x \mid p)` moves, the other probabilities of its row keep their proportions (those of a row that
    is certain of x share equally). Exact, by two propagations, and one more for each table with a zero.

    Parameters
    ----------
    net : BayesianNetwork
    query : mapping of str to label or code
        Values whose joint probability is differentiated.
    evidence : mapping, optional
        See `BayesianNetwork.query`.

    Returns
    -------
    dict of str to ndarray of float64
        For each attribute, with the shape of its table.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    ValueError
        If an attribute, label or code is unknown, or the query has an attribute with evidence.

    References
    ----------
    Laskey 1995, "Sensitivity analysis for probability assessments in Bayesian networks". Darwiche 2003, "A differential
    approach to inference in Bayesian networks".

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[0.9, 0.1], [0.2, 0.8]]})
    >>> sensitivity(net, {"b": 1})["a"].round(4)
    array([-0.7,  0.7])
    """
    check_network(net)
    codes = codes_of(net.domain, query, "a query")
    check_evidence(evidence)
    if known_too := [a for a in query if a in (evidence or {})]:
        raise ValueError(f"{known_too[0]!r} is in the query and in the evidence")
    known = _logs(net, evidence)
    wanted = {a: _unit(net, a, code) for a, code in codes.items()}
    before, both = (net.tree.log_partition(net.potentials, _evidence(logs)) for logs in (known, {**known, **wanted}))
    if before == -np.inf:
        raise ImpossibleEvidenceError("the evidence has probability zero")
    share = np.exp(both - before)
    of_query, of_evidence = (_derivatives(net, logs, before) for logs in ({**known, **wanted}, known))
    slopes = {}
    for a, table in net._distributions.items():
        theta = table.values
        free = of_query[a] - share * of_evidence[a]  # each probability on its own
        others = (theta * free).sum(axis=-1, keepdims=True) - theta * free
        rest = 1 - theta
        spread = (free.sum(axis=-1, keepdims=True) - free) / max(theta.shape[-1] - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes[a] = free - np.where(rest > 0, others / rest, spread)
    return slopes


def explanations(
    net: BayesianNetwork,
    k: int,
    evidence: Evidence | None = None,
    targets: str | Iterable[str] | None = None,
    *,
    time_limit: float | None = None,
    progress: bool = False,
) -> list[tuple[dict[str, Label], float]]:
    r"""Return the k most probable joint values, with the natural log of the probability of each and the evidence.

    Parameters
    ----------
    net : BayesianNetwork
    k : int
        At least 1; fewer are returned if no more are possible.
    evidence : mapping, optional
        See `BayesianNetwork.query`.
    targets : str or sequence of str, optional
        All attributes by default, by repeated max-product. Otherwise all others are summed over, and the table of the
        targets must fit.
    time_limit : float, optional
        Seconds after which the explanations found so far are returned, one at least: those of all attributes are found
        from the most probable on, each by up to one max-product for each attribute.
    progress : bool
        Whether to show on standard error how many are found.

    Warns
    -----
    TimeLimitWarning
        If the time limit ended it and there are more explanations.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    ModelTooLargeError
        If so many explanations, or the table of the targets, do not fit.
    ValueError
        If k is less than 1, the time limit is not positive, or an attribute, label or code is unknown.

    References
    ----------
    Nilsson 1998, "An efficient algorithm for finding the M most probable configurations in probabilistic expert
    systems".

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.4, 0.6], "b": [[1, 0], [0.5, 0.5]]})
    >>> [(values, round(float(np.exp(log)), 2)) for values, log in explanations(net, 2)]
    [({'a': 0, 'b': 0}, 0.4), ({'a': 1, 'b': 0}, 0.3)]
    """
    check_network(net)
    wanted = None if targets is None else as_clique(targets)
    k = min(checked_integer("k", k, 1), net.domain.size(net.domain.attributes if wanted is None else wanted))
    check_fits(_EXPLANATION_BYTES * k * len(net.domain), None, f"{k} explanations", "ask for fewer")
    if wanted is not None and not wanted:
        raise ValueError("explanations need at least one target, got none")
    with Clock("explanations", time_limit, progress, ends="the explanations") as clock:
        if wanted is not None:
            return _from_table(net, k, evidence, wanted)
        known = _logs(net, evidence)
        free = [a for a in net.domain if a not in known or np.count_nonzero(known[a] > -np.inf) > 1]
        return _best(net, k, known, free, clock)


def _best(
    net: BayesianNetwork, k: int, known: dict[str, NDArray[np.float64]], free: Sequence[str], clock: Clock
) -> list[tuple[dict[str, Label], float]]:
    """Return the best joint values of all attributes, as many as time allows.

    Lawler: what is left after a best assignment is divided by the first attribute that differs from it.
    """
    waiting: list[tuple[float, int, dict[str, Label], dict[str, NDArray[np.float64]], int]] = []
    values, log = net.map(None, _evidence(known))
    heapq.heappush(waiting, (-log, 0, values, known, 0))
    best: list[tuple[dict[str, Label], float]] = []
    n_pushed = 1
    while waiting:
        negative, _, values, within, first = heapq.heappop(waiting)
        best.append((values, -negative))
        if len(best) == k:
            break
        fixed = dict(within)
        for i in range(first, len(free)):
            if waiting and clock.tick(lambda: f"{len(best):,} of {k:,}"):  # others are known to be left
                return best
            a = free[i]
            code = code_of(net.domain, a, values[a])
            allowed = fixed.get(a, np.zeros(net.domain.size(a))).copy()
            other = allowed.copy()
            other[code] = -np.inf
            if (other > -np.inf).any():
                try:
                    again, log = net.map(None, _evidence({**fixed, a: other}))
                except ImpossibleEvidenceError:
                    log = -np.inf
                if log > -np.inf:
                    heapq.heappush(waiting, (-log, n_pushed, again, {**fixed, a: other}, i))
                    n_pushed += 1
                    if len(waiting) > 2 * k:
                        waiting = heapq.nsmallest(k, waiting)  # no others are among the best
            only = np.full_like(allowed, -np.inf)
            only[code] = allowed[code]
            fixed[a] = only
    return best


def _from_table(
    net: BayesianNetwork, k: int, evidence: Evidence | None, targets: tuple[str, ...]
) -> list[tuple[dict[str, Label], float]]:
    table = net.query(targets, evidence)
    cells = table.datavector()
    best = np.argsort(-cells, kind="stable")[:k]
    best = best[cells[best] > 0]
    log = net.log_probability(evidence)
    rows = np.array(np.unravel_index(best, table.domain.shape)).T.reshape(len(best), -1).tolist()
    logs = (np.log(cells[best]) + log).tolist()
    return [(table.domain.labelled(codes), value) for codes, value in zip(rows, logs, strict=True)]


def _logs(net: BayesianNetwork, evidence: Evidence | None) -> dict[str, NDArray[np.float64]]:
    return {net.domain.attributes[i]: logs for i, logs in log_likelihoods(net.domain, evidence)}


def _evidence(logs: Mapping[str, NDArray[np.float64]]) -> Evidence:
    return {a: LogLikelihood(values) for a, values in logs.items()}


def _unit(net: BayesianNetwork, attribute: str, code: int) -> NDArray[np.float64]:
    unit = np.full(net.domain.size(attribute), -np.inf)
    unit[code] = 0.0
    return unit


def _only(
    net: BayesianNetwork, known: Mapping[str, NDArray[np.float64]], attribute: str, code: int
) -> NDArray[np.float64]:
    return _unit(net, attribute, code) + (known[attribute][code] if attribute in known else 0.0)


def _derivatives(
    net: BayesianNetwork, known: Mapping[str, NDArray[np.float64]], level: float
) -> dict[str, NDArray[np.float64]]:
    """Return the derivative of the probability of evidence, over exp(level), by each probability on its own."""
    evidence = _evidence(known)
    derivatives: dict[str, NDArray[np.float64]] = {}

    def families(potentials: CliqueVector) -> CliqueVector | None:
        log = net.tree.log_partition(potentials, evidence)
        if log == -np.inf:
            return None
        return net.tree.marginals(potentials, 1.0, evidence) * float(np.exp(log - level))

    whole = families(net.potentials)
    for i, (a, table) in enumerate(net._distributions.items()):
        theta, summed = table.values, whole
        if (theta == 0).any():  # without its table the family's marginal is the derivative
            cells = net.potentials.values.copy()
            cells[net.potentials.part(i)] = 0.0
            theta, summed = np.ones_like(theta), families(net.potentials.like(cells))
        derivatives[a] = np.zeros_like(theta)
        if summed is not None:
            family = Factor(net.domain.project(summed.cliques[i]), summed.table(i))
            derivatives[a] = family.transpose(table.domain.attributes).values / theta
    return derivatives


def _mean(weights: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    some = weights > 0
    return float(weights[some] @ values[some])


def _entropy(p: NDArray[np.float64]) -> float:
    some = p[p > 0]
    return max(0.0, -float(some @ np.log(some)))
