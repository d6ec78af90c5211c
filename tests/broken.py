"""Parts for `adaptive`, broken as published implementations are, and the defect that each must be reported as."""

from __future__ import annotations

import logging
import math
import warnings
from fractions import Fraction

import numpy as np
from adaptive import PAIRS

from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy import Budget, Charge, Ledger, Privacy
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Exponential, PermuteAndFlip, Stated
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Partition


def relation_forgotten(data, privacy, budget, **more):
    return PrivateTable(data, Privacy(records_per_person=privacy.records_per_person), Ledger(budget), **more)


def user_bound_forgotten(data, privacy, budget, **more):
    return PrivateTable(data, Privacy(privacy.neighbours), Ledger(budget), **more)


def overspent_first_rounds(data, privacy, budget, **more):
    return PrivateTable(data, privacy, Ledger(Budget(rho=budget.limit * 9 / 5)), **more)


def overspending_measure(data, table, clique, rho):
    return table.measure(clique, rho=rho * 2)


def budget_spent_twice(data, table, release):
    again = PrivateTable(data, table.privacy, Ledger(table.ledger.budget))
    again.measure("b", rho=again.ledger.budget.limit)
    return release


def uncharged_first(data, table, rho):
    table.ledger.charge("measure", "(a)", DiscreteGaussian(variance=1 / rho, squared_sensitivity=2))
    counts = data.count([("a",), ("b",)])
    return [LinearMeasurement(Sampler().gaussian(1 / rho)(c), n, 1.0) for c, n in zip(counts, "ab", strict=True)]


def charged_after(data, table, clique, rho):
    counts = data.count([clique])[0]
    squared = table.privacy.squared_l2_sensitivity(Partition([0, 1]))
    variance = squared / (2 * rho)
    table.ledger.charge("measure", str(clique), DiscreteGaussian(variance=variance, squared_sensitivity=squared))
    return LinearMeasurement(Sampler().gaussian(variance)(counts), clique, math.sqrt(variance))


def charged(table, clique, rho):
    squared = table.privacy.squared_l2_sensitivity(Partition([0, 1]))
    variance = squared / (2 * rho)
    table.ledger.charge("measure", str(clique), DiscreteGaussian(variance=variance, squared_sensitivity=squared))
    return variance


def scale_divided_by_attributes(data, table, clique, rho):
    variance = charged(table, clique, rho)
    values = Sampler().gaussian(variance / len(data.domain) ** 2)(data.count([clique])[0])
    return LinearMeasurement(values, clique, math.sqrt(variance))


def laplace_scale_divided_by_attributes(data, table, clique, rho):
    sensitivity = table.privacy.l1_sensitivity(Partition([0, 1]))
    scale = Fraction(sensitivity * 1000, math.isqrt(int(2 * rho * 10**6)))
    table.ledger.charge("measure", str(clique), DiscreteLaplace(scale=scale, sensitivity=sensitivity))
    values = Sampler().laplace(scale / len(data.domain))(data.count([clique])[0])
    return LinearMeasurement(values, clique, float(scale), noise="laplace")


def half_the_sensitivity(data, table, clique, rho):
    variance = charged(table, clique, rho)
    return LinearMeasurement(Sampler().gaussian(variance)(2 * data.count([clique])[0]), clique, 1.0)


def safe_noise_added_in_float(data, table, clique, rho):
    variance = charged(table, clique, rho)
    counts = data.count([clique])[0].astype(float)
    return LinearMeasurement(counts + Sampler().gaussian(variance)(np.zeros(counts.size, dtype=np.int64)), clique)


def float_noise(data, table, clique, rho):
    variance = charged(table, clique, rho)
    counts = data.count([clique])[0]
    return LinearMeasurement(counts + np.random.default_rng(1).normal(0, math.sqrt(variance), counts.size), clique)


def softmax_selection(data, table, selector, among, rho):
    epsilon = Fraction(math.isqrt(int(8 * rho * 10**6)), 1000)
    table.ledger.charge("select", "pairs", Exponential(epsilon=epsilon, score_range=table.privacy.l1_score_range))
    scores = np.array([np.abs(c - 2.5).sum() for c in data.count([PAIRS[i] for i in among])])
    weights = np.exp(float(epsilon) * (scores - scores.max()) / table.privacy.l1_score_range)
    return among[int(np.random.default_rng(1).choice(len(among), p=weights / weights.sum()))]


def retried_selection(data, table, selector, among, rho):
    chosen = selector.select([0, 1, 2], rho=rho)
    scores = np.array([c.max() for c in data.count(PAIRS)])
    for _ in range(50):
        if chosen in among:
            break
        chosen = Sampler().select(scores, Fraction(1, 2))
    return chosen if chosen in among else among[0]


