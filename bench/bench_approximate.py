"""Networks and fields too wide for a junction tree, and records given evidence, beside the exact answers and pyAgrum.

Run: PYPGM_DATA=... python bench/bench_approximate.py [--agrum-python PYTHON] [--libdai PROGRAM] [--draws FILE ...]

Three tables. The first: one record given evidence on five leaves, as a multiple of all marginals given it. The second:
networks given evidence on a third of their leaves; mean errors of the region graph, of the draws, and of pyAgrum's
loopy belief propagation and Gibbs sampling, which gets the CPU seconds of the slower of ours. The third: problems of
the UAI competition of 2014, whose answers are known, approximated by each oracle as if no junction tree fitted; each
one's mean error of the marginals, its error of log Z in nats, and whether it vouches for its answer; beside it libDAI's
loopy belief propagation and Gibbs sampling in the CPU seconds of "auto". Answers are checked: log Z has to be below its
bound, in the interval in 9 problems of 10, answers that are vouched for near the known ones, and records have to have
the marginals given the evidence.

PROGRAM links libDAI: called with a factor graph in its format, the CPU seconds, BP or GIBBS, and the evidence as
"attribute:code,...", it prints a line of anything, and for each attribute a line of its number and probabilities.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from harness import check, data_folder, network_file, print_table, timed

import pypgm
from pypgm.bayes import BayesianNetwork
from pypgm.inference.approximate import Approximated, approximated
from pypgm.inference.conditioned import Rest, with_known
from pypgm.inference.oracles import with_likelihoods

warnings.simplefilter("ignore", pypgm.ApproximationWarning)
ORACLES = ("region_graph", "sampling")
NETWORKS = ("alarm", "insurance", "win95pts", "water", "andes", "pigs")

PEER = """
import json, sys, time
import pyagrum as gum
gum.setNumberOfThreads(1)
answers = {}
for name, job in json.load(sys.stdin).items():
    net = gum.loadBN(job["path"])
    answers[name] = {}
    for kind in ("LoopyBeliefPropagation", "GibbsSampling"):
        engine = getattr(gum, kind)(net)
        if kind == "GibbsSampling":
            engine.setMaxTime(max(job["seconds"], .05))
        engine.setEvidence(job["evidence"])
        start = time.process_time()
        engine.makeInference()
        seconds = time.process_time() - start
        tables = {a: dict(zip(net.variable(a).labels(), engine.posterior(a).toarray().tolist())) for a in net.names()}
        answers[name][kind] = [seconds, tables]
json.dump(answers, sys.stdout)
"""


def problems() -> Iterator[tuple[str, pypgm.mrf.MarkovRandomField, dict[str, int], dict[str, np.ndarray], float]]:
    """Yield problems with their evidence, marginals and log Z."""
    for path in sorted((data_folder() / "uai").glob("*.uai.gz")):
        stem = str(path).removesuffix(".gz")
        field = pypgm.mrf.MarkovRandomField(pypgm.read_uai(path))
        known = [int(w) for w in Path(f"{stem}.evid").read_text().split()]
        known = known[1:] if len(known) % 2 else known[2:]
        numbers = iter(Path(f"{stem}.MAR").read_text().split()[2:])
        truth = {a: np.array([float(next(numbers)) for _ in range(int(next(numbers)))]) for a in field.domain}
        evidence = {str(a): v for a, v in zip(known[::2], known[1::2], strict=True)}
        log_z = float(Path(f"{stem}.PR").read_text().split()[1]) * math.log(10)
        yield path.name.removesuffix(".uai.gz"), field, evidence, truth, log_z


def mean_error(found: Mapping[str, np.ndarray], truth: Mapping[str, np.ndarray]) -> float:
    return float(np.mean([np.abs(found[a] - truth[a]).max() for a in truth]))


def approximate(field: pypgm.mrf.MarkovRandomField, evidence: dict[str, int], oracle: str) -> tuple[Approximated, Rest]:
    """Return what an oracle finds where no junction tree fits, without what the evidence determines."""
    rest, _ = field._answers.parts(evidence, connected=False)
    return approximated(with_likelihoods(rest), oracle), rest


def by_libdai(
    program: str | None, field: pypgm.mrf.MarkovRandomField, evidence: dict[str, int], seconds: float
) -> list[dict[str, np.ndarray] | None]:
    """Return the marginals by libDAI's loopy belief propagation and Gibbs sampling in so many CPU seconds."""
    if not program:
        return [None, None]
    domain, answers = field.domain, []
    known = ",".join(f"{domain.index(a)}:{code}" for a, code in evidence.items())
    with tempfile.NamedTemporaryFile("w", suffix=".fg") as file:
        file.write(factor_graph(field.potentials))
        file.flush()
        for kind in ("BP", "GIBBS"):
            call = [program, file.name, str(seconds), kind, known]
            lines = subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
            tables = {int(n): np.array([float(x) for x in values]) for n, *values in map(str.split, lines)}
            answers.append({a: tables[i] for i, a in enumerate(domain)})
    return answers


