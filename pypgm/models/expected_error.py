"""Errors of a model's answers: standard errors, hidden dependence, and all that an estimate itself leaves or adds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm._base.memory import check_tables_fit
from pypgm._base.numeric import as_generator, checked_integer
from pypgm._base.student import upper_end
from pypgm.data import Dataset
from pypgm.domain import Clique
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.pair_screen import farthest
from pypgm.estimation.standard_error import LeastSquares, least_squares
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, log_likelihoods
from pypgm.inference.folding import Folding
from pypgm.models.estimated_again import EstimatedAgain, Reestimated, Simulation, recipe_of
from pypgm.models.estimated_model import EstimatedModel
from pypgm.models.recipe import Recipe
from pypgm.queries import Contrasts

_STANDARD_ERROR_CELL_BYTES = 40  # of an answer: its mean, its spread, and what one more draw takes
_TABLES, _SLOW_TABLES = 4, 2  # made-up tables for a whole release; where an estimate is slow
_QUICK = 2.0  # seconds of an estimate that is not slow
_FAR_FROM_ZERO = 4.0  # standard errors: a cell that noise will not bring to zero


def standard_errors(simulation: Simulation, method: str) -> list[Factor]:
    """Return a table of standard errors for each clique; see `Model.standard_error`."""
    model, cliques, recipe = simulation.model, simulation.cliques, simulation.recipe
    if not recipe.measurements:
        raise ValueError("a standard error comes from the noise of measurements; the model was estimated without any")
    if not cliques:
        return []
    domains = [model.domain.project(c) for c in cliques]
    if method != "bootstrap":
        reason = _beyond_least_squares(model, recipe, simulation.evidence)
        solution = (
            None if reason else least_squares(model.domain, recipe.measurements, total_is_known=recipe.total_is_known)
        )
        reason = reason or _what_binds(model, recipe, cliques, solution)
        if solution is not None and not reason:
            return [Factor(d, solution.standard_error(c)) for d, c in zip(domains, cliques, strict=True)]
        if method == "gls":
            raise ValueError(f"generalised least squares does not give the error here: {reason}")

    check_tables_fit(model.domain, cliques, _STANDARD_ERROR_CELL_BYTES, "standard error", "or ask for a smaller clique")
    return [Factor(d, s) for d, s in zip(domains, _bootstrap(simulation), strict=True)]


def _beyond_least_squares(model: EstimatedModel, recipe: Recipe, evidence: Evidence | None) -> str:
    """Return why the estimate is more than weighted least squares, an empty text if it is not."""
    ended = model.fit is not None and model.fit.status == "converged" and recipe.options["stop"] == "optimum"
    reasons = {
        "an answer under evidence is a ratio": bool(evidence),
        "the estimate did not go to the optimum": not ended,
        f"the loss is {recipe.options['loss']}": recipe.options["loss"] != "l2",
        "there are constraints": bool(model.folding.sources or model.masks),
        "marginals are those of a region graph": not model.is_exact,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _what_binds(model: EstimatedModel, recipe: Recipe, cliques: Sequence[Clique], solution: LeastSquares | None) -> str:
    """Return the name of an influence on the answers besides the measurements, or an empty text."""
    if solution is None:
        return "the system is too large, or the measurements do not determine all of it"
    beyond = [c for c in cliques if not solution.holds(c)]
    if beyond:
        return f"no measured clique holds {beyond[0]}"
    for clique in dict.fromkeys(model.domain.canonical(m.clique) for m in recipe.measurements):
        if (model.project(clique).datavector() < _FAR_FROM_ZERO * solution.standard_error(clique)).any():
            return f"some counts of {clique} are held from below by zero"
    return ""


def _bootstrap(simulation: Simulation) -> list[NDArray[np.float64]]:
    """Return the standard deviation of answers over estimates from simulated measurements of the model."""
    model, clock, measurements = simulation.model, simulation.clock, simulation.recipe.measurements
    tables = model.project_many([m.clique for m in measurements], n_threads=clock.n_threads)
    exact = [m.linear_map.matvec(table.datavector()) for m, table in zip(measurements, tables, strict=True)]
    estimated = EstimatedAgain(model, simulation.recipe, clock)
    spreads = [_Spread(model.domain.size(clique)) for clique in simulation.cliques]
    n_seen = 0
    while n_seen < simulation.draws and not clock.tick(partial("{}/{} estimates".format, n_seen, simulation.draws)):
        drawn = estimated(simulation.measured(exact))
        if drawn.fit is None or drawn.fit.status != "time":
            n_seen += 1
            for spread, answer in zip(spreads, simulation.answers(drawn), strict=True):
                spread.add(answer.datavector())
    if n_seen < 2:
        raise TimeoutError(f"two estimates of the bootstrap take longer than time_limit={clock.time_limit:g}")
    return [spread.standard_deviation() for spread in spreads]


class _Spread:
    """The mean of tables and the sum of their squared distances from it, whatever their number [1]_.

    References
    ----------
    .. [1] B. P. Welford, Note on a method for calculating corrected sums of squares, Technometrics 4 (1962).
    """

    def __init__(self, n_cells: int) -> None:
        self._n = 0
        self._mean, self._squares = np.zeros(n_cells), np.zeros(n_cells)

    def add(self, values: NDArray[np.float64]) -> None:
        """Count one table."""
        self._n += 1
        apart = values - self._mean
        self._mean += apart / self._n
        self._squares += apart * (values - self._mean)

    def standard_deviation(self) -> NDArray[np.float64]:
        """Return the standard deviation of a cell, over one less than there are tables."""
        deviation: NDArray[np.float64] = np.sqrt(self._squares / (self._n - 1))
        return deviation


_HIDDEN_SHARE = 0.4  # of a count, or of the noise where that is less; see bench/README.md


def hiding_noise(measurements: Sequence[LinearMeasurement]) -> float:
    """Return the standard deviation of a sum that an answer about several attributes has, in the median over cliques.

    Of a larger clique it is no more than that of a pair within it: triples that were measured coarsely beside pairs do
    not hide what the pairs show. Infinity where only single attributes were measured: any dependence would be hidden.
    """
    precisions: dict[Clique, float] = {}
    for m in measurements:
        if len(m.clique) > 1:
            query = m.linear_map
            precision = m.stddev**-2.0 if isinstance(m.stddev, float) else float(np.mean(m.spread() ** -2.0))
            gain = query.squared_singular_value if isinstance(query, Contrasts) else 1.0
            precisions[m.clique] = precisions.get(m.clique, 0.0) + gain * precision
    known = [max(precisions.get(part, 0.0) for part in (c, *itertools.combinations(c, 2))) for c in precisions]
    return float(np.median(known)) ** -0.5 if known else math.inf


def hidden_dependence(answers: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Return the standard deviations, around a model's counts, of counts measured only in sums or not at all.

    Attributes that a mechanism leaves out, or values that it merges, are assumed to depend less than noise would hide;
    so a count may be off by some of the noise, and a small one by some of itself.
    """
    counts = np.maximum(answers, 0.0)
    return np.asarray(_HIDDEN_SHARE * counts / (1.0 + counts / noise))


