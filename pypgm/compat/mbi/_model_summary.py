"""What a model would take, known before it is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pypgm.compat.mbi.domain import Clique, Domain, as_clique
from pypgm.compat.mbi.junction_tree import make_junction_tree

__all__ = ["ModelSummary", "summarize"]


def _scientific(n: int) -> str:
    """Return a huge integer as 1.23e456, without a float between."""
    power = len(str(n)) - 1
    hundredths = (100 * n + 10**power // 2) // 10**power
    if hundredths == 1000:
        hundredths, power = 100, power + 1
    return f"{hundredths // 100}.{hundredths % 100:02}e{power}"


def _fmt_size(n: float) -> str:
    if n >= 10**12:
        return _scientific(int(n))
    for limit, unit in ((10**9, "B"), (10**6, "M"), (10**3, "K")):
        if n >= limit:
            return f"{n / limit:.2f}{unit}"
    return str(int(n))


def _fmt_bytes(n: float) -> str:
    if n >= 2**50:
        return f"{_scientific(int(n))} B"
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if n >= 2**power:
            return f"{n / 2**power:.2f} {unit}"
    return f"{int(n)} B"


@dataclass(frozen=True)
class ModelSummary:
    """Sizes of a model's cliques, of its junction tree and of the messages in it; cells, both directions."""

    num_attributes: int
    domain_size: int
    num_cliques: int
    largest_clique: Clique
    largest_clique_size: int
    total_clique_cells: int
    treewidth: int
    num_jtree_nodes: int
    largest_jtree_node: Clique
    largest_jtree_node_size: int
    total_jtree_cells: int
    num_messages: int
    largest_message: Clique
    largest_message_size: int
    total_message_cells: int
    bytes_per_cell: int = 8
    xla_flops: None = None
    xla_bytes_accessed: None = None
    xla_peak_memory: None = None

    @property
    def memory_bytes(self) -> int:
        """Of the tables of the tree and its messages."""
        return (self.total_jtree_cells + self.total_message_cells) * self.bytes_per_cell

    @property
    def short(self) -> str:
        """One line."""
        return (
            f"{self.num_attributes} attributes, {self.num_cliques} cliques, treewidth {self.treewidth}, "
            f"{_fmt_size(self.total_jtree_cells)} cells, {_fmt_bytes(self.memory_bytes)}"
        )

    def __str__(self) -> str:
        return "\n".join((
            f"Domain: {self.num_attributes} attributes, {_fmt_size(self.domain_size)} total cells",
            f"Cliques: {self.num_cliques}, {_fmt_size(self.total_clique_cells)} cells, largest "
            f"{self.largest_clique} ({_fmt_size(self.largest_clique_size)})",
            f"Junction tree: {self.num_jtree_nodes} nodes, treewidth {self.treewidth}, "
            f"{_fmt_size(self.total_jtree_cells)} cells, largest {self.largest_jtree_node} "
            f"({_fmt_size(self.largest_jtree_node_size)})",
            f"Messages: {self.num_messages}, {_fmt_size(self.total_message_cells)} cells, largest "
            f"{self.largest_message} ({_fmt_size(self.largest_message_size)})",
            f"Memory: {_fmt_bytes(self.memory_bytes)}",
        ))  # fmt: skip


def summarize(
    domain: Domain,
    cliques: Iterable[object],
    jtree: Any = None,
    marginal_oracle: Any = None,
    compile: bool = False,  # noqa: A002 - mbi's name
    bytes_per_cell: int | None = None,
) -> ModelSummary:
    """Return what a model over cliques would take."""
    del marginal_oracle, compile
    own = [as_clique(c) for c in cliques]
    tree = make_junction_tree(domain, own)[0] if jtree is None else jtree
    nodes = list(tree.nodes)
    messages = [tuple(x for x in a if x in b) for a, b in tree.edges for _ in range(2)]

    def most(of: list[Clique]) -> Clique:
        return max(of, key=domain.size, default=())

    def cells(of: list[Clique]) -> int:
        return sum(map(domain.size, of))

    return ModelSummary(
        len(domain),
        domain.size(),
        len(own),
        most(own),
        domain.size(most(own)),
        cells(own),
        max(map(len, nodes), default=1) - 1,
        len(nodes),
        most(nodes),
        domain.size(most(nodes)),
        cells(nodes),
        len(messages),
        most(messages),
        domain.size(most(messages)),
        cells(messages),
        bytes_per_cell or 8,
    )
