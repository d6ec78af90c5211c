"""Persons of whom more records are kept than was promised, or others than their own decide."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import instead
from selfcheck.person_keys import check_person_keys
from selfcheck.person_promises import check_promises
from selfcheck.persons import check_persons

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

_IN_PIECES = """np.concatenate([
    person.kept(person.keys(codes), [codes[name] for name in self.domain], secret)
    for codes in self._read((*person.columns, *self.domain.attributes), _ROWS, 'the table')
])"""
_OF_KEYS = [
    ("long keys are cut", "data.person", "_key", "_hashed(spelled)", "spelled[:15]", _OTHERS),
    ("keys are compared without case", "data.person", "_key", "text.encode('utf-8', 'surrogatepass')",
     "text.casefold().encode()", _OTHERS),
    ("keys of several columns are put together without an end", "data.person", "_joined", "_hashed(row)",
     "_hashed(row.replace(b'\\0', b''))", _OTHERS),
    ("all records of nobody are one person's", "data.person", "Selection._left_out",
     "(first | second)[starts] != 0", "starts >= 0", _OTHERS),
    ("records that are held beside files are all kept", "data.person", "Selection.kept", "self._files", "[]",
     _USER),
    ("records of a person are chosen in each piece", "data.streamed", "StreamedTable.kept", "selection.kept(secret)",
     _IN_PIECES, _USER),
    ("pieces may come in another order", "data.streamed", "StreamedTable._codes", "digest.digest() != expected",
     "False", "not refused"),
]  # fmt: skip
_IN_DUCKDB = [
    ("keys in DuckDB keep the white space around them", "data.streamed", "_key_in_duckdb", "WHITE_SPACE", "' '", _USER),
    ("keys in DuckDB are compared by its collation", "data.streamed", "kept_in_duckdb",
     "_key_in_duckdb(name, type_of[name])", "quoted(name)", _OTHERS),
]  # fmt: skip
_IN_ENGINES = [
    ("an engine keeps a record more of each person", "data.engine_persons", "kept_in_engine",
     "ranked['rank'] < person.at_most", "ranked['rank'] <= person.at_most", _USER),
    ("an engine knows persons by the first of several columns", "data.engine_persons", "kept_in_engine",
     "[f'p{i}' for i in range(len(person.columns))]", "['p0']", _OTHERS),
    ("an engine compares keys by its collation", "data.engine_persons", "key_of",
     "bytes_of(ibis, engine, value.strip())", "value.strip()", _OTHERS),
]  # fmt: skip
_OF_PROMISES = [
    ("fewer records of a person than are kept are believed", "privacy.arguments", "relation_of",
     "relation.records_per_person != stated", "relation.records_per_person > stated", "not refused"),
    ("a relation of other persons is believed", "privacy.arguments", "relation_of",
     "relation.person not in {(), person}", "False", "not refused"),
    ("records of persons whom nobody named are all kept", "privacy.counts", "kept", "schema.person is None",
     "schema.person is None or data.persons is None", "not refused"),
    ("persons are replaced", "privacy.relation", "Privacy.__init__", "person and self.total_is_public", "False",
     "not refused"),
    ("a ledger of persons says nothing of records", "privacy.ledger", "Ledger.bind", "not privacy.is_of_people",
     "False", "wrong claim"),
    ("noise on children is for one parent of a person", "mechanisms.related", "synthesize_related", "people * bound",
     "bound", "lost user bound"),
    ("children for fewer records are put beside parents", "mechanisms.related_release", "RelatedRelease.__post_init__",
     "second.privacy != bound", "second.privacy.person != bound.person", "not refused"),
]  # fmt: skip

MUTANTS = [
    Mutant(name, f"pypgm.{module}", at, instead(old, new), check, defect)
    for check, places in (
        (check_persons, _PLACES),
        (partial(check_person_keys, ("columns", "pieces")), _OF_KEYS),
        (partial(check_person_keys, ("duckdb",)), _IN_DUCKDB),
        (partial(check_person_keys, ("ibis",)), _IN_ENGINES),
        (check_promises, _OF_PROMISES),
    )
    for name, module, at, old, new, defect in places
]
