"""Networks and fields go to pgmpy and pyAgrum and come back; there they answer the same."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm import Domain, Factor
from pypgm.bayes import BayesianNetwork
from pypgm.mrf import MarkovRandomField

DOMAIN = Domain({"a": ["x", "y"], "b": 3, "c": ["lo", "mid", "hi"], "d": 2, "alone": ["u", "v"]})
PARENTS = {"b": ["a"], "c": ["b", "a"], "d": ["c"]}
SCOPES = [("a", "b"), ("b", "c"), ("c", "d"), ("alone",)]
PACKAGES = (pytest.param("pgmpy", marks=pytest.mark.slow), "pyagrum")  # the import alone takes seconds


def network():
    rng = np.random.default_rng(0)
    tables = {a: rng.dirichlet([1] * DOMAIN.size(a), DOMAIN.sizes(PARENTS.get(a, ()))) for a in DOMAIN}
    return BayesianNetwork(DOMAIN, PARENTS, tables)


def field():
    rng = np.random.default_rng(1)
    factors = [Factor(own := DOMAIN.project(scope), rng.random(own.size())) for scope in SCOPES]
    return MarkovRandomField.from_factors(DOMAIN, factors)


def exchanged(package):
    pytest.importorskip(package)
    if package == "pgmpy":
        from pypgm.integrations.pgmpy import from_pgmpy, to_pgmpy

        return from_pgmpy, to_pgmpy
    from pypgm.integrations.pyagrum import from_pyagrum, to_pyagrum

    return from_pyagrum, to_pyagrum


def theirs(package, model, target, evidence):
    if package == "pgmpy":
        from pgmpy.inference import VariableElimination

        found = VariableElimination(model).query([target], evidence=evidence, show_progress=False)
        shares = found.values / found.values.sum()  # where a part of a field hangs on no other, they have another sum
        return dict(zip(map(str, found.state_names[target]), shares.tolist(), strict=True))
    import pyagrum

    engine = pyagrum.LazyPropagation(model) if hasattr(model, "cpt") else pyagrum.ShaferShenoyMRFInference(model)
    engine.setEvidence({a: str(value) for a, value in evidence.items()})
    engine.makeInference()
    return dict(zip(model.variable(target).labels(), engine.posterior(target).tolist(), strict=True))


@pytest.mark.filterwarnings("ignore")  # of theirs
@pytest.mark.parametrize("make", [network, field])
@pytest.mark.parametrize("package", PACKAGES)
def test_models_answer_the_same_there_and_back(package, make):
    back, there = exchanged(package)
    own = make()
    other = there(own)
    again = back(other)
    evidence = {"c": "mid", "b": 2}
    for target in ("a", "d", "alone"):
        wanted = own.query(target, evidence).values
        labels = map(str, DOMAIN.labels.get(target, range(2)))
        assert theirs(package, other, target, evidence) == pytest.approx(
            dict(zip(labels, wanted, strict=True)), rel=1e-9
        )
        np.testing.assert_allclose(again.query(target, {"c": "mid", "b": 2}).values, wanted, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_each_table_of_pgmpy_has_its_own_order_of_states():
    from_pgmpy, _ = exchanged("pgmpy")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork([("a", "b")])
    states = {"b": ["u", "v"], "a": ["y", "x"]}  # the parent's the other way round
    model.add_cpds(
        TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["x", "y"]}),
        TabularCPD("b", 2, [[0.1, 0.6], [0.9, 0.4]], ["a"], [2], state_names=states),
    )
    net = from_pgmpy(model)
    assert net.query("b", {"a": "x"}).values.tolist() == pytest.approx([0.6, 0.4])
    model.remove_cpds("b")
    with pytest.raises(ValueError, match="node 'b' of the model has no table"):
        from_pgmpy(model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ["net", "dsl", "bifxml"])
def test_formats_that_pyagrum_reads_are_read_by_it(tmp_path, ending):
    from_pyagrum, to_pyagrum = exchanged("pyagrum")
    import pyagrum

    net = network()
    pyagrum.saveBN(to_pyagrum(net), str(tmp_path / f"net.{ending}"))
    back = from_pyagrum(pyagrum.loadBN(str(tmp_path / f"net.{ending}")))
    for a in DOMAIN:
        np.testing.assert_allclose(back.query(a).values, net.query(a).values, atol=1e-6)
    if ending == "bifxml":
        ours = BayesianNetwork.read_xmlbif(tmp_path / "net.bifxml")
        np.testing.assert_allclose(ours.query("d").values, net.query("d").values, atol=1e-6)
