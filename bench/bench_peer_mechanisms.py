"""Mechanisms for all pairs of a table, beside SWIFT and AIM of dpsynth: CPU seconds and the error of their records.

Run: PYPGM_DATA=... python bench/bench_peer_mechanisms.py --dpsynth PYTHON [--tables titanic,adult] [--epsilon 1]

PYTHON is that of an environment with dpsynth, which is installed from its sources. Each run is a process of its own:
CPU seconds of all threads, from the table in memory to as many synthetic records, without imports and with what JAX
compiles. One that takes more than --limit seconds of CPU is stopped, and so is one that takes more than --memory GiB.
The peers get the rho of zCDP that ours have; delta is 1e-9. The error is the mean total variation of all pairs of the
records from the table. Ours must have spent no more than their budget, and the number of records is checked.
"""

from __future__ import annotations

import argparse
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import check, check_spent, print_table, total_variation

timed = partial(harness.timed, clock=time.process_time)
DELTA = 1e-9
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "SWIFT": ("SWIFTConfig", {}),
    "SWIFT, 10^5 cells, 1,000 it.": ("SWIFTConfig", {"max_clique_size": 1e5, "pgm_iters": 1000}),
    "AIM": ("AIMConfig", {}),
    "AIM, 1 MB": ("AIMConfig", {"max_model_size": 1}),
}


def main() -> None:
    """Print a line for each mechanism and table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dpsynth", metavar="PYTHON")
    parser.add_argument("--tables", default="titanic,adult")
    parser.add_argument("--peers", default=";".join(PEERS), help="those of dpsynth, separated by semicolons")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds of a run")
    parser.add_argument("--memory", type=float, default=8, help="GiB of a run")
    parser.add_argument("--one", nargs=2, metavar=("ASKED", "ANSWERED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        asked, answered = map(Path, arguments.one)
        answered.write_bytes(pickle.dumps(_with_dpsynth(pickle.loads(asked.read_bytes()))))
        return
    lines = (
        line
        for name in arguments.tables.split(",")
        for epsilon in arguments.epsilon
        for line in _lines(name, epsilon, arguments)
    )
    print_table({"table": "", "epsilon": "g", "mechanism": ">30", "CPU s": "", "pairs": ".4f"}, lines)


def _lines(name: str, epsilon: float, arguments: argparse.Namespace) -> Iterator[list[object]]:
    from pypgm import mechanisms

    data = harness.table(name)
    pairs = list(combinations(data.domain, 2))
    for ours in ("wide", "aim"):
        release, seconds = timed(getattr(mechanisms, ours), data, epsilon, DELTA, workload=pairs, unsafe_seed=0)
        check_spent(release)
        records, drawing = timed(release.synthetic_data, len(data), rng=0)
        yield [name, epsilon, ours, f"{seconds + drawing:.2f}", total_variation(data, records, pairs)]
    for peer in arguments.peers.split(";") if arguments.dpsynth else ():
        answer = _of_peer(data, pairs, float(release.ledger.budget.limit), peer, arguments)
        if isinstance(answer, str):
            yield [name, epsilon, peer, answer, None]
            continue
        import pypgm

        records = pypgm.Dataset(answer["columns"], data.domain)
        check(abs(len(records) / len(data) - 1) < 0.1, f"{peer} made {len(records)} records of {len(data)}")
        scaled = [np.abs(records.project(c).values / len(records) - data.project(c).values / len(data)) for c in pairs]
        yield [name, epsilon, peer, f"{answer['seconds']:.2f}", float(np.mean([s.sum() / 2 for s in scaled]))]


def _of_peer(data: Any, pairs: Any, rho: float, peer: str, arguments: argparse.Namespace) -> dict[str, Any] | str:
    """Return what a peer answers, or why it does not."""
    job = {
        "sizes": dict(zip(data.domain, data.domain.shape, strict=True)),
        "columns": {a: np.asarray(codes) for a, codes in data.columns.items()},
        "pairs": pairs,
        "rho": rho,
        "kind": PEERS[peer],
        "limit": arguments.limit,
        "memory": int(arguments.memory * 2**30),
    }
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked"), Path(folder, "answered")
        asked.write_bytes(pickle.dumps(job))
        command = [arguments.dpsynth, __file__, "--one", str(asked), str(answered)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if answered.exists():
            return pickle.loads(answered.read_bytes())
    if done.returncode == -24:  # SIGXCPU
        return f">{arguments.limit}"
    print(done.stderr[-2000:], file=sys.stderr)
    return "memory" if "RESOURCE_EXHAUSTED" in done.stderr or "MemoryError" in done.stderr else "failed"


def _with_dpsynth(asked: dict[str, Any]) -> dict[str, Any]:
    import jax
    import mbi
    from dpsynth import discrete_mechanisms as theirs

    jax.config.update("jax_enable_compilation_cache", False)
    data = mbi.Dataset(asked["columns"], mbi.Domain(list(asked["sizes"]), list(asked["sizes"].values())))
    resource.setrlimit(resource.RLIMIT_AS, (asked["memory"],) * 2)
    end = int(time.process_time()) + asked["limit"]
    resource.setrlimit(resource.RLIMIT_CPU, (end, end + 5))
    config, options = asked["kind"]
    inner = getattr(theirs, config)(workload=asked["pairs"], **options)

    def job() -> Any:
        mechanism = theirs.DiscreteConfig(inner, compress_columns=True).configure(zcdp_rho=asked["rho"], delta=DELTA)
        return mechanism(np.random.default_rng(0), data).synthetic_data

    records, seconds = timed(job)
    return {"seconds": seconds, "columns": {a: np.asarray(records.to_dict()[a]) for a in asked["sizes"]}}


if __name__ == "__main__":
    main()
