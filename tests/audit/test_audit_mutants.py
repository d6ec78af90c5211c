"""Every known defect, planted: the audit must report each of them by name."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from adaptive import adaptive, mutant
from broken import MUTANTS
from checks.private_tables import check_open_table
from checks.roundings import check_integer_noise
from scipy import stats
from selfcheck.accounting import check_conversions, check_exact_loss, check_line_costs
from selfcheck.operators import check_sensitivities
from selfcheck.roundings import check_tails
from source_text import check_source

from pypgm import _core
from pypgm.audit.attacks import (
    audit_pairs,
    check_gaussian_audit,
    check_precision_of_draws,
    check_precision_of_releases,
)
from pypgm.audit.budgets import check_conservation
from pypgm.audit.finding import DEFECTS
from pypgm.audit.laws import GAUSSIAN, LAPLACE
from pypgm.audit.mechanisms import check_calibration, check_charges, check_noninterference, run_pairs
from pypgm.audit.pairs import far_pairs, neighbour_pairs
from pypgm.audit.randomness import check_seeds, check_streams
from pypgm.audit.samplers import (
    check_branches,
    check_chi_square,
    check_coins,
    check_exponential_coins,
    draw,
    enumerate_law,
)
from pypgm.privacy import Budget, Ledger, LedgerReport, Privacy, laws
from pypgm.privacy.noise import drawable_variance, laplace_threshold
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Partition

BUDGET = Budget(rho=2)
PAIRS_OF_TABLES = [p for p in neighbour_pairs() if p.name.startswith(("crossed", "empty"))] + far_pairs()


def looked_at(mechanism, budget=BUDGET):
    runs = run_pairs("mutant", mechanism, budget, PAIRS_OF_TABLES)
    return [check_calibration(runs), check_charges(runs), check_noninterference(runs)]


@pytest.mark.parametrize(("parts", "defect"), MUTANTS.values(), ids=list(MUTANTS))
def test_a_broken_mechanism_is_reported_by_name(parts, defect):
    defects = [name for f in looked_at(mutant(**parts)) for name in f.defects]
    assert defect in defects


def test_the_sound_mechanism_passes():
    assert [f.result for f in looked_at(adaptive)] == ["ok"] * 3
    assert check_conservation("adaptive", three, 20).result == "ok"
    assert check_seeds("adaptive", adaptive).result == "ok"


def three(data, budget, privacy):
    """The first step alone: random domains need not have the attributes of `adaptive`."""
    table = PrivateTable(data, privacy, Ledger(budget))
    measured = [table.measure((a,), variance=100 * len(data.domain) / budget.limit) for a in data.domain]
    return SimpleNamespace(ledger=table.ledger, measurements=measured)


def test_a_mechanism_that_never_releases_is_reported():
    def broken(data, budget, privacy):
        raise RuntimeError("always")

    assert "no release" in [name for f in looked_at(broken) for name in f.defects]
    assert check_conservation("mutant", broken, 3).defects == ("no release",)


def test_score_range_off_by_two_is_reported(monkeypatch):
    whole = Privacy.l1_score_range.fget
    monkeypatch.setattr(Privacy, "l1_score_range", property(lambda self: whole(self) // 2))
    assert check_calibration(run_pairs("mutant", adaptive, BUDGET, PAIRS_OF_TABLES)).defects == ("score sensitivity",)


def test_overspending_is_reported_by_conservation():
    def mechanism(data, budget, privacy):
        table = PrivateTable(data, privacy, Ledger(Budget(rho=budget.limit * 2)))
        first = next(iter(data.domain))
        measured = [table.measure((first,), variance=privacy.records_per_person**2 / budget.limit) for _ in range(3)]
        return SimpleNamespace(ledger=table.ledger, measurements=measured)

    assert "overspent" in check_conservation("mutant", mechanism, 20).defects


def test_seeds_are_reported():
    def seeded(data, budget, privacy, *, seed=0):
        return adaptive(data, budget, privacy, unsafe_seed=seed)

    def silent(data, budget, privacy, *, unsafe_seed=None):
        release = adaptive(data, budget, privacy, unsafe_seed=unsafe_seed)
        release.model.not_private = ""
        clean = LedgerReport(release.ledger.budget, release.ledger.lines, privacy)
        return SimpleNamespace(ledger=clean, model=release.model, measurements=release.measurements)

    assert "seeded by default" in check_seeds("mutant", seeded).defects
    assert check_seeds("mutant", silent).defects == ("seed not declared",)


def test_noise_copied_by_fork_is_reported():
    state = {"rng": np.random.default_rng()}

    def copied(n):
        return state["rng"].integers(0, 2**64, size=n, dtype=np.uint64)

    assert check_streams(copied, forks=2, each=100).defects == ("shared stream",)


def test_noise_shared_by_threads_is_reported():
    def shared(n):
        return np.random.default_rng(4).integers(0, 2**64, size=n, dtype=np.uint64)

    assert check_streams(shared, forks=0, each=100).defects == ("shared stream",)


# --- samplers and selections ---


def zero_twice(law, scale, n):
    """The sign of a Laplace draw is put on without drawing a negative zero anew."""
    q = math.exp(-1 / float(scale))
    rng = np.random.default_rng(3)
    return (rng.geometric(1 - q, n) - 1) * rng.choice([-1, 1], n)


def rounded(law, scale, n):
    return np.rint(np.random.default_rng(3).normal(0, float(scale), n)).astype(np.int64)


@pytest.mark.parametrize(
    ("law", "scale", "sampler"),
    [
        (LAPLACE, Fraction(2), zero_twice),
        (GAUSSIAN, Fraction(1, 2), rounded),
        (GAUSSIAN, Fraction(10), lambda law, scale, n: draw(law, scale * Fraction(51, 50), n)),
        (LAPLACE, Fraction(10), lambda law, scale, n: draw(law, scale / 2, n)),
    ],
    ids=["zero counted twice", "rounded continuous noise", "scale off by 2 %", "half the scale"],
)
def test_wrong_samplers_are_reported(law, scale, sampler):
    assert check_chi_square(law, scale, 1_000_000, sampler).defects == ("wrong law",)


def test_wrong_branches_and_coins_are_reported():
    def off_by_one(law, parameter, least):
        return {z + 1: mass for z, mass in enumerate_law(law, parameter, 1e-4).items()}

    def not_symmetric(law, parameter, least):
        law = enumerate_law(law, parameter, 1e-4)
        return {**law, 1: law[1] * 0.9}

    def from_32_bits(words, numerator, denominator, k):
        return (int(words[0]) >> 32) * denominator * k < numerator << 32, 1

    def modulo(words, n):
        return int(words[0]) % n, 1

    def one_coin_less(outcomes, numerator, denominator):
        return _core.scripted_coin_exp(outcomes, numerator, denominator + 1)

    assert check_branches(off_by_one).defects == ("wrong law",)
    assert check_branches(not_symmetric).defects == ("wrong law",)
    assert check_coins(coin=from_32_bits).defects == ("wrong law",)
    assert check_coins(below=modulo).defects == ("wrong law",)
    assert check_exponential_coins(one_coin_less).defects == ("wrong law",)


@pytest.mark.slow
def test_too_little_noise_is_reported():
    def ten_percent_less(source, private, runs):
        variance = drawable_variance(source.parameter * Fraction(100, 121))
        add = [Sampler().gaussian(variance)(np.full(runs, x)) for x in private.tolist()]
        return np.stack(add, axis=1)

    def one_marginal(data, budget, privacy):
        table = PrivateTable(data, privacy, Ledger(budget))
        table.measure("cell", rho=budget.limit)

    pair = audit_pairs(1)[0]
    assert check_gaussian_audit("sound", one_marginal, pair, 20_000).result == "ok"
    assert check_gaussian_audit("mutant", one_marginal, pair, 400_000, ten_percent_less).defects == (
        "too little noise",
    )


def test_precision_is_reported():
    rng = np.random.default_rng(2)

    def plus_float(x):
        return x + rng.normal(0, 2, x.size)

    assert check_precision_of_draws("mutant", plus_float, 10_000).defects == ("precision",)

    def release(data, budget, privacy):
        values = plus_float(data.count([("a", "b", "c")])[0])
        return SimpleNamespace(measurements=[SimpleNamespace(values=values)])

    assert check_precision_of_releases("mutant", release, 100).defects == ("precision",)


# --- queries, accounting, sources, tables ---

GROUPS = ("partition", [0, 1, 1], None)


class Understated(Partition):
    def squared_l2_sensitivity(self, neighbours):
        return 1


def test_an_understated_query_is_reported():
    assert "sensitivity" in check_sensitivities([GROUPS], make=lambda spec: Understated(spec[1])).defects


def test_a_relation_without_its_user_bound_is_reported():
    class Forgetful(Privacy):
        def squared_l2_sensitivity(self, query):
            return query.squared_l2_sensitivity(self.neighbours) * self.records_per_person

    privacy = Forgetful(records_per_person=3)
    assert check_sensitivities([GROUPS], [privacy]).defects == ("lost user bound",)


def continuous_curve(rho, epsilon):
    mu, e = math.sqrt(2 * rho), float(epsilon)
    log_second = e + float(stats.norm.logcdf(-mu / 2 - e / mu))
    return max(0.0, float(stats.norm.cdf(mu / 2 - e / mu)) - math.exp(min(log_second, 0.0)))


def test_wrong_conversions_are_reported():
    assert check_exact_loss(continuous_curve).defects == ("accounting",)

    def loose(rho, delta):
        return float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))

    assert check_conversions(epsilon_of=loose).defects == ("accounting",)


def test_low_thresholds_are_reported():
    def low(scale, probability):
        return laplace_threshold(scale, 2 * probability)

    assert check_tails(laplace=low).defects == ("accounting",)


def test_samples_that_are_not_as_charged_are_reported(monkeypatch):
    def sampled(data, budget, privacy):
        table = PrivateTable(data, privacy, Ledger(budget))
        sample = table.subsample(Fraction(1, 2), epsilon=Fraction(1, 2))
        return SimpleNamespace(ledger=table.ledger, measurements=[sample.measure("a", scale=Fraction(2))])

    pairs = neighbour_pairs([Privacy()])[:2]
    assert check_charges(run_pairs("sound", sampled, Budget(epsilon=1), pairs)).result == "ok"
    plain = Sampler.coins
    monkeypatch.setattr(Sampler, "coins", lambda self, count, rate: plain(self, count, rate * 3 / 2))
    finding = check_charges(run_pairs("mutant", sampled, Budget(epsilon=1), pairs))
    assert finding.defects == ("scale differs from the charge",)
    monkeypatch.undo()
    monkeypatch.setattr(laws, "amplified_epsilon", lambda rate, epsilon: rate * epsilon)
    assert check_charges(run_pairs("mutant", sampled, Budget(epsilon=1), pairs)).defects == ("wrong charge",)


def test_wrong_costs_are_reported(monkeypatch):
    """Selections cost nothing, as where they are charged once for all."""
    monkeypatch.setattr(laws.Exponential, "cost", lambda self, unit: Fraction(0))
    assert check_line_costs().defects == ("wrong charge",)
    assert "wrong charge" in [name for f in looked_at(adaptive) for name in f.defects]


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nx = np.random.default_rng(42)\n",
        "import random\n",
        "from numpy.random import default_rng\n",
        "from numpy import random\n",
    ],
)
def test_unsafe_python_is_reported(tmp_path, text):
    (tmp_path / "mechanisms").mkdir()
    (tmp_path / "mechanisms" / "bad.py").write_text(text)
    assert check_source(tmp_path).defects == ("unsafe source",)


def test_unsafe_cpp_is_reported(tmp_path):
    (tmp_path / "noise.cpp").write_text("#include <random>\nstd::normal_distribution<double> noise(0, 1);\n")
    assert check_source(tmp_path, tmp_path).defects == ("unsafe source",)


def test_float_noise_in_the_core_is_reported():
    core = SimpleNamespace(**{name: getattr(_core, name) for name in dir(_core) if not name.startswith("__")})
    core.add_gaussian_noise = lambda counts, numerator, denominator: counts + 0.5
    assert check_integer_noise(core).defects == ("floats released",)


def test_open_tables_are_reported():
    class Open(PrivateTable):
        def __init__(self, data, privacy, ledger):
            super().__init__(data, privacy, ledger)
            self.n = data.n_records

        def __len__(self):
            return self.n

        def __repr__(self):
            return f"PrivateTable({self.n} records)"

        @property
        def public_total(self):
            return self.n

    assert set(check_open_table(Open).defects) == {"open table", "records counted exactly"}


def test_every_defect_has_a_mutant():
    """`DEFECTS` lists nothing that no mutant shows to be found."""
    here = Path(__file__)
    tests = here.parents[1]
    names = ("test_audit_check.py", "test_audit_report.py")
    others = [tests / "broken.py", *map(here.with_name, names), *(tests / "mutants").glob("*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in (here, *others))
    assert [name for name in DEFECTS if f'"{name}"' not in text] == []
