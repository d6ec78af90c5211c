"""Running compiled contractions within the memory allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.memory import check_fits
from pypgm.domain import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm import _core
    from pypgm._base.clock import Clock
    from pypgm.domain import Domain

_MAX_LOG = 709.0  # natural log of a double; twice as much takes any count to inf


def check_contraction(
    domain: Domain, plan: _core.Contraction, returned: float = 0.0, max_bytes: float | None = None
) -> None:
    """Raise ModelTooLargeError, naming the largest table, unless all a run makes fits.

    Parameters
    ----------
    domain : Domain
        The attributes.
    plan : Contraction
        Contraction to run.
    returned : float
        Bytes of the tables it returns.
    max_bytes : float, optional
        Memory it may take; half of the available memory by default.
    """
    cost = plan.cost

    def largest() -> str:
        names = tuple(domain.attributes[i] if i < len(domain) else "rows of a query" for i in cost["largest"])
        cells = cost["largest_cells"]
        return f"the table over ({listed(names)}) needs {cells:.3g} cells ({cells * 8 / 2**30:.3g} GiB)"

    check_fits(cost["bytes"] + returned, max_bytes, largest)


def exact_tick(plan: _core.Contraction, clock: Clock) -> Callable[[int], bool] | None:
    """Return a function that shows the steps of a run and ends it with ``TimeoutError``: half an answer is useless."""
    if not clock.is_watched:
        return None

    def tick(steps: int) -> bool:
        clock.check(lambda: f"{steps}/{plan.cost['steps']} tables, {plan.cost['largest_cells']:.3g} cells at most")
        return False

    return tick


def answer_bytes(shapes: Sequence[Sequence[int]]) -> float:
    """Return the bytes of tables of some shapes, as a float: they may be too many for memory."""
    return 8.0 * sum([math.prod(shape, start=1.0) for shape in shapes])


def check_answers(shapes: Sequence[Sequence[int]], max_bytes: float | None = None, *, beside: int = 0) -> float:
    """Return the bytes of answers of some shapes, and of tables of the largest that are made on the way to it.

    ModelTooLargeError unless they fit.
    """
    returned = answer_bytes(shapes)
    needed = returned + beside * max([answer_bytes([shape]) for shape in shapes], default=0.0)
    way_out = "ask for fewer at a time" if len(shapes) > 1 else "ask for a smaller one"
    check_fits(needed, max_bytes, lambda: f"the answers ({len(shapes)}) need {returned / 8:.3g} cells", way_out)
    return returned


def run_contraction(
    plan: _core.Contraction, tables: Sequence[NDArray[np.float64]], clock: Clock
) -> list[NDArray[np.float64]]:
    """Return the flat sums of products, each multiplied by its scale, inf beyond doubles; see `exact_tick`."""
    answers: list[NDArray[np.float64]]
    answers, log_scales = plan.run(tables, "sum", clock.n_threads, exact_tick(plan, clock))
    with np.errstate(over="ignore"):
        for cells, log_scale in zip(answers, log_scales, strict=True):
            if log_scale:
                half = math.exp(min(log_scale / 2, _MAX_LOG))  # twice a finite number: 0 stays 0
                np.multiply(np.multiply(cells, half, out=cells), half, out=cells)
    return answers
