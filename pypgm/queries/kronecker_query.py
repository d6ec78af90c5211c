"""A product of queries on named attributes, for measurement on records or answers of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.terminal import escaped
from pypgm.queries.entries import ENTRY_LIMIT
from pypgm.queries.kronecker import Kronecker
from pypgm.queries.matrix import Matrix
from pypgm.queries.query import LinearQuery
from pypgm.queries.value import Value

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pypgm.domain import Clique, Domain


class KroneckerQuery(Value):
    r"""Product of one query for each of some attributes; all others are summed over.

    The answer is the tensor of all combinations of the blocks' answers,
    :math:`\sum_x \prod_i Q_i[z_i, x_i]\, n(x)` for a table of counts n.

    Parameters
    ----------
    blocks : mapping of str to query or array_like, shape (answers, values)
        Query on the values of each attribute (`pypgm.queries`), or a matrix: of integers, or of real numbers.

    Attributes
    ----------
    blocks : dict of str to query
        The blocks, in the order given.
    attributes : tuple of str
        The attributes with a block: the axes of an answer.
    shape : tuple of int
        The shape of an answer.

    Raises
    ------
    ValueError
        If a matrix is none.

    References
    ----------
    McKenna, Sheldon and Miklau, Graphical-model based estimation and inference for differential privacy (2019),
    algorithm 3.

    Examples
    --------
    >>> import numpy as np, pypgm
    >>> domain = pypgm.Domain({"age": 4, "sex": ["F", "M"]})
    >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("age", "sex")]), total=80.0)
    >>> query = KroneckerQuery({"sex": pypgm.queries.Identity(2), "age": pypgm.queries.Prefix(4)})
    >>> model.answer(query).round(6)
    array([[10., 20., 30., 40.],
           [10., 20., 30., 40.]])
    """

    blocks: dict[str, LinearQuery]
    attributes: Clique
    shape: tuple[int, ...]

    def __init__(self, blocks: Mapping[str, LinearQuery | ArrayLike]) -> None:
        queries = {attribute: _as_block(block) for attribute, block in dict(blocks).items()}
        shape = tuple(block.shape[0] for block in queries.values())
        self._set(blocks=queries, attributes=tuple(queries), shape=shape, _arguments=(tuple(queries.items()),))

    @property
    def operator(self) -> Kronecker:
        """The same query on the cells of the clique `attributes`, as `PrivateTable.measure` takes it.

        Raises
        ------
        ValueError
            If a block has real entries (round them first, `pypgm.queries.on_lattice`), or there is none.
        """
        for attribute, block in self.blocks.items():
            if not block.is_integer:
                needed = "on_lattice rounds them to be measured"
                raise ValueError(f"the query of {attribute!r} has real entries; {needed}")
        return Kronecker(self.blocks.values())

    def checked(self, domain: Domain) -> KroneckerQuery:
        """Return the query itself if it fits a domain, else raise ``ValueError``."""
        for (attribute, block), size in zip(self.blocks.items(), domain.sizes(self.attributes), strict=True):
            if block.shape[1] != size:
                raise ValueError(f"attribute {attribute!r} has {size} values, its query is for {block.shape[1]}")
        return self

    def __repr__(self) -> str:
        return f"KroneckerQuery({', '.join(f'{escaped(a)}: {b!r}' for a, b in self.blocks.items())})"


def _as_block(block: LinearQuery | ArrayLike) -> LinearQuery:
    if isinstance(block, LinearQuery):
        return block
    entries = np.asarray(block)
    if entries.size and entries.dtype.kind in "iu" and max(-int(entries.min()), int(entries.max())) >= ENTRY_LIMIT:
        entries = entries.astype(np.float64)  # more than can be measured, but not than can be asked
    return Matrix(entries)
