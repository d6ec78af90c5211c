"""Posteriors of many records at once: rows with the same evidence attributes share one plan."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.frames import MISSING
from pypgm.bayes.missing import beside_rows, rows_of_a_chunk
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.errors import ImpossibleEvidenceError, ModelTooLargeError
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree
from pypgm.graphs.evidence import Evidence, LogLikelihood, one_possible
from pypgm.inference._variable_elimination import log_elimination
from pypgm.inference.oracles import Approximation

_CHUNK = 1024  # rows of one table, if memory allows
_FEW_PATTERNS = 8
_CELLS_OF_A_TABLE = 30_000  # cells (1.7 ns) that take as long as one more pattern's table (50 us)

_Pattern = tuple[Clique, NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]
"""Attributes that are known together, the rows, their distinct codes, and which of these each row has."""


@dataclass(frozen=True)
class Posteriors:
    """Posterior probabilities of some attributes in each row.

    Attributes
    ----------
    probabilities : dict of str to ndarray of float64, shape (n_rows, size)
        Probabilities of each target's values; NaN if the row is impossible.
    log_evidence : ndarray of float64, shape (n_rows,)
        Natural log of the sum of the product of tables, given the row.
    """

    probabilities: dict[str, NDArray[np.float64]]
    log_evidence: NDArray[np.float64]


def posteriors(
    domain: Domain,
    tables: Sequence[Factor],
    columns: Mapping[str, NDArray[np.intp]],
    n_rows: int,
    targets: Sequence[str],
) -> Posteriors:
    """Compute the posteriors of some attributes for each row of a frame.

    Identical rows are answered once. Rows with the same known attributes go together: each table becomes one over the
    row and its unknown attributes, and the row is an attribute that is never summed out. If nearly every row has its
    own pattern, all go together, and one junction tree serves all patterns.

    Parameters
    ----------
    domain : Domain
        All attributes of the tables.
    tables : sequence of Factor
        Their product is the distribution; any axes.
    columns : mapping of str to ndarray of int, shape (n_rows,)
        Codes of the known values, -1 for unknown ones.
    n_rows : int
    targets : sequence of str
        A target with a column is answered in the rows where its value is missing.

    Raises
    ------
    ModelTooLargeError
        If a table does not fit even for one row.
    """
    answers = Posteriors(
        {t: np.full((n_rows, domain.size(t)), np.nan) for t in targets}, np.full(n_rows, -np.inf, dtype=np.float64)
    )
    logs = [table.log() for table in tables]
    table = np.stack([*columns.values()], axis=1) if columns else np.empty((n_rows, 0), dtype=np.intp)
    at_once = _rows_at_once(domain, logs, table)
    patterns = _patterns(tuple(columns), table)
    for observed, rows, codes, same in [_whole(tuple(columns), table)] if at_once else patterns:
        if at_once:
            answer = partial(_with_holes, domain, logs, observed, targets)
        else:
            answer = partial(_posteriors, _Model(domain, logs, observed, tuple(targets)))
        parts = list(_answered(answer, codes, at_once or _CHUNK))
        log_evidence = np.concatenate([p.log_evidence for p in parts])
        answers.log_evidence[rows] = log_evidence[same]
        for t in targets if at_once else (t for t in targets if t not in observed):
            answers.probabilities[t][rows] = np.concatenate([p.probabilities[t] for p in parts])[same]
    return answers


def posteriors_by(
    answer: Callable[[Evidence], Approximation],
    domain: Domain,
    columns: Mapping[str, NDArray[np.intp]],
    n_rows: int,
    targets: Sequence[str],
) -> Posteriors:
    """Compute what `posteriors` does by any oracle, distinct rows one after the other."""
    answers = Posteriors(
        {t: np.full((n_rows, domain.size(t)), np.nan) for t in targets}, np.full(n_rows, -np.inf, dtype=np.float64)
    )
    _, rows, distinct, same = _whole(tuple(columns), np.stack([*columns.values()], axis=1))
    for number, codes in enumerate(distinct):
        known = {a: code for a, code in zip(columns, codes.tolist(), strict=True) if code != MISSING}
        with contextlib.suppress(ImpossibleEvidenceError):
            result = answer({a: LogLikelihood(one_possible(domain.size(a), code)) for a, code in known.items()})
            here = rows[same == number]
            answers.log_evidence[here] = result.log_z
            for t in targets:
                answers.probabilities[t][here] = result.marginals[t].values
    return answers


def _whole(names: Clique, table: NDArray[np.intp]) -> _Pattern:
    """Return all rows as one pattern, with any of their values missing."""
    first, same = _distinct(table)
    return names, np.arange(len(table)), table[first], same


def _patterns(names: Clique, table: NDArray[np.intp]) -> Iterator[_Pattern]:
    """Yield each set of attributes that are known together."""
    known = np.packbits(table != MISSING, axis=1)
    for pattern in np.unique(known, axis=0) if len(table) else ():
        rows = np.flatnonzero((known == pattern).all(axis=1))
        observed = [i for i, name in enumerate(names) if table[rows[0], i] != MISSING]
        codes = table[rows][:, observed]
        first, same = _distinct(codes)
        yield tuple(names[i] for i in observed), rows, codes[first], same


def _distinct(codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first position of each distinct row, and for each row the index of its distinct row."""
    if not codes.shape[1]:
        return np.zeros(1, dtype=np.intp), np.zeros(len(codes), dtype=np.intp)
    # Equal bytes are equal rows, and bytes sort faster than rows of integers do.
    keys = np.ascontiguousarray(codes).view(np.dtype((np.void, codes.itemsize * codes.shape[1])))
    _, first, same = np.unique(keys.reshape(-1), return_index=True, return_inverse=True)
    return first, same.reshape(-1)


