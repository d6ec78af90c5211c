r"""Sample sizes for learning a Markov random field: orders of magnitude from theory, figures from simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from pypgm._base.constraints import AtLeast, Positive
from pypgm._base.numeric import as_generator, checked_integer, checked_real
from pypgm._base.signatures import checked
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.mrf.sampling import sample
from pypgm.privacy.budget import Budget

_FIRST_BLOCK = 32  # records of the first blocks that are tried
_MOST_RECORDS = 2**22
_BLOCKS_A_THRESHOLD = 3  # blocks of a stability release, in thresholds: most blocks may err, and noise be large


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Numbers of records, to their order of magnitude: constants of the theorems are set to 1.

    Attributes
    ----------
    statistical : float
        Enough without privacy.
    private : float
        Enough with the budget; at least `statistical`.
    lower : float
        A necessary number with the budget; 0 where no bound is known.
    """

    statistical: float
    private: float
    lower: float


def parameter_sample_size(
    n_attributes: int, width: float, accuracy: float, budget: Budget, *, n_values: int = 2
) -> SampleSize:
    r"""Return the number of records that suffices for all weights to be within `accuracy` by private Frank-Wolfe.

    With width :math:`\lambda`, accuracy :math:`\alpha` and budget :math:`\rho` an Ising model (`n_values` 2) takes

    .. math:: \frac{\lambda^2 \log(p)\, e^{12\lambda}}{\alpha^4}
              + \frac{\sqrt p\, \lambda^2 \log^2(p)\, e^{9\lambda}}{\sqrt\rho\, \alpha^3},

    a field of k > 2 values :math:`k^5` and :math:`k^{5.5}` times that, with log(pk) for log(p); its exponents are known
    up to a constant only, and taken to be the same. A pure budget counts as the zCDP it implies.

    Parameters
    ----------
    n_attributes : int
        p, at least 2.
    width : float
        The largest sum over a node's edges of their largest absolute weight, and its field.
    accuracy : float
        Largest error of a weight.
    budget : Budget
    n_values : int
        k, at least 2.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    H. Zhang, G. Kamath, J. Kulkarni, Z. S. Wu, Privately learning Markov random fields, ICML 2020.

    Examples
    --------
    >>> needed = parameter_sample_size(10, 1.0, 0.1, Budget(rho=1))
    >>> [f"{n:.0e}" for n in (needed.statistical, needed.private, needed.lower)]
    ['4e+09', '4e+09', '3e+00']
    """
    p, k = _checked_sizes(n_attributes, n_values)
    lam, alpha = checked_real("width", width), checked_real("accuracy", accuracy)
    rho = _rho(budget)
    logarithm = math.log(p if k == 2 else p * k)
    slow, fast = (1.0, 1.0) if k == 2 else (k**5.0, k**5.5)
    statistical = _exp(slow * lam**2 * logarithm / alpha**4, 12 * lam)
    noise = _exp(fast * math.sqrt(p / rho) * lam**2 * logarithm**2 / alpha**3, 9 * lam)
    return SampleSize(statistical, statistical + noise, _least(p, k, alpha, budget))


def structure_sample_size(
    n_attributes: int, width: float, eta: float, budget: Budget, *, n_values: int = 2
) -> SampleSize:
    r"""Return the number of records that suffices to find the graph.

    Without privacy :math:`\lambda^2 k^4 e^{14\lambda} \log(pk) / \eta^4` records suffice, with :math:`\eta` the least
    strength of an edge. With (epsilon, delta) each of the blocks of subsampling and stability, three times
    `stability_threshold` of them, needs that many; with zCDP or pure budgets weights must be within :math:`\eta / 2`
    (`parameter_sample_size`); the necessary number follows from :math:`\eta` itself.

    Parameters
    ----------
    n_attributes : int
        p, at least 2.
    width : float
        The largest sum over a node's edges of their largest absolute weight, and its field.
    eta : float
        The least strength of an edge.
    budget : Budget
    n_values : int
        k, at least 2.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> needed = structure_sample_size(6, 0.8, 0.2, Budget(epsilon=1, delta=1e-6))
    >>> f"{needed.statistical:.0e} {needed.private:.0e}"
    '1e+09 1e+11'
    """
    p, k = _checked_sizes(n_attributes, n_values)
    lam, eta = checked_real("width", width), checked_real("eta", eta)
    statistical = _exp(lam**2 * k**4 * math.log(p * k) / eta**4, 14 * lam)
    if budget.epsilon is None or not budget.delta:
        weights = parameter_sample_size(p, lam, eta / 2, budget, n_values=k)
        return SampleSize(statistical, max(statistical, weights.private), _least(p, k, eta, budget))
    return SampleSize(statistical, _n_blocks(budget) * statistical, 0.0)


