"""Private learning of networks that is wrong in one place."""

from __future__ import annotations

from mutate import UNCHARGED, at
from operators import put

from mutants.answers import follow
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.subjects import LEARNERS, chosen_network, sampled_network, staged_network
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

_ALONE = neighbour_pairs((Privacy(),))
_BOTH = neighbour_pairs((Privacy(), Privacy("replace", 2)))
sampled = follow("sampled first stage", sampled_network, _ALONE, Budget(epsilon=1))
two_stages = follow("two stages", staged_network, _BOTH, Budget(epsilon=2))
by_size = follow("learn_private", LEARNERS["learn_private"], _ALONE, Budget(epsilon=2))
chosen = follow("chosen structure", chosen_network, _BOTH, Budget(epsilon=2))
privbayes = follow("privbayes", LEARNERS["privbayes"], _ALONE)


MUTANTS = {
    "the first stage of a network is not charged": at(
        "bayes.private_learning:_Learner.measure", two_stages, "overspent"
    )(
        "measure_family(table, ...)",
        "measure_family(PrivateTable(table._PrivateTable__data, table.privacy, "
        "type(table.ledger)(table.ledger.budget)), ...)",
        2,
    ),
    "the parts of the second stage come from the records": at(
        "bayes.private_learning:_Learner.measure", two_stages, "path depends on the data"
    )("self._weights(X)", "[1.0 + c.max() for c in table._PrivateTable__data.count(self._families, 1)]"),
    "a table of a network has the noise of a record more or less in any case": at(
        "bayes.private_learning:measure_family", two_stages, "no release"
    )("table.privacy.l1_sensitivity(Identity(cells))", "1"),
    "a network is of as many records as there are": at(
        "bayes.private_learning:learn_private", two_stages, "records counted exactly"
    )("table.public_total", "table._PrivateTable__data.n_records"),
    "the parts of tables by their sizes follow from as many records as there are": at(
        "bayes.private_learning:_Learner.measure", by_size, "records counted exactly"
    )("known_well[0]", "10.0 * table._PrivateTable__data.n_records"),
    "the number of records is counted beside the ledger": at(
        "bayes.private_learning:_Learner.measure", by_size, "overspent"
    )(
        "measured_total(table, ...)",
        "measured_total(PrivateTable(table._PrivateTable__data, table.privacy, "
        "type(table.ledger)(table.ledger.budget)), ...)",
    ),
    "each table of a first stage has a sample of its own": at(
        "bayes.private_learning:_Learner._sampled", sampled, "uncharged draw"
    )(
        "return [sample.measure(X, scale=scale) for X in self._families]",
        "data, own = (table.trusted_access.records(), sample.trusted_access)\n"
        "make = type(own.records())\n"
        "return [PrivateTable(make({n: c[kept] for n, c in data.columns.items()}, data.domain), table.privacy, "
        "sample.ledger).measure(X, scale=scale) for X in self._families for kept in "
        "[own.sampler.coins(data.n_records, rate)]]",
    ),
    "the noise of a first stage is that of as many records as were sampled": at(
        "bayes.private_learning:_Learner._sampled", sampled, "path depends on the data"
    )("1 / X", "(1 + Fraction(1, 100) * sample._PrivateTable__data.n_records) / X"),
    "a record changes a dependence by no more than a quarter of a record": at(
        "bayes.private_structure:largest_change", chosen, "score sensitivity"
    )("(2 if neighbours == 'add-remove' else 3) * X", "X // 4"),
    "the choice of parents is charged to another ledger": at(
        "bayes.private_structure:_Choice.__init__", privbayes, "overspent"
    )(put(f"table = {UNCHARGED}", before="self._selector = ...")),
    "a table is useful for as many records as there are": at(
        "bayes.private_structure:select_parents", privbayes, "records counted exactly"
    )("int(measured[0].values[0])", "table._PrivateTable__data.n_records"),
    "the penalty of a large table grows with its counts": at(
        "bayes.private_structure:_Choice._score", chosen, "score sensitivity"
    )("round(X)", "round(X * counts.max())"),
    "the tables of a network get what the choice of it got once more": at(
        "mechanisms._privbayes:_measured", privbayes, "overspent"
    )(put(f"table = {UNCHARGED}", before="table.ledger.remaining()")),
}