def _rows_at_once(domain: Domain, logs: Sequence[Factor], table: NDArray[np.intp]) -> int:
    """Return the number of rows that go through one junction tree together; 0 if separate patterns are faster."""
    n_patterns = len(np.unique(np.packbits(table != MISSING, axis=1), axis=0)) if table.size else 0
    if n_patterns <= _FEW_PATTERNS:
        return 0
    try:
        tree = JunctionTree(domain, [domain.canonical(log.domain.attributes) for log in logs])
    except ModelTooLargeError:
        return 0
    cells = tree.cost.cells * len(table)
    return rows_of_a_chunk(tree) if cells < _CELLS_OF_A_TABLE * n_patterns * len(logs) else 0


def _with_holes(
    domain: Domain, logs: Sequence[Factor], names: Sequence[str], targets: Sequence[str], codes: NDArray[np.intp]
) -> Posteriors:
    """Return the posteriors of rows, -1 where a value is missing."""
    extended, known = beside_rows(domain, names, codes)
    answers = _part_posteriors(extended, [*logs, *known], targets)
    for table in answers.probabilities.values():
        table[answers.log_evidence == -np.inf] = np.nan
    return answers


class _Model:
    """Tables of natural logs, split by the evidence into parts that do not depend on each other."""

    def __init__(self, domain: Domain, logs: Sequence[Factor], observed: Clique, targets: Clique) -> None:
        self.domain = domain
        self.targets = targets
        self.row = "row"
        while self.row in domain:
            self.row += "_"
        self.column = {a: i for i, a in enumerate(observed)}
        free = [a for a in domain if a not in self.column]
        leader = {a: a for a in free}
        for factor in logs:
            scope = [a for a in factor.domain if a in leader]
            for a in scope[1:]:
                leader[_last(leader, a)] = _last(leader, scope[0])
        # Tables whose attributes are all known depend on no attribute.
        self.parts: dict[str | None, tuple[list[str], list[Factor]]] = {None: ([], [])}
        for a in free:
            self.parts.setdefault(_last(leader, a), ([], []))[0].append(a)
        for factor in logs:
            held = next((a for a in factor.domain if a in leader), None)
            self.parts[None if held is None else _last(leader, held)][1].append(factor)