def flip_charged_as_exponential(data, table, selector, among, rho):
    line = Charge("select", "pairs", PermuteAndFlip(epsilon="1/2", score_range=2))
    object.__setattr__(line, "cost", line.cost / 4)
    Ledger._enter(table.ledger, line)
    return among[0]


def exact_maximum(data, table, selector, among, rho):
    selector.select(among, rho=rho)
    return max(among, key=lambda i: int(data.count([PAIRS[i]])[0].max()))


def records_kept(data, table, release):
    release.model.training_data = data
    return release


def records_kept_in_a_closure(data, table, release):
    release.model.refit = lambda: data.count([("a",)])
    return release


def exact_counts_kept(data, table, release):
    release.model.histogram = data.count([("a", "b")])[0]
    return release


def fresh_release_each_time(data, table, release):
    class Fresh(type(release.model)):
        def synthetic_data(self, rows=None, rng=None):
            data.count([("a",)])
            return super().synthetic_data(rows, rng)

    release.model.__class__ = Fresh
    return release


def charged_when_used(data, table, release):
    class Charging(type(release.model)):
        def synthetic_data(self, rows=None, rng=None):
            table.ledger.charge("sample", "model", Stated(rho=0))
            return super().synthetic_data(rows, rng)

    release.model.__class__ = Charging
    return release


def as_many_rows_as_records(data, table, release):
    rows = len(data.columns["a"])

    class Exact(type(release.model)):
        def synthetic_data(self, rows_wanted=None, rng=None):
            return super().synthetic_data(rows, rng)

    release.model.__class__ = Exact
    return release


def logged(data, table, release):
    logging.getLogger("pypgm").info("largest count %d", data.count([("a",)])[0].max())
    return release


def warned(data, table, release):
    if data.count([("a",)])[0].min() == 0:
        warnings.warn("a category was never seen", stacklevel=1)
    return release


def true_error_printed(data, table, release):
    print("error", np.abs(release.project("a").values - data.count([("a",)])[0]).sum())
    return release


def told_by_exception(data, table, release):
    if data.count([()])[0][0] < 3:
        raise ValueError("too few records to fit a model")
    return release


def domain_from_the_data(data, table, rho):
    cells = int(max(data.columns["a"], default=0)) + 1
    variance = charged(table, "a", rho)
    return [LinearMeasurement(Sampler().gaussian(variance)(data.count([("a",)])[0][:cells]), "a", 1.0, None)]


MUTANTS = {
    "calibrated for add-remove under replace": ({"enter": relation_forgotten}, "wrong relation"),
    "scale without the records per person": ({"enter": user_bound_forgotten}, "lost user bound"),
    "sensitivity halved": ({"measure": half_the_sensitivity}, "sensitivity"),
    "first rounds overspend": ({"enter": overspent_first_rounds, "measure": overspending_measure}, "overspent"),
    "the budget is spent twice": ({"finish": budget_spent_twice}, "overspent"),
    "initial cliques not charged": ({"first": uncharged_first}, "uncharged draw"),
    "charged after the read": ({"measure": charged_after}, "read before the charge"),
    "scale divided by the attributes": ({"measure": scale_divided_by_attributes}, "scale differs from the charge"),
    "Laplace scale divided by the attributes": (
        {"measure": laplace_scale_divided_by_attributes},
        "scale differs from the charge",
    ),
    "safe noise added in float": ({"measure": safe_noise_added_in_float}, "noise added outside the sampler"),
    "float noise": ({"measure": float_noise}, "noise from elsewhere"),
    "floats released": ({"measure": float_noise}, "floats released"),
    "float softmax selection": ({"select": softmax_selection}, "noise from elsewhere"),
    "selection retried until it is new": ({"select": retried_selection}, "uncharged draw"),
    "permute and flip charged as exponential": ({"select": flip_charged_as_exponential}, "wrong charge"),
    "selection by the exact maximum": ({"select": exact_maximum}, "path depends on the data"),
    "the number of records as total": ({"total": lambda data, _: max(1, data.n_records)}, "records counted exactly"),
    "as many rows as records": ({"finish": as_many_rows_as_records}, "private state kept"),
    "records kept in the model": ({"finish": records_kept}, "records kept"),
    "records kept in a closure": ({"finish": records_kept_in_a_closure}, "records kept"),
    "exact counts kept in the model": ({"finish": exact_counts_kept}, "private state kept"),
    "a fresh release at every call": ({"finish": fresh_release_each_time}, "records read after the release"),
    "charged when used": ({"finish": charged_when_used}, "ledger charged after the release"),
    "a private value logged": ({"finish": logged}, "text tells"),
    "a warning about the records": ({"finish": warned}, "text tells"),
    "the true error printed": ({"finish": true_error_printed}, "text tells"),
    "an exception about the records": ({"finish": told_by_exception}, "exception tells"),
    "sizes from the records": ({"first": domain_from_the_data}, "domain from the data"),
}
