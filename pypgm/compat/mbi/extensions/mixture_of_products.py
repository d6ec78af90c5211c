"""Mixtures of products, fitted by an optimizer of optax or by the engine's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import numpy_seed
from pypgm.compat.mbi._engine import Bridge, finished
from pypgm.compat.mbi._losses import loss_and_total, stated_loss
from pypgm.compat.mbi.dataset import Dataset
from pypgm.compat.mbi.domain import Attribute, Clique, Domain, every_spelling
from pypgm.compat.mbi.factor import Factor
from pypgm.compat.mbi.marginal_loss import MarginalLossFn

Tables = dict[Any, NDArray[np.float64]]
_EVERY = 50  # iterations between calls of a callback


@every_spelling
class MixtureOfProducts:
    """Records of several kinds, equally many of each; in a kind the attributes are independent."""

    def __init__(self, products: Mapping[Attribute, Any], domain: Domain, total: float = 1.0) -> None:
        self.products = {a: np.asarray(p, dtype=np.float64) for a, p in products.items()}
        self.domain = domain
        self.total = float(total)

    @classmethod
    def random(
        cls, domain: Domain, total: float, num_components: int = 100, seed: int = 0, scale: float = 0.25
    ) -> MixtureOfProducts:
        """Return a mixture of random logits."""
        rng = np.random.default_rng(seed)
        return cls.of_logits(
            {a: rng.normal(0, scale, (num_components, n)) for a, n in domain.config.items()}, domain, total
        )

    @classmethod
    def of_logits(cls, logits: Tables, domain: Domain, total: float) -> MixtureOfProducts:
        """Return the mixture of unnormalised logarithms."""
        weights = {a: np.exp(x - x.max(axis=1, keepdims=True)) for a, x in logits.items()}
        return cls({a: w / w.sum(axis=1, keepdims=True) for a, w in weights.items()}, domain, total)

    @property
    def num_components(self) -> int:
        """Number of components."""
        return len(next(iter(self.products.values())))

    def supports(self, attributes: object) -> bool:
        return self.domain.supports(attributes)

    def project(self, attributes: object) -> Factor:
        """Return the table of any attributes, in counts."""
        domain = self.domain.project(attributes)
        values = _contracted(np.full(self.num_components, self.total / self.num_components), self.products, domain)
        return Factor(domain, values)

    def datavector(self, flatten: bool = True) -> NDArray[np.float64]:
        """Return the table of all attributes, in counts."""
        return self.project(self.domain.attributes).datavector(flatten)

    def synthetic_data(self, rows: int | None = None) -> Dataset:
        """Return independent draws."""
        rng = np.random.default_rng(numpy_seed())
        kinds = rng.integers(self.num_components, size=int(self.total if rows is None else rows))
        columns = {}
        for a in self.domain:
            edges = np.cumsum(self.products[a], axis=1)[kinds]
            columns[a] = (rng.random(kinds.size)[:, None] * edges[:, -1:] > edges[:, :-1]).sum(axis=1)
        return Dataset(columns, self.domain)


def _contracted(weights: NDArray[np.float64], products: Tables, domain: Domain, *more: Any, to: Any = None) -> Any:
    """Return the weighted sum of the components' products, over a domain, or per component over one attribute."""
    axis = {a: i + 1 for i, a in enumerate(domain)}
    operands: list[Any] = [weights, [0]]
    operands += [x for a, i in axis.items() if to is None or a != to for x in (products[a], [0, i])]
    out = [*axis.values()] if to is None else [0, axis[to]]
    operands += [x for table in more for x in (table, [*axis.values()])]
    return np.einsum(*operands, out, optimize=True)


def gradient_on(loss_fn: MarginalLossFn, domain: Domain) -> tuple[list[Clique], Callable[[Tables], Tables]]:
    """Return a loss's cliques, and its gradient as a function of their tables."""
    bridge, cliques = Bridge.of(domain), [c for c in loss_fn.cliques if c]
    shape = bridge.vector(Factor.zeros(domain.project(c)) for c in cliques)
    evaluate = stated_loss(loss_fn, bridge).loss.on(bridge.engine, shape.cliques)

    def gradient(tables: Tables) -> Tables:
        at = bridge.vector(Factor(domain.project(c), tables[c]) for c in cliques)
        slopes = bridge.parts(cliques, shape.like(evaluate(at.values)[1]))
        return {c: slopes[c].values for c in cliques}

    return cliques, gradient