def _last(leader: dict[str, str], attribute: str) -> str:
    while leader[attribute] != attribute:
        leader[attribute] = leader[leader[attribute]]
        attribute = leader[attribute]
    return attribute


def _answered(
    answer: Callable[[NDArray[np.intp]], Posteriors], codes: NDArray[np.intp], size: int
) -> Iterator[Posteriors]:
    """Yield the posteriors of distinct rows, a chunk at a time; a chunk that does not fit is halved."""
    start = 0
    while start < len(codes):
        with contextlib.suppress(*([ModelTooLargeError] if size > 1 else [])):
            yield answer(codes[start : start + size])
            start += size
            continue
        size = (min(size, len(codes)) + 1) // 2


def _posteriors(model: _Model, codes: NDArray[np.intp]) -> Posteriors:
    log_evidence = np.zeros(len(codes))
    probabilities = {}
    for attributes, factors in model.parts.values():
        domain = Domain([model.row, *attributes], [len(codes), *model.domain.sizes(attributes)])
        given = [_at_rows(model, factor, codes) for factor in factors]
        targets = [t for t in model.targets if t in attributes]
        answers = _part_posteriors(domain, given, targets)
        log_evidence += answers.log_evidence
        probabilities.update(answers.probabilities)
    for table in probabilities.values():
        table[log_evidence == -np.inf] = np.nan
    return Posteriors(probabilities, log_evidence)


def _at_rows(model: _Model, factor: Factor, codes: NDArray[np.intp]) -> Factor:
    """Return a table over the row and its unknown attributes, in the domain's order."""
    scope = factor.domain.attributes
    column = model.column
    known = [a for a in scope if a in column]
    free = [a for a in model.domain.canonical(scope) if a not in column]
    table = factor.transpose((*known, *free)).datavector()
    if not known:
        return Factor(factor.domain.project(free), table)
    cells = np.ravel_multi_index(tuple(codes[:, column[a]] for a in known), model.domain.sizes(known))
    domain = Domain([model.row, *free], [len(codes), *model.domain.sizes(free)])
    return Factor(domain, table.reshape(-1, model.domain.size(free))[cells].reshape(-1))


def _part_posteriors(domain: Domain, factors: Sequence[Factor], targets: Sequence[str]) -> Posteriors:
    """Return posteriors from tables of natural logs over the row (the first attribute) and others."""
    row = domain.attributes[0]
    scope = (row, *targets) if len(targets) == 1 else (row,)
    joint = log_elimination(domain, factors, scope)
    log_evidence = joint.logsumexp(targets).datavector() if scope != (row,) else joint.datavector()
    if not targets:
        return Posteriors({}, log_evidence)
    # Every row gets weight 1, however unlikely it is; an impossible one, whose cells are all -inf, gets 0.
    evidence = np.where(log_evidence == -np.inf, 0.0, log_evidence)
    if len(targets) == 1:
        return Posteriors({targets[0]: _normalised(np.exp(joint.values - evidence[:, None]))}, log_evidence)
    if not (log_evidence > -np.inf).any():
        nothing = {t: np.full((len(evidence), domain.size(t)), np.nan) for t in targets}
        return Posteriors(nothing, log_evidence)
    level = Factor(domain.project(row), -evidence)
    asked_for = [Factor(d := domain.project((row, t)), np.zeros(d.size())) for t in targets]
    potentials = CliqueVector.from_factors(domain, [*asked_for, level, *factors])
    marginals = JunctionTree.of(potentials).marginals(potentials, len(evidence))
    tables = {t: marginals.table(i).reshape(len(evidence), -1) for i, t in enumerate(targets)}
    return Posteriors({t: _normalised(table) for t, table in tables.items()}, log_evidence)


def _normalised(table: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        normalised: NDArray[np.float64] = table / table.sum(axis=1, keepdims=True)
    return normalised
