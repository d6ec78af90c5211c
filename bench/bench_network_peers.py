"""All node marginals of networks that are hard for a junction tree, without and with evidence, beside three peers.

Run: PYPGM_DATA=... python bench/bench_network_peers.py [--agrum PYTHON] [--pgmpy PYTHON] [--libdai PROGRAM] NETWORK ...

NETWORK is the name of a network of the data or the path of a BIF file compressed with gzip. An answer is all posteriors
of the network that was read: CPU seconds of one run on one thread, ours with its planning. The evidence, on one node in
ten, is drawn from the network. Posteriors are compared with ours before seconds count: to 1e-5, of pyAgrum, whose
tables are float32, to 1e-4. A peer that takes more than --limit CPU seconds, or more than --memory GiB, is stopped, and
is not asked with evidence.

pyAgrum answers by LazyPropagation; pgmpy by VariableElimination, a query a node (its junction trees take gigabytes for
alarm); libDAI by its junction tree with HUGIN's updates. PROGRAM links libDAI: called with a factor graph in its
format, a number, JTREE, and the evidence as "attribute:code,...", it prints its CPU seconds first, and for each
attribute a line of its number and probabilities.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_approximate import factor_graph
from bench_networks import some_evidence
from harness import check, network_file, print_table, timed

import pypgm

Tables = dict[str, np.ndarray]
READING = 600  # CPU seconds, at most, of reading a network
Answer = tuple[float, Tables]  # CPU seconds and posteriors


class Question(NamedTuple):
    """What a peer is asked."""

    net: pypgm.bayes.BayesianNetwork
    file: Path
    evidence: dict[str, str]


class NoAnswerError(Exception):
    """Why a peer has no answer."""


START = """
import json, resource, sys, time
path, limit, given = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
def answered(job):
    end = int(time.process_time()) + limit + 1
    resource.setrlimit(resource.RLIMIT_CPU, (end, end + 5))
    start = time.process_time()
    tables = job()
    seconds = time.process_time() - start
    print(json.dumps([seconds, {a: [list(map(str, labels)), t.tolist()] for a, (labels, t) in tables.items()}]))
"""
AGRUM = (
    START
    + """
import pyagrum as gum
gum.setNumberOfThreads(1)
net = gum.loadBN(path)
def job():
    engine = gum.LazyPropagation(net)
    engine.setEvidence(given)
    engine.makeInference()
    return {a: (net.variable(a).labels(), engine.posterior(a).toarray()) for a in net.names()}
answered(job)
"""
)
PGMPY = (
    START
    + """
import logging, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader
net = BIFReader(path).get_model()
def job():
    engine, tables = VariableElimination(net), {}
    for a in net.nodes:
        if a not in given:
            found = engine.query([a], given, show_progress=False)
            tables[a] = (found.state_names[a], found.values)
    return tables
answered(job)
"""
)


def main() -> None:
    """Print a line for each network and question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=["alarm", "water"])
    parser.add_argument("--agrum", metavar="PYTHON")
    parser.add_argument("--pgmpy", metavar="PYTHON")
    parser.add_argument("--libdai", metavar="PROGRAM")
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds of an answer")
    parser.add_argument("--memory", type=float, default=8, help="GiB")
    arguments = parser.parse_args()
    columns = {"network": "", "evidence": "d", "cells": ".3g", "ours, CPU s": ".4f"}
    columns |= dict.fromkeys(_peers(arguments), "")
    print_table(columns, (line for name in arguments.networks for line in _lines(name, arguments)))


def _peers(arguments: argparse.Namespace) -> dict[str, Callable[..., Answer]]:
    chosen: dict[str, Callable[..., Answer]] = {}
    if arguments.agrum:
        chosen["pyAgrum"] = partial(_by_python, arguments.agrum, AGRUM)
    if arguments.pgmpy:
        chosen["pgmpy"] = partial(_by_python, arguments.pgmpy, PGMPY)
    if arguments.libdai:
        chosen["libDAI"] = partial(_by_libdai, arguments.libdai)
    return chosen


def _lines(name: str, arguments: argparse.Namespace) -> Iterator[list[object]]:
    file = Path(name) if name.endswith(".gz") else network_file(name)
    net = pypgm.bayes.BayesianNetwork.read_bif(file)

    def ours(fresh: pypgm.bayes.BayesianNetwork, evidence: dict[str, str]) -> dict[str, pypgm.Factor]:
        return fresh.marginals(evidence, n_threads=1)

    peers = _peers(arguments)
    failed: dict[str, str] = {}
    for evidence in ({}, some_evidence(net, 1)[0]):
        fresh = pypgm.bayes.BayesianNetwork(net.domain, net.parents, net.tables)  # nothing is planned yet
        found, seconds = timed(ours, fresh, evidence, clock=time.process_time)
        tables = {a: table.values for a, table in found.items()}
        line: list[object] = [file.name.removesuffix(".bif.gz"), len(evidence), net.tree.cost.cells, seconds]
        for peer, answer in peers.items():
            if peer not in failed:
                try:
                    taken, theirs = answer(Question(net, file, evidence), arguments)
                except NoAnswerError as why:
                    failed[peer] = str(why)
            if peer in failed:
                line.append(failed[peer])
                continue
            apart = max(np.abs(t - tables[a]).max() for a, t in theirs.items() if a not in evidence)
            check(apart < (1e-4 if peer == "pyAgrum" else 1e-5), f"{name}: posteriors of {peer} differ by {apart}")
            line.append(f"{taken:.3g} ({taken / seconds:.3g}x)")
        yield line


def _by_python(python: str, program: str, asked: Question, limits: argparse.Namespace) -> Answer:
    with tempfile.NamedTemporaryFile("wb", suffix=".bif") as text:
        text.write(gzip.decompress(asked.file.read_bytes()))
        text.flush()
        call = [python, "-c", program, text.name, str(limits.limit), json.dumps(asked.evidence)]
        seconds, tables = json.loads(_run(call, limits, READING + limits.limit))
    ordered = {}
    for a, (labels, values) in tables.items():
        ordered[a] = np.array([values[labels.index(str(v))] for v in asked.net.domain.labels[a]])
    return seconds, ordered


def _by_libdai(program: str, asked: Question, limits: argparse.Namespace) -> Answer:
    domain = asked.net.domain
    codes = {a: [*map(str, domain.labels[a])].index(v) for a, v in asked.evidence.items()}
    known = ",".join(f"{domain.index(a)}:{code}" for a, code in codes.items())
    with tempfile.NamedTemporaryFile("w", suffix=".fg") as text:
        text.write(factor_graph(asked.net.potentials))
        text.flush()
        first, *lines = _run([program, text.name, "0", "JTREE", known], limits, limits.limit).splitlines()
    tables = {int(n): np.array([float(x) for x in values]) for n, *values in map(str.split, lines)}
    return float(first.split()[0]), {a: tables[i] for i, a in enumerate(domain)}


def _run(command: list[str], limits: argparse.Namespace, limit: int) -> str:
    """Return what a program prints."""
    memory = int(limits.memory * 2**30)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limited)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise NoAnswerError(f">{limits.limit}")
    if done.returncode:
        print(done.stderr[-1000:], file=sys.stderr)
        memory_words = ("MemoryError", "bad_alloc", "Out of memory")
        raise NoAnswerError("memory" if any(word in done.stderr for word in memory_words) else "failed")
    return done.stdout


if __name__ == "__main__":
    main()
