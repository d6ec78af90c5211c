"""Valid small calls of everything the compiled core has: what tests put in another order, or make wrong."""

from __future__ import annotations

from functools import partial

import numpy as np

from pypgm import _core


def zeros(*shape, dtype=np.float64):
    return np.zeros(shape, dtype)


TREE = _core.JunctionTree([2, 3], [[0, 1]])
GRAPH = _core.RegionGraph([2, 3], [[0, 1], [0], [1]], [(0, 1), (0, 2)])
MAP = (6, zeros(6, dtype=np.int32), zeros(0, dtype=np.int64), zeros(0), False)
MEASURED = (0, None, np.ones(6), np.ones(6), zeros(6), 0.0)
LEAVES = (([2, 3], [([0, 1], True)], [0]), ([np.ones(6)], "sum", 1))
SPINS = zeros(2), zeros(0), zeros(0, dtype=np.uint32), zeros(3, dtype=np.uint32)
CODES = np.array([[0, 1, 1], [2, 0, 1]], np.uint8)
STEP = np.full(6, 1 / 6), [0, 1], [2, 3], [0, 0], [1, 0]
DEALT = np.array([1, 4]), np.array([2, 3], np.int32), [0, 1], [2, 3], [0, 0]
LOGISTIC = CODES, [([0], -1), ([1], 2)], [(0, 0, 1)], zeros(2 * _core.LOGISTIC_BINS + 1, dtype=np.int16)
SIGNS = np.array([[1, -1], [0, 1]], np.int8), np.array([1, -1], np.int8)
COUNTS = np.arange(4)

# Class: (arguments, method: arguments, or None where it is a property).
CLASSES = {
    "JunctionTree": (
        ([2, 3], [[0, 1]], [0, 1], False),
        {
            "order": None,
            "nodes": None,
            "cost": None,
            "given_cells": None,
            "marginals": (zeros(6), [(0, zeros(2))], 6.0, 1),
            "attribute_marginals": (zeros(6), [(0, zeros(2))], 6.0, 1),
            "most_probable": (zeros(6), [(0, zeros(2))]),
            "tables": (zeros(6), [(0, zeros(2))], 6.0, 1),
            "log_partition": (zeros(6), [(0, zeros(2))], 1),
            "draw": (zeros(6), [(0, zeros(2))], zeros(3, 2), 1),
            "max_log_weight": (zeros(6), [(0, zeros(2))], 1),
        },
    ),
    "CalibratedTree": (
        (TREE, [[0]]),
        {
            "plan": ([(0, 2)], [([0], [0]), ([1], [-1])]),
            "held": ([(0, 1)],),
            "pair_operations": None,
            "pair_bytes": None,
            "operations_in_turn": ([(0, 1)],),
            "pairs": ([zeros(6)], []),
            "pairs_in_turn": ([zeros(6)], []),
        },
    ),
    "LogisticSums": (
        LOGISTIC,
        {"step": (zeros(1, dtype=np.uint32), np.ones(1, np.int32), 1, 1)},
    ),
    "LinearMap": (MAP, {}),
    "Descent": (
        (TREE, [MEASURED], 6.0, zeros(6), 1),
        {
            "try_step": (0.1,),
            "change": (),
            "accept": (),
            "gap": (),
            "loss": None,
            "potentials": None,
            "marginals": None,
        },
    ),
    "Acceleration": (
        (TREE, [MEASURED], 6.0, zeros(6), 1),
        {
            "advance": (0.1, 0.5),
            "gap": (),
            "open_window": (),
            "lower_bound": (),
            "level": (),
            "join": (zeros(6),),
            "loss": (),
            "potentials": None,
            "average": None,
            "average_potentials": None,
        },
    ),
    "RegionGraph": (
        ([2, 3], [[0, 1], [0]], [(0, 1)]),
        {"cells": None, "message_cells": None, "stages": None},
    ),
    "ConvexGbp": (
        (GRAPH, np.ones(3), zeros(11), 1),
        {
            "possible": None,
            "sweep": (),
            "flood": (0.5,),
            "finish": (),
            "set_potentials": (zeros(11),),
            "set_messages": (zeros(5),),
            "dual": None,
            "potentials": None,
            "messages": None,
            "beliefs": None,
        },
    ),
    "RegionAcceleration": (
        (GRAPH, np.ones(3), 6.0, 1),
        {
            "enter": (0, zeros(6)),
            "enter_elsewhere": (1, zeros(3)),
            "measure": (MEASURED,),
            "begin": (1e-3, 10),
            "advance": (0.1, 0.1, 1.0, 1.0),
            "advance_along": (zeros(11), 0.1, 0.1, 1.0, 1.0),
            "mean": (0.5,),
            "join": (zeros(11),),
            "restart": (),
            "loss": (),
            "loss_of_beliefs": (),
            "open_window": (),
            "record": (0.1, 1.0),
            "lower_bound": (),
            "fit_potentials": (1e-3, 10),
            "take_potentials": (),
            "take_beliefs": (),
        },
    ),
    "SeededWords": ((1,), {}),
    "GibbsPlan": ((2, 1, 1, 2, 7), {}),
    "RecordSampler": ((5, 2, 1), {"draw": STEP, "deal": DEALT, "take_column": (0,)}),
    "ProportionalFitting": (
        (TREE, np.ones(6), zeros(6), 6.0, 1),
        {"sweep": (), "potentials": None, "tables": None},
    ),
}

