"""Tables that a class of one's own counts, read too early or not looked at."""

from __future__ import annotations

from checks.counted_tables import check_counted_tables
from mutate import at
from operators import put

_CHECKED = "data.sources.counted_table:_checked"

MUTANTS = {
    "a counted table is counted when it is opened": at(
        "data.sources.counted_table:ForeignTable.__init__", check_counted_tables, "read before the charge"
    )(put("self._n_counted = None\nself.count(list(self.domain))", after="self.table = table")),
    "open values of a counted table are read when it is opened": at(
        "data.sources.open_values:ForeignValues.__init__", check_counted_tables, "read before the charge"
    )(put("list(table.distinct('c'))", after="self._table = table")),
    "counts may be negative": at(_CHECKED, check_counted_tables, "not refused")("counts.min(initial=0) < 0", "False"),
    "counts may be fractions": at(_CHECKED, check_counted_tables, "not refused")(
        "counts.dtype.kind not in 'iu'", "False"
    ),
}
