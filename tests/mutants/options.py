"""Defects that show with some options, domains or relations alone, or on other tables than those of the run."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import no_factor, one_case, one_less, other_extreme
from selfcheck.fuzz import check_fuzz
from selfcheck.options import check_options
from selfcheck.scores import check_scores

options = {name: partial(check_options, name) for name in ("wide", "privbayes", "adaptive_grid", "jam", "fem")}
few = {name: partial(check_fuzz, 60, only=(name,)) for name in ("aim", "jam", "mst", "mwem", "learn_ising")}

MUTANTS = {
    "a risk changes under replace as under add-remove": at(
        "mechanisms.choices:Choices.drawn", options["wide"], "score sensitivity"
    )(no_factor()),
    "the mutual information of all attributes changes as that of binary ones": at(
        "bayes.private_structure:_Choice.__init__", options["privbayes"], "score sensitivity"
    )(
        "largest_change(how.score, table.privacy.neighbours, table.public_total, binary=binary)",
        "largest_change(how.score, table.privacy.neighbours, table.public_total, binary=True)",
    ),
    "families are as large as the exact number of records where usefulness sets no limit": at(
        "bayes.private_structure:_most_cells", options["privbayes"], "records counted exactly"
    )("return X", "return min(X, max(4, table._PrivateTable__data.n_records))"),
    "a saving changes under replace as under add-remove": at(
        "mechanisms._aim:_Search.begin", few["aim"], "score sensitivity"
    )(no_factor(5)),
    "weights multiply savings once more": at("mechanisms._aim:_Search._selected", few["aim"], "score sensitivity")(
        "chosen = self.savings.select(rho=rho, weights=X)",
        "self.savings.compare(lambda i, counts: 4 * saving(counts, goals[i], drowned[i]), cliques)\n"
        "chosen = self.savings.select(rho=rho)",
    ),
    "as many rounds as the exact number of records is worth": at(
        "mechanisms._fem:_Rounds.default_rounds", options["fem"], "records counted exactly"
    )("self.total", "table.trusted_access.records().n_records"),
    "a gain changes under replace as under add-remove": at(
        "mechanisms._jam:_Search.go", few["jam"], "score sensitivity"
    )(no_factor(2)),
    "the exact number of records is the total where measurements are given": at(
        "mechanisms.run:Run.__init__", few["mst"], "records counted exactly"
    )(
        "self.table.public_total",
        "self.table._PrivateTable__data.n_records if measurements else self.table.public_total",
    ),
    "the error of a cell counts twice": at("mechanisms._mwem:_Search._compared", few["mwem"], "score sensitivity")(
        "abs(int(counts[cells[number]]) - expected[number])", "2 * abs(int(counts[cells[number]]) - expected[number])"
    ),
    "multiplicative weights sum to the exact number of records": at(
        "mechanisms._mwem:_Search._estimate", few["mwem"], "records counted exactly"
    )("self.model.total", "float(self.run.table._PrivateTable__data.n_records)"),
    "scores of regressions change under replace as under add-remove, and forget the records of a person": at(
        "mrf.frank_wolfe:FrankWolfe.score_range", few["learn_ising"], "score sensitivity"
    )("(2 if privacy.neighbours == 'replace' else 1) * privacy.records_per_person", "1"),
    "a distance from independence changes under replace as under add-remove": at(
        "bayes.private_structure:largest_change", check_scores, "score sensitivity"
    )(one_case()),
    "a record counts half in a shortfall": at(
        "bayes.private_structure:largest_change", check_scores, "score sensitivity"
    )(one_less()),
    "the mutual information of binary attributes changes by a tenth less": at(
        "bayes.private_structure:largest_change", check_scores, "score sensitivity"
    )("math.log2(n)", "0.9 * math.log2(n)"),
    "the mutual information of attributes of three values changes by a hundredth less": at(
        "bayes.private_structure:largest_change", check_scores, "score sensitivity"
    )("2 * math.log2((n + 1) / 2)", "1.98 * math.log2((n + 1) / 2)"),
    "a risk is said to change by one record and nine tenths": at(
        "mechanisms.resolution:RISK_SENSITIVITY", check_scores, "score sensitivity"
    )("2", "1.9"),
    "parts of a group sum to more than one": at("mechanisms.resolution:_within", check_scores, "score sensitivity")(
        "(1 << _PARTS) - 1", "33 << _PARTS - 5"
    ),
    "a saving rises faster than the distance": at("mechanisms._aim:saving", check_scores, "score sensitivity")(
        "l1_distance(counts, expected)", "l1_distance(counts, expected) * 21 // 20"
    ),
    "the mutual information of attributes changes as that of binary ones where one of them is binary": at(
        "bayes.private_structure:_Choice.__init__", check_scores, "score sensitivity"
    )(other_extreme()),
    "a learner states the distance of add-remove under replace": at(
        "bayes.private_structure:_Choice.__init__", check_scores, "score sensitivity"
    )("table.privacy.neighbours", "'add-remove' if how.score == 'R' else table.privacy.neighbours"),
    "a distance from independence counts twice": at(
        "bayes.private_structure:_distance", check_scores, "score sensitivity"
    )(no_factor(8)),
    "a shortfall counts twice": at("bayes.private_structure:_shortfall", check_scores, "score sensitivity")(
        "-int((np.maximum(total - 2 * reached, 0) + np.maximum(total - 2 * best[reached], 0)).min())",
        "-2 * int((np.maximum(total - 2 * reached, 0) + np.maximum(total - 2 * best[reached], 0)).min())",
    ),
    "mutual information counts twice": at("bayes.private_structure:_information", check_scores, "score sensitivity")(
        "round(X * Y)", "round(2 * X * Y)"
    ),
    "an estimate keeps more of the noise in a sum than there is": at(
        "mechanisms.resolution:_LEAK", check_scores, "score sensitivity"
    )("3, 10", "11, 10"),
    "a risk counts twice": at("mechanisms.resolution:_twice", check_scores, "score sensitivity")(
        "np.maximum(too_low, 0).sum(axis=-1)", "2 * np.maximum(too_low, 0).sum(axis=-1)"
    ),
    "a saving counts twice": at("mechanisms._aim:saving", check_scores, "score sensitivity")(
        "distance - math.isqrt(distance * distance * hiding * hiding // squares)",
        "2 * distance - 2 * math.isqrt(distance * distance * hiding * hiding // squares)",
    ),
    "the distance of a marginal from its estimate counts twice": at(
        "privacy.l1_selector:l1_distance", few["mst"], "score sensitivity"
    )(
        "int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))",
        "2 * int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))",
    ),
    "what a model lacks counts twice": at("mechanisms._jam:_Search._gain", few["jam"], "score sensitivity")(
        "int(np.abs(_GRID * secret - expected[number % n]).sum())",
        "2 * int(np.abs(_GRID * secret - expected[number % n]).sum())",
    ),
    "a risk is said to change by one record": at(
        "mechanisms.choices:Choices.drawn", options["wide"], "score sensitivity"
    )(no_factor(2)),
    "a tree beside targets is compared with the exact counts": at(
        "mechanisms._adaptive_grid:_select", options["adaptive_grid"], "path depends on the data"
    )(
        "model.project(clique).datavector()",
        "getattr(getattr(table, '_PrivateTable__data'), "
        "'_data').count([clique])[0] if targets else model.project(clique).datavector()",
    ),
    "public records are scaled to the exact number of private ones": at(
        "mechanisms._jam:_Search._gain", options["jam"], "path depends on the data"
    )("self.total", "getattr(getattr(self.run.table, '_PrivateTable__data'), '_data').n_records"),
    "answers of leaders are of the exact number of records": at(
        "mechanisms._fem:_Rounds.go", options["fem"], "path depends on the data"
    )("-self.total", "-getattr(getattr(table, '_PrivateTable__data'), '_data').n_records"),
}