def frank_wolfe_steps(n_records: float, n_features: int, radius: float, amount: float, *, pure: bool) -> float:
    r"""Return the number of steps at which the loss added by noise and the remaining loss are equal.

    With n records, q features, a ball of radius :math:`\lambda` and an amount of the budget for the regression it is
    :math:`(\lambda n \sqrt\rho / \log 2q)^{2/3}`, or :math:`(\lambda n \varepsilon / \log 2q)^{1/2}` under a pure
    budget.
    """
    reach = radius * n_records * (amount if pure else math.sqrt(amount)) / math.log(2 * n_features)
    return float(reach ** (1 / 2 if pure else 2 / 3))


def excess_risk(
    n_records: float,
    n_features: int,
    radius: float,
    budget: Budget,
    *,
    steps: int | None = None,
    failure: float = 0.05,
) -> float:
    r"""Return the order of magnitude of private Frank-Wolfe's mean loss above the least one of a regression.

    With n records, q features, weights whose absolute values sum to at most :math:`\lambda` and the part :math:`\rho`
    of a budget that the regression gets, with probability :math:`1 - \beta`

    .. math:: \frac{\lambda^{4/3} \log(nq / \beta)}{(n \sqrt\rho)^{2/3}} + \frac{\lambda \log(1 / \beta)}{\sqrt n},

    for the number of steps that makes the first term least, which learners take by default. With T times as many
    the first term is :math:`(1 / T + 2 \sqrt T) / 3` times that: the remaining descent falls with the steps, noise
    rises with their root. Under a pure budget, whose noise rises with the steps, it is :math:`\lambda^{3/2} \log(nq /
    \beta) / (n \varepsilon)^{1/2}`, times :math:`(1 / T + T) / 2`. Constants are set to 1; weights of 0 have a loss of
    log 2.

    Parameters
    ----------
    n_records : float
        n, at least 1.
    n_features : int
        q, at least 1: the number of attributes for an Ising model.
    radius : float
        Radius :math:`\lambda` of the searched ball.
    budget : Budget
        Budget of one regression: a learner divides its own equally among the attributes.
    steps : int, optional
        Number of steps of the regression; the best number by default.
    failure : float
        :math:`\beta`, below 1.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    H. Zhang, G. Kamath, J. Kulkarni, Z. S. Wu, Privately learning Markov random fields, ICML 2020.

    Examples
    --------
    >>> round(excess_risk(100_000, 10, 1.0, Budget(rho="1/10")), 3)
    0.026
    >>> round(excess_risk(100_000, 10, 1.0, Budget(rho="1/10"), steps=20), 3)
    0.147
    """
    n, lam = checked_real("n_records", n_records), checked_real("radius", radius)
    q, beta = checked_integer("n_features", n_features, 1), checked_real("failure", failure)
    if n < 1 or beta >= 1:
        raise ValueError(f"n_records must be at least 1 and failure below 1, got {n_records} and {failure}")
    amount, pure = float(budget.limit), budget.unit == "epsilon"
    logarithm = math.log(n * q / beta)
    if pure:
        noise = lam**1.5 * logarithm / math.sqrt(n * amount)
    else:
        noise = lam ** (4 / 3) * logarithm / (n * math.sqrt(amount)) ** (2 / 3)
    if steps is not None:
        times = checked_integer("steps", steps, 1) / frank_wolfe_steps(n, q, lam, amount, pure=pure)
        noise *= (1 / times + times) / 2 if pure else (1 / times + 2 * math.sqrt(times)) / 3
    return float(noise + lam * math.log(1 / beta) / math.sqrt(n))


def stability_threshold(budget: Budget) -> float:
    r"""Return the votes above which a graph is released: :math:`1 + \frac2\epsilon \ln\frac1{2\delta}`.

    A record changes one block, so one vote moves; votes have Laplace noise of scale 2/epsilon. A graph with votes in
    only one of two neighbouring tables has one vote, and passes with probability at most delta.

    Raises
    ------
    ValueError
        If the budget is not given as epsilon and delta.

    Examples
    --------
    >>> round(stability_threshold(Budget(epsilon=1, delta=1e-6)), 1)
    27.2
    """
    if budget.epsilon is None or not budget.delta:
        raise ValueError(f"stability needs a budget of epsilon and delta, got {budget}")
    return 1 + 2 / float(budget.epsilon) * max(-math.log(2 * float(budget.delta)), 0.0)


@dataclass(frozen=True, slots=True)
class BlockSize:
    """The size of a block at which a learner finds the graph nearly always, by simulation.

    Attributes
    ----------
    n_records : int
        Number of records of one block.
    successes, simulated : int
        Number of simulated blocks of this size in which the graph was found, and number of simulated blocks.
    interval : tuple of float
        95 % confidence interval of the probability of success (Clopper and Pearson).
    n_blocks : int or None
        Blocks of a stability release with the budget, None without one.
    tried : tuple of (int, bool)
        Sizes that were simulated, in their order, and whether they sufficed.
    """

    n_records: int
    successes: int
    simulated: int
    interval: tuple[float, float]
    n_blocks: int | None
    tried: tuple[tuple[int, bool], ...]

    @property
    def total(self) -> int:
        """Records of all blocks, or the records of one block without a budget."""
        return self.n_records * (self.n_blocks or 1)


