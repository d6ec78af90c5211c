"""Noise-free adaptive measuring: the error of a region-graph model's answers beside the published exact ones.

Run: ``PYPGM_DATA=... python bench/bench_replay.py [name ...] [--rounds N] [--held-out]``. Each round the pair the model
answers worst is measured exactly; the ratio to the exact file's row and the time a round are printed, the rounds that
break a bound are named at the end.

Adult's rounds 89 and 90 lie above the published file: two pairs are left, and one of them, capital-gain with
capital-loss, excludes what all others together suggest. The more of them a model takes up, the further it is from the
truth; the product of the one-way marginals, which takes up none, is nearest. With --held-out, after measuring all pairs
but that one, each measured pair that shares an attribute with it is predicted without itself, by the default and by the
local method: nothing in the measurements says that this pair is unlike the others.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from numpy.typing import NDArray
from replay import all_pairs, exact_model, published, replay, total_of

import pypgm
from pypgm.domain import Clique

BOUNDS = {"titanic": (1e6, 1.15), "adult": (1e6, 1.15), "msnbc": (1e6, 1.15), "fire": (4e6, 1.05)}
RISE = 1.01
EXCLUSIVE = ("capital-gain", "capital-loss")


def load(folder: Path, name: str) -> tuple[pypgm.Domain, dict[Clique, NDArray[np.float64]]]:
    """Read a data set and count its pairs."""
    domain = pypgm.Domain(json.loads((folder / name / "domain.json").read_text()))
    (path,) = (folder / name).glob("*.csv*")
    return domain, all_pairs(pypgm.read_table(path, domain))


def held_out(folder: Path) -> None:
    """Predict the pairs of adult that share an attribute with the exclusive one, each from all others but these two."""
    domain, counts = load(folder, "adult")
    cells, _ = BOUNDS["adult"]
    nearer = {True: 0, False: 0}
    for asked in [EXCLUSIVE, *(p for p in counts if p != EXCLUSIVE and set(p) & set(EXCLUSIVE))]:
        model = exact_model(domain, counts, [p for p in counts if p not in (EXCLUSIVE, asked)], tree_cells=cells)
        default, local = (
            np.abs(model.project(asked, method=method).datavector() - counts[asked]).sum() / total_of(counts)
            for method in (None, "local")
        )
        print(f"  {' x '.join(asked):45s} default {default:.6f}  local {local:.6f}", flush=True)
        if asked != EXCLUSIVE:
            nearer[bool(default < local)] += 1
    print(f"  held out, the default is nearer for {nearer[True]} pairs, the local answer for {nearer[False]}")


def run(folder: Path, name: str, rounds: int | None) -> list[str]:
    """Replay one data set, print each round, return those that break a bound."""
    cells, most = BOUNDS[name]
    domain, counts = load(folder, name)
    exact, local = (published(folder, name, kind) for kind in ("exact", "approx"))
    print(f"{name}: {len(counts)} pairs, tree of at most {cells:.0e} cells")
    last, worst, slowest, broken = float("inf"), 0.0, 0.0, []
    begin = time.perf_counter()
    for n, pair, error, model in replay(domain, counts, rounds=rounds, tree_cells=cells):
        seconds = time.perf_counter() - begin
        ratio = error / exact[n][1] if n < len(exact) and exact[n][1] > 0 else 0.0
        worst, slowest = max(worst, ratio), max(slowest, seconds)
        if n:
            kept = f"{len(model.bounded_tree.pairs)}/{n} pairs kept, {model.bounded_tree.tree.cost.cells:.2g} cells"
            print(
                f"  {n:3d} {' x '.join(pair):45s} {error:.6f}  over exact {ratio:.4f}  {kept}  {seconds:.2f} s",
                flush=True,
            )
        if ratio > most or error > RISE * last or error > local[n][1] + 1e-9:
            broken.append(f"{name} round {n}: {error} (exact ratio {ratio}, before {last}, local {local[n][1]})")
        last, begin = error, time.perf_counter()
    print(f"  worst ratio {worst:.4f} (bound {most}), slowest round {slowest:.2f} s (bound 1)")
    return broken


def main() -> None:
    """Replay the data sets asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(BOUNDS))
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--held-out", action="store_true")
    arguments = parser.parse_args()
    folder = Path(os.environ["PYPGM_DATA"])
    if arguments.held_out:
        held_out(folder)
        return
    broken = [line for name in arguments.names for line in run(folder, name, arguments.rounds)]
    if broken:
        raise AssertionError("\n".join(broken))


if __name__ == "__main__":
    main()
