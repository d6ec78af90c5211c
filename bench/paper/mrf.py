"""Recovery of Markov random fields: without privacy at the published settings, privately in two ways, and by theory.

Run: python bench/paper/mrf.py [--runs 10] [--plot FILE.png]

The fields are those of Wu, Sanghavi and Dimakis 2019: the diamond (two nodes joined to all others, binary, weight .2 on
spins, p = 6 .. 14) and the 3 x 3 grid (k = 2, 4, 6 values, weights +-.2 by the parity of the codes). Records are
independent (`mrf.sample`). A graph counts as recovered where the edges of strength at least .1 are exactly the true
ones. Printed are

    learners without privacy: part of the runs that recover the graph, by n
    at equal budgets rho: the largest error of a weight, and recovery, of private Frank-Wolfe and of a field read from
        a joint estimate of all pairs (contrasts measured once, `mechanisms.hdmm`), beside logistic regression
    structure by stability: block size in simulation, times the number of blocks, beside the closed form

Each private release is checked to have spent at most its budget.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np

from pypgm import Budget, CliqueVector, Domain, mrf
from pypgm.mechanisms import hdmm

WEIGHT, EDGE = 0.2, 0.1
RHOS = (0.1, 1, 10)
STABILITY = Budget(epsilon=1, delta=1e-6)


def diamond(p):
    """Return the field and its largest sum of a node's weights."""
    names = [f"x{i}" for i in range(p)]
    edges = [(hub, name) for hub in (names[0], names[-1]) for name in names[1:-1]]
    return _field(names, [tuple(sorted(e, key=names.index)) for e in edges], 2), WEIGHT * (p - 2)


def grid(k):
    """Return the field of the 3 x 3 grid with k values, and its width."""
    cells = list(itertools.product(range(3), repeat=2))
    names = {c: f"x{c[0]}{c[1]}" for c in cells}
    steps = [((r, c), (r + dr, c + dc)) for r, c in cells for dr, dc in ((0, 1), (1, 0))]
    return _field(list(names.values()), [(names[a], names[b]) for a, b in steps if b in names], k), 4 * WEIGHT


def _field(names, edges, k):
    codes = np.arange(k)
    table = np.where((codes[:, None] + codes) % 2 == 0, WEIGHT, -WEIGHT)
    return CliqueVector(Domain(dict.fromkeys(names, k)), edges, np.tile(table.ravel(), len(edges)))


LEARNERS = {
    "logistic": lambda data, width: mrf.fit_logistic(data, width, tolerance=1e-4),
    "Sparsitron": lambda data, width: mrf.fit_sparsitron(data, width, rng=0),
}


def edges_of(strengths, domain):
    """Return the pairs of a strength of at least half a true weight."""
    names = domain.attributes
    return frozenset((names[i], names[j]) for i, j in np.argwhere(np.triu(strengths, 1) >= EDGE))


def curve(potentials, width, sizes, runs):
    """Return the part of the runs in which each learner recovers the graph, by n."""
    true = frozenset(potentials.cliques)
    found = {name: [] for name in LEARNERS}
    for n in sizes:
        tables = [mrf.sample(potentials, n, rng=seed).data for seed in range(runs)]
        for name, learn in LEARNERS.items():
            found[name].append(np.mean([learn(data, width).edges(EDGE) == true for data in tables]))
    return found


def show_curves(runs):
    """Print recovery without privacy; return it."""
    results = {}
    print(f"{'without privacy':16} {'learner':12} recovered, by n")
    settings = [(f"diamond {p}", *diamond(p), [250 * 2**i for i in range(6)]) for p in (6, 8, 10, 12, 14)]
    settings += [(f"grid k={k}", *grid(k), [125 * k**2 * 2**i for i in range(4)]) for k in (2, 4, 6)]
    for name, potentials, width, sizes in settings:
        results[name] = sizes, curve(potentials, width, sizes, runs)
        for learner, parts in results[name][1].items():
            told = "  ".join(f"{n}: {part:.2f}" for n, part in zip(sizes, parts, strict=True))
            print(f"{name:16} {learner:12} {told}", flush=True)
    return results


def private_strengths(data, width, rho):
    """Return the strengths that both private ways learn, and their seconds."""
    budget = Budget(rho=rho)
    ways = {
        "Frank-Wolfe": lambda: mrf.learn_ising(data, radius=width, budget=budget),
        "pairs": lambda: hdmm(data, budget=budget, strategy="contrasts"),
    }
    found = {}
    for name, learn in ways.items():
        began = time.perf_counter()
        release = learn()
        seconds = time.perf_counter() - began
        if release.ledger.spent() > budget.limit:
            raise AssertionError(f"{name} spent {release.ledger.spent()} of {budget.limit}")
        field = release.model if name == "Frank-Wolfe" else mrf.MarkovRandomField(release.model.potentials, 1.0)
        found[name] = field.strengths(), seconds
    return found