def factor_graph(potentials: pypgm.CliqueVector) -> str:
    """Return the text of a model in libDAI's format, in which the first attribute of a table varies fastest."""
    shape, blocks = potentials.domain.shape, []
    for i, scope in enumerate(potentials.scopes):
        sizes = [shape[a] for a in scope]
        cells = np.exp(potentials.table(i)).reshape(sizes).transpose().ravel()
        held = [f"{k} {cells[k]:.17g}" for k in np.flatnonzero(cells)]
        blocks.append(
            "\n".join([str(len(scope)), " ".join(map(str, scope)), " ".join(map(str, sizes)), str(len(held)), *held])
        )
    return "\n\n".join([str(len(blocks)), *blocks]) + "\n"


def competition(libdai: str | None) -> None:
    held, better = [], []

    def rows() -> Iterator[list[object]]:
        for name, field, evidence, truth, log_z in problems():
            row: list[object] = [name]
            for oracle in (*ORACLES, "auto"):
                (found, rest), seconds = timed(approximate, field, evidence, oracle, clock=time.process_time)
                tables = {a: found.project((a,)) for a in found.potentials.domain}
                error = mean_error(with_known(field.domain, tables, rest.codes), truth)
                apart = found.log_z + rest.constant - log_z
                check(not found.converged or error < 0.03, f"{name}: {oracle} vouches for an error of {error:.3f}")
                row += [error, apart, found.converged, seconds]
            bound = found.draws.log_bound + rest.constant
            check(bound >= log_z - 1e-3, f"{name}: the bound does not hold")
            low, high = (end + rest.constant for end in found.draws.interval())
            held.append(low - 1e-3 <= log_z <= high + 1e-3)
            peers = by_libdai(libdai, field, evidence, seconds)
            errors = [None if tables is None else mean_error(tables, truth) for tables in peers]
            better.extend(error <= 1.01 * e + 1e-5 for e in errors if e is not None)
            yield [*row, high - low, bound - log_z, found.draws.effective_size, *errors]

    columns = {"problem": ""}
    for oracle in (*ORACLES, "auto"):
        columns |= {f"{oracle}: mean error": ".4f", f"{oracle}: log Z": "+.3f", f"{oracle}: vouched for": ""}
        columns |= {f"{oracle}: CPU s": ".2f"}
    columns |= {"interval": ".2f", "bound": ".2f", "draws worth": ".0f"}
    print_table(columns | {"libDAI's loopy": ".4f", "libDAI's Gibbs": ".4f"}, rows())
    check(np.mean(held) >= 0.9, f"{sum(held)} of {len(held)} intervals hold log Z")
    if better:
        print(f"auto is as near as libDAI, or nearer, in {sum(better)} of {len(better)} answers")


