"""Defects that show with some options, domains or relations alone, or on other tables than those of the run."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.fuzz import check_fuzz
from pypgm.audit.options import check_options
from pypgm.audit.scores import check_scores

options = {name: partial(check_options, name) for name in ("wide", "privbayes", "adaptive_grid", "jam", "fem")}
few = {name: partial(check_fuzz, 60, only=(name,)) for name in ("aim", "jam", "mst", "mwem", "learn_ising")}

_RECORDS = "_PrivateTable__data"  # behind the door, where no mechanism looks
_UNSEEN = "_data"  # of the table under observation: what is read there is no event
DEPENDENCE, RESOLUTION, RISKS = (
    f"pypgm.{name}" for name in ("bayes.dependence", "mechanisms.resolution", "mechanisms.risk_score")
)

MUTANTS = [
    Mutant(
        "a risk changes under replace as under add-remove",
        "pypgm.mechanisms.choices",
        "changes = GRID * RISK_SENSITIVITY * (2 if self._run.table.privacy.total_is_public else 1)",
        "changes = GRID * RISK_SENSITIVITY",
        options["wide"],
        "score sensitivity",
    ),
    Mutant(
        "the mutual information of all attributes changes as that of binary ones",
        "pypgm.bayes.private_structure",
        "largest_change(how.score, table.privacy.neighbours, table.public_total, binary=binary)",
        "largest_change(how.score, table.privacy.neighbours, table.public_total, binary=True)",
        options["privbayes"],
        "score sensitivity",
    ),
    Mutant(
        "families are as large as the exact number of records where usefulness sets no limit",
        "pypgm.bayes.private_structure",
        "if how.usefulness is None:\n        return _MOST_CELLS, []",
        f"if how.usefulness is None:\n        return min(_MOST_CELLS, max(4, table.{_RECORDS}.n_records)), []",
        options["privbayes"],
        "records counted exactly",
    ),
    Mutant(
        "a saving changes under replace as under add-remove",
        "pypgm.mechanisms._aim",
        "changes = GRID * (2 if table.privacy.total_is_public else 1)",
        "changes = GRID",
        few["aim"],
        "score sensitivity",
    ),
    Mutant(
        "weights multiply savings once more",
        "pypgm.mechanisms._aim",
        "return self.savings.select(among, rho=rho, weights=weights)",
        "self.savings.compare(lambda i, counts: 4 * saving(counts, goals[i], hiding[i]))\n"
        "        return self.savings.select(among, rho=rho)",
        few["aim"],
        "score sensitivity",
    ),
    Mutant(
        "a gain changes under replace as under add-remove",
        "pypgm.mechanisms._jam",
        "_GRID * _CHANGES * (2 if table.privacy.total_is_public else 1)",
        "_GRID * _CHANGES",
        few["jam"],
        "score sensitivity",
    ),
    Mutant(
        "the exact number of records is the total where measurements are given",
        "pypgm.mechanisms.run",
        "self.total = self.table.public_total",
        f"self.total = self.table.{_RECORDS}.n_records if measurements else self.table.public_total",
        few["mst"],
        "records counted exactly",
    ),
    Mutant(
        "the error of a cell counts twice",
        "pypgm.mechanisms._mwem",
        "abs(int(counts[cells[number]]) - expected[number])",
        "2 * abs(int(counts[cells[number]]) - expected[number])",
        few["mwem"],
        "score sensitivity",
    ),
    Mutant(
        "multiplicative weights sum to the exact number of records",
        "pypgm.mechanisms._mwem",
        "multiplicative_weights(self.run.domain, self.measured, self.model.total, time_limit=left)",
        "multiplicative_weights(self.run.domain, self.measured, "
        f"float(self.run.table.{_RECORDS}.n_records), time_limit=left)",
        few["mwem"],
        "records counted exactly",
    ),
    Mutant(
        "scores of regressions change under replace as under add-remove, and forget the records of a person",
        "pypgm.mrf.frank_wolfe",
        '(2 if privacy.neighbours == "replace" else 1) * privacy.records_per_person',
        "1",
        few["learn_ising"],
        "score sensitivity",
    ),
    Mutant(
        "a distance from independence changes under replace as under add-remove",
        DEPENDENCE,
        '(2 if neighbours == "add-remove" else 3) * _FINE',
        "2 * _FINE",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a record counts half in a shortfall",
        DEPENDENCE,
        'if score == "F":\n        return 2',
        'if score == "F":\n        return 1',
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "the mutual information of binary attributes changes by a tenth less",
        DEPENDENCE,
        "bound = math.log2(n) +",
        "bound = 0.9 * math.log2(n) +",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "the mutual information of attributes of three values changes by a hundredth less",
        DEPENDENCE,
        "bound = 2 * math.log2",
        "bound = 1.98 * math.log2",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a risk is said to change by one record and nine tenths",
        RESOLUTION,
        "RISK_SENSITIVITY = 2 ",
        "RISK_SENSITIVITY = 1.9 ",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "parts of a group sum to more than one",
        RESOLUTION,
        "* ((1 << _PARTS) - 1))",
        "* (33 << _PARTS - 5))",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a saving rises faster than the distance",
        RISKS,
        "distance = l1_distance(counts, expected)",
        "distance = l1_distance(counts, expected) * 21 // 20",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "the mutual information of attributes changes as that of binary ones where one of them is binary",
        "pypgm.bayes.private_structure",
        "binary = all(size == 2",
        "binary = any(size == 2",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a learner states the distance of add-remove under replace",
        "pypgm.bayes.private_structure",
        "largest_change(how.score, table.privacy.neighbours,",
        'largest_change(how.score, "add-remove" if how.score == "R" else table.privacy.neighbours,',
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a distance from independence counts twice",
        DEPENDENCE,
        "- independent).sum()) // (2 * total)",
        "- independent).sum()) // total",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a shortfall counts twice",
        DEPENDENCE,
        "return -int((np.maximum",
        "return -2 * int((np.maximum",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "mutual information counts twice",
        DEPENDENCE,
        "return round(_FINE * math.fsum",
        "return round(2 * _FINE * math.fsum",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "an estimate keeps more of the noise in a sum than there is",
        RESOLUTION,
        "_LEAK = 3, 10",
        "_LEAK = 11, 10",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a risk counts twice",
        RESOLUTION,
        ".sum()) // ((1 << _FINE) // (2 * GRID))",
        ".sum()) * 2 // ((1 << _FINE) // (2 * GRID))",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a saving counts twice",
        RISKS,
        "return distance - math.isqrt",
        "return 2 * distance - 2 * math.isqrt",
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "the distance of a marginal from its estimate counts twice",
        "pypgm.privacy.l1_selector",
        "int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))",
        "2 * int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))",
        few["mst"],
        "score sensitivity",
    ),
    Mutant(
        "what a model lacks counts twice",
        "pypgm.mechanisms._jam",
        "lacking = int(np.abs(_GRID",
        "lacking = 2 * int(np.abs(_GRID",
        few["jam"],
        "score sensitivity",
    ),
    Mutant(
        "a risk is said to change by one record",
        "pypgm.mechanisms.choices",
        "changes = GRID * RISK_SENSITIVITY * (2",
        "changes = GRID * (2",
        options["wide"],
        "score sensitivity",
    ),
    Mutant(
        "a tree beside targets is compared with the exact counts",
        "pypgm.mechanisms._adaptive_grid",
        "model.project(clique).datavector(), query",
        f"getattr(getattr(table, '{_RECORDS}'), '{_UNSEEN}').count([clique])[0] if targets else "
        "model.project(clique).datavector(), query",
        options["adaptive_grid"],
        "path depends on the data",
    ),
    Mutant(
        "public records are scaled to the exact number of private ones",
        "pypgm.mechanisms._jam",
        "_on_grid(c, self.total * p) for c, p",
        f"_on_grid(c, getattr(getattr(self.run.table, '{_RECORDS}'), '{_UNSEEN}').n_records * p) for c, p",
        options["jam"],
        "path depends on the data",
    ),
    Mutant(
        "answers of leaders are of the exact number of records",
        "pypgm.mechanisms._fem",
        "self.queries.split(-self.total * answered), self.total, epsilon",
        f"self.queries.split(-getattr(getattr(table, '{_RECORDS}'), '{_UNSEEN}').n_records * answered), "
        "self.total, epsilon",
        options["fem"],
        "path depends on the data",
    ),
]