def show_private(runs):
    """Print errors of weights and recovery of the private ways at equal budgets; return the errors."""
    results = {}
    print(f"\n{'private':11} {'n':>7} {'rho':>5}  way: largest error of a weight (recovered; seconds)")
    for p, n in itertools.product((6, 10, 14), (3_000, 30_000)):
        potentials, width = diamond(p)
        true = mrf.MarkovRandomField(potentials, 1.0).strengths()
        tables = [mrf.sample(potentials, n, rng=seed).data for seed in range(runs)]
        plain = [mrf.fit_logistic(data, width, tolerance=1e-4).strengths() for data in tables]
        for rho in RHOS:
            each = [private_strengths(data, width, rho) for data in tables]
            learned = {name: [e[name] for e in each] for name in each[0]}
            learned["not private"] = [(s, 0.0) for s in plain]
            told = []
            for name, rows in learned.items():
                error = np.mean([np.abs(s - true).max() for s, _ in rows])
                hit = np.mean([edges_of(s, potentials.domain) == frozenset(potentials.cliques) for s, _ in rows])
                results[p, n, rho, name] = error
                told.append(f"{name} {error:.3f} ({hit:.1f}; {np.mean([t for _, t in rows]):.1f} s)")
            print(f"diamond {p:<3} {n:>7} {rho:>5}  " + ", ".join(told), flush=True)
    return results


def show_stability(runs):
    """Print how many records stability takes, in simulation and by the closed form, and what it then releases."""
    print("\nstructure by stability, epsilon = 1, delta = 1e-6: block x blocks, beside the closed form")
    for p in (6, 8):
        potentials, width = diamond(p)
        true = frozenset(potentials.cliques)
        found = mrf.simulated_block_size(
            potentials,
            lambda data, width=width: mrf.fit_logistic(data, width, tolerance=1e-4).edges(EDGE),
            true,
            budget=STABILITY,
            simulated=400,
            rng=0,
        )
        theory = mrf.structure_sample_size(p, width, WEIGHT, STABILITY)
        low, high = found.interval
        print(
            f"diamond {p}: {found.n_records} x {found.n_blocks} = {found.total} (a block recovers in {found.successes} "
            f"of {found.simulated}, 95 % interval {low:.3f} to {high:.3f}); closed form {theory.private:.0e}"
        )
        for n in (found.total, found.total // 8):
            told = [released(mrf.sample(potentials, n, rng=seed).data, width, true) for seed in range(runs)]
            counts = ", ".join(f"{word} {told.count(word)}" for word in ("the graph", "another", "none"))
            print(f"  {n} records, {runs} releases: {counts}", flush=True)


def released(data, width, true):
    """Return what a stability release tells."""
    found = mrf.learn_structure(data, radius=width, eta=WEIGHT, epsilon=1, delta=1e-6, method="stability")
    if found.edges is None:
        return "none"
    return "the graph" if frozenset(found.edges) == true else "another"


def plot(path, curves, errors):
    """Draw recovery by n, and errors by budget."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for panel, kind in ((left, "diamond"), (middle, "grid")):
        for i, (name, (sizes, found)) in enumerate((n, c) for n, c in curves.items() if n.startswith(kind)):
            panel.plot(sizes, found["logistic"], f"C{i}-", label=name)
            panel.plot(sizes, found["Sparsitron"], f"C{i}:")
        panel.set(xscale="log", xlabel="records", ylabel="recovered")
        panel.set_title(f"{kind}: logistic regression, Sparsitron (dotted)", loc="left", fontsize=9)
        panel.legend(frameon=False, fontsize=8)
    for i, (p, n) in enumerate(dict.fromkeys(key[:2] for key in errors)):
        for name, style in (("Frank-Wolfe", "--"), ("pairs", "-")):
            right.plot(RHOS, [errors[p, n, rho, name] for rho in RHOS], f"C{i}{style}", label=f"{name}, p={p}, n={n}")
    right.set(xscale="log", yscale="log", xlabel="rho", ylabel="largest error of a weight")
    right.legend(frameon=False, fontsize=6)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description="Recovery of Markov random fields.")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--plot", help="a PNG file")
    asked = parser.parse_args()
    began = time.perf_counter()
    curves = show_curves(asked.runs)
    errors = show_private(max(asked.runs // 2, 1))
    show_stability(asked.runs)
    if asked.plot:
        plot(asked.plot, curves, errors)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
