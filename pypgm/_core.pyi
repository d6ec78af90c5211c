"""
Compiled kernels, plans and exact noise of pypgm.
"""

from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import typing

__all__: list[str] = [
    "Acceleration",
    "CalibratedTree",
    "Contraction",
    "ConvexGbp",
    "Descent",
    "GibbsPlan",
    "HalfDone",
    "HopelessElimination",
    "JunctionTree",
    "LOGISTIC_BINS",
    "LinearMap",
    "LogisticSums",
    "ProportionalFitting",
    "RATE_BITS",
    "RecordSampler",
    "RegionAcceleration",
    "RegionGraph",
    "SCALE_BITS",
    "SeededWords",
    "VARIANCE_BITS",
    "add_discrete_gaussian",
    "add_discrete_laplace",
    "build_info",
    "cholesky",
    "choose_pairs",
    "consistent_value",
    "count_odd",
    "coupled_spins",
    "draw_counts",
    "enumerate_gaussian",
    "enumerate_laplace",
    "enumerate_selection",
    "expand_add",
    "expand_assign",
    "fitted_potentials",
    "flip_coins",
    "gibbs_potentials",
    "gibbs_spins",
    "levelled",
    "permute_and_flip",
    "plan_elimination",
    "product_of_rows",
    "rake",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_sum",
    "refine_records",
    "scripted_below",
    "scripted_coin",
    "scripted_coin_exp",
    "secure_words",
    "select_exponential",
    "select_top",
    "solve_locally",
    "sparsitron",
    "stack_tables",
    "tangent",
]

class HalfDone(RuntimeError):
    pass

class HopelessElimination(MemoryError):
    pass

class JunctionTree:
    """
    A compiled junction tree over attribute indices.
    """
    def __init__(
        self,
        sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        cliques: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]],
        order: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None,
        exhaustive: bool = False,
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def attribute_marginals(
        self,
        potentials: numpy.typing.NDArray[numpy.float64],
        evidence: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, numpy.typing.NDArray[numpy.float64]]
        ],
        total: typing.SupportsFloat | typing.SupportsIndex,
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> tuple:
        """
        Marginals of the single attributes, and log Z.
        """
    def draw(
        self,
        potentials: numpy.typing.NDArray[numpy.float64],
        evidence: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, numpy.typing.NDArray[numpy.float64]]
        ],
        uniforms: numpy.typing.NDArray[numpy.float64],
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> tuple:
        """
        Codes of independent draws, shape (attributes, rows), and log Z.
        """
    def log_partition(
        self,
        potentials: numpy.typing.NDArray[numpy.float64],
        evidence: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, numpy.typing.NDArray[numpy.float64]]
        ],
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> float:
        """
        log Z alone.
        """
    def marginals(
        self,
        potentials: numpy.typing.NDArray[numpy.float64],
        evidence: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, numpy.typing.NDArray[numpy.float64]]
        ],
        total: typing.SupportsFloat | typing.SupportsIndex,
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> tuple:
        """
        Marginals of the given cliques, and log Z.
        """
    def max_log_weight(
        self,
        potentials: numpy.typing.NDArray[numpy.float64],
        evidence: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, numpy.typing.NDArray[numpy.float64]]
        ],
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> float:
        """
        Largest log-weight of a joint assignment.
        """
    def most_probable(
        self,
        potentials: numpy.typing.NDArray[numpy.float64],
        evidence: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, numpy.typing.NDArray[numpy.float64]]
        ],
    ) -> tuple:
        """
        Codes of the assignment of largest weight, and its log-weight.
        """
    def tables(
        self,
        potentials: numpy.typing.NDArray[numpy.float64],
        evidence: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, numpy.typing.NDArray[numpy.float64]]
        ],
        total: typing.SupportsFloat | typing.SupportsIndex,
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
        tick: typing.Any = None,
    ) -> tuple:
        """
        Marginals of the tree cliques, and log Z.
        """
    @property
    def cost(self) -> dict:
        """
        Width, cells, bytes and operations of one propagation.
        """
    @property
    def given_cells(self) -> float:
        """
        Cells of the tables of the given cliques.
        """
    @property
    def nodes(self) -> list[tuple[list[int], list[int], int, int]]:
        """
        (attributes, separator, parent, offset of the table) of each clique.
        """
    @property
    def order(self) -> list[int]:
        """
        The elimination order.
        """

