"""Public records with new weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypgm.compat.mbi._engine import done
from pypgm.compat.mbi._losses import loss_and_total
from pypgm.compat.mbi.dataset import Dataset, JaxDataset
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.estimation import CALLBACK_EVERY
from pypgm.compat.mbi.extensions.mixture_of_products import Tables, adam, gradient_on

__all__ = ["ReweightedDatasetEstimator"]


@dataclass
class ReweightedDatasetEstimator:
    """Fits the weights of records by gradients; `optimizer` has optax's `init` and `update`."""

    seed_data: Any
    optimizer: Any = None

    def estimate(
        self,
        domain: Domain,
        loss_fn: Any,
        known_total: float | None = None,
        iters: int = 1000,
        callback_fn: Callable[[JaxDataset], object] | None = None,
        warm_start: JaxDataset | None = None,
        **options: Any,
    ) -> JaxDataset:
        """Return the records with weights of least loss."""
        if options.get("constraints"):
            raise ValueError("records with weights take no constraints: leave out those that break them")
        loss, total = loss_and_total(loss_fn, domain, known_total)
        cliques, gradient = gradient_on(loss, domain)
        columns = {a: np.asarray(self.seed_data.data[a]) for a in domain}
        records = Dataset(columns, domain).records
        cells = {c: np.ravel_multi_index([columns[a] for a in c], domain.project(c).shape) for c in cliques}
        optimizer = self.optimizer or adam()
        started = None if warm_start is None or warm_start.weights is None else warm_start.weights
        logs = {"weights": np.zeros(records) if started is None else np.log(np.maximum(started, 1e-30))}
        state = optimizer.init(logs)

        def weights() -> Any:
            raw = np.exp(logs["weights"] - logs["weights"].max())
            return raw * (total / raw.sum())

        for t in range(1, iters + 1):
            own = weights()
            tables: Tables = {
                c: np.asarray(np.bincount(cells[c], own, domain.size(c)), dtype=np.float64) for c in cliques
            }
            slopes = gradient(tables)
            each = sum((slopes[c].reshape(-1)[cells[c]] for c in cliques), np.zeros(records))
            grads = {"weights": own * (each - (own @ each) / total)}
            updates, state = optimizer.update(grads, state, logs)
            logs = {"weights": logs["weights"] + np.asarray(updates["weights"], dtype=np.float64)}
            if callback_fn is not None and (t % CALLBACK_EVERY == 0 or t == iters):
                callback_fn(JaxDataset(columns, domain, weights()))
        return JaxDataset(columns, domain, weights())

    def precompile(self, *arguments: Any, **options: Any) -> Any:
        """Return a finished future: there is nothing to compile."""
        del arguments, options
        return done()
