"""Persons of whom more records are kept than was promised, or others than their own decide."""

from __future__ import annotations

from mutate import Mutant
from operators import instead

from pypgm.audit.persons import check_persons

_USER, _OTHERS = "lost user bound", "sensitivity"
_PLACES = [
    ("all records of a person are kept", "privacy.counts", "kept", "keep(sampler.secret())", "data", _USER),
    ("a record more of each person is kept", "data.person", "Selection._left_out", "rank >= self._at_most",
     "rank > self._at_most", _USER),
    ("records are kept by their order in the table", "data.person", "Selection.add",
     "_hash_of(content, len(keys))", "0", _OTHERS),
    ("records are kept by how many others there are", "data.person", "Selection._left_out", "starts[number]", "0",
     _OTHERS),
    ("records are kept of all persons together", "data.person", "Selection._left_out",
     "first[1:] != first[:-1]", "first[1:] < 0", _OTHERS),
    ("the first of several columns names a person", "data.person", "Person.keys",
     "parts[0] if len(parts) == 1 else _joined(parts)", "parts[0]", "wrong counts"),
    ("pieces are counted whole", "data.streamed", "StreamedTable._codes", "codes[name][here]", "codes[name]",
     "path depends on the data"),
    ("open columns are found in all records", "privacy.settling", "_kept_values",
     "compress(as_list(columns[name]), is_kept)", "as_list(columns[name])", _USER),
    ("open columns are found in records kept by their order", "privacy.settling", "_kept_values",
     "content_keys(columns[name])", "content_keys([0] * len(columns[name]))", _OTHERS),
    ("children of parents who are not kept get other parents", "mechanisms.related", "_parents_kept",
     "np.where(is_kept, np.cumsum(is_kept) - 1, -1)", "np.cumsum(is_kept) - 1", _USER),
    ("the noise is for one record of each person", "privacy.arguments", "relation_of",
     "Privacy('add-remove' if relation is None else relation, stated, person)",
     "Privacy('add-remove' if relation is None else relation, 1 if person else stated, person)", _USER),
]  # fmt: skip

MUTANTS = [
    Mutant(name, f"pypgm.{module}", at, instead(old, new), check_persons, defect)
    for name, module, at, old, new, defect in _PLACES
]
