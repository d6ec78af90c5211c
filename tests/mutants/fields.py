"""Private learning of Markov random fields that is wrong in one place."""

from __future__ import annotations

from mutate import Mutant
from operators import constant, instead, no_factor, one_case, other_extreme
from selfcheck.blocks import check_stability

from pypgm import Dataset, Domain, mrf
from pypgm.audit.fields import check_regressions
from pypgm.audit.finding import finding
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import binary_pairs, neighbour_pairs
from pypgm.audit.subjects import FIELD_RADIUS, LEARNERS, SPIN_RADIUS, SPINS
from pypgm.audit.whole import followed
from pypgm.mrf.frank_wolfe import Feature, FrankWolfe, Node, Regressions
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

_PRIVACIES = (Privacy(), Privacy("replace", 2))


def _pairwise():
    pairs = [p for p in neighbour_pairs(_PRIVACIES) if p.name.startswith("crossed")]
    runs = run_pairs("mutant", LEARNERS["learn_pairwise"], Budget(rho=2), pairs)
    return [followed("mutant", "learn_pairwise", [runs]), check_regressions(runs, FIELD_RADIUS)]


def _spins():
    runs = run_pairs("mutant", SPINS["learn_ising"], Budget(rho=2), binary_pairs())
    return [followed("mutant", "learn_ising", [runs]), check_regressions(runs, SPIN_RADIUS)]


def _far_from_zero():
    """Learn from records that are all alike, until the margin of one unlike them is close to its bound."""

    def learn(data, budget, privacy):
        return mrf.learn_ising(data, radius=2.0, budget=budget, privacy=privacy, steps=8)

    return followed("mutant", "learn_ising", [run_pairs("far", learn, Budget(rho=2000), binary_pairs())])


def _uneven():
    """Charge regressions of which one code takes part in all, and others in one each."""
    domain, ledger = Domain({"a": 3, "b": 2}), Ledger(Budget(rho=1))
    table = PrivateTable(Dataset({"a": [0, 1, 2], "b": [0, 1, 1]}, domain), None, ledger)
    FrankWolfe(table, Regressions([Feature((1,))], [Node(0, [(0, 1), (0, 2)], [0])], 1.0, 5)).solve([1])
    composed = ledger.lines[0].parameters["composed"]
    found = [] if composed == 10 else [("wrong charge", f"{composed} draws compose, 10 do")]
    return finding("regressions", "uneven", found, "10 of 10 draws compose")


