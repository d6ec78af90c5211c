"""Private learning of networks that is wrong in one place."""

from __future__ import annotations

from mutate import Mutant
from operators import instead

from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.subjects import LEARNERS, chosen_network, sampled_network, staged_network
from pypgm.audit.whole import followed
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy


def _sampled():
    runs = run_pairs("sampled", sampled_network, Budget(epsilon=1), neighbour_pairs([Privacy()]))
    return followed("mutant", "sampled first stage", [runs])


def _two_stages():
    pairs = neighbour_pairs((Privacy(), Privacy("replace", 2)))
    return followed("mutant", "two stages", [run_pairs("two", staged_network, Budget(epsilon=2), pairs)])


def _by_size():
    pairs = neighbour_pairs((Privacy(),))
    runs = run_pairs("sizes", LEARNERS["learn_private"], Budget(epsilon=2), pairs)
    return followed("mutant", "learn_private", [runs])


def _chosen():
    pairs = neighbour_pairs((Privacy(), Privacy("replace", 2)))
    return followed("mutant", "chosen structure", [run_pairs("chosen", chosen_network, Budget(epsilon=2), pairs)])


def _privbayes():
    pairs = neighbour_pairs((Privacy(),))
    return followed("mutant", "privbayes", [run_pairs("chosen", LEARNERS["privbayes"], Budget(rho=2), pairs)])


_RECORDS = "_PrivateTable__data"  # behind the door, where no mechanism looks

_PLACES = [
    # name, old, new, check, defect
    (
        "the first stage of a network is not charged",
        "seen = [measure_family(table, f, first / n, law) for f in self._families]",
        f"seen = [measure_family(PrivateTable(table.{_RECORDS}, table.privacy, type(table.ledger)("
        "table.ledger.budget)), "
        "f, first / n, law) for f in self._families]",
        _two_stages,
        "overspent",
    ),
    (
        "the parts of the second stage come from the records",
        "shares(self._weights(seen), unit)",
        f"shares([1.0 + c.max() for c in table.{_RECORDS}.count(self._families, 1)], unit)",
        _two_stages,
        "path depends on the data",
    ),
    (
        "a table of a network has the noise of a record more or less in any case",
        "measure_family",
        instead("table.privacy.l1_sensitivity(Identity(cells))", "1"),
        _two_stages,
        "no release",
    ),
    (
        "a network is of as many records as there are",
        "total = table.public_total",
        f"total = table.{_RECORDS}.n_records",
        _two_stages,
        "records counted exactly",
    ),
    (
        "the parts of tables by their sizes follow from as many records as there are",
        "records = known_well[0] if known_well",
        f"records = 10.0 * table.{_RECORDS}.n_records if known_well",
        _by_size,
        "records counted exactly",
    ),
    (
        "the number of records is counted beside the ledger",
        "[measured_total(table, limit * _TOTAL)]",
        f"[measured_total(PrivateTable(table.{_RECORDS}, table.privacy, type(table.ledger)(table.ledger.budget)), "
        "limit * _TOTAL)]",
        _by_size,
        "overspent",
    ),
    (
        "each table of a first stage has a sample of its own",
        "return [sample.measure(f, scale=scale) for f in self._families]",
        "data, own = table.trusted_access.records(), sample.trusted_access; make = type(own.records()); return ["
        "PrivateTable(make({n: c[kept] for n, c in data.columns.items()}, data.domain), table.privacy, sample.ledger)"
        ".measure(f, scale=scale) for f in self._families for kept in [own.sampler.coins(data.n_records, rate)]]",
        _sampled,
        "uncharged draw",
    ),
    (
        "the noise of a first stage is that of as many records as were sampled",
        "scale = 1 / min(",
        f"scale = (1 + Fraction(1, 100) * sample.{_RECORDS}.n_records) / min(",
        _sampled,
        "path depends on the data",
    ),
]

_CHOICES = [
    # name, module, old, new, check, defect
    (
        "a record changes a dependence by no more than a quarter of a record",
        "pypgm.bayes.dependence",
        "largest_change",
        instead("(2 if neighbours == 'add-remove' else 3) * _FINE", "_FINE // 4"),
        _chosen,
        "score sensitivity",
    ),
    (
        "the choice of parents is charged to another ledger",
        "pypgm.bayes.private_structure",
        "self._selector = table.selector(",
        f"table = type(table)(table.{_RECORDS}, table.privacy, type(table.ledger)(table.ledger.budget)); "
        "self._selector = table.selector(",
        _privbayes,
        "overspent",
    ),
    (
        "a table is useful for as many records as there are",
        "pypgm.bayes.private_structure",
        "records = int(measured[0].values[0])",
        f"records = table.{_RECORDS}.n_records",
        _privbayes,
        "records counted exactly",
    ),
    (
        "the penalty of a large table grows with its counts",
        "pypgm.bayes.private_structure",
        "round(by_chance)",
        "round(by_chance * counts.max())",
        _chosen,
        "score sensitivity",
    ),
    (
        "the tables of a network get what the choice of it got once more",
        "pypgm.mechanisms._privbayes",
        "each = table.ledger.remaining() / len(largest)",
        f"table = type(table)(table.{_RECORDS}, table.privacy, type(table.ledger)(table.ledger.budget)); "
        "each = table.ledger.remaining() / len(largest)",
        _privbayes,
        "overspent",
    ),
]

MUTANTS = [
    Mutant(name, "pypgm.bayes.private_learning", old, new, check, defect) for name, old, new, check, defect in _PLACES
] + [Mutant(*choice) for choice in _CHOICES]
