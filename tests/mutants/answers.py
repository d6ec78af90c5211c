"""Answers and selections that are not what was charged: of other tables, without noise, again for nothing."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import as_given, instead, no_factor
from selfcheck.shapes import SHAPES, check_shapes
from selfcheck.single_steps import PURE_STEPS, STEPS, many_answers

from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import far_pairs, neighbour_pairs
from pypgm.audit.subjects import MECHANISMS
from pypgm.audit.whole import followed
from pypgm.privacy import Budget

TABLE, SELECTOR, NOISE = "pypgm.privacy.private_table", "pypgm.privacy.selector", "pypgm.privacy.charged_noise"
L1 = "pypgm.privacy.l1_selector"
QUANTILES, RELATION, OPENDP = "pypgm.privacy.quantiles", "pypgm.privacy.relation", "pypgm.privacy.opendp_noise"
MST, GUARDED = "pypgm.mechanisms._mst", "pypgm.privacy.guarded"
PAIRS = [*[p for p in neighbour_pairs() if p.name.startswith("crossed")], *far_pairs()]
WIDE, WIDEST, CROWDED, FIVE_RECORDS = SHAPES[1:2], SHAPES[2:3], SHAPES[:1], SHAPES[5:]
TAKEN = {**MECHANISMS, **STEPS, **PURE_STEPS}


def follow(name, mechanism=None, pairs=PAIRS):
    """Return the whole of the checks of one mechanism or step on a few tables."""
    budget = Budget(epsilon=2) if name in PURE_STEPS else Budget(rho=2)
    return lambda: followed("mutant", name, [run_pairs(name, mechanism or TAKEN[name], budget, pairs)])


def shaped(name, shapes, **more):
    """Return the same on tables of some shapes."""
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
other_backend = shaped("gaussian measurement", SHAPES[:2], backend="opendp")
other_laplace = shaped("laplace measurement", SHAPES[:2], backend="opendp")

DRAWN = "values = noise.add(_answers(done, next(access.count([attributes]))))"
EXACT = "values = (lambda e: {} if {} else noise.add(e))(_answers(done, next(access.count([attributes]))))"

SCORES = "fitted(self._weighted(now, chosen, weighing))"
SELECTED = f"{' ' * 16}return [int(chosen[law.draw({SCORES}, sampler, steps=_STEPS)])]"

MUTANTS = [
    Mutant(
        "answers come from a table entered before",
        TABLE,
        "_answers",
        instead(
            "query.matvec(counts).astype(np.int64, copy=False)",
            "_answers.__dict__.setdefault(query.shape, query.matvec(counts))",
        ),
        measured,
        "answer of another table",
    ),
    Mutant(
        "noisy answers are kept from run to run",
        TABLE,
        DRAWN,
        "values = PrivateTable.measure.__dict__.setdefault(attributes, np.arange(done.shape[0]))",
        measured,
        "cached answer",
    ),
    Mutant(
        "scores are kept across tables",
        SELECTOR,
        "Selector._weighted",
        instead(
            "now.scores[chosen]",
            "Selector.screen.__dict__.setdefault(len(chosen), now.scores[chosen])",
        ),
        selected,
        "wrong score",
    ),
    Mutant(
        "a second equal measurement has fresh noise and no charge",
        "pypgm.privacy.access",
        "Access.charge_noise",
        instead(
            "self.ledger.charge(what, on, law)",
            "any(((line.on, line.law) == (on, law) for line in self.ledger.lines)) or "
            "self.ledger.charge(what, on, law)",
        ),
        again,
        "uncharged draw",
    ),
    Mutant(
        "every third equal measurement is free",
        "pypgm.privacy.access",
        "Access.charge_noise",
        instead(
            "self.ledger.charge(what, on, law)",
            "sum(((line.on, line.law) == (on, law) for line in self.ledger.lines)) == 2 or "
            "self.ledger.charge(what, on, law)",
        ),
        again,
        "uncharged draw",
    ),
    Mutant(
        "equal quantiles of one call are charged once",
        QUANTILES,
        "private_quantiles",
        instead("zip(wanted, laws, strict=True)", "dict.fromkeys(zip(wanted, laws, strict=True))"),
        quantiles,
        "uncharged draw",
    ),
    Mutant(
        "quantiles asked for again are free",
        QUANTILES,
        "private_quantiles",
        instead("zip(wanted, laws, strict=True)", "[] if ledger.lines[:-1] else zip(wanted, laws, strict=True)"),
        quantiles_again,
        "uncharged draw",
    ),
    Mutant(
        "the second selection of a selector is free",
        SELECTOR,
        "Selector.select_top",
        instead(
            "ledger.charge('select', self._on(len(chosen)), law)",
            "ledger.lines or ledger.charge('select', self._on(len(chosen)), law)",
        ),
        chosen_again,
        "uncharged draw",
    ),
    Mutant(
        "the best several are charged as one",
        SELECTOR,
        "Selector.select_top",
        instead("range(len(chosen), len(chosen) - count, -1)", "[len(chosen)]"),
        two,
        "uncharged draw",
    ),
    Mutant(
        "scores are computed before the charge",
        SELECTOR,
        "        self._ask(now)\n        ledger, sampler",
        "        self._ask(now)\n        self._weighted(now, chosen, weighing)\n        ledger, sampler",
        selected,
        "read before the charge",
    ),
    Mutant(
        "only tables above 64 cells get half the noise",
        "pypgm.privacy.laws",
        "DiscreteGaussian.adder",
        instead(
            "sampler.gaussian(self.variance)",
            "lambda counts: sampler.gaussian(self.variance / (4 if counts.size > 64 else 1))(counts)",
        ),
        wide,
        "scale differs from the charge",
    ),
    Mutant(
        "only tables above 4,096 cells get no noise",
        TABLE,
        DRAWN,
        EXACT.format("e", "e.size > 4096"),
        widest,
        "unnoised answer",
    ),
    Mutant(
        "only tables above 4,096 cells get noise of one record a person",
        "pypgm.privacy.access",
        "Access._law",
        instead(
            "DiscreteGaussian(s, relation.squared_l2_sensitivity(query), relation.largest_change(query))",
            "DiscreteGaussian(s, relation.squared_l2_sensitivity(query) if query.shape[0] <= 4096 else "
            "1, relation.largest_change(query))",
        ),
        widest,
        "lost user bound",
    ),
    Mutant(
        "only four records a person or more are taken for three",
        RELATION,
        "Privacy.squared_l2_sensitivity",
        instead("self.records_per_person", "min(3, self.records_per_person)"),
        five,
        "lost user bound",
    ),
    Mutant(
        "only four records a person or more are taken for three in Laplace noise",
        RELATION,
        "Privacy.l1_sensitivity",
        instead("self.records_per_person", "min(3, self.records_per_person)"),
        shaped("laplace measurement", FIVE_RECORDS),
        "lost user bound",
    ),
    Mutant(
        "only four records a person or more are taken for three in selections",
        RELATION,
        "Privacy.l1_score_range",
        instead("self.records_per_person", "min(3, self.records_per_person)"),
        shaped("selection", FIVE_RECORDS),
        "score sensitivity",
    ),
    Mutant(
        "scores under replace have the range of add-remove",
        RELATION,
        "Privacy.l1_score_range",
        no_factor(2),
        selected,
        "score sensitivity",
    ),
    Mutant(
        "only tables above 100 records are answered exactly",
        TABLE,
        DRAWN,
        EXACT.format("e", "e.sum() > 100"),
        crowded,
        "unnoised answer",
    ),
    Mutant(
        "only counts above 100 records lose some of their noise",
        TABLE,
        DRAWN,
        EXACT.format("noise.add(e) - (noise.add(e) - e) // 2", "e.sum() > 100"),
        crowded,
        "uncharged draw",
    ),
    Mutant(
        "only from the 1,000th answer there is no charge",
        "pypgm.privacy.access",
        "Access.charge_noise",
        instead(
            "self.ledger.charge(what, on, law)", "len(self.ledger.lines) < 999 and self.ledger.charge(what, on, law)"
        ),
        long_run,
        "uncharged draw",
    ),
    Mutant(
        "only from the 1,000th answer there is no noise",
        TABLE,
        DRAWN,
        EXACT.format("e", "len(self._ledger.lines) >= 1000"),
        long_run,
        "unnoised answer",
    ),
    Mutant(
        "only above epsilon 4 Laplace noise is halved",
        "pypgm.privacy.laws",
        "DiscreteLaplace.adder",
        instead("self.scale", "self.scale / (1 + (self.scale < 1))"),
        shaped("laplace measurement", WIDEST),
        "scale differs from the charge",
    ),
    Mutant(
        "later edges of the tree are chosen exactly",
        MST,
        "        chosen = selector.select(among, rho=rho / (len(domain) - 1))",
        "        scores = getattr(selector, '_now').scores\n"
        "        best = lambda: max(among, key=lambda i: scores[i])\n"
        "        chosen = best() if len(tree) > 2 else selector.select(among, rho=rho / (len(domain) - 1))",
        crowded_mst,
        "path depends on the data",
    ),
    Mutant(
        "the last edge of the tree is charged and chosen exactly",
        MST,
        "        chosen = selector.select(among, rho=rho / (len(domain) - 1))",
        "        chosen = selector.select(among, rho=rho / (len(domain) - 1))\n"
        "        if len(tree) == len(domain) - 2 > 1:\n"
        "            chosen = max(among, key=lambda i: getattr(selector, '_now').scores[i])",
        crowded_mst,
        "path depends on the data",
    ),
    Mutant(
        "scores are of cells though groups were charged",
        L1,
        "L1Selector._reduced",
        instead("query.matvec(counts)", "counts[:query.shape[0]]"),
        tree,
        "wrong score",
    ),
    Mutant(
        "scores are divided by the number of records",
        L1,
        "L1Selector._score",
        instead(
            "l1_distance(kept, now.public[number])", "l1_distance(kept, now.public[number]) // max(1, int(kept.sum()))"
        ),
        selected,
        "wrong score",
    ),
    Mutant(
        "scores are squared distances",
        L1,
        "l1_distance",
        instead(
            "np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64)",
            "((answers << GRID_BITS) - estimate).astype(float).__pow__(2).sum() / (1 << GRID_BITS)",
        ),
        selected,
        "wrong score",
    ),
    Mutant(
        "the public estimate is scaled to the true number of records",
        L1,
        "        return l1_distance(kept, now.public[number])",
        "        estimate = now.public[number]\n"
        "        return l1_distance(kept, estimate * int(kept.sum()) // max(1, int(estimate.sum()) >> GRID_BITS))",
        selected,
        "wrong score",
    ),
    Mutant(
        "permute-and-flip is charged as an exponential mechanism",
        SELECTOR,
        "Selector.permute_and_flip",
        instead(
            "self._access.ledger.charge('select', self._on(len(chosen)), law)",
            "self._access.ledger.charge('select', self._on(len(chosen)), Exponential(law.epsilon, law.score_range))",
        ),
        flipped,
        "uncharged draw",
    ),
    Mutant(
        "permute-and-flip draws twice as sharply",
        SELECTOR,
        "Selector.permute_and_flip",
        instead("_STEPS", "_STEPS // 2"),
        flipped,
        "score sensitivity",
    ),
    Mutant(
        "ranks are of one table for all",
        QUANTILES,
        "_drawn",
        instead("access.numbers()", "private_quantiles.__dict__.setdefault('kept', access.numbers())"),
        quantiles,
        "wrong score",
    ),
    Mutant(
        "bounds look at no more than the first records",
        QUANTILES,
        '    np.add.at(per_cell, np.clip(np.searchsorted(points, numbers, side="right") - 1, 0, cells - 1), counts)',
        "    np.add.at(per_cell, np.clip(np.searchsorted(points, numbers[::2]) - 1, 0, cells - 1), counts[::2])",
        bounds,
        "answer of another table",
    ),
    Mutant(
        "bounds are of exact counts",
        QUANTILES,
        "private_bounds",
        as_given(4),
        bounds,
        "noise from elsewhere",
    ),
    Mutant(
        "the scale that OpenDP gets is halved",
        OPENDP,
        "laplace",
        instead("float(scale)", "float(scale) / 2"),
        other_laplace,
        "scale differs from the charge",
    ),
    Mutant(
        "the standard deviation that OpenDP gets is halved",
        OPENDP,
        "gaussian",
        instead("odp.m.make_gaussian(*space, scale=float(root))", "odp.m.make_gaussian(*space, scale=float(root) / 2)"),
        other_backend,
        "scale differs from the charge",
    ),
    Mutant(
        "OpenDP adds its noise to nothing and the counts are added in floats",
        OPENDP,
        "_as_adder",
        instead(
            "np.array(measurement(counts), dtype=np.int64)",
            "counts + np.array(measurement(counts * 0), dtype=np.float64)",
        ),
        other_backend,
        "floats released",
    ),
    Mutant(
        "a measurement is released with half its standard deviation",
        TABLE,
        "PrivateTable.measure",
        instead("law.stddev", "law.stddev / 2"),
        measured,
        "scale differs from the charge",
    ),
    Mutant(
        "many measurements take their noise in another order",
        TABLE,
        "PrivateTable.__noisy",
        instead("noises[i]", "noises[i - 1]"),
        several,
        "scale differs from the charge",
    ),
    Mutant(
        "noise of many measurements is drawn once for equal cliques",
        TABLE,
        "PrivateTable.__noisy",
        instead(
            "noises[i].add(_answers(asked[i][2], counts))",
            "noises[i].add(_answers(asked[i][2], counts)) if i != 2 else values[0]",
        ),
        several,
        "noise from elsewhere",
    ),
    Mutant(
        "the mechanism knows the number of records",
        "pypgm.mechanisms.run",
        "Run.__init__",
        instead(
            "self.table.public_total",
            "data_.n_records if (data_ := getattr(self.table, '_PrivateTable__data')) else None",
        ),
        whole,
        "records counted exactly",
    ),
    Mutant(
        "cells are merged by their true counts",
        MST,
        "    groups = {m.clique[0]: _groups(m, compress) for m in singles}",
        "    true = getattr(table, '_PrivateTable__data').columns\n"
        "    groups = {m.clique[0]: Partition([*range(len(m.values) - 1), max(0, len(m.values) - 2)])\n"
        "              if true[m.clique[0]].any() else _groups(m, False) for m in singles}",
        whole,
        "read before the charge",
    ),
    Mutant(
        "a pair that nobody is in is left out",
        MST,
        "    pairs = list(itertools.combinations(domain.attributes, 2))",
        "    seen = {a for a, c in getattr(table, '_PrivateTable__data').columns.items() if c.any()}\n"
        "    pairs = [p for p in itertools.combinations(domain.attributes, 2) if seen or p != ('a', 'c')]",
        whole,
        "read before the charge",
    ),
    Mutant(
        "all noise is drawn from a seed",
        "pypgm.privacy.sampler",
        "Sampler.__init__",
        instead("unsafe_seed", "7 if unsafe_seed is None else unsafe_seed"),
        measured,
        "seeded by default",
    ),
    Mutant(
        "OpenDP gets the inverse of a standard deviation",
        OPENDP,
        "gaussian",
        instead(
            "odp.m.make_gaussian(*space, scale=float(root))",
            "odp.m.make_gaussian(*space, scale=float(1 / root) if root > 1 else float(root))",
        ),
        shaped("gaussian measurement", WIDEST, backend="opendp"),
        "scale differs from the charge",
    ),
    Mutant(
        "equal cliques measured together are charged once",
        TABLE,
        '            noises = self.trusted_access.charge_gaussians(each, "measure", part)\n',
        "            kept = {on: (done, on, own) for done, on, own in each}\n"
        '            noises = self.trusted_access.charge_gaussians(list(kept.values()), "measure", part)\n'
        "            noises = [noises[list(kept).index(on)] for _, on, _ in each]\n",
        several,
        "uncharged draw",
    ),
    Mutant(
        "a selection that is clear takes no draw",
        SELECTOR,
        SELECTED,
        "                scores = fitted(self._weighted(now, chosen, weighing))\n"
        "                if np.ptp(scores) > 2 << GRID_BITS:\n"
        "                    return [int(chosen[scores.argmax()])]\n" + SELECTED,
        shaped("selection", CROWDED),
        "noise from elsewhere",
    ),
    Mutant(
        "only above epsilon 4 a selection is drawn twice as sharply",
        SELECTOR,
        SELECTED,
        SELECTED.replace("_STEPS", "_STEPS // (1 + (law.epsilon > 4))"),
        shaped("pure selection", WIDEST),
        "score sensitivity",
    ),
    Mutant(
        "records are counted before the charge",
        TABLE,
        '        noise = access.charge_noise(done, "measure", named(attributes), ',
        "        self.__records().count([attributes])\n"
        '        noise = access.charge_noise(done, "measure", named(attributes), ',
        measured,
        "read before the charge",
    ),
]
