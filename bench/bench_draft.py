"""A draft of a table of many columns, whose planted relations are checked first, and how its time grows with columns.

Run: python bench/bench_draft.py [--columns 842] [--rows 1500]

Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from harness import check, timed

from pypgm.data.draft.draft import draft_schema


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=842)
    parser.add_argument("--rows", type=int, default=1500)
    arguments = parser.parse_args()
    print(grown(arguments.columns, arguments.rows))


def grown(columns: int, rows: int) -> str:
    """Return how long drafts of a quarter of the columns and of all take, once the relations are those planted."""
    few, many = table(columns // 4, rows), table(columns, rows)
    seconds = []
    for given in (few, many):
        draft, took = timed(draft_schema, given, clock=time.process_time)
        warnings = {name: fields.get("warning", "") for name, fields in draft["columns"].items()}
        check([rule["one_of"] for rule in draft.get("rules", [])] == [[f"s{k}" for k in range(5)]], "the block is lost")
        related = {name for name, text in warnings.items() if "'" in text}
        check(related == {"land", "member", "plan"}, f"relations of {sorted(related)}")
        seconds.append(took)
    size = f"{columns:,} columns x {rows:,} records"
    return f"{size}: {seconds[1]:.2f} s, a quarter of the columns {seconds[0]:.2f} s, {seconds[1] / seconds[0]:.1f} x"


def table(columns: int, rows: int) -> dict[str, list[str]]:
    """Return columns of four values each, and some that depend on others."""
    rng = np.random.default_rng(0)
    every = {f"v{i}": [f"t{code}" for code in rng.integers(0, 4, rows)] for i in range(columns - 9)}
    city, group, member = rng.integers(0, 12, rows), rng.integers(0, 5, rows), rng.integers(0, 2, rows)
    every |= {"city": [f"c{code}" for code in city], "land": [f"l{code % 3}" for code in city]}
    every |= {"member": [f"m{code}" for code in member]}
    every |= {"plan": [f"p{rng.integers(2)}" if code else "" for code in member]}
    return every | {f"s{k}": [str(int(code == k)) for code in group] for k in range(5)}


if __name__ == "__main__":
    main()
