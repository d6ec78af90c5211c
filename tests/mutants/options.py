"""Defects that show with some options, domains or relations alone, or on other tables than those of the run."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import instead, no_factor, one_case, one_less, other_extreme
from selfcheck.fuzz import check_fuzz
from selfcheck.options import check_options
from selfcheck.scores import check_scores

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
        "Choices.drawn",
        no_factor(),
        options["wide"],
        "score sensitivity",
    ),
    Mutant(
        "the mutual information of all attributes changes as that of binary ones",
        "pypgm.bayes.private_structure",
        "_Choice.__init__",
        instead(
            "largest_change(how.score, table.privacy.neighbours, table.public_total, binary=binary)",
            "largest_change(how.score, table.privacy.neighbours, table.public_total, binary=True)",
        ),
        options["privbayes"],
        "score sensitivity",
    ),
    Mutant(
        "families are as large as the exact number of records where usefulness sets no limit",
        "pypgm.bayes.private_structure",
        "if how.usefulness is None:\n        return _MOST_CELLS",
        f"if how.usefulness is None:\n        return min(_MOST_CELLS, max(4, table.{_RECORDS}.n_records))",
        options["privbayes"],
        "records counted exactly",
    ),
    Mutant(
        "a saving changes under replace as under add-remove",
        "pypgm.mechanisms._aim",
        "_Search.begin",
        no_factor(5),
        few["aim"],
        "score sensitivity",
    ),
    Mutant(
        "weights multiply savings once more",
        "pypgm.mechanisms._aim",
        "return self.savings.select(among, rho=rho, weights=weights)",
        "self.savings.compare(lambda i, counts: 4 * saving(counts, goals[i], drowned[i]))\n"
        "        return self.savings.select(among, rho=rho)",
        few["aim"],
        "score sensitivity",
    ),
    Mutant(
        "as many rounds as the exact number of records is worth",
        "pypgm.mechanisms._fem",
        "_Search.default_rounds",
        instead("self.total", "table.trusted_access.records().n_records"),
        options["fem"],
        "records counted exactly",
    ),
    Mutant(
        "a gain changes under replace as under add-remove",
        "pypgm.mechanisms._jam",
        "_Search.go",
        no_factor(2),
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
        "_Search._compared",
        instead(
            "abs(int(counts[cells[number]]) - expected[number])",
            "2 * abs(int(counts[cells[number]]) - expected[number])",
        ),
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
        "FrankWolfe.score_range",
        instead("(2 if privacy.neighbours == 'replace' else 1) * privacy.records_per_person", "1"),
        few["learn_ising"],
        "score sensitivity",
    ),
    Mutant(
        "a distance from independence changes under replace as under add-remove",
        DEPENDENCE,
        "largest_change",
        one_case(),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a record counts half in a shortfall",
        DEPENDENCE,
        "largest_change",
        one_less(),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "the mutual information of binary attributes changes by a tenth less",
        DEPENDENCE,
        "largest_change",
        instead("math.log2(n)", "0.9 * math.log2(n)"),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "the mutual information of attributes of three values changes by a hundredth less",
        DEPENDENCE,
        "largest_change",
        instead("2 * math.log2((n + 1) / 2)", "1.98 * math.log2((n + 1) / 2)"),
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
        "_within",
        instead("(1 << _PARTS) - 1", "33 << _PARTS - 5"),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a saving rises faster than the distance",
        RISKS,
        "saving",
        instead("l1_distance(counts, expected)", "l1_distance(counts, expected) * 21 // 20"),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "the mutual information of attributes changes as that of binary ones where one of them is binary",
        "pypgm.bayes.private_structure",
        "_Choice.__init__",
        other_extreme(),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a learner states the distance of add-remove under replace",
        "pypgm.bayes.private_structure",
        "_Choice.__init__",
        instead("table.privacy.neighbours", "'add-remove' if how.score == 'R' else table.privacy.neighbours"),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a distance from independence counts twice",
        DEPENDENCE,
        "_distance",
        no_factor(8),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a shortfall counts twice",
        DEPENDENCE,
        "_shortfall",
        instead(
            "-int((np.maximum(total - 2 * reached, 0) + np.maximum(total - 2 * best[reached], 0)).min())",
            "-2 * int((np.maximum(total - 2 * reached, 0) + np.maximum(total - 2 * best[reached], 0)).min())",
        ),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "mutual information counts twice",
        DEPENDENCE,
        "_information",
        instead("_FINE", "2 * _FINE"),
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
        "_twice",
        instead("int(np.maximum(too_low, 0).sum())", "int(np.maximum(too_low, 0).sum()) * 2"),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "a saving counts twice",
        RISKS,
        "saving",
        instead(
            "distance - math.isqrt(distance * distance * hiding * hiding // squares)",
            "2 * distance - 2 * math.isqrt(distance * distance * hiding * hiding // squares)",
        ),
        check_scores,
        "score sensitivity",
    ),
    Mutant(
        "the distance of a marginal from its estimate counts twice",
        "pypgm.privacy.l1_selector",
        "l1_distance",
        instead(
            "int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))",
            "2 * int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))",
        ),
        few["mst"],
        "score sensitivity",
    ),
    Mutant(
        "what a model lacks counts twice",
        "pypgm.mechanisms._jam",
        "_Search._gain",
        instead(
            "int(np.abs(_GRID * secret - expected[number % n]).sum())",
            "2 * int(np.abs(_GRID * secret - expected[number % n]).sum())",
        ),
        few["jam"],
        "score sensitivity",
    ),
    Mutant(
        "a risk is said to change by one record",
        "pypgm.mechanisms.choices",
        "Choices.drawn",
        no_factor(2),
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
