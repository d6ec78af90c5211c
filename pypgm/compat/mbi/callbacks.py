"""Callbacks that show losses while an estimate runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.estimation import CALLBACK_EVERY
from pypgm.compat.mbi.marginal_loss import LinearMeasurement, from_linear_measurements, primal_feasibility

Loss = Callable[[Any], Any]
_log: list[Callable[..., Any]] = [print]


def set_log_fn(fn: Callable[..., Any]) -> None:
    """Set the function that receives lines, `print` by default."""
    _log[0] = fn


def log(*columns: Any, **options: Any) -> None:
    """Write a line by the function that `set_log_fn` set."""
    _log[0](*columns, **options)


class Callback:
    """Writes a line of losses at each call."""

    def __init__(self, loss_fns: Mapping[str, Loss], frequency: int | None = None) -> None:
        self.loss_fns = dict(loss_fns)
        self.frequency = CALLBACK_EVERY if frequency is None else frequency
        self._rows: list[list[Any]] = []

    @property
    def summary(self) -> dict[str, Any]:
        """The lines written so far."""
        return {"columns": ["step", *self.loss_fns], "data": self._rows}

    def __call__(self, marginals: Any) -> None:
        if not self._rows:
            log("step", *self.loss_fns, sep="\t|\t")
        row = [self.frequency * len(self._rows), *(float(loss(marginals)) for loss in self.loss_fns.values())]
        self._rows.append(row)
        log(*(value if isinstance(value, int) else f"{value:.3f}" for value in row), sep="\t|\t")


def default(
    measurements: Iterable[LinearMeasurement], domain: Any = None, data: Any = None, frequency: int | None = None
) -> Callback:
    """Return a callback of the losses of measurements, and of the distance from data, if given.

    The second argument may be a domain or the data, since the releases of mbi differ here.
    """
    answers = list(measurements)
    if domain is not None and not isinstance(domain, Domain):
        domain, data = domain.domain, domain
    losses = {"L2 Loss": (answers, "l2"), "L1 Loss": (answers, "l1")}
    if data is not None:
        true = [LinearMeasurement(data.project(m.clique).datavector(), m.clique, 1.0) for m in answers]
        losses |= {"L2 Error": (true, "l2"), "L1 Error": (true, "l1")}
    columns: dict[str, Loss] = {
        name: from_linear_measurements(compared, norm=norm, normalize=True) for name, (compared, norm) in losses.items()
    }

    def feasibility(marginals: Any) -> float:
        return primal_feasibility(marginals) if isinstance(marginals, CliqueVector) else 0.0

    return Callback(columns | {"Primal Feas": feasibility}, frequency)


class CallBack:
    """Callback of an estimator of mbi before 1.0, which runs once in `frequency` calls."""

    def __init__(self, engine: Any, frequency: int = 50) -> None:
        self.engine, self.frequency, self.calls = engine, frequency, 0

    def run(self, marginals: Any) -> None:
        """Do nothing; for classes that do."""

    def __call__(self, marginals: Any) -> None:
        if self.calls % self.frequency == 0:
            self.run(marginals)
        self.calls += 1


class Logger(CallBack):
    """Writes the loss of marginals, and their mean total variation from true answers (Q, y, proj) if there are any."""

    def __init__(self, engine: Any, true_answers: Any = None, frequency: int = 50) -> None:
        super().__init__(engine, frequency)
        self.true_answers, self.results = list(true_answers or ()), list[list[float]]()

    def run(self, marginals: Any) -> None:
        """Write a line."""
        row = [self.calls, *(self.engine._marginal_loss(marginals, norm)[0] for norm in ("L1", "L2"))]
        row.append(primal_feasibility(marginals))
        if self.true_answers:
            gaps = [
                (q @ marginals.project(c).datavector() - y, y) for q, y, c in self.true_answers if marginals.supports(c)
            ]
            row.append(100 * float(np.mean([np.abs(gap).sum() / 2 / y.sum() for gap, y in gaps])))
        if not self.results:
            log("iteration", "l1_loss", "l2_loss", "feasibility", *["variation"][: len(row) - 4], sep="\t")
        self.results.append(row)
        log(*(f"{value:.2f}" for value in row), sep="\t")