class Contraction:
    """
    A compiled sum of products of tables.
    """
    def __reduce__(self) -> typing.NoReturn: ...
    def run(
        self,
        tables: collections.abc.Sequence[numpy.typing.NDArray[numpy.float64]],
        semiring: str = "sum",
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
        tick: typing.Any = None,
    ) -> tuple:
        """
        Flat answers and the logs of their scales; with 'log_sum' and 'max' the answers are logs themselves. tick(steps done) is called now and then.
        """
    @property
    def cost(self) -> dict:
        """
        Operations, bytes and the largest table of one run.
        """
    @property
    def sources(self) -> list[tuple[str, int]]:
        """
        What each table of a plan of projections is.
        """

class CalibratedTree:
    """
    A junction tree of marginals, and others that are known.
    """
    def __init__(
        self,
        tree: JunctionTree,
        known: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]],
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def held(
        self,
        pairs: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
        ],
    ) -> list[int]:
        """
        1 for each pair that a clique of the tree holds, else 0.
        """
    def operations_in_turn(
        self,
        pairs: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
        ],
    ) -> float:
        """
        About those of `pairs_in_turn`.
        """
    def pairs(
        self,
        tables: collections.abc.Sequence[numpy.typing.NDArray[numpy.float64]],
        pairs: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
        ],
        negligible: typing.SupportsFloat | typing.SupportsIndex = 0.0,
        tick: typing.Any = None,
    ) -> list:
        """
        Flat marginals of different pairs that no clique holds, many at once, from the marginals of all cliques; separators of at most `negligible` do not count. tick(cliques done) is called now and then.
        """
    def pairs_in_turn(
        self,
        tables: collections.abc.Sequence[numpy.typing.NDArray[numpy.float64]],
        pairs: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
        ],
        negligible: typing.SupportsFloat | typing.SupportsIndex = 0.0,
        tick: typing.Any = None,
    ) -> list:
        """
        The same, in any order: those that follow each other and have the same first attribute together, its values in rows.
        """
    def plan(
        self,
        blocks: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
        ],
        answers: collections.abc.Sequence[
            tuple[
                collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
                collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
            ]
        ],
    ) -> Contraction:
        """
        Plan answers: (attributes, block of each or -1); blocks are (attribute, rows).
        """
    @property
    def pair_bytes(self) -> float:
        """
        What `pairs` takes beside its answers.
        """
    @property
    def pair_operations(self) -> float:
        """
        Multiplications of `pairs`.
        """

class LogisticSums:
    """
    Sums over records for Frank-Wolfe steps of logistic regressions.
    """
    def __init__(
        self,
        codes: numpy.typing.NDArray[numpy.uint8],
        features: collections.abc.Sequence[
            tuple[
                collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
                typing.SupportsInt | typing.SupportsIndex,
            ]
        ],
        labels: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
            ]
        ],
        table: numpy.typing.NDArray[numpy.int16],
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def step(
        self,
        chosen: numpy.typing.NDArray[numpy.uint32],
        amounts: numpy.typing.NDArray[numpy.int32],
        scale: typing.SupportsInt | typing.SupportsIndex,
        n_threads: typing.SupportsInt | typing.SupportsIndex,
    ) -> numpy.typing.NDArray[numpy.int64]:
        """
        Adds to margins, then sums responses over features, a row a regression.
        """

