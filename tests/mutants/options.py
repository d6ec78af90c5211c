"""Defects that show with some options, domains or relations alone, or on other tables than those of the run."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.fuzz import check_fuzz
from pypgm.audit.options import check_options

options = {name: partial(check_options, name) for name in ("wide", "privbayes")}
few = {name: partial(check_fuzz, 60, only=(name,)) for name in ("aim", "jam", "mst", "mwem", "learn_ising")}

_RECORDS = "_PrivateTable__data"  # behind the door, where no mechanism looks

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
        "pypgm.privacy.frank_wolfe",
        '(2 if privacy.neighbours == "replace" else 1) * privacy.records_per_person',
        "1",
        few["learn_ising"],
        "score sensitivity",
    ),
]
