"""Weights of records that count for more than was promised."""

from __future__ import annotations

from mutate import at
from selfcheck.weights import check_weights

MUTANTS = {
    "weights count in full": at("data.schema.weight:WeightColumn.encoder", check_weights, "lost user bound")(
        "np.minimum(given, self.at_most)", "given"
    ),
    "the noise is for a record of weight one": at("privacy.arguments:relation_of", check_weights, "lost user bound")(
        "Privacy('add-remove' if relation is None else relation, stated, person, weight)",
        "Privacy('add-remove' if relation is None else relation, 1 if weight else stated, person, weight)",
    ),
    "weights are replaced": at("privacy.relation:Privacy.__init__", check_weights, "not refused")(
        "records_per_person is None or person or self.total_is_public", "records_per_person is None or person"
    ),
    "weighted records have persons": at("privacy.relation:Privacy.__init__", check_weights, "not refused")(
        "records_per_person is None or person or self.total_is_public",
        "records_per_person is None or self.total_is_public",
    ),
}
