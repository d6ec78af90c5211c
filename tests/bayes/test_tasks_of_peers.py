"""What one does with a network in pgmpy and pyAgrum takes no more statements here, and gives the same numbers."""

from __future__ import annotations

import ast
from typing import NamedTuple

import numpy as np
import pytest

from pypgm import bayes

LABELS = ["no", "yes"]
PARENTS = {"b": ["a"], "c": ["a"], "d": ["b", "c"]}


class Task(NamedTuple):
    """Statements of each package, the last of which is the answer; None where there is nothing of the kind."""

    ours: str
    pgmpy: str | None = None
    pyagrum: str | None = None


# `net`, `m` and `bn` are one network, as are `near` and `bnear`, and `functional` and `fbn`; `df` are records of `net`,
# `e` is evidence.
TASKS = {
    "tree": Task(
        "pairs(learn_structure(df, 'tree', score='aic').arcs)",
        "pairs(TreeSearch(df, root_node='a', n_jobs=1).estimate(show_progress=False).edges())",
    ),
    "score": Task(
        "fit_score(learn(df, net), df, 'bic')",
        "BIC(df).score(m)",
    ),
    "structure by hill climbing": Task(
        "pairs(learn_structure(df, score='bic', max_parents=2).arcs)",
        "pairs(HillClimbSearch(df).estimate('bic-d', max_indegree=2, show_progress=False).edges())",
        "l = gum.BNLearner(df, bn); l.useScoreBIC(); l.setMaxIndegree(2); l.useLocalSearchWithTabuList()\n"
        "pairs([(bn.variable(p).name(), bn.variable(c).name()) for p, c in l.learnDAG().arcs()])",
    ),
    "tables with a prior network": Task(
        "learn(df, net, prior=net, strength=100).tables['b'].values",
        pyagrum="l = gum.BNLearner(df, bn); l.useDirichletPrior(bn, 100); learned = l.learnParameters(bn.dag())\n"
        "learned.cpt('b').toarray()",
    ),
    "tables by BDeu": Task(
        "learn(df, net, prior='bdeu', strength=10).tables['b'].values",
        "fitted = BayesianEstimator(m, df)\n"
        "fitted.estimate_cpd('b', prior_type='BDeu', equivalent_sample_size=10).values.T",
    ),
    "posterior": Task(
        "net.query('a', e).values",
        "VariableElimination(m).query(['a'], evidence=e, show_progress=False).values",
        "gum.getPosterior(bn, target='a', evs=e).toarray()",
    ),
    "entropy, in nats": Task(
        "entropy(net, 'a')",
        pyagrum="ie = gum.LazyPropagation(bn)\ngum.InformationTheory(ie, 'a', 'd').entropyX() * np.log(2)",
    ),
    "mutual information, in nats": Task(
        "mutual_information(net, 'a', 'd')",
        pyagrum="ie = gum.LazyPropagation(bn)\ngum.InformationTheory(ie, 'a', 'd').mutualInformationXY() * np.log(2)",
    ),
    "worth of findings": Task(
        "[findings_worth(net, 'd')[a] for a in 'abc']",
        pyagrum="ie = gum.LazyPropagation(bn)\n"
        "[gum.InformationTheory(ie, 'd', a).mutualInformationXY() * np.log(2) for a in 'abc']",
    ),
    "probability of evidence": Task(
        "np.exp(net.log_probability(e))",
        pyagrum="ie = gum.LazyPropagation(bn); ie.setEvidence(e); ie.makeInference()\nie.evidenceProbability()",
    ),
    "best explanation": Task(
        "explanations(net, 1, e)[0][0]",
        "{**VariableElimination(m).map_query(['a', 'b', 'c'], e, show_progress=False), **e}",
    ),
    "intervention": Task(
        "net.do({'b': 'yes'}).query('d').values",
        pyagrum="causal.causalImpact(causal.CausalModel(bn), on='d', doing='b', values={'b': 'yes'})[1].toarray()",
    ),
    "backdoor adjustment": Task(
        "{frozenset(s) for s in adjustment_sets(net, 'b', 'd')}",
        "CausalInference(m).get_all_backdoor_adjustment_sets('b', 'd')",
    ),
    "counterfactual": Task(
        "counterfactual(functional, 'd', {'b': 'yes', 'd': 'yes'}, do={'b': 'no'}).values",
        pyagrum="model, seen = causal.CausalModel(fbn), {'b': 'yes', 'd': 'yes'}\n"
        "causal.counterfactual(cm=model, profile=seen, on='d', whatif={'b'}, values={'b': 'no'}).toarray()",
    ),
    "noisy or": Task(
        "noisy_or([0.8, 0.9], leak=0.1)[1, 0]",
        pyagrum="g = gum.BayesNet(); [g.add(x, 2) for x in 'xy']\n"
        "g.addNoisyORNet(gum.LabelizedVariable('z', '', 2), 0.1); g.addWeightedArc('x', 'z', 0.8)\n"
        "g.addWeightedArc('y', 'z', 0.9); gum.getPosterior(g, target='z', evs={'x': 1, 'y': 0}).toarray()",
    ),
    "moral graph": Task(
        "pairs(moral_edges(net))",
        "pairs(m.moralize().edges())",
        "pairs((bn.variable(p).name(), bn.variable(c).name()) for p, c in bn.moralGraph().edges())",
    ),
    "separation": Task(
        "net.is_d_separated('b', 'c', 'a')",
        "not m.is_dconnected('b', 'c', ['a'])",
        "bn.isIndependent('b', 'c', 'a')",
    ),
    "blanket": Task(
        "sorted(net.markov_blanket('b'))",
        "sorted(m.get_markov_blanket('b'))",
        "blanket = gum.MarkovBlanket(bn, 'b')\nsorted({bn.variable(i).name() for i in blanket.nodes()} - {'b'})",
    ),
    "rows predicted": Task(
        "net.predict_proba(df.head(5)[['a', 'b']], 'd')['d']",
        "m.predict_probability(df.head(5)[['a', 'b']])[['d_no', 'd_yes']].values",
        "rows = [{'a': row.a, 'b': row.b} for row in df.head(5).itertuples()]\n"
        "[gum.getPosterior(bn, target='d', evs=row).toarray() for row in rows]",
    ),
    "distance": Task(
        "compare_networks(net, near).hellinger",
        pyagrum="gum.ExactBNdistance(bn, bnear).compute()['hellinger'] / 2**0.5",
    ),
    "renaming": Task(
        "sorted(net.rename({'a': 'z'}).domain)",
        pyagrum="other = gum.BayesNet(bn); other.changeVariableName('a', 'z')\nsorted(other.names())",
    ),
    "forecast in time": Task(
        "later = {'a': [[0.6, 0.4], [0.3, 0.7]], 'b': [[0.9, 0.1], [0.2, 0.8]]}\n"
        "steps = DynamicNetwork(chain, [('a[t-1]', 'a'), ('a', 'b')], later)\n"
        "steps.filter([{}, {'b': 1}, {}])[2]['a'].values",
        "steps = DBN([(('a', 0), ('a', 1)), (('a', 0), ('b', 0))])\n"
        "steps.add_cpds(TabularCPD(('a', 0), 2, [[0.3], [0.7]]))\n"
        "steps.add_cpds(TabularCPD(('b', 0), 2, [[0.9, 0.2], [0.1, 0.8]], [('a', 0)], [2]))\n"
        "steps.add_cpds(TabularCPD(('a', 1), 2, [[0.6, 0.3], [0.4, 0.7]], [('a', 0)], [2]))\n"
        "steps.initialize_initial_state()\n"
        "DBNInference(steps).forward_inference([('a', 2)], {('b', 1): 1})[('a', 2)].values",
    ),
}
NAMES = {"tree", "structure by hill climbing", "best explanation", "backdoor adjustment", "moral graph", "separation"}
NAMES |= {"blanket", "renaming"}  # whose answers are no numbers


