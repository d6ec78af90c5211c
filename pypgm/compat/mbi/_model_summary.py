"""Sizes of a model, known before it is made; mbi has them in a module of this name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pypgm.compat.mbi.domain import Clique, Domain, as_clique
from pypgm.compat.mbi.junction_tree import make_junction_tree


def _scientific(n: int) -> str:
    """Return a huge integer as 1.23e456, without going through a float."""
    power = len(str(n)) - 1
    hundredths = (100 * n + 10**power // 2) // 10**power
    hundredths, power = (100, power + 1) if hundredths == 1000 else (hundredths, power)
    return f"{hundredths // 100}.{hundredths % 100:02}e{power}"


def _shown(n: float, least: int, units: Sequence[tuple[int, str]], end: str) -> str:
    if n >= least:
        return _scientific(int(n)) + end
    return next((f"{n / size:.2f}{unit}" for size, unit in units if n >= size), f"{int(n)}{end}")


def _fmt_size(n: float) -> str:
    return _shown(n, 10**12, ((10**9, "B"), (10**6, "M"), (10**3, "K")), "")


def _fmt_bytes(n: float) -> str:
    return _shown(n, 2**50, ((2**40, " TiB"), (2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB")), " B")


class ModelSummary:
    """Sizes of a model's cliques, of its junction tree and of the messages in it; cells, both directions."""

    xla_flops = xla_bytes_accessed = xla_peak_memory = None

    def __init__(self, domain: Domain, cliques: Sequence[Clique], jtree: Any, bytes_per_cell: int) -> None:
        nodes = [*jtree.nodes]
        messages = [tuple(x for x in a if x in b) for a, b in jtree.edges for _ in range(2)]
        self.num_attributes, self.domain_size, self.bytes_per_cell = len(domain), domain.size(), bytes_per_cell
        self.treewidth = max(map(len, nodes), default=1) - 1

        def sizes(cliques: Sequence[Clique]) -> tuple[int, Clique, int, int]:
            most = max(cliques, key=domain.size, default=())
            return len(cliques), most, domain.size(most), sum(map(domain.size, cliques))

        self.num_cliques, self.largest_clique, self.largest_clique_size, self.total_clique_cells = sizes(cliques)
        self.num_jtree_nodes, self.largest_jtree_node, self.largest_jtree_node_size, self.total_jtree_cells = sizes(
            nodes
        )
        self.num_messages, self.largest_message, self.largest_message_size, self.total_message_cells = sizes(messages)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the tables of the tree and its messages."""
        return (self.total_jtree_cells + self.total_message_cells) * self.bytes_per_cell

    @property
    def short(self) -> str:
        """The summary in one line."""
        model = f"{self.num_attributes} attributes, {self.num_cliques} cliques, treewidth {self.treewidth}"
        return f"{model}, {_fmt_size(self.total_jtree_cells)} cells, {_fmt_bytes(self.memory_bytes)}"

    def __str__(self) -> str:
        clique, node, message = map(
            _fmt_size, (self.largest_clique_size, self.largest_jtree_node_size, self.largest_message_size)
        )
        tree = f"{self.num_jtree_nodes} nodes, treewidth {self.treewidth}"
        return f"""\
Domain: {self.num_attributes} attributes, {_fmt_size(self.domain_size)} total cells
Cliques: {self.num_cliques}, {_fmt_size(self.total_clique_cells)} cells, largest {self.largest_clique} ({clique})
Junction tree: {tree}, {_fmt_size(self.total_jtree_cells)} cells, largest {self.largest_jtree_node} ({node})
Messages: {self.num_messages}, {_fmt_size(self.total_message_cells)} cells, largest {self.largest_message} ({message})
Memory: {_fmt_bytes(self.memory_bytes)}"""


def summarize(
    domain: Domain, cliques: Iterable[object], jtree: Any = None, bytes_per_cell: int | None = None, **options: Any
) -> ModelSummary:
    """Return the sizes of a model over cliques; the oracle and compilation are ignored."""
    del options
    scopes = [as_clique(c) for c in cliques]
    return ModelSummary(
        domain, scopes, make_junction_tree(domain, scopes)[0] if jtree is None else jtree, bytes_per_cell or 8
    )