def room(table: NDArray[np.float64], is_known: Sequence[bool]) -> NDArray[np.float64]:
    """Return the largest change of each count between tables with the same margins, by Fréchet's bounds.

    Parameters
    ----------
    table : ndarray
        Counts, with an axis for each attribute.
    is_known : sequence of bool
        Axes whose counts are known.

    Examples
    --------
    >>> room(np.array([[10.0, 30.0], [0.0, 0.0]]), [True, True]).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    >>> room(np.array([[10.0, 10.0], [10.0, 10.0]]), [True, True]).tolist()
    [[10.0, 10.0], [10.0, 10.0]]
    """
    counts = np.maximum(table, 0.0)
    total = counts.sum()
    most, least = np.full(counts.shape, total), np.full(counts.shape, total)
    for axis, known in enumerate(is_known):
        margin = counts.sum(axis=tuple(i for i in range(counts.ndim) if i != axis), keepdims=True) if known else total
        most = np.minimum(most, margin)
        least -= total - margin if known else total
    return np.asarray(np.maximum(np.maximum(most - counts, counts - np.maximum(least, 0.0)), 0.0))


Basis = Literal["measured", "merged", "unmeasured", "unknown"]

_CELL_BYTES = 80  # answers, true counts and squared errors, and the arrays they are made of
_RECORDS = 10**6  # of a world at most; of more, each stands for several
_SIZES = 128  # powers of two of the sizes of answers
_ABSOLUTE = math.sqrt(2 / math.pi)  # of a standard deviation: the mean absolute value
_MAX_POOLING = 4.0  # the pooled squared error may exceed a cell's own by this factor, and reach that of one record