_PLACES = [
    # name, old, new, check, defect
    (
        "the range of a regression's scores leaves out that both signs are candidates",
        "FrankWolfe.score_range",
        no_factor(5),
        _pairwise,
        "score sensitivity",
    ),
    (
        "the range of a regression's scores is that of one record more or less under replace",
        "FrankWolfe.score_range",
        no_factor(1),
        _pairwise,
        "score sensitivity",
    ),
    (
        "the range of a regression's scores is that of one record",
        "FrankWolfe.score_range",
        no_factor(),
        _pairwise,
        "score sensitivity",
    ),
    (
        "responses are bounded for half of the radius",
        "FrankWolfe.score_range",
        instead("self._responses.max()", "self._responses[_core.LOGISTIC_BINS * 3 // 2]"),
        _far_from_zero,
        "score sensitivity",
    ),
    (
        "a record is in as many regressions as that of the rarest code",
        "Node.composed",
        other_extreme(),
        _uneven,
        "wrong charge",
    ),
    (
        "a record is in one regression of each attribute",
        "Node.composed",
        constant(),
        _pairwise,
        "wrong charge",
    ),
    (
        "the budget of an attribute is split over all pairs of codes",
        "Node.composed",
        instead("max(Counter(chain.from_iterable(self.pairs)).values())", "len(self.pairs)"),
        _pairwise,
        "wrong charge",
    ),
    (
        "one step of a regression is charged",
        "FrankWolfe._charged",
        no_factor(),
        _spins,
        "wrong charge",
    ),
    (
        "scores are means over the records",
        "FrankWolfe._learned",
        instead("law.draw", "Exponential(law.epsilon * max(1, codes.shape[1]), law.score_range).draw"),
        _spins,
        "scale differs from the charge",
    ),
    (
        "scores are divided by how many records a regression has",
        "FrankWolfe._learned",
        instead(
            "scores[i, candidates[i]]",
            "scores[i, candidates[i]] // max(1, int(np.isin(codes[labels[i][0]], labels[i][1:]).sum()))",
        ),
        _pairwise,
        "wrong score",
    ),
    (
        "scores are floats",
        "FrankWolfe._learned",
        instead("np.concatenate([own, -own])", "np.concatenate([own, -own]) / 1.0"),
        _spins,
        "no release",
    ),
    (
        "the size of a step depends on the records",
        "FrankWolfe._learned",
        instead("t + 1 if drawn < len(own) else -(t + 1)", "t + codes.shape[1] % 2 if drawn < len(own) else -(t + 1)"),
        _spins,
        "private state kept",
    ),
    (
        "a regression is drawn with twice the rate charged",
        "FrankWolfe._learned",
        instead("law.draw", "Exponential(2 * law.epsilon, law.score_range).draw"),
        _spins,
        "scale differs from the charge",
    ),
    (
        "records are read before the regressions are charged",
        "        laws = self._charged(",
        "        self._codes()\n        laws = self._charged(",
        _spins,
        "read before the charge",
    ),
    (
        "a regression has its steps charged with no regard to the others",
        "composed = node.composed * steps\n",
        "composed = node.composed * steps; amount = 2 * amount\n",
        _spins,
        "no release",
    ),
]

_RUN = [
    (
        "a field is of as many records as there are",
        "FieldRun.learn",
        instead(
            "self.table.public_total if not measured else max(0, int(measured[0].values[0]))",
            "self.table._PrivateTable__data.n_records",
        ),
        _spins,
        "records counted exactly",
    ),
    (
        "the number of steps is that for the true number of records",
        "FieldRun.learn",
        instead(
            "wanted or default_steps(plan, amounts, float(total or 0), pure=self._pure)",
            "2 + len(next(iter(self.table._PrivateTable__data.columns.values()))) % 2",
        ),
        _spins,
        "path depends on the data",
    ),
]

_STABILITY = [
    (
        "the threshold of a stable graph is for twice the delta",
        "Stability._agreement",
        instead(
            "noisy[best] >= threshold", "noisy[best] >= 1 + noise.law.reach(2 * self._access.ledger.lines[-1].delta)"
        ),
        check_stability,
        "threshold",
    ),
    (
        "a record more or less takes a vote and moves none",
        "Stability.release",
        instead(
            "Privacy('replace', access.privacy.records_per_person)",
            "Privacy('add-remove', access.privacy.records_per_person)",
        ),
        check_stability,
        "sensitivity",
    ),
    (
        "a person is in one block",
        "Stability.release",
        instead("Privacy('replace', access.privacy.records_per_person)", "Privacy('replace')"),
        check_stability,
        "lost user bound",
    ),
    (
        "votes have the noise of one block more or less",
        "Stability.release",
        instead("votes_of.l1_sensitivity(Identity(2))", "votes_of.records_per_person"),
        check_stability,
        "overspent",
    ),
]

_CHARGE = [
    (
        "many draws of a line cost as much as one",
        "Exponential.cost",
        one_case(),
        _spins,
        "wrong charge",
    ),
]

MUTANTS = [
    *(Mutant(name, "pypgm.mrf.frank_wolfe", old, new, check, d) for name, old, new, check, d in _PLACES),
    *(Mutant(name, "pypgm.mrf.stability", old, new, check, d) for name, old, new, check, d in _STABILITY),
    *(Mutant(name, "pypgm.privacy.laws", old, new, check, d) for name, old, new, check, d in _CHARGE),
    *(Mutant(name, "pypgm.mrf.field_run", old, new, check, d) for name, old, new, check, d in _RUN),
]
