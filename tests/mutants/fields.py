"""Private learning of Markov random fields that is wrong in one place."""

from __future__ import annotations

from mutate import at
from operators import constant, no_factor, one_case, other_extreme, put
from selfcheck.blocks import check_stability

from pypgm import Dataset, Domain, mrf
from pypgm.audit.fields import check_regressions
from pypgm.audit.finding import finding
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import binary_pairs, neighbour_pairs
from pypgm.audit.subjects import FIELD_RADIUS, LEARNERS, SPIN_RADIUS, SPINS
from pypgm.audit.tiers import followed
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
    defects = [] if composed == 10 else [("wrong charge", f"{composed} draws compose, 10 do")]
    return finding("regressions", "uneven", defects, "10 of 10 draws compose")


MUTANTS = {
    "the range of a regression's scores leaves out that both signs are candidates": at(
        "mrf.frank_wolfe:FrankWolfe.score_range", _pairwise, "score sensitivity"
    )(no_factor(5)),
    "the range of a regression's scores is that of one record more or less under replace": at(
        "mrf.frank_wolfe:FrankWolfe.score_range", _pairwise, "score sensitivity"
    )(no_factor(1)),
    "the range of a regression's scores is that of one record": at(
        "mrf.frank_wolfe:FrankWolfe.score_range", _pairwise, "score sensitivity"
    )(no_factor()),
    "responses are bounded for half of the radius": at(
        "mrf.frank_wolfe:FrankWolfe.score_range", _far_from_zero, "score sensitivity"
    )("self._responses.max()", "self._responses[_core.LOGISTIC_BINS * 3 // 2]"),
    "a record is in as many regressions as that of the rarest code": at(
        "mrf.frank_wolfe:Node.composed", _uneven, "wrong charge"
    )(other_extreme()),
    "a record is in one regression of each attribute": at("mrf.frank_wolfe:Node.composed", _pairwise, "wrong charge")(
        constant()
    ),
    "the budget of an attribute is split over all pairs of codes": at(
        "mrf.frank_wolfe:Node.composed", _pairwise, "wrong charge"
    )("max(Counter(chain.from_iterable(self.pairs)).values())", "len(self.pairs)"),
    "one step of a regression is charged": at("mrf.frank_wolfe:FrankWolfe._charged", _spins, "wrong charge")(
        no_factor()
    ),
    "scores are means over the records": at(
        "mrf.frank_wolfe:FrankWolfe._learned", _spins, "scale differs from the charge"
    )("law.draw", "Exponential(law.epsilon * max(1, codes.shape[1]), law.score_range).draw"),
    "scores are divided by how many records a regression has": at(
        "mrf.frank_wolfe:FrankWolfe._learned", _pairwise, "wrong score"
    )(
        "scores[i, candidates[i]]",
        "scores[i, candidates[i]] // max(1, int(np.isin(codes[labels[i][0]], labels[i][1:]).sum()))",
    ),
    "scores are floats": at("mrf.frank_wolfe:FrankWolfe._learned", _spins, "no release")(
        "np.concatenate(X)", "np.concatenate(X) / 1.0"
    ),
    "the size of a step depends on the records": at(
        "mrf.frank_wolfe:FrankWolfe._learned", _spins, "private state kept"
    )("t + 1 if X else Y", "t + codes.shape[1] % 2 if X else Y"),
    "a regression is drawn with twice the rate charged": at(
        "mrf.frank_wolfe:FrankWolfe._learned", _spins, "scale differs from the charge"
    )("law.draw", "Exponential(2 * law.epsilon, law.score_range).draw"),
    "records are read before the regressions are charged": at(
        "mrf.frank_wolfe:FrankWolfe.solve", _spins, "read before the charge"
    )(put("self._codes()", before="self._charged(...)")),
    "a regression has its steps charged with no regard to the others": at(
        "mrf.frank_wolfe:FrankWolfe._charged", _spins, "no release"
    )(put("amount = 2 * amount", after="node.composed * steps")),
    "the threshold of a stable graph is for twice the delta": at(
        "mrf.stability:Stability._agreement", check_stability, "threshold"
    )("noisy[best] >= threshold", "noisy[best] >= 1 + noise.law.reach(2 * self._access.ledger.lines[-1].delta)"),
    "a record more or less takes a vote and moves none": at(
        "mrf.stability:Stability.release", check_stability, "sensitivity"
    )(
        "Privacy('replace', access.privacy.records_per_person)",
        "Privacy('add-remove', access.privacy.records_per_person)",
    ),
    "a person is in one block": at("mrf.stability:Stability.release", check_stability, "lost user bound")(
        "Privacy('replace', access.privacy.records_per_person)", "Privacy('replace')"
    ),
    "votes have the noise of one block more or less": at(
        "mrf.stability:Stability.release", check_stability, "overspent"
    )("votes_of.l1_sensitivity(Identity(2))", "votes_of.records_per_person"),
    "many draws of a line cost as much as one": at("privacy.laws:Exponential.cost", _spins, "wrong charge")(one_case()),
    "a field is of as many records as there are": at(
        "mrf.private_learning:FieldRun.learn",
        _spins,
        "records counted exactly",
    )(
        "self.table.public_total if not measured else max(0, int(measured[0].values[0]))",
        "self.table._PrivateTable__data.n_records",
    ),
    "the number of steps is that for the true number of records": at(
        "mrf.private_learning:FieldRun.learn", _spins, "path depends on the data"
    )(
        "wanted or default_steps(plan, amounts, float(total or 0), pure=self._pure)",
        "2 + len(next(iter(self.table._PrivateTable__data.columns.values()))) % 2",
    ),
}