def basis(model: EstimatedModel, clique: Clique) -> Basis:
    """Return the basis of an answer; see `Model.basis`."""
    return bases(model, [clique])[0]


def bases(model: EstimatedModel, cliques: Sequence[Clique]) -> list[Basis]:
    """Return the basis of the answer to each clique; see `Model.basis`."""
    measured = [(frozenset(m.clique), m) for m in recipe_of(model).measurements]
    measured_attributes: frozenset[str] = frozenset().union(*(attributes for attributes, _ in measured))
    return [_basis(model.folding, measured, measured_attributes, clique) for clique in cliques]


def _basis(
    folding: Folding,
    measured: Sequence[tuple[frozenset[str], LinearMeasurement]],
    measured_attributes: frozenset[str],
    clique: Clique,
) -> Basis:
    inner = set(folding.clique(clique))
    bases = {_of_measurement(folding, m, clique) for attributes, m in measured if inner <= attributes}
    if "measured" in bases or not inner:
        return "measured"
    if "merged" in bases:
        return "merged"
    return "unmeasured" if inner <= measured_attributes else "unknown"


def _of_measurement(folding: Folding, m: LinearMeasurement, clique: Clique) -> Basis:
    """Return the basis that a measurement of inner attributes gives a clique that follows from them."""
    query, inner, domain = m.linear_map, folding.clique(clique), folding.inner
    if isinstance(query, Contrasts):
        if len(inner) < len(m.clique):  # the interaction of a clique says nothing about a part of it
            return "unmeasured"
        return "merged" if any(len(set(g)) < len(g) for g in query.value_groups) else "measured"
    if query.groups is None:
        return "measured" if query.shape[0] >= folding.domain.size(clique) else "merged"
    cells = Factor(domain.project(inner), folding.cells(clique)).expand(domain.project(m.clique)).datavector()
    both = np.unique(query.groups * cells.size + cells).size
    return "merged" if both > np.unique(query.groups).size else "measured"  # a group lies in one cell of the clique


class Expectation(NamedTuple):
    """Expected errors of answers, estimated on made-up tables.

    Attributes
    ----------
    errors : list of Factor
        Errors of the counts of each clique, as `expected_errors` gives them.
    distances : ndarray, shape (tables, cliques)
        Total variation distances between answers and records, 0 .. 1, one row for each made-up table.
    answers : sequence of Factor
        Answers of the model.
    rest_on : list of str
        Basis of each answer.
    """

    errors: list[Factor]
    distances: NDArray[np.float64]
    answers: Sequence[Factor]
    rest_on: list[Basis]


def expected_errors(simulation: Simulation) -> list[Factor]:
    """Return a table of expected errors for each clique; see `Model.expected_error`."""
    return expectation(simulation).errors if simulation.cliques else []


def usual_draws(model: EstimatedModel) -> int:
    """Return the number of made-up tables from which a whole release is judged: fewer where estimates are slow."""
    return _TABLES if model.fit is None or model.fit.seconds <= _QUICK else _SLOW_TABLES


def expectation(simulation: Simulation) -> Expectation:
    """Return the expected errors of counts, and the distances between whole tables, from the same made-up tables."""
    model, cliques, clock = simulation.model, simulation.cliques, simulation.clock
    check_tables_fit(model.domain, cliques, _CELL_BYTES, "expected error")
    rest_on = bases(model, cliques)
    answers = simulation.answers(model)
    seen = SquaredErrors(*(model.domain.size(c) for c in cliques))
    distances = []
    for estimated, true in _worlds(simulation):
        distances.append(_distances(estimated, true))
        seen.add(np.concatenate(estimated), np.concatenate(true))
    done = len(distances)
    if done < 2 and clock.over:
        raise TimeoutError(f"two estimates of made-up records take longer than time_limit={clock.time_limit:g}")
    if done < 2:  # hardly a made-up table has records with the evidence: nothing is known
        unknown = [Factor(t.domain, np.full(t.values.shape, np.inf)) for t in answers]
        return Expectation(unknown, np.ones((1, len(cliques))), answers, rest_on)
    hidden = [0.0] * len(cliques) if simulation.evidence else _hidden(simulation, answers, rest_on)
    errors, wider = [], upper_end(done) / upper_end(math.inf)
    squared = seen.tables(seen.squared(np.concatenate([t.datavector() for t in answers]), done))
    for squares, table, more, rests_on in zip(squared, answers, hidden, rest_on, strict=True):
        error = np.hypot(wider * np.sqrt(squares), more)
        errors.append(Factor(table.domain, np.full(error.size, np.inf) if rests_on == "unknown" else error))
    far = np.minimum(np.hypot(distances, _in_all(model, hidden)), 1.0)
    return Expectation(errors, far, answers, rest_on)


