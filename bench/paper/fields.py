"""Private Markov random fields: recovery by the number of records, beside what the theorems ask for."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

import pypgm
from bench.paper.figure import Claim, Figure, Results, Values, check_budget
from pypgm import Budget, CliqueVector, Domain, mrf
from pypgm.mechanisms import hdmm

PAPER = "Private Markov random fields: Zhang, Kamath, Kulkarni and Wu 2020"
WEIGHT, EDGE = 0.2, 0.1
RHOS = (0.1, 1, 10)
STABILITY = Budget(epsilon=1, delta=1e-6)
DIAMONDS = (6, 10, 14)
GRIDS = (2, 4)
RECORDS = (1_000, 3_000, 10_000, 30_000, 100_000)
NAMES = [f"diamond of {p}" for p in DIAMONDS]


def _field(names: list[str], edges: list[tuple[str, str]], k: int) -> CliqueVector:
    codes = np.arange(k)
    table = np.where((codes[:, None] + codes) % 2 == 0, WEIGHT, -WEIGHT)
    return CliqueVector(Domain(dict.fromkeys(names, k)), edges, np.tile(table.ravel(), len(edges)))


def diamond(p: int) -> tuple[CliqueVector, float]:
    """Return the field of two nodes joined to all others, and its largest sum of a node's weights."""
    names = [f"x{i}" for i in range(p)]
    edges = [(hub, name) for hub in (names[0], names[-1]) for name in names[1:-1]]
    return _field(names, [tuple(sorted(e, key=names.index)) for e in edges], 2), WEIGHT * (p - 2)


def grid(k: int) -> tuple[CliqueVector, float]:
    """Return the field of the 3 x 3 grid with k values, and its width."""
    cells = list(itertools.product(range(3), repeat=2))
    names = {c: f"x{c[0]}{c[1]}" for c in cells}
    steps = [((r, c), (r + dr, c + dc)) for r, c in cells for dr, dc in ((0, 1), (1, 0))]
    return _field(list(names.values()), [(names[a], names[b]) for a, b in steps if b in names], k), 4 * WEIGHT


def _edges(strengths: np.ndarray, domain: Domain) -> frozenset:
    names = domain.attributes
    return frozenset((names[i], names[j]) for i, j in np.argwhere(np.triu(strengths, 1) >= EDGE))


LEARNERS = {
    "logistic": lambda data, width: mrf.fit_logistic(data, width, tolerance=1e-4),
    "Sparsitron": lambda data, width: mrf.fit_sparsitron(data, width, rng=0),
}


def _plain(seed: int, kind: str, size: int) -> Values:
    potentials, width = diamond(size) if kind == "diamond" else grid(size)
    true, values = frozenset(potentials.cliques), {}
    panel = f"diamond of {size}" if kind == "diamond" else f"grid, {size} values"
    for n in [250 * 2**i for i in range(6)] if kind == "diamond" else [125 * size**2 * 2**i for i in range(4)]:
        data = mrf.sample(potentials, n, rng=seed).data
        for name, fitted in LEARNERS.items():
            values[panel, name, n] = float(fitted(data, width).edges(EDGE) == true)
    return values


def _private(seed: int, p: int, n: int) -> Values:
    potentials, width = diamond(p)
    data = mrf.sample(potentials, n, rng=seed).data
    learned = {"without privacy": mrf.fit_logistic(data, width, tolerance=1e-4).strengths()}
    for rho in RHOS:
        budget = Budget(rho=rho)
        field = mrf.learn_ising(data, radius=width, budget=budget)
        pairs = hdmm(data, budget=budget, strategy="contrasts")
        check_budget(field, pairs)
        learned[f"Frank-Wolfe, ρ = {rho}"] = field.model.strengths()
        learned[f"all pairs, ρ = {rho}"] = mrf.MarkovRandomField(pairs.model.potentials, 1.0).strengths()
    true, values = mrf.MarkovRandomField(potentials, 1.0).strengths(), {}
    for line, strengths in learned.items():
        hit = _edges(strengths, potentials.domain) == frozenset(potentials.cliques)
        values[f"diamond of {p}: largest error", line, n] = float(np.abs(strengths - true).max())
        values[f"diamond of {p}: graph recovered", line, n] = float(hit)
    return values


def _calculated() -> Mapping:
    """Return what the theorems ask for, as points where recovery is certain, or not to be had with less."""
    values = {}
    for p in DIAMONDS:
        _, width = diamond(p)
        for rho in RHOS:
            size = mrf.structure_sample_size(p, width, WEIGHT, Budget(rho=rho))
            values[f"diamond of {p}: graph recovered", f"enough by theory, ρ = {rho}", size.private] = 1.0
            values[f"diamond of {p}: graph recovered", f"necessary by theory, ρ = {rho}", size.lower] = 0.0
    return values


def _asked_without_privacy() -> Mapping:
    sizes = {p: mrf.structure_sample_size(p, diamond(p)[1], WEIGHT, Budget(rho=1)).statistical for p in DIAMONDS}
    return {(f"diamond of {p}", "enough by theory", n): 1.0 for p, n in sizes.items()}


def _first_sure(results: Results, panel: str, line: str) -> float:
    """Return the least number of records from which on the graph was always recovered."""
    sure = np.inf
    for n in sorted(results.places(panel, line), reverse=True):
        if results.of(panel, line, n) < 1:
            break
        sure = n
    return sure


