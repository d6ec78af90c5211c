"""Learned networks in files: read back to the bit, and by other packages, which find the same posteriors."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

from pypgm import Domain
from pypgm.bayes import BayesianNetwork, learn, learn_private

DOMAIN = Domain({**{f"x{i}": [f"v{k}" for k in range(2 + i % 3)] for i in range(8)}, "code": 3, "yes": [False, True]})
ARCS = [
    ("x0", "x2"),
    ("x1", "x2"),
    ("x2", "x3"),
    ("x2", "x4"),
    ("x3", "x5"),
    ("x4", "x5"),
    ("x5", "code"),
    ("x6", "yes"),
]

PGMPY = """
import json, sys
from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader
found, engines = [], {}
for path, target, evidence in json.load(sys.stdin):
    if path not in engines:
        engines[path] = VariableElimination(BIFReader(path).get_model())
    table = engines[path].query([target], evidence=evidence, show_progress=False)
    found.append(dict(zip(table.state_names[target], map(float, table.values))))
print(json.dumps(found))
"""
PYAGRUM = """
import json, sys
import pyagrum as gum
found = []
for path, target, evidence in json.load(sys.stdin):
    net = gum.loadBN(path)
    table = gum.getPosterior(net, target=target, evs=evidence)
    found.append(dict(zip(net.variable(target).labels(), map(float, table.toarray()))))
print(json.dumps(found))
"""


def learned():
    """Return networks learned with and without privacy, and one that a table of zeros is in."""
    rng = np.random.default_rng(0)
    parents = {a: [p for p, c in ARCS if c == a] for a in DOMAIN}
    tables = {a: rng.dirichlet([1] * DOMAIN.size(a), DOMAIN.sizes(parents[a])) for a in DOMAIN}
    data = BayesianNetwork(DOMAIN, parents, tables).sample(300, 0)
    return {
        "private": learn_private(data, ARCS, epsilon=1, unsafe_seed=0).model,
        "as published": learn_private(data, ARCS, epsilon=0.1, paper=True, unsafe_seed=0).model,
        "maximum likelihood": learn(data, ARCS),
        "smoothed": learn(data, ARCS, prior="bdeu"),
    }


def questions(net):
    """Return 20 targets with evidence that is possible, half of them without any, as text."""
    rng = np.random.default_rng(1)
    record = net.sample(20, 1)
    found = []
    for i in range(20):
        target, *known = (str(a) for a in rng.choice(DOMAIN.attributes, 3, replace=False))
        found.append((target, {a: int(record.columns[a][i]) for a in known} if i >= 10 else {}))
    return found


def coded(evidence):
    """Return evidence by label where an attribute has labels."""
    return {a: DOMAIN.labels[a][code] if a in DOMAIN.labels else code for a, code in evidence.items()}


@pytest.mark.parametrize("name", learned())
def test_a_learned_network_is_read_back_to_the_bit(tmp_path, name):
    net = learned()[name]
    net.write_bif(tmp_path / "net.bif")
    back = BayesianNetwork.read_bif(tmp_path / "net.bif")
    assert dict(back.parents) == dict(net.parents)
    for a in DOMAIN:
        assert np.array_equal(back.tables[a].values, net.tables[a].values)
    for target, evidence in questions(net):
        text = {a: back.domain.labels[a][code] for a, code in evidence.items()}
        assert np.array_equal(back.query(target, text).values, net.query(target, coded(evidence)).values)


@pytest.mark.parametrize(("package", "code", "within"), [("pgmpy", PGMPY, 1e-9), ("pyagrum", PYAGRUM, 1e-5)])
def test_others_read_the_files_and_find_the_same(tmp_path, package, code, within):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    asked, wanted = [], []
    for name, net in learned().items():
        path = tmp_path / f"{name}.bif"
        net.write_bif(path)
        back = BayesianNetwork.read_bif(path)
        for target, evidence in questions(net):
            text = {a: back.domain.labels[a][code] for a, code in evidence.items()}
            asked.append((str(path), target, text))
            wanted.append(dict(zip(back.domain.labels[target], back.query(target, text).values, strict=True)))
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, input=json.dumps(asked), check=True, capture_output=True, text=True)
    for own, answer in zip(wanted, json.loads(done.stdout.splitlines()[-1]), strict=True):
        assert answer == pytest.approx(own, abs=within)