def _hidden(
    simulation: Simulation, tables: Sequence[Factor], rest_on: Sequence[Basis]
) -> list[NDArray[np.float64] | float]:
    """Return the errors that unmeasured dependence adds to each table: of pairs no more than a screen leaves."""
    model = simulation.model
    noise, guessed = hiding_noise(recipe_of(model).measurements), {"merged", "unmeasured"}
    alone = {t.domain.attributes[0]: basis for t, basis in zip(tables, rest_on, strict=True) if t.values.ndim == 1}
    of_guesses = (a for t, basis in zip(tables, rest_on, strict=True) if basis in guessed for a in t.domain)
    if missing := [a for a in dict.fromkeys(of_guesses) if a not in alone]:
        alone |= dict(zip(missing, bases(model, [(a,) for a in missing]), strict=True))
    known = {a for a, basis in alone.items() if basis == "measured"}
    hidden: list[NDArray[np.float64] | float] = []
    for t, basis in zip(tables, rest_on, strict=True):
        added: NDArray[np.float64] | float = 0.0
        if basis in guessed:
            most = room(t.values, [a in known for a in t.domain]).ravel()
            added = np.minimum(hidden_dependence(t.datavector(), noise), most)
        if basis == "unmeasured":
            far = farthest(simulation.dependence, t)
            added = added * min(1.0, far / max(*_in_all(model, [added]), 1e-300))
        hidden.append(added)
    return hidden


