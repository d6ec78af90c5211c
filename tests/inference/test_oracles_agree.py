"""Junction tree, variable elimination, Kronecker queries and brute force: one answer, and the same bytes anywhere."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import evidence_on, models

import pypgm
from pypgm import CliqueVector, Domain, GraphicalModel, ImpossibleEvidenceError, JunctionTree, KroneckerQuery, queries

# Potentials of 1e4 are themselves known to 1e-12 only, and six of them are added up.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


@st.composite
def cases(draw, **sizes):
    potentials = draw(models(**sizes))
    evidence, likelihoods = draw(evidence_on(potentials.domain))
    order = draw(st.permutations(potentials.domain.attributes))
    return potentials, evidence, likelihoods, tuple(order[: draw(st.integers(0, 4))])


def marginal_query(domain, clique, signs):
    """Return a query whose answer, weighed with `signs` on the attributes left out, is one of the clique."""
    blocks = {a: queries.Identity(domain.size(a)) for a in clique}
    return KroneckerQuery({**blocks, **{a: signs[a][None, :] for a in domain if a not in clique}})


def check(potentials, evidence, likelihoods, clique):
    domain = potentials.domain
    table = reference.log_joint(potentials)
    weighed = reference.with_evidence(domain, table, likelihoods)
    tree = JunctionTree(domain, [*potentials.cliques, clique])
    extended = CliqueVector(domain, tree.cliques, np.append(potentials.values, np.zeros(domain.size(clique))))
    ways = [
        lambda: tree.marginals(extended, 1.0, evidence).table(len(potentials)),
        lambda: pypgm.variable_elimination(potentials, clique, 1.0, evidence).transpose(domain.canonical(clique)),
    ]
    if table.max() > -np.inf:
        model = GraphicalModel(potentials, 1.0)
        ones = {a: np.ones(domain.size(a)) for a in domain}
        query = marginal_query(domain, domain.canonical(clique), ones)
        ways += [
            lambda: model.query(domain.canonical(clique), evidence),
            lambda: model.project_many([domain.canonical(clique)], evidence)[0],
            lambda: model.answer(query, evidence),
        ]
    if weighed.max() == -np.inf:
        for way in ways:
            with pytest.raises(ImpossibleEvidenceError):
                way()
        return
    joint = reference.joint(weighed)
    wanted = reference.project(domain, joint, domain.canonical(clique)).reshape(-1)
    for way in ways:
        np.testing.assert_allclose(np.asarray(way()).reshape(-1), wanted, **CLOSE)
    if table.max() > -np.inf:
        rng = np.random.default_rng(0)
        signs = {a: rng.normal(size=domain.size(a)) for a in domain}
        whole = joint
        for axis, a in enumerate(domain.attributes):
            if a not in clique:
                whole = whole * signs[a].reshape([-1 if i == axis else 1 for i in range(len(domain))])
        weighted = reference.project(domain, whole, domain.canonical(clique)).reshape(-1)
        answer = model.answer(marginal_query(domain, domain.canonical(clique), signs), evidence)
        np.testing.assert_allclose(answer.reshape(-1), weighted, rtol=1e-9, atol=1e-8)
        assert model.log_probability(evidence) == pytest.approx(
            reference.log_sum_exp(weighed) - reference.log_sum_exp(table), rel=1e-10, abs=1e-9
        )


@pytest.mark.filterwarnings("ignore::pypgm.ConditionWarning")
@settings(max_examples=150)
@given(cases())
def test_all_ways_agree(case):
    check(*case)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pypgm.ConditionWarning")
@settings(max_examples=500)
@given(cases(most=7, largest=3))
def test_all_ways_agree_on_many_more(case):
    check(*case)


def answers():
    """Print a digest of answers of every kind; run in processes of their own."""
    n_threads = int(sys.argv[1])
    rng = np.random.default_rng(8)
    sizes = {f"attribute {i}": int(rng.integers(2, 24)) for i in range(12)}
    domain = Domain(sizes)
    names = domain.attributes
    cliques = [(names[i], names[int(rng.integers(0, i))]) for i in range(1, 12)]
    cliques += [tuple(rng.choice(names, 3, replace=False)) for _ in range(3)]
    potentials = CliqueVector(domain, cliques)
    potentials.values[:] = rng.normal(size=potentials.values.size)
    model = GraphicalModel(potentials, 1000.0)
    asked = [c for k in (1, 2, 3) for c in itertools.combinations(names, k)]
    evidence = {names[3]: {0, 1}, names[7]: 1}
    digest = hashlib.sha256()
    for factor in model.project_many(asked, n_threads=n_threads):
        digest.update(factor.values.tobytes())
    for factor in model.project_many(asked[:40], evidence, n_threads=n_threads):
        digest.update(factor.values.tobytes())
    blocks = [KroneckerQuery({a: queries.Prefix(sizes[a]), b: rng.normal(size=(2, sizes[b]))}) for a, b in asked[12:30]]
    for answer in model.answer(blocks, n_threads=n_threads):
        digest.update(answer.tobytes())
    digest.update(model.query(names[:3], evidence).values.tobytes())
    digest.update(pypgm.variable_elimination(potentials, names[::4], n_threads=n_threads).values.tobytes())
    digest.update(pypgm.marginals(potentials, evidence=evidence, n_threads=n_threads).values.tobytes())
    digest.update(np.float64(model.log_probability(evidence)).tobytes())
    print(digest.hexdigest())


def test_the_same_bytes_in_any_process():
    printed = set()
    for seed, n_threads in (("0", "1"), ("17", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "inference.test_oracles_agree", n_threads]
        run = subprocess.run(
            command, cwd=Path(__file__).parents[1], env=environment, capture_output=True, text=True, check=True
        )
        printed.add(run.stdout)
    assert len(printed) == 1
    assert len(printed.pop().strip()) == 64


if __name__ == "__main__":
    answers()
