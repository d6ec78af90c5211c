"""Binary pairwise models as spins: fields and couplings of -1 and +1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from pypgm.clique_vector import CliqueVector


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
