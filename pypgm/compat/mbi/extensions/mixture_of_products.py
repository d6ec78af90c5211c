"""Mixtures of products, fitted by an optimizer of optax or by the engine's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.compat.mbi._engine import Bridge, done, numpy_seed
from pypgm.compat.mbi._losses import loss_and_total, stated_loss
from pypgm.compat.mbi.dataset import Dataset
from pypgm.compat.mbi.domain import Attribute, Clique, Domain
from pypgm.compat.mbi.estimation import CALLBACK_EVERY
from pypgm.compat.mbi.factor import Factor

__all__ = ["MixtureOfProducts", "MixtureOfProductsEstimator", "adam", "gradient_on"]

Tables = dict[Any, NDArray[np.float64]]


class MixtureOfProducts:
    """Records of several kinds, equally many of each; in a kind the attributes are independent."""

    def __init__(self, products: Mapping[Attribute, Any], domain: Domain, total: float = 1.0) -> None:
        self.products = {a: np.asarray(p, dtype=np.float64) for a, p in products.items()}
        self.domain = domain
        self.total = float(total)

    @property
    def num_components(self) -> int:
        """How many kinds."""
        return len(next(iter(self.products.values())))

    def supports(self, attributes: object) -> bool:
        return self.domain.supports(attributes)

    def project(self, attributes: object) -> Factor:
        """Return the table of any attributes, in counts."""
        domain = self.domain.project(attributes)
        values = _product([self.products[a] for a in domain], domain.shape)
        return Factor(domain, values * (self.total / self.num_components))

    def synthetic_data(self, rows: int | None = None) -> Dataset:
        """Return independent draws."""
        rng = np.random.default_rng(numpy_seed())
        kinds = rng.integers(self.num_components, size=int(self.total if rows is None else rows))
        columns = {}
        for a in self.domain:
            edges = np.cumsum(self.products[a], axis=1)[kinds]
            columns[a] = (rng.random(kinds.size)[:, None] * edges[:, -1:] > edges[:, :-1]).sum(axis=1)
        return Dataset(columns, self.domain)


def _product(parts: list[NDArray[np.float64]], shape: tuple[int, ...]) -> NDArray[np.float64]:
    operands: list[Any] = [x for i, p in enumerate(parts) for x in (p, [len(parts), i])]
    kinds: list[Any] = [np.ones(1), [len(parts)]] if not parts else []
    return np.asarray(np.einsum(*operands, *kinds, list(range(len(parts))), optimize=True)).reshape(shape)


def gradient_on(loss_fn: Any, domain: Domain) -> tuple[list[Clique], Callable[[Tables], Tables]]:
    """Return a loss's cliques, and its gradient as a function of their tables."""
    bridge = Bridge.of(domain)
    stated, cliques = stated_loss(loss_fn, bridge), [c for c in loss_fn.cliques if c]
    shape = bridge.vector(Factor.zeros(domain.project(c)) for c in cliques)
    evaluate = stated.loss.on(bridge.engine, shape.cliques)

    def gradient(tables: Tables) -> Tables:
        at = bridge.vector(Factor(domain.project(c), tables[c]) for c in cliques)
        slopes = shape.like(evaluate(at.values)[1])
        return {c: slopes[bridge.clique(c)].values for c in cliques}

    return cliques, gradient


@dataclass
class adam:  # noqa: N801 - what stands for optax.adam
    """Adam, where no optimizer is given."""

    rate: float = 0.1

    def init(self, params: Tables) -> tuple[int, Tables, Tables]:
        zeros = {k: np.zeros_like(p) for k, p in params.items()}
        return 0, zeros, dict(zeros)

    def update(self, grads: Tables, state: tuple[int, Tables, Tables], params: Any = None) -> tuple[Tables, Any]:
        del params
        t = state[0] + 1
        first = {k: 0.9 * state[1][k] + 0.1 * g for k, g in grads.items()}
        second = {k: 0.999 * state[2][k] + 0.001 * g * g for k, g in grads.items()}
        scale = {k: np.sqrt(v / (1 - 0.999**t)) + 1e-8 for k, v in second.items()}
        return {k: -self.rate * first[k] / (1 - 0.9**t) / scale[k] for k in grads}, (t, first, second)


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
        **options: Any,
    ) -> MixtureOfProducts:
        """Return the mixture of least loss that the optimizer finds."""
        if options.get("constraints"):
            raise ValueError("a mixture of products takes no constraints")
        loss, total = loss_and_total(loss_fn, domain, known_total)
        cliques, gradient = gradient_on(loss, domain)
        rng, optimizer = np.random.default_rng(self.seed), self.optimizer or adam()
        logits: Tables = {a: rng.normal(0, 0.25, (self.num_components, n)) for a, n in domain.config.items()}
        if warm_start is not None:
            logits = {a: np.log(np.maximum(p, 1e-30)) for a, p in warm_start.products.items()}
        state = optimizer.init(logits)

        def model() -> MixtureOfProducts:
            return MixtureOfProducts({a: _softmax(x) for a, x in logits.items()}, domain, total)

        best, least = model(), np.inf
        for t in range(1, iters + 1):
            here = model()
            updates, state = optimizer.update(_logit_slopes(here, cliques, gradient), state, logits)
            logits = {a: logits[a] + np.asarray(updates[a], dtype=np.float64) for a in logits}
            if t % CALLBACK_EVERY == 0 or t == iters:
                here = model()
                value = float(loss(here))
                best, least = (here, value) if value < least else (best, least)
                if callback_fn is not None:
                    callback_fn(here)
        return best if warm_start is None or least <= float(loss(warm_start)) else warm_start

    def precompile(self, *arguments: Any, **options: Any) -> Any:
        """Return a finished future: there is nothing to compile."""
        del arguments, options
        return done()


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _logit_slopes(model: MixtureOfProducts, cliques: list[Clique], gradient: Callable[[Tables], Tables]) -> Tables:
    """Return the gradient of a loss for the logits of a mixture."""
    slopes = gradient({c: model.project(c).values for c in cliques})
    found = {a: np.zeros_like(p) for a, p in model.products.items()}
    for clique in cliques:
        for i, a in enumerate(clique):
            operands: list[Any] = [slopes[clique], list(range(len(clique)))]
            for j, b in enumerate(clique):
                operands += [model.products[b], [len(clique), j]] if j != i else []
            kinds: list[Any] = [np.ones(model.num_components), [len(clique)]]
            found[a] += np.einsum(*operands, *kinds, [len(clique), i], optimize=True)
    scale = model.total / model.num_components
    return {a: scale * p * (found[a] - (p * found[a]).sum(axis=1, keepdims=True)) for a, p in model.products.items()}