@checked()
def simulated_block_size(
    potentials: CliqueVector,
    learn: Callable[[Dataset], object],
    graph: object,
    *,
    budget: Budget | None = None,
    success: Annotated[float, Positive(below=1)] = 0.99,
    simulated: Annotated[int, AtLeast(1)] = 400,
    rng: np.random.Generator | int | None = 0,
) -> BlockSize:
    """Return the least size of a block, within a tenth, at which a learner finds a graph with a probability.

    Sizes are doubled until the part of blocks in which `learn` returns `graph` is at least `success`, then bisected. A
    size is given up as soon as it has failed too often.

    Parameters
    ----------
    potentials : CliqueVector
        The model that records are drawn from (`sample`, independently).
    learn : callable
        Function from a Dataset to a graph, private or not, such as
        ``lambda data: fit_logistic(data, 1.0).edges(0.1)``.
    graph : object
        Graph that `learn` should return.
    budget : Budget, optional
        Budget of epsilon and delta: adds the number of blocks of a stability release, three times its threshold.
    success : float
        Below 1.
    simulated : int
        Blocks of each size.
    rng : Generator, int or None

    Raises
    ------
    ValueError
        If a number is out of range, the budget is of another kind, or 2**22 records are too few.

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> from pypgm.mrf import fit_logistic
    >>> pair = CliqueVector(Domain(dict.fromkeys("abc", 2)), [("a", "b"), ("c",)], [0.5, -0.5, -0.5, 0.5, 0, 0])
    >>> edges = frozenset([("a", "b")])
    >>> found = simulated_block_size(pair, lambda data: fit_logistic(data, 1.0).edges(0.25), edges, simulated=50, rng=0)
    >>> 50 < found.n_records < 300
    True
    """
    n_blocks = None if budget is None else _n_blocks(budget)
    allowed = simulated - math.ceil(success * simulated)
    search = _Search(potentials, learn, graph, simulated, allowed, as_generator(rng))
    high = _FIRST_BLOCK
    while not search.suffices(high):
        high *= 2
        if high > _MOST_RECORDS:
            raise ValueError(f"the learner has not found the graph in blocks of {_MOST_RECORDS} records")
    low = high // 2
    while high > 1.1 * low:
        middle = round(math.sqrt(low * high))
        low, high = (low, middle) if search.suffices(middle) else (middle, high)
    successes = simulated - search.failures[high]
    return BlockSize(high, successes, simulated, _interval(successes, simulated), n_blocks, tuple(search.tried()))


@dataclass(slots=True, eq=False)
class _Search:
    """Simulates blocks of one size after another and remembers how many failed."""

    potentials: CliqueVector
    learn: Callable[[Dataset], object]
    graph: object
    blocks: int
    allowed: int
    rng: np.random.Generator
    failures: dict[int, int] = field(default_factory=dict)

    def suffices(self, size: int) -> bool:
        """Return whether at most the allowed number of blocks fails; simulation stops at one more."""
        failed = 0
        for _ in range(self.blocks):
            failed += self.learn(sample(self.potentials, size, rng=self.rng).data) != self.graph
            if failed > self.allowed:
                break
        self.failures[size] = failed
        return failed <= self.allowed

    def tried(self) -> list[tuple[int, bool]]:
        return [(size, failed <= self.allowed) for size, failed in self.failures.items()]


def _interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a probability (Clopper and Pearson)."""
    from scipy.special import betaincinv

    low = betaincinv(successes, trials - successes + 1, 0.025) if successes else 0.0
    high = betaincinv(successes + 1, trials - successes, 0.975) if successes < trials else 1.0
    return float(low), float(high)


def _n_blocks(budget: Budget) -> int:
    return math.ceil(_BLOCKS_A_THRESHOLD * stability_threshold(budget))


def _checked_sizes(n_attributes: int, n_values: int) -> tuple[int, int]:
    return checked_integer("n_attributes", n_attributes, 2), checked_integer("n_values", n_values, 2)


def _exp(factor: float, exponent: float) -> float:
    """Return factor * exp(exponent), inf if it exceeds doubles."""
    log = math.log(factor) + exponent
    return math.exp(log) if log < 709 else math.inf


def _rho(budget: Budget) -> float:
    limit = float(budget.limit)
    return limit if budget.unit == "rho" else limit * limit / 2


def _least(p: int, k: int, accuracy: float, budget: Budget) -> float:
    """Return the lower bounds, k^2 p for p in fields of more than two values."""
    cells = p if k == 2 else k**2 * p
    if budget.unit == "epsilon":
        epsilon = float(budget.limit)
        return math.sqrt(p) / (accuracy * epsilon) + cells / epsilon
    return math.sqrt(cells / float(budget.limit))
