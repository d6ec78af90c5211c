"""Defects planted in mechanisms that choose round by round."""

from __future__ import annotations

from mutate import Mutant
from operators import instead, no_factor, one_case

from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.subjects import FEWER, LEARNERS
from pypgm.audit.whole import followed
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy


def _followed(name, mechanism):
    pairs = neighbour_pairs((Privacy(),))
    return followed("mutant", name, [run_pairs("rounds", mechanism, Budget(rho=2), pairs)])


def rounds():
    """Follow AIM on tables of pairs."""
    return _followed("aim", FEWER["aim"])


def rounds_by_risk():
    """Follow AIM by risks on tables of pairs."""
    return _followed("aim, risk", FEWER["aim, risk"])


def plausible_cells():
    """Follow the adaptive grid on tables of pairs."""
    return _followed("adaptive_grid", FEWER["adaptive_grid"])


def screened_pairs():
    """Follow the screen on tables of pairs."""
    return _followed("screen", FEWER["screen"])


def runs_of_codes():
    """Follow HDMM on tables of pairs, asked for ranges."""
    return _followed("hdmm, ranges", FEWER["hdmm, ranges"])


def beside_public():
    """Follow JAM on tables of pairs."""
    return _followed("jam", FEWER["jam"])


def equal_rounds():
    """Follow MWEM on tables of pairs."""
    return _followed("mwem", LEARNERS["mwem"])


def drawn_queries():
    """Follow DualQuery on tables of pairs."""
    return _followed("dualquery", LEARNERS["dualquery"])


def perturbed_leaders():
    """Follow FEM on tables of pairs."""
    return _followed("fem", LEARNERS["fem"])


def replaced_queries():
    """Follow DualQuery on tables in which a record is replaced."""
    pairs = neighbour_pairs((Privacy("replace"),))
    return followed("mutant", "dualquery", [run_pairs("rounds", LEARNERS["dualquery"], Budget(rho=2), pairs)])


_RECORDS = "_PrivateTable__data"  # behind the door, where no mechanism looks

AIM = "pypgm.mechanisms._aim"
GRID = "pypgm.mechanisms._adaptive_grid"
HDMM = "pypgm.mechanisms._hdmm"
JAM = "pypgm.mechanisms._jam"
MWEM = "pypgm.mechanisms._mwem"
SCREEN = "pypgm.mechanisms._screen"
CELLS = "pypgm.privacy.cell_selector"
QUERIES = "pypgm.mechanisms.drawn_queries"

