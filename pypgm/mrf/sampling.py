"""Records drawn from a Markov random field, for experiments: exactly, perfectly, or by Gibbs sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.constraints import THREADS, AtLeast
from pypgm._base.html import Shown
from pypgm._base.numeric import as_generator
from pypgm._base.signatures import checked
from pypgm.bayes.sampling import draw_ancestral
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.errors import ModelTooLargeError
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree, check_logarithms
from pypgm.mrf.diagnostics import effective_sample_size, split_r_hat

if TYPE_CHECKING:
    from scipy import sparse

Method = Literal["auto", "exact", "coupling", "gibbs"]

_EXACT_CELLS = 2**22  # of all tree tables, up to which "auto" draws exactly: they are made in well under a second
_AUTO_SWEEPS = 2**10  # after which "auto" gives coupling up: a record then takes as long as thousands by Gibbs
_MOST_SWEEPS = 2**24
_MOST_CODES = 256


@dataclass(frozen=True, slots=True, eq=False)
class Spins:
    r"""The density proportional to :math:`\exp(h \cdot s + \frac12 s^\top J s)` over spins s of -1 and +1.

    Attributes
    ----------
    fields : ndarray of float64, shape (n,)
        h.
    couplings : scipy.sparse.csr_array, shape (n, n)
        J, symmetric with a zero diagonal.
    """

    fields: NDArray[np.float64]
    couplings: sparse.csr_array

    def attractive(self) -> NDArray[np.float64] | None:
        """Return signs t of -1 and +1 with t_i t_j J_ij >= 0 everywhere, None if there are none.

        Each connected component is coloured from its first node; a second colour for a node refutes it (Harary 1953).
        """
        indices, starts, values = self.couplings.indices, self.couplings.indptr, self.couplings.data
        signs = np.zeros(len(self.fields))
        for root in range(len(signs)):
            if signs[root] == 0:
                signs[root], stack = 1, [root]
                while stack:
                    node = stack.pop()
                    ends = indices[starts[node] : starts[node + 1]]
                    wanted = signs[node] * np.sign(values[starts[node] : starts[node + 1]])
                    fresh = signs[ends] == 0
                    signs[ends[fresh]] = wanted[fresh]
                    if (signs[ends] != wanted).any():
                        return None
                    stack.extend(ends[fresh].tolist())
        return signs

    def flipped(self, signs: NDArray[np.float64]) -> Spins:
        """Return the model of the spins times some signs."""
        from scipy import sparse

        turn = sparse.diags_array(signs)
        return Spins(self.fields * signs, sparse.csr_array(turn @ self.couplings @ turn))

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32]]:
        """Return fields, couplings, neighbours and starts as the core takes them."""
        rows = self.couplings
        return self.fields, rows.data, rows.indices.astype(np.uint32), rows.indptr.astype(np.uint32)


def as_spins(potentials: CliqueVector) -> Spins | None:
    """Return a model of binary attributes in tables over at most two as spins, None if it is of another kind.

    Code 0 is spin -1. Potentials are finite.

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> spins = as_spins(CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b"), ("a",)], [1, -1, -1, 1, 0, 3]))
    >>> assert spins is not None
    >>> spins.fields.tolist(), float(spins.couplings.toarray()[0, 1])
    ([1.5, 0.0], 1.0)
    """
    from scipy import sparse

    n = len(potentials.domain)
    if any(size != 2 for size in potentials.domain.shape) or any(len(scope) > 2 for scope in potentials.scopes):
        return None
    fields, couplings = np.zeros(n), sparse.dok_array((n, n))
    for i, scope in enumerate(potentials.scopes):
        table = potentials.table(i)
        if len(scope) == 1:
            fields[scope[0]] += (table[1] - table[0]) / 2
        elif len(scope) == 2:
            a, b = scope
            fields[a] += (table[3] + table[2] - table[1] - table[0]) / 4
            fields[b] += (table[3] + table[1] - table[2] - table[0]) / 4
            couplings[a, b] += (table[3] - table[2] - table[1] + table[0]) / 4
    upper = sparse.csr_array(couplings)
    both = sparse.csr_array(upper + upper.T)
    both.eliminate_zeros()
    both.sort_indices()
    return Spins(fields, both)


@dataclass(frozen=True, slots=True, eq=False)
class Sample(Shown):
    """Records drawn from a model, and how.

    Attributes
    ----------
    data : Dataset
        The records, uint8 columns. Records of Gibbs sampling are in the order of draws: chain 0, chain 1, ….
    method : {"exact", "coupling", "gibbs"}
        Records are independent unless it is "gibbs".
    n_chains : int
        Chains of Gibbs sampling; the number of records otherwise.
    sweeps : int
        Passes over all nodes: of a chain, or the most that coupling from the past needed; 0 if exact.
    """

    data: Dataset
    method: Literal["exact", "coupling", "gibbs"]
    n_chains: int
    sweeps: int

    def r_hat(self) -> dict[str, float]:
        """Return the largest split R-hat over the values of each attribute; see `split_r_hat`."""
        return {name: max(map(split_r_hat, self._indicators(name))) for name in self.data.domain}

    def effective_size(self) -> dict[str, float]:
        """Return the least effective sample size over the values of each attribute; see `effective_sample_size`."""
        return {name: min(map(effective_sample_size, self._indicators(name))) for name in self.data.domain}

    def _indicators(self, name: str) -> list[NDArray[np.bool_]]:
        """Return where each value but a first of two stands, shape (chains, draws); draws of all chains only."""
        if self.method != "gibbs":
            raise ValueError(f"diagnostics are for chains; records of method {self.method!r} are independent")
        column = self.data.columns[name]
        n_draws = len(column) // self.n_chains
        draws = column[: n_draws * self.n_chains].reshape(n_draws, self.n_chains).T
        size = self.data.domain.size((name,))
        return [draws == value for value in range(1 if size == 2 else 0, size)]


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    potentials: CliqueVector
    n_records: int
    seed: int
    n_threads: int

    def dataset(self, codes: NDArray[Any]) -> Dataset:
        """Return the records whose codes stand in rows, an attribute each."""
        domain = self.potentials.domain
        return Dataset({name: codes[i, : self.n_records] for i, name in enumerate(domain)}, domain)


@checked()
def sample(
    potentials: CliqueVector,
    rows: Annotated[int, AtLeast(1)],
    *,
    method: Method = "auto",
    n_chains: Annotated[int, AtLeast(1)] = 64,
    burn_in: Annotated[int, AtLeast(0)] = 1000,
    thin: Annotated[int, AtLeast(1)] = 10,
    rng: np.random.Generator | int | None = None,
    n_threads: Annotated[int, THREADS] = 0,
) -> Sample:
    r"""Draw records from the distribution whose log-density is a sum of tables.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs, up to a constant; finite but for `method` "exact", which takes -inf for structural zeros.
    rows : int
        Number of records, at least 1.
    method : {"auto", "exact", "coupling", "gibbs"}
        "exact": independent records along the junction tree, where it fits. "coupling": independent records by
        coupling from the past, exactly from the model; for binary attributes in tables over one or two, whose
        interactions are attractive (as :math:`J_{ij} \ge 0` in an Ising model), possibly after the values of some
        attributes have been swapped. Its time is random, and grows without bound as a model freezes. "gibbs": any
        model; records depend on each other and on `burn_in`: look at `Sample.r_hat` and `Sample.effective_size`.
        "auto": the first of them that applies and is fast.
    n_chains, burn_in, thin : int
        Chains of Gibbs sampling, each from its own uniform state; sweeps before the first record; sweeps per record.
        Coupling and exact sampling do not use them.
    rng : Generator, int or None
        Source of the one seed on which the records depend.
    n_threads : int
        Number of threads, 0 for all; the records do not depend on it.

    Returns
    -------
    Sample

    Raises
    ------
    ValueError
        If potentials are NaN, infinite or of more than 256 values per attribute; if the model does not suit `method`,
        or a number is out of range.
    ModelTooLargeError
        If `method` is "exact" and the junction tree does not fit.

    References
    ----------
    J. G. Propp and D. B. Wilson, Exact sampling with coupled Markov chains and applications to statistical
    mechanics, Random Structures and Algorithms 9 (1996).

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> ising = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.5, -0.5, -0.5, 0.5])
    >>> drawn = sample(ising, 100_000, rng=0)
    >>> drawn.method
    'exact'
    >>> bool(abs((drawn.data.columns["a"] == drawn.data.columns["b"]).mean() - 1 / (1 + np.exp(-1))) < 0.01)
    True
    """
    check_logarithms(potentials)
    _check_sizes(potentials.domain)
    plan = (n_chains, burn_in, thin, -(-rows // n_chains))
    seed = int(as_generator(rng).integers(2**64, dtype=np.uint64))
    job = _Job(potentials, rows, seed, n_threads)
    if method == "exact" or (method == "auto" and _is_small(potentials)):
        return _exact(job)
    if not np.isfinite(potentials.values).all():
        raise ValueError("potentials of -inf need method='exact' and a junction tree that fits")
    spins = as_spins(potentials)
    if method == "coupling":
        return _coupled(job, spins)
    return (_quickly_coupled(job, spins) if method == "auto" else None) or _gibbs(job, spins, plan)


def _check_sizes(domain: Domain) -> None:
    for name, size in zip(domain.attributes, domain.shape, strict=True):
        if size > _MOST_CODES:
            raise ValueError(f"sampling takes up to {_MOST_CODES} values per attribute; {name!r} has {size}")


def _is_small(potentials: CliqueVector) -> bool:
    try:
        return JunctionTree.of(potentials).cost.cells <= _EXACT_CELLS
    except ModelTooLargeError:
        return False


def _exact(job: _Job) -> Sample:
    """Draw each attribute given the drawn ones of its clique, root first."""
    tree = JunctionTree.of(job.potentials)
    conditionals: dict[str, Factor] = {}
    for node, table in zip(tree.nodes, tree.tables(job.potentials, n_threads=job.n_threads), strict=True):
        drawn = list(node.separator)
        for name in node.clique:
            if name not in drawn:
                drawn.append(name)
                conditionals[name] = _without_empty_rows(table.project(drawn))
    columns = draw_ancestral(conditionals, list(conditionals), job.n_records, np.random.default_rng(job.seed))
    return Sample(Dataset(columns, job.potentials.domain), "exact", job.n_records, 0)


def _without_empty_rows(table: Factor) -> Factor:
    """Return a table with ones in its rows of zeros, whose parents never occur."""
    empty = table.values.sum(axis=-1, keepdims=True) == 0
    return Factor(table.domain, np.where(empty, 1.0, table.values))


def _coupled(job: _Job, spins: Spins | None) -> Sample:
    signs = None if spins is None else spins.attractive()
    if spins is None or signs is None:
        raise ValueError(
            "coupling from the past needs binary attributes in tables over one or two with attractive interactions; "
            "use method='exact' or 'gibbs'"
        )
    drawn = _meet(job, spins, signs, _MOST_SWEEPS)
    if drawn is None:
        raise ValueError(f"coupling from the past has not ended after {_MOST_SWEEPS} sweeps; use method='gibbs'")
    return drawn


def _quickly_coupled(job: _Job, spins: Spins | None) -> Sample | None:
    signs = None if spins is None else spins.attractive()
    return None if spins is None or signs is None else _meet(job, spins, signs, _AUTO_SWEEPS)


def _meet(job: _Job, spins: Spins, signs: NDArray[np.float64], most: int) -> Sample | None:
    """Draw by coupling from the past; None if `most` sweeps do not suffice."""
    arrays = spins.flipped(signs).arrays()
    codes, sweeps = _core.coupled_spins(*arrays, job.n_records, job.seed, most, job.n_threads)
    if sweeps == 0:
        return None
    codes[signs < 0] ^= 1
    return Sample(job.dataset(codes), "coupling", job.n_records, sweeps)


def _gibbs(job: _Job, spins: Spins | None, plan: tuple[int, int, int, int]) -> Sample:
    n_chains, burn_in, thin, n_draws = plan
    compiled = _core.GibbsPlan(n_chains, burn_in, thin, n_draws, job.seed)
    if spins is not None:
        codes = _core.gibbs_spins(*spins.arrays(), compiled, job.n_threads)
    else:
        sizes, scopes = list(job.potentials.domain.shape), [list(scope) for scope in job.potentials.scopes]
        codes = _core.gibbs_potentials(sizes, scopes, job.potentials.values, compiled, job.n_threads)
    return Sample(job.dataset(codes), "gibbs", n_chains, burn_in + thin * n_draws)
