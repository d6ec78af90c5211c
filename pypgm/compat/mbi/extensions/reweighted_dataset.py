"""Public records with new weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypgm.compat.mbi._engine import finished
from pypgm.compat.mbi._losses import loss_and_total
from pypgm.compat.mbi.dataset import JaxDataset
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.extensions.mixture_of_products import Tables, gradient_on, steps


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
        constraints: Any = (),
        **options: Any,
    ) -> JaxDataset:
        """Return the records with weights of least loss."""
        del options
        if constraints:
            raise ValueError("records with weights take no constraints: leave out those that break them")
        loss, total = loss_and_total(loss_fn, domain, known_total)
        cliques, gradient = gradient_on(loss, domain)
        records = JaxDataset({a: np.asarray(self.seed_data.data[a]) for a in domain}, domain)
        cells = {c: np.ravel_multi_index([records.data[a] for a in c], domain.project(c).shape) for c in cliques}
        start = np.ones(records.records) if warm_start is None or warm_start.weights is None else warm_start.weights

        def weights(params: Tables) -> Any:
            raw = np.exp(params["logs"] - params["logs"].max())
            return raw * (total / raw.sum())

        def slopes(params: Tables) -> Tables:
            weighted = weights(params)
            gradients = gradient(
                {c: np.asarray(np.bincount(cells[c], weighted, domain.size(c)), float) for c in cliques}
            )
            each = sum((gradients[c].reshape(-1)[cells[c]] for c in cliques), np.zeros(weighted.size))
            return {"logs": weighted * (each - (weighted @ each) / total)}

        params: Tables = {"logs": np.log(np.maximum(start, 1e-30))}
        for is_shown, params in steps(self.optimizer, params, slopes, iters):  # noqa: B020
            records = JaxDataset(records.data, domain, weights(params))
            if is_shown and callback_fn is not None:
                callback_fn(records)
        return records

    precompile = finished


def public_support(domain: Domain, loss_fn: Any, *, public_data: Any, known_total: float | None = None) -> JaxDataset:
    """Return the public records with weights of least loss, by the name of mbi before 2.0."""
    return ReweightedDatasetEstimator(public_data).estimate(domain, loss_fn, known_total)
