"""The methods of an estimate over a junction tree: the options and the memory of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from pypgm._base.memory import check_fits
from pypgm._base.numeric import check_choice
from pypgm.estimation.accelerated import accelerated, dual_averaging, interior_gradient, universal
from pypgm.estimation.lbfgs import lbfgs
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.loss import Loss
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.mirror_descent import mirror_descent
from pypgm.estimation.problem import Solution
from pypgm.estimation.tree_problem import TreeProblem
from pypgm.graphs.junction_tree import JunctionTree

MethodName = Literal[
    "auto", "accelerated", "mirror_descent", "dual_averaging", "interior_gradient", "lbfgs", "universal"
]
_RUNS = 2  # of inference with buffers of their own: a solver's, and that of a call made beside it
_ANSWERS = 6  # copies of the measured numbers, with their weights, rows and thinned twins


class Method(NamedTuple):
    """An estimator and its requirements.

    Attributes
    ----------
    solve : callable
    tables : int
        Copies of the tables of the measured cliques that live at one time. The accelerated path keeps most while
        potentials are fitted to its end (ten pairs of a quasi-Newton memory are 20 of them), L-BFGS twenty pairs and
        scipy's own buffers.
    needs_convex : bool
        Whether its average or its steps rest on convexity.
    takes_rough : bool
        Whether the method follows subgradients.
    makes_tree_tables : bool
        Whether the method differentiates marginals, for which the tables of the tree's cliques are made.
    """

    solve: Callable[[TreeProblem, SolverOptions], Solution]
    tables: int
    needs_convex: bool = True
    takes_rough: bool = False
    makes_tree_tables: bool = False


METHODS: dict[str, Method] = {
    "accelerated": Method(accelerated, 36),
    "mirror_descent": Method(mirror_descent, 14, needs_convex=False, takes_rough=True),
    "dual_averaging": Method(dual_averaging, 12),
    "interior_gradient": Method(interior_gradient, 12),
    "lbfgs": Method(lbfgs, 62, needs_convex=False, makes_tree_tables=True),
    "universal": Method(universal, 16, takes_rough=True),
}


def chosen_method(method: str, options: SolverOptions, loss: Loss) -> str:
    """Return the method to run; ``ValueError``, with the reason, if it does not take the loss or an option."""
    check_choice("method", method, ("auto", *METHODS))
    if method == "auto":
        plain = options.stepsize is not None or not loss.stages()[-1].smooth or not loss.convex
        method = "mirror_descent" if plain else "accelerated"
    if method != "mirror_descent" and options.stepsize is not None:
        raise ValueError(f"method {method!r} takes no stepsize: it finds its own; 'mirror_descent' takes one")
    staged = loss.stages()[-1] if method == "accelerated" else loss
    if not METHODS[method].takes_rough and not staged.smooth:
        others = _named(m.takes_rough for m in METHODS.values())
        raise ValueError(f"method {method!r} needs a smooth loss, {loss!r} is not; {others} take it")
    if not loss.convex and METHODS[method].needs_convex:
        others = _named(not m.needs_convex for m in METHODS.values())
        raise ValueError(f"method {method!r} needs a convex loss, {loss!r} is not; {others} take it")
    if not loss.convex and not loss.smooth:
        raise ValueError(f"no method minimises a loss that is neither smooth nor convex, like {loss!r}")
    return method


def _named(chosen: Iterable[bool]) -> str:
    return " and ".join(repr(name) for name, holds in zip(METHODS, chosen, strict=True) if holds)


def estimate_bytes(
    tree: JunctionTree, measurements: Sequence[LinearMeasurement], method: str, further_answers: float = 0
) -> float:
    """Return the bytes that an estimate over a tree takes at most, without the plan and its inputs."""
    answers = further_answers + sum(m.values.size for m in measurements)
    made = tree.cost.table_bytes if METHODS[method].makes_tree_tables else 0.0
    copies = METHODS[method].tables * tree.given_cells
    return _RUNS * tree.cost.bytes + made + 8 * (copies + _ANSWERS * answers)


def check_estimate_fits(
    tree: JunctionTree,
    measurements: Sequence[LinearMeasurement],
    method: str,
    max_bytes: float | None,
    further_answers: float = 0,
) -> None:
    """Raise ModelTooLargeError if an estimate takes more than it may, also where further answers are to be measured."""
    check_fits(
        estimate_bytes(tree, measurements, method, further_answers),
        max_bytes,
        lambda: (
            f"{method!r} keeps up to {METHODS[method].tables} copies of the {tree.given_cells:.3g} cells of "
            f"{len(tree.cliques)} cliques"
        ),
        "use oracle='region_graph', fewer or smaller cliques, or another method, or pass max_bytes",
    )