MADE_BY_FUNCTIONS = {"Contraction": {"cost": None, "sources": None, "run": LEAVES[1]}}

FUNCTIONS = {
    "add_discrete_gaussian": (COUNTS, 3, 2),
    "add_discrete_laplace": (COUNTS, 3, 2),
    "build_info": (),
    "cholesky": (np.vstack([np.eye(3), np.ones((2, 3))]),),
    "choose_pairs": ([2, 2, 2], [[0, 1], [1, 2]], 0, 100.0, 5),
    "count_odd": (zeros(2, 3, dtype=np.uint64), zeros(4, 2, dtype=np.uint16), 1),
    "consistent_value": (GRAPH, np.ones(3), zeros(11), np.full(11, 0.25)),
    "coupled_spins": (*SPINS, 3, 1, 64, 1),
    "draw_counts": (STEP[0], [2, 3], [0, 0], [1, 0], np.array([5]), 1),
    "enumerate_gaussian": (1, 2, 1e-3),
    "enumerate_laplace": (1, 2, 1e-3),
    "enumerate_selection": (COUNTS, 1, 2, 1e-3),
    "expand_add": (zeros(6), [2, 3], zeros(2), [1, 0], 1),
    "expand_assign": (zeros(6), [2, 3], zeros(2), [1, 0], 1),
    "fitted_potentials": (TREE, np.ones(6), 6.0, zeros(6), 3, 1),
    "flip_coins": (5, 1, 2),
    "gibbs_potentials": ([2, 3], [[0, 1]], zeros(6), _core.GibbsPlan(2, 1, 1, 2, 7), 1),
    "gibbs_spins": (*SPINS, _core.GibbsPlan(2, 1, 1, 2, 7), 1),
    "levelled": (TREE, zeros(6)),
    "permute_and_flip": (COUNTS, 1, 2),
    "plan_elimination": LEAVES[0],
    "product_of_rows": (np.ones((2, 3)), np.ones((4, 3))),
    "rake": (np.ones(4), [(np.array([0, 1, 1, 0], np.uint32), np.ones(2))], 2),
    "reduce_logsumexp": (zeros(6), [2, 3], [1, 0], 1),
    "reduce_max": (zeros(6), [2, 3], [1, 0], 1),
    "reduce_sum": (zeros(6), [2, 3], [1, 0], 1),
    "refine_records": ([zeros(4, dtype=np.int32)], [2], [([0], np.ones(2))], 3, 0.0, 1),
    "scripted_below": (np.full(9, 2**63, np.uint64), 5),
    "scripted_coin": (np.full(99, 2**63, np.uint64), 1, 2, 1),
    "scripted_coin_exp": (zeros(99, dtype=np.uint8), 1, 2),
    "secure_words": (3,),
    "select_exponential": (COUNTS, 1, 2),
    "select_top": (COUNTS, 1, 2, 2),
    "solve_locally": ([([2, 3], np.ones(6), [([1, 0], np.ones(2))])], 5, 1),
    "sparsitron": (*SIGNS, *SIGNS, 1.0, 2),
    "stack_tables": ([2, 3], [[1, 0]], [zeros(6)]),
    "tangent": (TREE, zeros(6), zeros(6), 6.0, 1),
}


def contraction():
    return _core.plan_elimination(*LEAVES[0])


def makers():
    """Return, for each class, what makes an instance, and its methods with valid arguments."""
    made = {
        name: (partial(getattr(_core, name), *arguments), methods) for name, (arguments, methods) in CLASSES.items()
    }
    return made | {"Contraction": (contraction, MADE_BY_FUNCTIONS["Contraction"])}


def every_call():
    """Yield a name, what is called, and valid arguments, for each constructor, method and function of the core."""
    for name, (arguments, methods) in CLASSES.items():
        yield name, getattr(_core, name), arguments
        for method, given in methods.items():
            if given is not None:
                yield f"{name}.{method}", _method(name, method), given
    yield "Contraction.run", lambda *given: contraction().run(*given), MADE_BY_FUNCTIONS["Contraction"]["run"]
    for name, given in FUNCTIONS.items():
        yield name, getattr(_core, name), given


def _method(name, method):
    def call(*given):
        made = getattr(_core, name)(*CLASSES[name][0])
        if name == "RegionAcceleration" and method not in {"enter", "enter_elsewhere", "measure", "begin"}:
            made.begin(1e-3, 10)
        if name == "Descent" and method in {"change", "accept"}:
            made.try_step(0.1)
        if method == "take_column":
            made.draw(*STEP)
        return getattr(made, method)(*given)

    return call