def _far_fewer(results: Results) -> tuple[bool, str]:
    rows = []
    for p in DIAMONDS:
        first = _first_sure(results, f"diamond of {p}", "logistic")
        published = next(n for (panel, _, n) in results.published if panel == f"diamond of {p}")
        rows.append((first, published, f"{p} nodes {first:g} ({published:.0e})"))
    return all(first <= published for first, published, _ in rows), ", ".join(text for *_, text in rows)


def _between(results: Results) -> tuple[bool, str]:
    parts, fine = [], True
    for p, rho in itertools.product(DIAMONDS, RHOS):
        panel = f"diamond of {p}: graph recovered"
        first = _first_sure(results, panel, f"Frank-Wolfe, ρ = {rho}")
        theory = {line: n for (other, line, n) in results.published if other == panel and line.endswith(f"ρ = {rho}")}
        least, enough = (next(n for line, n in theory.items() if line.startswith(word)) for word in ("nec", "eno"))
        fine &= least <= first <= enough or first == np.inf
        seen = f"from {first:g}" if np.isfinite(first) else f"not by {RECORDS[-1]:,}"
        parts.append(f"{p} nodes, ρ = {rho}: {seen} ({least:.2g} to {enough:.0e})")
    return fine, ", ".join(parts)


def _once(results: Results) -> tuple[bool, str]:
    ratios = {}
    for p in DIAMONDS:
        panel = f"diamond of {p}: largest error"
        cells = [
            results.of(panel, f"all pairs, ρ = {rho}", n) / results.of(panel, f"Frank-Wolfe, ρ = {rho}", n)
            for rho in RHOS
            for n in RECORDS
        ]
        ratios[p] = np.exp(np.mean(np.log(cells)))
    return all(r > 1 for r in ratios.values()), "error of measured pairs over Frank-Wolfe's " + ", ".join(
        f"{p} nodes {r:.2f}" for p, r in ratios.items()
    )


PANEL = "records, ε = 1, δ = 1e-6"


def _stability(seed: int, p: int) -> Values:
    potentials, width = diamond(p)
    true = frozenset(potentials.cliques)

    def edges(data: pypgm.Dataset) -> frozenset:
        return mrf.fit_logistic(data, width, tolerance=1e-4).edges(EDGE)

    block = mrf.simulated_block_size(potentials, edges, true, budget=STABILITY, simulated=100, rng=seed)
    values = {(PANEL, "simulated blocks", p): float(block.total)}
    for name, n in (("graph released", block.total), ("graph released, an eighth of them", block.total // 8)):
        data = mrf.sample(potentials, n, rng=seed).data
        release = mrf.learn_structure(data, radius=width, eta=WEIGHT, epsilon=1, delta=1e-6, method="stability")
        values[name, "part of releases", p] = float(release.edges is not None and frozenset(release.edges) == true)
    return values


def _closed_form() -> Mapping:
    return {
        (PANEL, "closed form", p): mrf.structure_sample_size(p, diamond(p)[1], WEIGHT, STABILITY).private
        for p in (6, 8)
    }


def _works(results: Results) -> tuple[bool, str]:
    parts = {p: results.of("graph released", "part of releases", p) for p in (6, 8)}
    return all(part == 1 for part in parts.values()), ", ".join(
        f"{p} nodes: {part:.0%} of releases with {results.of(PANEL, 'simulated blocks', p):,.0f} records "
        f"(closed form {results.published[PANEL, 'closed form', p]:.0e})"
        for p, part in parts.items()
    )


FIGURES = [
    Figure(
        name="fields",
        paper=PAPER,
        title="Recovery without privacy, beside the sample complexity",
        setting="The fields of Wu, Sanghavi and Dimakis 2019, on which the paper builds: diamonds of weight "
        ".2, and the "
        "3 × 3 grid with weights ±.2; part of the seeds in which the edges of strength .1 are exactly the true ones. "
        '"enough by theory" is the theorem\'s number with its constant set to 1.',
        axes=("records", "graph recovered"),
        jobs={**{("diamond", p): 5 for p in DIAMONDS}, **{("grid", k): 5 for k in GRIDS}},
        run=_plain,
        published=_asked_without_privacy,
        claims=[Claim("the theorem's number of records is enough", _far_fewer)],
        logs="x",
    ),
    Figure(
        name="fields-private",
        paper=PAPER,
        title="Private Frank-Wolfe, beside upper and lower bounds",
        setting="Diamonds of weight .2 under zCDP: private Frank-Wolfe (`mrf.learn_ising`), and a field read "
        "from a joint"
        " estimate of all pairs measured once for the same ρ; the largest error of a weight. Theory stands where "
        "it asks for so many records, with its constants set to 1. The paper has no experiments.",
        axes=("records", "error, or part recovered"),
        jobs={(p, n): 1 for p in DIAMONDS for n in RECORDS},
        run=_private,
        published=_calculated,
        shown=lambda key: "theory" not in key[1],
        claims=[
            Claim("recovery begins between the necessary and the sufficient number", _between),
            Claim("Frank-Wolfe errs less than all pairs measured once", _once, published=False),
        ],
        logs="x",
    ),
    Figure(
        name="fields-stability",
        paper=PAPER,
        title="Structure by stability, beside the closed form",
        setting="Blocks of the size that simulation finds sufficient (a hundred simulated blocks a size, "
        "`mrf.simulated_block_size`), as many as stability needs, and what it then releases.",
        axes=("nodes", "records"),
        jobs={(p,): 3 for p in (6, 8)},
        run=_stability,
        published=_closed_form,
        claims=[Claim("subsampling and stability release the graph", _works)],
        panels=lambda panel: panel == PANEL,
        bars=True,
        logs="y",
    ),
]