MUTANTS = [
    Mutant(
        "the choices of rounds are charged to another ledger",
        AIM,
        "self.selector = table.l1_selector(",
        f"table = type(table)(table.{_RECORDS}, table.privacy, type(table.ledger)(table.ledger.budget)); "
        "self.selector = table.l1_selector(",
        rounds,
        "overspent",
    ),
    Mutant(
        "what a round has learnt is told from the exact counts",
        AIM,
        "np.abs(self._answer(clique) - before)",
        f"np.abs(getattr(table, '{_RECORDS}').project(clique).datavector() - before)",
        rounds,
        "read before the charge",
    ),
    Mutant(
        "what an estimate would save is charged for half of what a record changes",
        AIM,
        "_Search.begin",
        instead("GRID", "GRID // 2"),
        rounds_by_risk,
        "score sensitivity",
    ),
    Mutant(
        "what noise hides is told from the exact counts",
        AIM,
        "expected = {i: told[self.candidates[i]] for i in among}",
        "expected = {i: told[self.candidates[i]] + "
        f"1e-9 * self.run.table.{_RECORDS}.project(self.candidates[i]).datavector() for i in among}}",
        rounds_by_risk,
        "read before the charge",
    ),
    Mutant(
        "plausible values are told from the exact counts",
        GRID,
        "    groups |= {m.clique[0]: _plausible(m, threshold) for m in singles}\n",
        f"    exact = table.{_RECORDS}.columns\n"
        "    rare = {a: np.bincount(exact[a], minlength=domain.size((a,))) < 1 for a in domain}\n"
        "    groups |= {a: Partition(np.where(low, 0, np.cumsum(~low))) for a, low in rare.items()}\n",
        plausible_cells,
        "read before the charge",
    ),
    Mutant(
        "the tree is measured for the budget of all steps",
        GRID,
        "tree = _measure(table, cliques, groups, table.ledger.remaining())",
        f"tree = _measure(type(table)(table.{_RECORDS}, table.privacy, type(table.ledger)(table.ledger.budget)), "
        "cliques, groups, run.rho)",
        plausible_cells,
        "overspent",
    ),
    Mutant(
        "the parts of rho that runs get follow the number of records",
        HDMM,
        "measure_many(cliques, queries, rho=run.rho, weights=shares)",
        "measure_many(cliques, queries, rho=run.rho, "
        f"weights=[s + 0.1 * (run.table.{_RECORDS}.n_records % 2) for s in shares])",
        runs_of_codes,
        "path depends on the data",
    ),
    Mutant(
        "each number of runs is measured for the whole budget",
        HDMM,
        "run.table.measure_many(cliques, queries, rho=run.rho, weights=shares)",
        f"[type(run.table)(run.table.{_RECORDS}, run.table.privacy, type(run.table.ledger)(run.table.ledger.budget))"
        ".measure(c, q, rho=run.rho) for c, q in zip(cliques, queries)]",
        runs_of_codes,
        "overspent",
    ),
    Mutant(
        "pairs are chosen by their exact distances",
        "pypgm.mechanisms.pair_dependence",
        "found.append(distances.scores)",
        f"exact = run.table.{_RECORDS}; "
        "found.append(np.array([np.abs(exact.project(p).datavector() - start.counts(p)).sum() for p in part]))",
        screened_pairs,
        "read before the charge",
    ),
    Mutant(
        "pairs are measured for the budget of all steps",
        SCREEN,
        "found = run.table.measure_many(list(levels), rho=left,",
        "table = run.table\n"
        f"            table = type(table)(table.{_RECORDS}, table.privacy, type(table.ledger)(table.ledger.budget))\n"
        "            found = table.measure_many(list(levels), rho=run.rho,",
        screened_pairs,
        "overspent",
    ),
    Mutant(
        "the number of rounds follows the number of records",
        MWEM,
        "n_rounds = min(rounds, len(self.questions))",
        f"n_rounds = min(rounds, 1 + self.run.table.{_RECORDS}.n_records % 2)",
        equal_rounds,
        "path depends on the data",
    ),
    Mutant(
        "the first model has as many records as there are",
        MWEM,
        "self.model = self.run.estimate(self.measured)\n        self.selector",
        f"self.run.total = self.run.table.{_RECORDS}.n_records; "
        "self.model = self.run.estimate(self.measured)\n        self.selector",
        equal_rounds,
        "records counted exactly",
    ),
    Mutant(
        "both distances of a public table count as one",
        JAM,
        "_CHANGES = 2 ",
        "_CHANGES = 1 ",
        beside_public,
        "score sensitivity",
    ),
    Mutant(
        "what public tables are scaled to is the exact number of records",
        JAM,
        "self.total = self.model.total",
        f"self.total = float(table.{_RECORDS}.n_records)",
        beside_public,
        "records counted exactly",
    ),
    Mutant(
        "draws among counts are charged as if records counted once, whatever their weight",
        CELLS,
        "CellSelector.draw",
        no_factor(3),
        drawn_queries,
        "score sensitivity",
    ),
    Mutant(
        "complements are counted without the records",
        CELLS,
        "_with_others",
        instead(
            "np.array([min(total - c, _COUNT_LIMIT) for c in counts.tolist()], dtype=np.int64)",
            "-np.minimum(counts, _COUNT_LIMIT)",
        ),
        drawn_queries,
        "score sensitivity",
    ),
    Mutant(
        "many draws among counts are charged as one",
        CELLS,
        "CellSelector.draw",
        one_case(2),
        drawn_queries,
        "uncharged draw",
    ),
    Mutant(
        "a replaced record moves a count and its complement alike",
        "pypgm.privacy.relation",
        "Privacy.cell_score_range",
        no_factor(1),
        replaced_queries,
        "score sensitivity",
    ),
    Mutant(
        "DualQuery's rounds follow the exact number of records",
        QUERIES,
        "total, measured = _measured_total(run)",
        f"total, measured = float(run.table.{_RECORDS}.n_records), _measured_total(run)[1]",
        drawn_queries,
        "records counted exactly",
    ),
    Mutant(
        "FEM compares with the exact number of records",
        QUERIES,
        "return min(max(1.0, float(found.values[0])), _MOST_RECORDS), [found]",
        f"return max(1.0, float(table.{_RECORDS}.n_records)), [found]",
        perturbed_leaders,
        "score sensitivity",
    ),
]