class _Adam:
    """Adam, the default optimizer."""

    def init(self, params: Tables) -> tuple[int, Tables, Tables]:
        zeros = {k: np.zeros_like(p) for k, p in params.items()}
        return 0, zeros, zeros

    def update(self, grads: Tables, state: tuple[int, Tables, Tables], params: Any) -> tuple[Tables, Any]:
        del params
        t = state[0] + 1
        first = {k: 0.9 * state[1][k] + 0.1 * g for k, g in grads.items()}
        second = {k: 0.999 * state[2][k] + 0.001 * g * g for k, g in grads.items()}
        scale = {k: np.sqrt(v / (1 - 0.999**t)) + 1e-8 for k, v in second.items()}
        return {k: -0.1 * first[k] / (1 - 0.9**t) / scale[k] for k in grads}, (t, first, second)


def steps(
    optimizer: Any, params: Tables, slopes: Callable[[Tables], Tables], iters: int
) -> Iterator[tuple[bool, Tables]]:
    """Yield parameters after each step of an optimizer, with whether a callback is to see them."""
    optimizer = optimizer or _Adam()
    state = optimizer.init(params)
    for t in range(1, iters + 1):
        updates, state = optimizer.update(slopes(params), state, params)
        params = {k: p + np.asarray(updates[k], dtype=np.float64) for k, p in params.items()}
        yield t % _EVERY == 0 or t == iters, params


@dataclass
class MixtureOfProductsEstimator:
    """Fits a mixture by gradients; `optimizer` has optax's `init` and `update`."""

    optimizer: Any = None
    num_components: int = 100
    seed: int = 0

    def estimate(
        self,
        domain: Domain,
        loss_fn: Any,
        known_total: float | None = None,
        iters: int = 2500,
        callback_fn: Callable[[MixtureOfProducts], object] | None = None,
        warm_start: MixtureOfProducts | None = None,
        constraints: Any = (),
        **options: Any,
    ) -> MixtureOfProducts:
        """Return the mixture of least loss that the optimizer finds."""
        del options
        if constraints:
            raise ValueError("a mixture of products takes no constraints")
        loss, total = loss_and_total(loss_fn, domain, known_total)
        cliques, gradient = gradient_on(loss, domain)
        best = warm_start or MixtureOfProducts.random(domain, total, self.num_components, self.seed)
        logits: Tables = {a: np.log(np.maximum(p, 1e-30)) for a, p in best.products.items()}
        least = np.inf if warm_start is None else float(loss(best))

        def model(logits: Tables) -> MixtureOfProducts:
            return MixtureOfProducts.of_logits(logits, domain, total)

        for is_shown, params in steps(self.optimizer, logits, lambda p: _slopes(model(p), cliques, gradient), iters):
            if is_shown:
                here = model(params)
                best, least = min(((here, float(loss(here))), (best, least)), key=lambda candidate: candidate[1])
                if callback_fn is not None:
                    callback_fn(here)
        return best

    precompile = finished


def mixture_of_products(
    domain: Domain,
    loss_fn: Any,
    *,
    known_total: float | None = None,
    mixture_components: int = 100,
    iters: int = 2500,
    alpha: float = 0.1,
) -> MixtureOfProducts:
    """Return the mixture of least loss, by the name of mbi before 2.0, which did not use `alpha` either."""
    del alpha
    return MixtureOfProductsEstimator(num_components=mixture_components).estimate(domain, loss_fn, known_total, iters)


def _slopes(model: MixtureOfProducts, cliques: list[Clique], gradient: Callable[[Tables], Tables]) -> Tables:
    """Return the gradient of a loss for the logits of a mixture."""
    slopes = gradient({c: model.project(c).values for c in cliques})
    sums = {a: np.zeros_like(p) for a, p in model.products.items()}
    scale = np.full(model.num_components, model.total / model.num_components)
    for c in cliques:
        for a in c:
            sums[a] += _contracted(scale, model.products, model.domain.project(c), slopes[c], to=a)
    return {a: p * (sums[a] - (p * sums[a]).sum(axis=1, keepdims=True)) for a, p in model.products.items()}
