"""Run mechanisms of mbi's repository, unchanged, on the compatible surface: mst.py, aim.py and mwem+pgm.py.

They come from the repository into a temporary directory, or from the directory that is named; nothing of them is kept.
The environment needs pandas and matplotlib, which they import, and neither mbi nor JAX. Fails if one ends with an
error, or with records further from the table than its noise explains.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np

HOME = "https://raw.githubusercontent.com/ryan112358/mbi/a92f2666f8b7daebfaaf48a5b40436d38f9dfa38/mechanisms/"
MECHANISMS = {"mst.py": [], "aim.py": ["--max_model_size", "1"], "mwem+pgm.py": []}
BESIDE = ("cdp2adp.py", "mechanism.py")
MOST = 0.1  # total variation distance, on average over pairs, of 4,000 records at epsilon 3


def write_table(directory: Path) -> None:
    """Write records in which each column follows the one before, and their domain."""
    rng, sizes = np.random.default_rng(0), {"a": 3, "b": 3, "c": 5, "d": 2}
    columns = [rng.integers(3, size=4000)]
    for size in [*sizes.values()][1:]:
        columns.append(np.where(rng.random(4000) < 0.3, rng.integers(size, size=4000), columns[-1] % size))
    with (directory / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*sizes], *zip(*(c.tolist() for c in columns), strict=True)])
    (directory / "domain.json").write_text(json.dumps(sizes))


def main() -> None:
    """Fetch, run, compare."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        write_table(work)
        if sys.argv[1:]:
            shutil.copytree(sys.argv[1], work, dirs_exist_ok=True)
        try:
            for file in () if sys.argv[1:] else [*MECHANISMS, *BESIDE]:
                urllib.request.urlretrieve(HOME + file, work / file)
        except (urllib.error.URLError, OSError) as error:
            sys.exit(print(f"mbi's mechanisms: NOT RUN, its repository did not answer: {error}"))
        told = []
        for file, options in MECHANISMS.items():
            command = [sys.executable, "-m", "pypgm.compat", "run", file, "--dataset", "table.csv", "--domain"]
            command += ["domain.json", "--epsilon", "3", *options]
            printed = subprocess.run(command, cwd=work, check=True, capture_output=True, text=True).stdout
            errors = [float(word) for word in printed.rpartition("Average Error:")[2].split()]
            if not errors or max(errors) > MOST:
                sys.exit(f"{file}: average errors {errors}, at most {MOST} are expected")
            told.append(f"{file} {max(errors):.3f}")
    print(f"mbi's mechanisms run, average errors: {', '.join(told)}")


if __name__ == "__main__":
    main()
