"""Answers and selections that are not what was charged: of other tables, without noise, again for nothing."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import as_given, no_factor, put
from selfcheck.shapes import SHAPES, check_shapes
from selfcheck.single_steps import PURE_STEPS, STEPS, many_answers
from selfcheck.steps import check_asked

from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import far_pairs, neighbour_pairs
from pypgm.audit.subjects import MECHANISMS
from pypgm.audit.tiers import followed
from pypgm.privacy import Budget

PAIRS = [*[p for p in neighbour_pairs() if p.name.startswith("crossed")], *far_pairs()]
WIDE, WIDEST, CROWDED, FIVE_RECORDS = SHAPES[1:2], SHAPES[2:3], SHAPES[:1], SHAPES[5:]
TAKEN = {**MECHANISMS, **STEPS, **PURE_STEPS}


def follow(name, mechanism=None, pairs=PAIRS, budget=None):
    """Return the whole of the checks of one mechanism or step on a few tables."""
    amount = budget or (Budget(epsilon=2) if name in PURE_STEPS else Budget(rho=2))
    return lambda: followed("mutant", name, [run_pairs(name, mechanism or TAKEN[name], amount, pairs)])


def shaped(name, shapes, **more):
    """Return the check of one mechanism or step on tables of some shapes."""
    return partial(check_shapes, name, TAKEN[name], shapes, pure=name in PURE_STEPS, **more)


measured, again, several = (
    follow("gaussian measurement"),
    follow("the same measurement again"),
    follow("many measurements"),
)
laplace, selected, two = follow("laplace measurement"), follow("selection"), follow("selection of two")
chosen_again, flipped, tree = (
    follow("the same selection again"),
    follow("permute-and-flip"),
    follow("selections of groups"),
)
quantiles, quantiles_again, bounds = follow("quantiles"), follow("the same quantiles again"), follow("bounds")
whole, long_run = follow("mst"), follow("many answers", many_answers, PAIRS[-1:])
wide, widest, five = (shaped("gaussian measurement", s) for s in (WIDE, WIDEST, FIVE_RECORDS))
crowded_mst, crowded = shaped("mst", CROWDED), shaped("gaussian measurement", CROWDED)


def question(name):
    """Return the check of one question to a private table."""
    return partial(check_asked, [name])


MUTANTS = {
    "answers come from a table entered before": at(
        "privacy.private_table:_answers", measured, "answer of another table"
    )(
        "return X",
        "return _answers.__dict__.setdefault(query.shape, X)",
    ),
    "noisy answers are kept from run to run": at(
        "privacy.private_table:PrivateTable.measure", measured, "cached answer"
    )(
        "noise.add(_answers(done, next(access.count([attributes]))))",
        "PrivateTable.measure.__dict__.setdefault(attributes, np.arange(done.shape[0]))",
    ),
    "scores are kept across tables": at("privacy.selector:Selector._weighted", selected, "wrong score")(
        "now.scores[chosen]", "Selector.screen.__dict__.setdefault(len(chosen), now.scores[chosen])"
    ),
    "a second equal measurement has fresh noise and no charge": at(
        "privacy.access:Access.charge_noise", again, "uncharged draw"
    )(
        "self.ledger.charge(what, on, law)",
        "any(((line.on, line.law) == (on, law) for line in self.ledger.lines)) or self.ledger.charge(what, on, law)",
    ),
    "every third equal measurement is free": at("privacy.access:Access.charge_noise", again, "uncharged draw")(
        "self.ledger.charge(what, on, law)",
        "sum(((line.on, line.law) == (on, law) for line in self.ledger.lines)) == 2 or self.ledger.charge(what, "
        "on, law)",
    ),
    "equal quantiles of one call are charged once": at(
        "privacy.quantiles:private_quantiles", quantiles, "uncharged draw"
    )("zip(wanted, laws, strict=True)", "dict.fromkeys(zip(wanted, laws, strict=True))"),
    "quantiles asked for again are free": at("privacy.quantiles:private_quantiles", quantiles_again, "uncharged draw")(
        "zip(wanted, laws, strict=True)", "[] if ledger.lines[:-1] else zip(wanted, laws, strict=True)"
    ),
    "the second selection of a selector is free": at(
        "privacy.selector:Selector.select_top", chosen_again, "uncharged draw"
    )(
        "ledger.charge('select', self._on(len(chosen)), law)",
        "ledger.lines or ledger.charge('select', self._on(len(chosen)), law)",
    ),
    "the best several are charged as one": at("privacy.selector:Selector.select_top", two, "uncharged draw")(
        "range(len(chosen), len(chosen) - count, -1)", "[len(chosen)]"
    ),
    "scores are computed before the charge": at(
        "privacy.selector:Selector.select_top", selected, "read before the charge"
    )(put("self._weighted(now, chosen, weighing)", before="ledger, sampler = ...")),
    "only tables above 64 cells get half the noise": at(
        "privacy.laws:DiscreteGaussian.adder", wide, "scale differs from the charge"
    )(
        "sampler.gaussian(self.variance)",
        "lambda counts: sampler.gaussian(self.variance / (4 if counts.size > 64 else 1))(counts)",
    ),
    "only tables above 4,096 cells get no noise": at(
        "privacy.private_table:PrivateTable.measure", widest, "unnoised answer"
    )("noise.add", "lambda e: e if e.size > 4096 else noise.add(e)"),
    "only tables above 4,096 cells get noise of one record a person": at(
        "privacy.laws:DiscreteGaussian.for_query", widest, "lost user bound"
    )(
        "cls(variance, privacy.squared_l2_sensitivity(query), privacy.largest_change(query))",
        "cls(variance, privacy.squared_l2_sensitivity(query) if query.shape[0] <= 4096 else 1, "
        "privacy.largest_change(query))",
    ),
    "only four records a person or more are taken for three": at(
        "privacy.relation:Privacy.squared_l2_sensitivity", five, "lost user bound"
    )("self.records_per_person", "min(3, self.records_per_person)"),
    "only four records a person or more are taken for three in Laplace noise": at(
        "privacy.relation:Privacy.l1_sensitivity", shaped("laplace measurement", FIVE_RECORDS), "lost user bound"
    )("self.records_per_person", "min(3, self.records_per_person)"),
    "only four records a person or more are taken for three in selections": at(
        "privacy.relation:Privacy.l1_score_range", shaped("selection", FIVE_RECORDS), "score sensitivity"
    )("self.records_per_person", "min(3, self.records_per_person)"),
    "scores under replace have the range of add-remove": at(
        "privacy.relation:Privacy.l1_score_range", selected, "score sensitivity"
    )(no_factor(2)),
    "only tables above 100 records are answered exactly": at(
        "privacy.private_table:PrivateTable.measure", crowded, "unnoised answer"
    )("noise.add", "lambda e: e if e.sum() > 100 else noise.add(e)"),
    "only counts above 100 records lose some of their noise": at(
        "privacy.private_table:PrivateTable.measure", crowded, "uncharged draw"
    )("noise.add", "lambda e: noise.add(e) - (noise.add(e) - e) // 2 if e.sum() > 100 else noise.add(e)"),
    "only from the 1,000th answer there is no charge": at(
        "privacy.access:Access.charge_noise", long_run, "uncharged draw"
    )("self.ledger.charge(what, on, law)", "len(self.ledger.lines) < 999 and self.ledger.charge(what, on, law)"),
    "only from the 1,000th answer there is no noise": at(
        "privacy.private_table:PrivateTable.measure", long_run, "unnoised answer"
    )("noise.add", "lambda e: e if len(self._ledger.lines) >= 1000 else noise.add(e)"),
    "only above epsilon 4 Laplace noise is halved": at(
        "privacy.laws:DiscreteLaplace.adder", shaped("laplace measurement", WIDEST), "scale differs from the charge"
    )("self.scale", "self.scale / (1 + (self.scale < 1))"),
    "later edges of the tree are chosen exactly": at(
        "mechanisms._mst:select_tree", crowded_mst, "path depends on the data"
    )(
        "chosen = X",
        "scores = getattr(selector, '_now').scores\n"
        "best = lambda: max(among, key=lambda i: scores[i])\n"
        "chosen = best() if len(tree) > 2 else X",
    ),
    "the last edge of the tree is charged and chosen exactly": at(
        "mechanisms._mst:select_tree", crowded_mst, "path depends on the data"
    )(
        put(
            "if len(tree) == len(domain) - 2 > 1:\n"
            "    chosen = max(among, key=lambda i: getattr(selector, '_now').scores[i])",
            after="selector.select(...)",
        )
    ),
    "scores are of cells though groups were charged": at(
        "privacy.l1_selector:L1Selector._reduced", tree, "wrong score"
    )("query.matvec(counts)", "counts[:query.shape[0]]"),
    "scores are divided by the number of records": at("privacy.l1_selector:L1Selector._score", selected, "wrong score")(
        "l1_distance(kept, now.public[number])", "l1_distance(kept, now.public[number]) // max(1, int(kept.sum()))"
    ),
    "scores are squared distances": at("privacy.l1_selector:l1_distance", selected, "wrong score")(
        "np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64)",
        "((answers << GRID_BITS) - estimate).astype(float).__pow__(2).sum() / (1 << GRID_BITS)",
    ),
    "the public estimate is scaled to the true number of records": at(
        "privacy.l1_selector:L1Selector._score", selected, "wrong score"
    )(
        "return l1_distance(X, Y)",
        "estimate = Y\nreturn l1_distance(X, estimate * int(X.sum()) // max(1, int(estimate.sum()) >> GRID_BITS))",
    ),
    "permute-and-flip is charged as an exponential mechanism": at(
        "privacy.selector:Selector.permute_and_flip", flipped, "uncharged draw"
    )(
        "ledger.charge('select', self._on(len(chosen)), law)",
        "ledger.charge('select', self._on(len(chosen)), Exponential(law.epsilon, law.score_range))",
    ),
    "permute-and-flip draws twice as sharply": at(
        "privacy.selector:Selector.permute_and_flip", flipped, "score sensitivity"
    )("law.draw(X, Y, steps=Z)", "law.draw(X, Y, steps=Z // 2)"),
    "ranks are of one table for all": at("privacy.quantiles:_drawn", quantiles, "wrong score")(
        "access.numbers(X)", "private_quantiles.__dict__.setdefault('kept', access.numbers(X))"
    ),
    "bounds look at no more than the first records": at(
        "privacy.quantiles:_cell_counts", bounds, "answer of another table"
    )(
        "np.add.at(X, np.clip(np.searchsorted(Y, numbers, side='right') - 1, 0, cells - 1), counts)",
        "np.add.at(X, np.clip(np.searchsorted(Y, numbers[::2]) - 1, 0, cells - 1), counts[::2])",
    ),
    "bounds are of exact counts": at("privacy.quantiles:private_bounds", bounds, "noise from elsewhere")(as_given(4)),
    "a measurement is released with half its standard deviation": at(
        "privacy.private_table:PrivateTable.measure", measured, "scale differs from the charge"
    )("law.stddev", "law.stddev / 2"),
    "many measurements take their noise in another order": at(
        "privacy.private_table:PrivateTable.__noisy", several, "scale differs from the charge"
    )("noises[i]", "noises[i - 1]"),
    "noise of many measurements is drawn once for equal cliques": at(
        "privacy.private_table:PrivateTable.__noisy", several, "noise from elsewhere"
    )("X.add(Y)", "X.add(Y) if i != 2 else values[0]"),
    "the mechanism knows the number of records": at("mechanisms.run:Run.__init__", whole, "records counted exactly")(
        "self.table.public_total", "data_.n_records if (data_ := getattr(self.table, '_PrivateTable__data')) else None"
    ),
    "cells are merged by their true counts": at("mechanisms._mst:mst", whole, "read before the charge")(
        "groups = X",
        "true = getattr(table, '_PrivateTable__data').columns\n"
        "groups = {m.clique[0]: Partition([*range(len(m.values) - 1), max(0, "
        "len(m.values) - 2)]) if true[m.clique[0]].any() else _groups(m, False) for m in singles}",
    ),
    "a pair that nobody is in is left out": at("mechanisms._mst:select_tree", whole, "read before the charge")(
        "pairs = list(X)",
        "seen = {a for a, c in getattr(table, '_PrivateTable__data').columns.items() if c.any()}\n"
        "pairs = [p for p in X if seen or p != ('a', 'c')]",
    ),
    "all noise is drawn from a seed": at("privacy.sampler:Sampler.__init__", measured, "seeded by default")(
        "unsafe_seed", "7 if unsafe_seed is None else unsafe_seed"
    ),
    "equal cliques measured together are charged once": at(
        "privacy.private_table:PrivateTable.measure_many", several, "uncharged draw"
    )(
        "noises = self.trusted_access.charge_gaussians(X, 'measure', within=Y)",
        "kept = {on: (done, on, own) for done, on, own in X}\n"
        "noises = self.trusted_access.charge_gaussians(list(kept.values()), 'measure', within=Y)\n"
        "noises = [noises[list(kept).index(on)] for _, on, _ in X]",
    ),
    "a selection that is clear takes no draw": at(
        "privacy.selector:Selector.select_top", shaped("selection", CROWDED), "noise from elsewhere"
    )(
        put(
            "scores = fitted(self._weighted(now, chosen, weighing))\n"
            "if np.ptp(scores) > 2 << GRID_BITS:\n"
            "    return [int(chosen[scores.argmax()])]",
            before="law.draw(...)",
        )
    ),
    "only above epsilon 4 a selection is drawn twice as sharply": at(
        "privacy.selector:Selector.select_top", shaped("pure selection", WIDEST), "score sensitivity"
    )("law.draw(X, Y, steps=Z)", "law.draw(X, Y, steps=Z // (1 + (law.epsilon > 4)))"),
    "records are counted before the charge": at(
        "privacy.private_table:PrivateTable.measure", measured, "read before the charge"
    )(put("self.__records().count([attributes])", before="access.charge_noise(...)")),
}