def n_statements(code):
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(code)))


def answer(code, names):
    *before, last = ast.parse(code).body
    exec(compile(ast.Module(before, []), "<task>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<task>", "eval"), names)


def pairs(arcs):
    return sorted(sorted(arc) for arc in arcs)


@pytest.fixture(scope="module")
def names():
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    domain = dict.fromkeys("abcd", LABELS)
    tables = {a: rng.dirichlet([1, 1], (2,) * len(PARENTS.get(a, ()))) for a in domain}
    net = bayes.BayesianNetwork(domain, PARENTS, tables)
    effect = [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]
    functional = bayes.BayesianNetwork(
        dict.fromkeys("abd", LABELS), {"d": ["b", "a"]}, {"a": [0.3, 0.7], "b": [0.4, 0.6], "d": effect}
    )
    chain = bayes.BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.3, 0.7], "b": [[0.9, 0.1], [0.2, 0.8]]})
    found = {name: getattr(bayes, name) for name in bayes.__all__} | {"np": np, "pairs": pairs, "e": {"d": "yes"}}
    found["near"] = bayes.learn(net.sample(50, 1), net, prior="k2")
    return found | {"net": net, "functional": functional, "chain": chain, "df": net.sample(500, 0).to_frame()}


def of_pgmpy(names):
    pytest.importorskip("pgmpy")
    from pgmpy import estimators, inference
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DynamicBayesianNetwork

    from pypgm.integrations.pgmpy import to_pgmpy

    return vars(estimators) | vars(inference) | names | {
        "TabularCPD": TabularCPD, "DBN": DynamicBayesianNetwork, "m": to_pgmpy(names["net"])
    }  # fmt: skip


def of_pyagrum(names):
    gum = pytest.importorskip("pyagrum")
    from pyagrum import causal

    from pypgm.integrations.pyagrum import to_pyagrum

    models = {"bn": "net", "bnear": "near", "fbn": "functional"}
    return names | {own: to_pyagrum(names[name]) for own, name in models.items()} | {"gum": gum, "causal": causal}


@pytest.mark.filterwarnings("ignore")  # of theirs
@pytest.mark.parametrize("package", [pytest.param("pgmpy", marks=pytest.mark.slow), "pyagrum"])
def test_a_task_takes_no_more_statements_and_has_the_same_answer(names, package):
    pytest.importorskip("pandas")
    theirs = {"pgmpy": of_pgmpy, "pyagrum": of_pyagrum}[package](names)
    for task, codes in TASKS.items():
        code = getattr(codes, package)
        if code is None:
            continue
        assert n_statements(codes.ours) <= n_statements(code), task
        ours, other = answer(codes.ours, dict(names)), answer(code, dict(theirs))
        if task in NAMES:
            assert ours == other, task
        else:  # pyAgrum keeps single precision
            assert np.asarray(ours) == pytest.approx(np.asarray(other), rel=1e-5, abs=1e-7), task