class LinearMap:
    """
    What is asked of the cells of a table.
    """
    def __init__(
        self,
        answers: typing.SupportsInt | typing.SupportsIndex,
        rows: numpy.typing.NDArray[numpy.int32],
        starts: numpy.typing.NDArray[numpy.int64],
        coefficients: numpy.typing.NDArray[numpy.float64],
        cumulative: bool,
        axes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
        width: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None:
        """
        Column i has the entries [starts[i], starts[i + 1]), or without starts one of 1; cumulative: the answers' cumulative sums; axes: the answers' shape, along each axis n times an answer minus the sum; width: cells of the rows of a table that may be asked alike, which is then faster.
        """
    def __reduce__(self) -> typing.NoReturn: ...

class Descent:
    """
    Mirror descent for a weighted L2 loss over the marginals of a junction tree.
    """
    def __init__(
        self,
        tree: JunctionTree,
        measurements: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                LinearMap | None,
                numpy.typing.NDArray[numpy.float64],
                numpy.typing.NDArray[numpy.float64],
                numpy.typing.NDArray[numpy.float64],
                typing.SupportsFloat | typing.SupportsIndex,
            ]
        ],
        total: typing.SupportsFloat | typing.SupportsIndex,
        potentials: numpy.typing.NDArray[numpy.float64],
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def accept(self) -> None:
        """
        Make the last evaluated step the current point.
        """
    def change(self) -> tuple[float, float]:
        """
        Slope and curvature of the loss over the last step tried.
        """
    def gap(self) -> float:
        """
        Bound on the loss above the optimum.
        """
    def try_step(self, alpha: typing.SupportsFloat | typing.SupportsIndex) -> float:
        """
        The loss a step leads to. One propagation.
        """
    @property
    def loss(self) -> float: ...
    @property
    def marginals(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def potentials(self) -> numpy.typing.NDArray[numpy.float64]: ...

class Acceleration:
    """
    Accelerated mirror descent whose answer is an average.
    """
    def __init__(
        self,
        tree: JunctionTree,
        measurements: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                LinearMap | None,
                numpy.typing.NDArray[numpy.float64],
                numpy.typing.NDArray[numpy.float64],
                numpy.typing.NDArray[numpy.float64],
                typing.SupportsFloat | typing.SupportsIndex,
            ]
        ],
        total: typing.SupportsFloat | typing.SupportsIndex,
        potentials: numpy.typing.NDArray[numpy.float64],
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def advance(
        self, s: typing.SupportsFloat | typing.SupportsIndex, a: typing.SupportsFloat | typing.SupportsIndex
    ) -> tuple:
        """
        One step: loss and held-out loss of the average, slope, curvature.
        """
    def gap(self) -> float:
        """
        Bound on the loss above the optimum.
        """
    def join(self, earlier: numpy.typing.NDArray[numpy.float64]) -> None:
        """
        Make the average the mean of itself and of an earlier one; only a fit may follow.
        """
    def level(self) -> None:
        """
        Write the potentials in smaller numbers.
        """
    def loss(self) -> float:
        """
        The loss of the average.
        """
    def lower_bound(self) -> float:
        """
        Bound from below of the least loss, from the steps since the window was opened.
        """
    def open_window(self) -> None:
        """
        Begin to average the points of the gradients.
        """
    @property
    def average(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def average_potentials(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def potentials(self) -> numpy.typing.NDArray[numpy.float64]: ...

class SeededWords:
    """
    A stream keyed by a number others can know: its draws protect nobody.
    """
    def __init__(self, seed: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...

class RegionGraph:
    """
    A compiled region graph over attribute indices.
    """
    def __init__(
        self,
        sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        regions: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]],
        edges: collections.abc.Sequence[
            tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]
        ],
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    @property
    def cells(self) -> int:
        """
        Cells of the tables of all regions.
        """
    @property
    def message_cells(self) -> int:
        """
        Cells of the messages of all edges.
        """
    @property
    def stages(self) -> list[list[int]]:
        """
        Regions with parents, in the order of a sweep.
        """

class ConvexGbp:
    """
    Beliefs and messages of a region graph.
    """
    def __init__(
        self,
        graph: RegionGraph,
        counting_numbers: numpy.typing.NDArray[numpy.float64],
        potentials: numpy.typing.NDArray[numpy.float64],
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def finish(self) -> float:
        """
        Refresh beliefs from the messages; their feasibility.
        """
    def flood(self, damping: typing.SupportsFloat | typing.SupportsIndex) -> float:
        """
        Update all messages at once; the feasibility before.
        """
    def set_messages(self, messages: numpy.typing.NDArray[numpy.float64]) -> None: ...
    def set_potentials(self, potentials: numpy.typing.NDArray[numpy.float64]) -> None: ...
    def sweep(self) -> float:
        """
        Update all children once, stage by stage; the feasibility before.
        """
    @property
    def beliefs(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def dual(self) -> float: ...
    @property
    def messages(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def possible(self) -> bool:
        """
        Whether every region has some weight left.
        """
    @property
    def potentials(self) -> numpy.typing.NDArray[numpy.float64]: ...

class RegionAcceleration:
    """
    Accelerated mirror descent over a local polytope.
    """
    def __init__(
        self,
        graph: RegionGraph,
        counting_numbers: numpy.typing.NDArray[numpy.float64],
        total: typing.SupportsFloat | typing.SupportsIndex,
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def advance(
        self,
        s: typing.SupportsFloat | typing.SupportsIndex,
        a: typing.SupportsFloat | typing.SupportsIndex,
        stretch: typing.SupportsFloat | typing.SupportsIndex,
        loose: typing.SupportsFloat | typing.SupportsIndex,
    ) -> tuple:
        """
        One step: loss and held-out loss of the average, slope, curvature, feasibility, sweeps.
        """
    def advance_along(
        self,
        gradient: numpy.typing.NDArray[numpy.float64],
        s: typing.SupportsFloat | typing.SupportsIndex,
        a: typing.SupportsFloat | typing.SupportsIndex,
        stretch: typing.SupportsFloat | typing.SupportsIndex,
        loose: typing.SupportsFloat | typing.SupportsIndex,
    ) -> tuple:
        """
        One step along a gradient; of what is measured only the slope is known.
        """
    def begin(
        self,
        tolerance: typing.SupportsFloat | typing.SupportsIndex,
        max_sweeps: typing.SupportsInt | typing.SupportsIndex,
    ) -> int:
        """
        Sweep until the start is locally consistent; the number of sweeps, -1 if no weight is left.
        """
    def enter(
        self, region: typing.SupportsInt | typing.SupportsIndex, table: numpy.typing.NDArray[numpy.float64]
    ) -> None:
        """
        Add log-probabilities to the start of a region.
        """
    def enter_elsewhere(
        self, attribute: typing.SupportsInt | typing.SupportsIndex, table: numpy.typing.NDArray[numpy.float64]
    ) -> None:
        """
        Add log-probabilities of an attribute's values to the start of the regions that were not entered.
        """
    def fit_potentials(
        self,
        tolerance: typing.SupportsFloat | typing.SupportsIndex,
        max_sweeps: typing.SupportsInt | typing.SupportsIndex,
    ) -> tuple[float, int]:
        """
        Fit potentials to the result; feasibility and number of sweeps.
        """
    def join(self, earlier: numpy.typing.NDArray[numpy.float64]) -> None:
        """
        Make the average the mean of itself and of an earlier one, in counts; only a fit may follow.
        """
    def loss(self) -> float:
        """
        The loss of the average.
        """
    def loss_of_beliefs(self) -> float:
        """
        The loss of the last beliefs.
        """
    def lower_bound(self) -> float:
        """
        A lower bound of the loss, from the steps in the window.
        """
    def mean(self, a: typing.SupportsFloat | typing.SupportsIndex) -> numpy.typing.NDArray[numpy.float64]:
        """
        Counts between the average (a = 0) and the last beliefs (a = 1).
        """
    def measure(
        self,
        measurement: tuple[
            typing.SupportsInt | typing.SupportsIndex,
            LinearMap | None,
            numpy.typing.NDArray[numpy.float64],
            numpy.typing.NDArray[numpy.float64],
            numpy.typing.NDArray[numpy.float64],
            typing.SupportsFloat | typing.SupportsIndex,
        ],
    ) -> None:
        """
        Measure a region: (index, map, None: every cell, values, weights, held_out, beyond). Values and held_out are not copied; unless held_out is empty, held_out + beyond (held_out - values) validates.
        """
    def open_window(self) -> None:
        """
        Open a window of steps for the lower bound.
        """
    def record(
        self, s: typing.SupportsFloat | typing.SupportsIndex, bound: typing.SupportsFloat | typing.SupportsIndex
    ) -> None:
        """
        Add a step of an external loss to the window.
        """
    def restart(self) -> None:
        """
        Start the average at the last point.
        """
    def take_beliefs(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Move the beliefs out; nothing may follow.
        """
    def take_potentials(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Move the potentials out; only `take_beliefs` may follow.
        """

class GibbsPlan:
    """
    Chains, sweeps before the first record and between two, records of each.
    """
    def __init__(
        self,
        n_chains: typing.SupportsInt | typing.SupportsIndex,
        burn_in: typing.SupportsInt | typing.SupportsIndex,
        thin: typing.SupportsInt | typing.SupportsIndex,
        n_draws: typing.SupportsInt | typing.SupportsIndex,
        seed: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...

class RecordSampler:
    """
    Draws columns of records by randomised rounding.
    """
    def __init__(
        self,
        rows: typing.SupportsInt | typing.SupportsIndex,
        n_attributes: typing.SupportsInt | typing.SupportsIndex,
        seed: typing.SupportsInt | typing.SupportsIndex,
        n_threads: typing.SupportsInt | typing.SupportsIndex = 1,
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def deal(
        self,
        cells: numpy.typing.NDArray[numpy.int64],
        counts: numpy.typing.NDArray[numpy.int32],
        attributes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        in_separator: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    ) -> None:
        """
        Deal the new values of a table with given counts to the records, in random order given the separator.
        """
    def draw(
        self,
        table: numpy.typing.NDArray[numpy.float64],
        attributes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        in_separator: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        in_margin: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    ) -> None:
        """
        Draw the attributes of a table that are not in its separator, given the separator.
        """
    def take_column(
        self, attribute: typing.SupportsInt | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.int8] | numpy.typing.NDArray[numpy.int16] | numpy.typing.NDArray[numpy.int32]:
        """
        The values drawn of an attribute, which is then as if it had not been drawn.
        """

class ProportionalFitting:
    """
    Iterative proportional fitting while a junction tree is walked.
    """
    def __init__(
        self,
        tree: JunctionTree,
        targets: numpy.typing.NDArray[numpy.float64],
        potentials: numpy.typing.NDArray[numpy.float64],
        total: typing.SupportsFloat | typing.SupportsIndex,
        n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    def __reduce__(self) -> typing.NoReturn: ...
    def sweep(self) -> float:
        """
        One walk; the mean L1 distance from the targets before it, for a total of 1.
        """
    @property
    def potentials(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def tables(self) -> numpy.typing.NDArray[numpy.float64]: ...

def add_discrete_gaussian(
    counts: numpy.typing.NDArray[numpy.int64],
    variance_numerator: typing.SupportsInt | typing.SupportsIndex,
    variance_denominator: typing.SupportsInt | typing.SupportsIndex,
    words: SeededWords | None = None,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 1,
) -> numpy.typing.NDArray[numpy.int64]:
    """
    Counts plus exact discrete Gaussian noise of a rational variance parameter.
    """

def add_discrete_laplace(
    counts: numpy.typing.NDArray[numpy.int64],
    scale_numerator: typing.SupportsInt | typing.SupportsIndex,
    scale_denominator: typing.SupportsInt | typing.SupportsIndex,
    words: SeededWords | None = None,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 1,
) -> numpy.typing.NDArray[numpy.int64]:
    """
    Counts plus exact discrete Laplace noise of a rational scale.
    """

def build_info() -> dict:
    """
    Facts about this build.
    """

def cholesky(matrix: numpy.typing.NDArray[numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
    """
    The lower Cholesky factor L of the first rows, as many as columns, and further rows B as B L^-T, on one thread. Pivots that are nothing but rounding make their column zero.
    """

def choose_pairs(
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    pairs: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]],
    forced: typing.SupportsInt | typing.SupportsIndex,
    max_cells: typing.SupportsFloat | typing.SupportsIndex,
    patience: typing.SupportsInt | typing.SupportsIndex,
    tick: typing.Any = None,
) -> list[int]:
    """
    1 for each pair, in the order given, that keeps the junction tree small enough.
    """

def consistent_value(
    graph: RegionGraph,
    counting_numbers: numpy.typing.NDArray[numpy.float64],
    potentials: numpy.typing.NDArray[numpy.float64],
    beliefs: numpy.typing.NDArray[numpy.float64],
) -> float:
    """
    The value of locally consistent beliefs near the given ones.
    """

def count_odd(
    words: numpy.typing.NDArray[numpy.uint64],
    sets: numpy.typing.NDArray[numpy.uint16],
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> numpy.typing.NDArray[numpy.int64]:
    """
    For each set of rows, the number of positions where an odd number of them have their bit set.
    """

def coupled_spins(
    fields: numpy.typing.NDArray[numpy.float64],
    couplings: numpy.typing.NDArray[numpy.float64],
    neighbours: numpy.typing.NDArray[numpy.uint32],
    starts: numpy.typing.NDArray[numpy.uint32],
    n_records: typing.SupportsInt | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
    max_sweeps: typing.SupportsInt | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
) -> tuple:
    """
    Independent records by coupling from the past, one row a node, and the sweeps that took (0: too many).
    """

def draw_counts(
    table: numpy.typing.NDArray[numpy.float64],
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    in_separator: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    in_margin: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    present: numpy.typing.NDArray[numpy.int64],
    seed: typing.SupportsInt | typing.SupportsIndex,
) -> numpy.typing.NDArray[numpy.int32]:
    """
    Return the counts that RecordSampler.draw gives the cells of a table, without records.
    """

def enumerate_gaussian(
    variance_numerator: typing.SupportsInt | typing.SupportsIndex,
    variance_denominator: typing.SupportsInt | typing.SupportsIndex,
    least: typing.SupportsFloat | typing.SupportsIndex,
) -> dict[int, float]:
    """
    For audits: as enumerate_laplace.
    """

def enumerate_laplace(
    scale_numerator: typing.SupportsInt | typing.SupportsIndex,
    scale_denominator: typing.SupportsInt | typing.SupportsIndex,
    least: typing.SupportsFloat | typing.SupportsIndex,
) -> dict[int, float]:
    """
    For audits: lower bounds of the sampler's probabilities, from its branches of probability >= least.
    """

def enumerate_selection(
    scores: numpy.typing.NDArray[numpy.int64],
    rate_numerator: typing.SupportsInt | typing.SupportsIndex,
    rate_denominator: typing.SupportsInt | typing.SupportsIndex,
    least: typing.SupportsFloat | typing.SupportsIndex,
) -> dict[int, float]:
    """
    For audits: as enumerate_laplace, for each candidate.
    """

def expand_add(
    large: numpy.typing.NDArray[numpy.float64],
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    small: numpy.typing.NDArray[numpy.float64],
    kept: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> None:
    """
    Add a small table to a large one, in place.
    """

def expand_assign(
    large: numpy.typing.NDArray[numpy.float64],
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    small: numpy.typing.NDArray[numpy.float64],
    kept: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> None:
    """
    Repeat a small table along the axes it lacks.
    """

def fitted_potentials(
    tree: JunctionTree,
    marginals: numpy.typing.NDArray[numpy.float64],
    total: typing.SupportsFloat | typing.SupportsIndex,
    potentials: numpy.typing.NDArray[numpy.float64],
    sweeps: typing.SupportsInt | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> numpy.typing.NDArray[numpy.float64]:
    """
    Potentials moved until their marginals are the given ones, as near as so many sweeps come.
    """

def flip_coins(
    size: typing.SupportsInt | typing.SupportsIndex,
    rate_numerator: typing.SupportsInt | typing.SupportsIndex,
    rate_denominator: typing.SupportsInt | typing.SupportsIndex,
    words: SeededWords | None = None,
) -> numpy.typing.NDArray[numpy.uint8]:
    """
    One entry for each record: 1 with a rational probability, else 0.
    """

def gibbs_potentials(
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    scopes: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]],
    values: numpy.typing.NDArray[numpy.float64],
    plan: GibbsPlan,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
) -> numpy.typing.NDArray[numpy.uint8]:
    """
    Records of log-potentials by Gibbs sampling, one row a node.
    """

def gibbs_spins(
    fields: numpy.typing.NDArray[numpy.float64],
    couplings: numpy.typing.NDArray[numpy.float64],
    neighbours: numpy.typing.NDArray[numpy.uint32],
    starts: numpy.typing.NDArray[numpy.uint32],
    plan: GibbsPlan,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
) -> numpy.typing.NDArray[numpy.uint8]:
    """
    Records of a binary pairwise model by Gibbs sampling, one row a node.
    """

def levelled(
    tree: JunctionTree, potentials: numpy.typing.NDArray[numpy.float64]
) -> numpy.typing.NDArray[numpy.float64]:
    """
    Potentials of the same joint distribution in smaller numbers.
    """

def permute_and_flip(
    scores: numpy.typing.NDArray[numpy.int64],
    rate_numerator: typing.SupportsInt | typing.SupportsIndex,
    rate_denominator: typing.SupportsInt | typing.SupportsIndex,
    words: SeededWords | None = None,
) -> int:
    """
    The first index in random order that passes its exact coin.
    """

def plan_elimination(
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    tables: collections.abc.Sequence[tuple[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], bool]],
    keep: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    order: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [],
) -> Contraction:
    """
    Plan the sum over all attributes but some; tables are (axes, logarithms).
    """

def product_of_rows(
    left: numpy.typing.NDArray[numpy.float64], right: numpy.typing.NDArray[numpy.float64]
) -> numpy.typing.NDArray[numpy.float64]:
    """
    The inner product of each row of one matrix with each row of another, on one thread.
    """

def rake(
    weights: numpy.typing.NDArray[numpy.float64],
    targets: collections.abc.Sequence[tuple[numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.float64]]],
    passes: typing.SupportsInt | typing.SupportsIndex,
) -> numpy.typing.NDArray[numpy.float64]:
    """
    Weights of cells whose sums over groups, (group of each cell, sum of each group), approach the targets.
    """

def reduce_logsumexp(
    table: numpy.typing.NDArray[numpy.float64],
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    kept: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> numpy.typing.NDArray[numpy.float64]:
    """
    Log of the summed exponentials, onto the kept axes.
    """

def reduce_max(
    table: numpy.typing.NDArray[numpy.float64],
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    kept: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> numpy.typing.NDArray[numpy.float64]:
    """
    Maximise a flat table onto its kept axes.
    """

def reduce_sum(
    table: numpy.typing.NDArray[numpy.float64],
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    kept: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> numpy.typing.NDArray[numpy.float64]:
    """
    Sum a flat table onto its kept axes.
    """

def refine_records(
    columns: collections.abc.Sequence[
        numpy.typing.NDArray[numpy.int8] | numpy.typing.NDArray[numpy.int16] | numpy.typing.NDArray[numpy.int32]
    ],
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    targets: collections.abc.Sequence[
        tuple[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], numpy.typing.NDArray[numpy.float64]]
    ],
    sweeps: typing.SupportsInt | typing.SupportsIndex,
    enough: typing.SupportsFloat | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
    tick: typing.Any = None,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 1,
) -> tuple:
    """
    Columns whose counts are nearer to the targets, [(attributes, counts)], and the L1 distance left. tick(records visited) is called now and then and ends the work where it returns true.
    """

def scripted_below(
    words: numpy.typing.NDArray[numpy.uint64], n: typing.SupportsInt | typing.SupportsIndex
) -> tuple[int, int]:
    """
    For audits: a uniform integer below n made from given words, and how many of them were used.
    """

def scripted_coin(
    words: numpy.typing.NDArray[numpy.uint64],
    numerator: typing.SupportsInt | typing.SupportsIndex,
    denominator: typing.SupportsInt | typing.SupportsIndex,
    k: typing.SupportsInt | typing.SupportsIndex,
) -> tuple[bool, int]:
    """
    For audits: a coin of probability numerator / (denominator k) made from given words, and how many.
    """

def scripted_coin_exp(
    outcomes: numpy.typing.NDArray[numpy.uint8],
    numerator: typing.SupportsInt | typing.SupportsIndex,
    denominator: typing.SupportsInt | typing.SupportsIndex,
) -> tuple[typing.Any, list[tuple[int, int]]]:
    """
    For audits: an exponential coin under scripted rational coins, and the odds of each of these.
    """

def secure_words(n: typing.SupportsInt | typing.SupportsIndex) -> numpy.typing.NDArray[numpy.uint64]:
    """
    The next words of the calling thread's secure stream; no noise is ever made from them.
    """

def select_exponential(
    scores: numpy.typing.NDArray[numpy.int64],
    rate_numerator: typing.SupportsInt | typing.SupportsIndex,
    rate_denominator: typing.SupportsInt | typing.SupportsIndex,
    words: SeededWords | None = None,
) -> int:
    """
    An index drawn with probability proportional to exp(rate * score), exactly.
    """

def select_top(
    scores: numpy.typing.NDArray[numpy.int64],
    rate_numerator: typing.SupportsInt | typing.SupportsIndex,
    rate_denominator: typing.SupportsInt | typing.SupportsIndex,
    count: typing.SupportsInt | typing.SupportsIndex,
    words: SeededWords | None = None,
) -> list[int]:
    """
    Different indices, drawn one after the other as select_exponential does.
    """

def solve_locally(
    problems: collections.abc.Sequence[
        tuple[
            collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
            numpy.typing.NDArray[numpy.float64],
            collections.abc.Sequence[
                tuple[
                    collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
                    numpy.typing.NDArray[numpy.float64],
                ]
            ],
        ]
    ],
    iterations: typing.SupportsInt | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
    tick: typing.Any = None,
) -> list:
    """
    For each (shape, start, [(axes kept, target)]): the nearest table, its violation, gap, iterations. tick(sweeps so far) is called now and then and ends the work where it returns true.
    """

def sparsitron(
    features: numpy.typing.NDArray[numpy.int8],
    labels: numpy.typing.NDArray[numpy.int8],
    held_features: numpy.typing.NDArray[numpy.int8],
    held_labels: numpy.typing.NDArray[numpy.int8],
    radius: typing.SupportsFloat | typing.SupportsIndex,
    n_candidates: typing.SupportsInt | typing.SupportsIndex,
) -> numpy.typing.NDArray[numpy.float64]:
    """
    Weights of a logistic model by one pass of multiplicative weights.
    """

def stack_tables(
    sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    axes: collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]],
    tables: list[numpy.typing.NDArray[numpy.float64]],
) -> numpy.typing.NDArray[numpy.float64]:
    """
    Pack tables, the axes of each in ascending order of their attribute indices.
    """

def tangent(
    tree: JunctionTree,
    potentials: numpy.typing.NDArray[numpy.float64],
    direction: numpy.typing.NDArray[numpy.float64],
    total: typing.SupportsFloat | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> tuple:
    """
    Marginals of the given cliques, and their derivative along a direction of the potentials.
    """

LOGISTIC_BINS: int = 8192
RATE_BITS: int = 62
SCALE_BITS: int = 48
VARIANCE_BITS: int = 62
__version__: str = "0.2.0"