class SquaredErrors:
    """Squared errors of the answers of made-up tables, for each cell and for answers of about the same size.

    A cell's own errors are distances of estimates from a truth that is the model; the question is the distance of the
    truth from an estimate. The two differ where few cells are large and most are next to nothing: noise makes large
    answers of small counts, and of many answers of a tenth of a record one in ten has a record. So the error of a cell
    is the larger of its own and that of answers of its size, between two powers of two, whose true counts are above 0.
    """

    def __init__(self, *sizes: int) -> None:
        """Begin with tables of the given numbers of cells, one after the other in the data."""
        self._ends = np.cumsum(sizes)
        self._bins = _SIZES * np.repeat(np.arange(len(sizes)), sizes)  # where those of each cell's table begin
        self._of_cell = np.zeros(self._bins.size)
        self._of_size, self._answers = np.zeros((2, _SIZES * len(sizes)))
        self._record = np.ones(len(sizes))  # of probabilities it is less

    def add(self, answers: NDArray[np.float64], true: NDArray[np.float64]) -> None:
        """Add the squared errors of some tables."""
        squares, there = np.square(answers - true), true > 0
        size = _size(answers[there]) + self._bins[there]
        self._of_cell += squares
        self._of_size += np.bincount(size, squares[there], self._of_size.size)
        self._answers += np.bincount(size, minlength=self._answers.size)
        least = [t.min() for t in self.tables(np.where(there, true, 1.0))]
        self._record = np.minimum(self._record, least)

    def squared(self, answers: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
        """Return the expected squared errors of the model's answers after these tables."""
        size, of_cell = _size(answers) + self._bins, self._of_cell / draws
        alike = np.divide(self._of_size[size], self._answers[size], out=of_cell.copy(), where=self._answers[size] > 0)
        # Cells may have been measured with unlike noise: what others of the size do tells only so much of one.
        record = self._record[self._bins // _SIZES]
        most = _MAX_POOLING * of_cell + np.square(np.maximum(record - answers, 0.0))
        return np.asarray(np.maximum(of_cell, np.minimum(alike, most)))

    def tables(self, cells: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the cells of each table."""
        return np.split(cells, self._ends[:-1])


def _size(answers: NDArray[np.float64]) -> NDArray[np.signedinteger]:
    """Return between which powers of two each answer is, as an index; 0 of an answer of 0."""
    return np.asarray(np.where(answers > 0, np.clip(np.frexp(answers)[1] + _SIZES // 2, 1, _SIZES - 1), 0))


def expected_total_variation(
    model: Reestimated,
    cliques: Sequence[Clique],
    draws: int,
    clock: Clock,
) -> NDArray[np.float64]:
    """Return the expected total variation distance between answers and records of each clique, 0 .. 1."""
    draws = checked_integer("draws", draws, 1)
    simulation = Simulation(model, cliques, None, draws, as_generator(0), clock)
    distances = [_distances(estimated, true) for estimated, true in _worlds(simulation)]
    if not distances:
        raise TimeoutError(f"an estimate of made-up records takes longer than time_limit={clock.time_limit:g}")
    hidden = _hidden(simulation, simulation.answers(model), bases(model, cliques))
    return np.asarray(np.minimum(np.hypot(np.mean(distances, axis=0), _in_all(model, hidden)), 1.0))


def _distances(estimated: Sequence[NDArray[np.float64]], true: Sequence[NDArray[np.float64]]) -> list[float]:
    """Return the total variation distance of each answer from the records."""
    shares = ((a / max(a.sum(), 1.0), t / max(t.sum(), 1.0)) for a, t in zip(estimated, true, strict=True))
    return [0.5 * float(np.abs(a - t).sum()) for a, t in shares]


def _in_all(model: EstimatedModel, hidden: Sequence[NDArray[np.float64] | float]) -> list[float]:
    """Return the part of each total variation distance that unmeasured dependence adds."""
    return [0.5 * _ABSOLUTE * float(np.sum(additions)) / max(model.total, 1.0) for additions in hidden]


def rows_made_up(model: EstimatedModel) -> int:
    """Return the number of records of a made-up table."""
    return min(max(1, round(model.total)), _RECORDS)


def _worlds(simulation: Simulation) -> Iterator[tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]]:
    """Yield answers of the model of a made-up table, and the table's own, up to a number of tables and a time.

    A table is drawn with replacement from records of the model, measured as the real one was and estimated from again.
    """
    model, clock, measurements = simulation.model, simulation.clock, simulation.recipe.measurements
    rows = rows_made_up(model)
    records = model.synthetic_data(rows, simulation.rng) if simulation.population is None else simulation.population
    likelihoods = log_likelihoods(model.domain, simulation.evidence)
    counted = dict.fromkeys([*(m.clique for m in measurements), *(() if likelihoods else simulation.cliques)])
    estimated = EstimatedAgain(model, simulation.recipe, clock)
    for done in range(simulation.draws):
        if clock.tick(partial("{}/{} made-up tables".format, done, simulation.draws)):
            return
        chosen = simulation.rng.integers(0, len(records), rows)
        world = Dataset({a: np.asarray(records.columns[a])[chosen] for a in model.domain}, model.domain)
        scale = max(model.total, 0.0) / rows
        counts = {
            c: n.astype(np.float64) * scale
            for c, n in zip(counted, world.count([*counted], clock.n_threads), strict=True)
        }
        drawn = estimated(simulation.of_tables(counts[m.clique] for m in measurements))
        if drawn.fit is not None and drawn.fit.status == "time":
            clock.over = True  # though no tick has seen it
            return
        if not likelihoods:
            true = [counts[c] for c in simulation.cliques]
        elif (weights := _weights(world, likelihoods)).sum() > 0:
            weighted = Dataset(world.columns, model.domain, weights=weights / weights.sum())
            true = [weighted.project(c).datavector() for c in simulation.cliques]
        else:
            continue
        yield [t.datavector() for t in simulation.answers(drawn)], true


def _weights(world: Dataset, likelihoods: Sequence[tuple[int, NDArray[np.float64]]]) -> NDArray[np.float64]:
    """Return the likelihood of evidence for each record."""
    attributes = world.domain.attributes
    logs = sum((table[np.asarray(world.columns[attributes[i]])] for i, table in likelihoods), np.zeros(len(world)))
    most = float(np.max(logs))
    return np.asarray(np.exp(logs - most if np.isfinite(most) else logs))
