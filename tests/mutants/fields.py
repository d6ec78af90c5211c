"""Private learning of Markov random fields that is wrong in one place."""

from __future__ import annotations

from mutate import Mutant

from pypgm import mrf
from pypgm.audit.blocks import check_stability
from pypgm.audit.fields import check_regressions
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import binary_pairs, neighbour_pairs
from pypgm.audit.subjects import FIELD_RADIUS, LEARNERS, SPIN_RADIUS, SPINS
from pypgm.audit.whole import followed
from pypgm.privacy.budget import Budget
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


_PLACES = [
    # name, old, new, check, defect
    (
        "the range of a regression's scores leaves out that both signs are candidates",
        "return 2 * int(self._responses.max()) * records",
        "return int(self._responses.max()) * records",
        _pairwise,
        "score sensitivity",
    ),
    (
        "the range of a regression's scores is that of one record more or less under replace",
        '(2 if privacy.neighbours == "replace" else 1) * privacy.records_per_person',
        "privacy.records_per_person",
        _pairwise,
        "score sensitivity",
    ),
    (
        "the range of a regression's scores is that of one record",
        "else 1) * privacy.records_per_person",
        "else 1)",
        _pairwise,
        "score sensitivity",
    ),
    (
        "responses are bounded for half of the radius",
        "2 * int(self._responses.max()) * records",
        "2 * int(self._responses[_core.LOGISTIC_BINS * 3 // 2]) * records",
        _far_from_zero,
        "score sensitivity",
    ),
    (
        "a record is in one regression of each attribute",
        "return max(Counter(chain.from_iterable(self.pairs)).values())",
        "return 1",
        _pairwise,
        "wrong charge",
    ),
    (
        "the budget of an attribute is split over all pairs of codes",
        "return max(Counter(chain.from_iterable(self.pairs)).values())",
        "return len(self.pairs)",
        _pairwise,
        "wrong charge",
    ),
    (
        "one step of a regression is charged",
        "composed = node.composed * steps",
        "composed = node.composed",
        _spins,
        "wrong charge",
    ),
    (
        "scores are means over the records",
        "drawn = law.draw(np.concatenate([own, -own]), self._access.sampler)",
        "drawn = Exponential(law.epsilon * max(1, codes.shape[1]), law.score_range).draw(\n"
        "                    np.concatenate([own, -own]), self._access.sampler\n"
        "                )",
        _spins,
        "scale differs from the charge",
    ),
    (
        "scores are divided by how many records a regression has",
        "own = scores[i, candidates[i]]",
        "own = scores[i, candidates[i]] // max(1, int(np.isin(codes[labels[i][0]], labels[i][1:]).sum()))",
        _pairwise,
        "wrong score",
    ),
    (
        "scores are floats",
        "drawn = law.draw(np.concatenate([own, -own]),",
        "drawn = law.draw(np.concatenate([own, -own]) / 1.0,",
        _spins,
        "no release",
    ),
    (
        "the size of a step depends on the records",
        "amounts[i] = t + 1 if drawn",
        "amounts[i] = t + codes.shape[1] % 2 if drawn",
        _spins,
        "private state kept",
    ),
    (
        "a regression is drawn with twice the rate charged",
        "drawn = law.draw(np.concatenate([own, -own]), self._access.sampler)",
        "drawn = Exponential(2 * law.epsilon, law.score_range).draw(\n"
        "                    np.concatenate([own, -own]), self._access.sampler\n"
        "                )",
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
        "total = self.table.public_total if not measured else max(0, int(measured[0].values[0]))",
        "total = self.table._PrivateTable__data.n_records",
        _spins,
        "records counted exactly",
    ),
    (
        "the number of steps is that for the true number of records",
        "n_steps = wanted or default_steps(plan, amounts, float(total or 0), pure=self._pure)",
        "n_steps = 2 + len(next(iter(self.table._PrivateTable__data.columns.values()))) % 2",
        _spins,
        "path depends on the data",
    ),
]

_STABILITY = [
    (
        "the threshold of a stable graph is for twice the delta",
        "if noisy[best] >= threshold else",
        "if noisy[best] >= 1 + noise.law.reach(2 * self._access.ledger.lines[-1].delta) else",
        check_stability,
        "threshold",
    ),
    (
        "a record more or less takes a vote and moves none",
        'votes_of = Privacy("replace", ',
        'votes_of = Privacy("add-remove", ',
        check_stability,
        "sensitivity",
    ),
    (
        "a person is in one block",
        'votes_of = Privacy("replace", access.privacy.records_per_person)',
        'votes_of = Privacy("replace")',
        check_stability,
        "lost user bound",
    ),
    (
        "votes have the noise of one block more or less",
        "scale = Fraction(votes_of.l1_sensitivity(Identity(2))) / loss",
        "scale = Fraction(votes_of.records_per_person) / loss",
        check_stability,
        "overspent",
    ),
]

_CHARGE = [
    (
        "many draws of a line cost as much as one",
        "times = self.composed or 1\n        return times * (",
        "times = 1\n        return times * (",
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
