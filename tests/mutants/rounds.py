"""Defects planted in mechanisms that choose round by round."""

from __future__ import annotations

from mutate import UNCHARGED, at
from operators import no_factor, one_case, put

from mutants.answers import follow
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.subjects import FEWER, LEARNERS
from pypgm.privacy.relation import Privacy

_ALONE = neighbour_pairs((Privacy(),))
rounds, rounds_by_risk, plausible_cells, screened_pairs, runs_of_codes, beside_public = (
    follow(name, FEWER[name], _ALONE) for name in ("aim", "aim, risk", "adaptive_grid", "screen", "hdmm, ranges", "jam")
)
equal_rounds, drawn_queries, perturbed_leaders = (
    follow(name, LEARNERS[name], _ALONE) for name in ("mwem", "dualquery", "fem")
)
replaced_queries = follow("dualquery", LEARNERS["dualquery"], neighbour_pairs((Privacy("replace"),)))


MUTANTS = {
    "the choices of rounds are charged to another ledger": at("mechanisms._aim:_Search.begin", rounds, "overspent")(
        put(f"table = {UNCHARGED}", before="self.selector = ...")
    ),
    "what a round has learnt is told from the exact counts": at(
        "mechanisms._aim:_Search.round", rounds, "read before the charge"
    )("self._answer(clique) - before", "getattr(table, '_PrivateTable__data').project(clique).datavector() - before"),
    "what an estimate would save is charged for half of what a record changes": at(
        "mechanisms._aim:_Search.begin", rounds_by_risk, "score sensitivity"
    )("GRID", "GRID // 2"),
    "what noise hides is told from the exact counts": at(
        "mechanisms._aim:_Search._selected", rounds_by_risk, "read before the charge"
    )(
        "[X for table in self.model.project_many(cliques)]",
        "[X + 1e-09 * self.run.table._PrivateTable__data.project(clique).datavector()\n"
        " for clique, table in zip(cliques, self.model.project_many(cliques))]",
    ),
    "plausible values are told from the exact counts": at(
        "mechanisms._adaptive_grid:adaptive_grid", plausible_cells, "read before the charge"
    )(
        "groups |= X",
        "exact = table._PrivateTable__data.columns\n"
        "rare = {a: np.bincount(exact[a], minlength=domain.size((a,))) < 1 for a in domain}\n"
        "groups |= {a: Partition(np.where(low, 0, np.cumsum(~low))) for a, low in rare.items()}",
    ),
    "the tree is measured for the budget of all steps": at(
        "mechanisms._adaptive_grid:adaptive_grid", plausible_cells, "overspent"
    )("_measure(table, X, Y, table.ledger.remaining())", f"_measure({UNCHARGED}, X, Y, run.rho)"),
    "the parts of rho that runs get follow the number of records": at(
        "mechanisms._hdmm:hdmm", runs_of_codes, "path depends on the data"
    )(
        "run.table.measure_many(X, Y, rho=run.rho, weights=Z)",
        "run.table.measure_many(X, Y, rho=run.rho, "
        "weights=[s + 0.1 * (run.table._PrivateTable__data.n_records % 2) for s in Z])",
    ),
    "each number of runs is measured for the whole budget": at("mechanisms._hdmm:hdmm", runs_of_codes, "overspent")(
        "run.table.measure_many(X, Y, rho=run.rho, weights=Z)",
        "[type(run.table)(run.table._PrivateTable__data, run.table.privacy, "
        "type(run.table.ledger)(run.table.ledger.budget)).measure(c, q, rho=run.rho) for c, q in zip(X, Y)]",
    ),
    "pairs are chosen by their exact distances": at(
        "mechanisms.pair_dependence:noisy_distances", screened_pairs, "read before the charge"
    )(
        "X.append(distances.scores)",
        "exact = run.table._PrivateTable__data\n"
        "X.append(np.array([np.abs(exact.project(p).datavector() - expected(p)).sum() for p in part]))",
    ),
    "pairs are measured for the budget of all steps": at("mechanisms._screen:screen", screened_pairs, "overspent")(
        "X = run.table.measure_many(Y, rho=left, weights=Z)",
        f"table = run.table\ntable = {UNCHARGED}\nX = table.measure_many(Y, rho=run.rho, weights=Z)",
    ),
    "the number of rounds follows the number of records": at(
        "mechanisms._mwem:_Search.go", equal_rounds, "path depends on the data"
    )("len(self.questions)", "1 + self.run.table._PrivateTable__data.n_records % 2"),
    "the first model has as many records as there are": at(
        "mechanisms._mwem:_Search.go", equal_rounds, "records counted exactly"
    )(put("self.run.total = self.run.table._PrivateTable__data.n_records", before="self.run.estimate(...)")),
    "both distances of a public table count as one": at("mechanisms._jam:_CHANGES", beside_public, "score sensitivity")(
        "2", "1"
    ),
    "what public tables are scaled to is the exact number of records": at(
        "mechanisms._jam:_Search.go", beside_public, "records counted exactly"
    )("self.model.total", "float(table._PrivateTable__data.n_records)"),
    "draws among counts are charged as if records counted once, whatever their weight": at(
        "privacy.cell_selector:CellSelector.draw", drawn_queries, "score sensitivity"
    )(no_factor(3)),
    "complements are counted without the records": at(
        "privacy.cell_selector:_with_others", drawn_queries, "score sensitivity"
    )(
        "np.array([min(total - c, _COUNT_LIMIT) for c in counts.tolist()], dtype=np.int64)",
        "-np.minimum(counts, _COUNT_LIMIT)",
    ),
    "many draws among counts are charged as one": at(
        "privacy.cell_selector:CellSelector.draw", drawn_queries, "uncharged draw"
    )(one_case(2)),
    "a replaced record moves a count and its complement alike": at(
        "privacy.relation:Privacy.cell_score_range", replaced_queries, "score sensitivity"
    )(no_factor(1)),
    "DualQuery's rounds follow the exact number of records": at(
        "mechanisms.drawn_queries:release_of", drawn_queries, "records counted exactly"
    )("_measured_total(run)", "(float(run.table._PrivateTable__data.n_records), _measured_total(run)[1])"),
    "FEM compares with the exact number of records": at(
        "mechanisms.drawn_queries:_measured_total", perturbed_leaders, "score sensitivity"
    )("min(max(1.0, X), Y)", "max(1.0, float(table._PrivateTable__data.n_records))"),
}
