"""Run the figures and tables of the four papers, each beside the published values.

Run: PYPGM_DATA=... python -m bench.paper [NAME ...] [--seeds N] [--page FOLDER] [--list] [--fresh]

Each run's results are kept as it ends, in `bench/paper/results/NAME.json`; those that are there are not made again,
except with --fresh. With --page nothing runs: the page of all results is written into FOLDER, as for the site.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.paper import (
    fields,
    networks,
    pgm_losses,
    pgm_mechanisms,
    pgm_mwem,
    pgm_size,
    regions_adaptive,
    regions_models,
    regions_pairs,
)
from bench.paper.figure import RESULTS

FIGURES = [
    *pgm_mechanisms.FIGURES,
    *pgm_mwem.FIGURES,
    *pgm_size.FIGURES,
    *pgm_losses.FIGURES,
    *regions_models.FIGURES,
    *regions_adaptive.FIGURES,
    *regions_pairs.FIGURES,
    *networks.FIGURES,
    *fields.FIGURES,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all by default")
    parser.add_argument("--seeds", type=int, help="at most so many of each run")
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="write the page of all results, and run nothing")
    parser.add_argument("--list", action="store_true", help="name the figures, and run nothing")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are kept")
    arguments = parser.parse_args()
    known = {figure.name: figure for figure in FIGURES}
    if unknown := set(arguments.names) - set(known):
        parser.error(f"no figure is called {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if arguments.list:
        print("\n".join(f"{name:20} {figure.paper.split(':')[0]}: {figure.title}" for name, figure in known.items()))
        return
    if arguments.page:
        from bench.paper import page

        page.write(FIGURES, arguments.page)
        return
    for name in arguments.names or known:
        if arguments.fresh:
            (RESULTS / f"{name}.json").unlink(missing_ok=True)
        known[name].measure(arguments.seeds)


if __name__ == "__main__":
    main()