def some_evidence(net: BayesianNetwork, leaves: list[str]) -> dict[str, str]:
    record = net.sample(1, rng=0)
    return {a: str(net.domain.labels[a][int(record.columns[a][0])]) for a in leaves}


def leaves_of(net: BayesianNetwork) -> list[str]:
    return [a for a in net.domain if not net.children[a]]


def networks(agrum: str | None) -> None:
    ours, jobs = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            net = BayesianNetwork.read_bif(network_file(name))
            evidence = some_evidence(net, leaves_of(net)[::3])
            exact = {a: f.values for a, f in net.marginals(evidence).items()}
            found = [timed(net.approximation, evidence, oracle=o, clock=time.process_time) for o in ORACLES]
            errors = [(mean_error({a: f.values for a, f in x.marginals.items()}, exact), s) for x, s in found]
            ours[name] = net, exact, errors
            path = Path(folder) / f"{name}.bif"
            path.write_bytes(gzip.decompress(network_file(name).read_bytes()))
            jobs[name] = {"path": str(path), "evidence": evidence, "seconds": max(s for _, s in errors)}
        peers = {}
        if agrum:
            text = json.dumps(jobs)
            done = subprocess.run([agrum, "-c", PEER], input=text, capture_output=True, text=True, check=True)
            peers = json.loads(done.stdout)

    def rows() -> Iterator[list[object]]:
        for name, (net, exact, errors) in ours.items():
            row: list[object] = [name, *(number for pair in errors for number in pair)]
            for kind in ("LoopyBeliefPropagation", "GibbsSampling"):
                seconds, tables = peers.get(name, {}).get(kind, (None, None))
                labels = net.domain.labels
                error = tables and mean_error({a: [tables[a][str(v)] for v in labels[a]] for a in exact}, exact)
                row += [error, seconds]
            yield row

    columns = {"network": ""}
    for kind in (*ORACLES, "pyAgrum's loopy", "pyAgrum's Gibbs"):
        columns |= {f"{kind}: mean error": ".5f", f"{kind}: CPU s": ".2f"}
    print_table(columns, rows())


def records(files: list[Path]) -> None:
    def rows() -> Iterator[list[object]]:
        for file in files:
            net = BayesianNetwork.read_bif(file)
            evidence = some_evidence(net, leaves_of(net)[:5])
            wanted = net.marginals(evidence)
            drawn = net.sample(2000, rng=1, evidence=evidence)
            for a, table in wanted.items():
                shares = np.bincount(drawn.columns[a], minlength=table.values.size) / 2000
                check(bool(np.abs(shares - table.values).max() < 0.08), f"{file.name}: records of {a}")
            jobs = [(net.marginals, evidence), (net.sample, 1, 0), (net.sample, 1000, 0)]
            known = [{}, {"evidence": evidence}, {"evidence": evidence}]
            seconds = [
                min(timed(*job, **given, clock=time.process_time)[1] for _ in range(5))
                for job, given in zip(jobs, known, strict=True)
            ]
            one, many = seconds[1] / seconds[0], seconds[2] / seconds[0]
            yield [file.name.removesuffix(".bif.gz"), 1e3 * seconds[0], 1e3 * seconds[1], one, many]

    columns = {"network": "", "marginals ms": ".3f", "one record ms": ".3f", "ratio": ".2f", "ratio of 1,000": ".2f"}
    print_table(columns, rows())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agrum-python", help="the interpreter of an environment with pyagrum")
    parser.add_argument("--libdai", help="a program that answers by libDAI, see the docstring of this file")
    parser.add_argument("--draws", nargs="*", type=Path, default=[network_file(name) for name in NETWORKS])
    options = parser.parse_args()
    print(pypgm.build_info())
    records(options.draws)
    networks(options.agrum_python)
    competition(options.libdai)


if __name__ == "__main__":
    main()
