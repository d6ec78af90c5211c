"""Persons of whom more records are kept than was promised, or others than their own decide."""

from __future__ import annotations

from functools import partial

from mutate import at
from selfcheck.person_keys import check_person_keys
from selfcheck.person_promises import check_promises
from selfcheck.persons import check_persons

keys = partial(check_person_keys, ("columns", "pieces"))
keys_in_duckdb = partial(check_person_keys, ("duckdb",))
keys_in_engine = partial(check_person_keys, ("ibis",))

MUTANTS = {
    "all records of a person are kept": at("privacy.counts:kept", check_persons, "lost user bound")(
        "keep(sampler.secret())", "data"
    ),
    "a record more of each person is kept": at(
        "data.schema.person:Selection._left_out", check_persons, "lost user bound"
    )("rank >= self._at_most", "rank > self._at_most"),
    "records are kept by their order in the table": at(
        "data.schema.person:Selection.add", check_persons, "sensitivity"
    )("_hash_of(content, len(keys))", "0"),
    "records are kept by how many others there are": at(
        "data.schema.person:Selection._left_out", check_persons, "sensitivity"
    )("starts[number]", "0"),
    "records are kept of all persons together": at(
        "data.schema.person:Selection._left_out", check_persons, "sensitivity"
    )("first[1:] != first[:-1]", "first[1:] < 0"),
    "the first of several columns names a person": at("data.schema.person:Person.keys", check_persons, "wrong counts")(
        "parts[0] if len(parts) == 1 else _joined(parts)", "parts[0]"
    ),
    "pieces are counted whole": at(
        "data.sources.streamed:StreamedTable._codes_now", check_persons, "path depends on the data"
    )("codes[name][here]", "codes[name]"),
    "open columns are found in all records": at("privacy.settling:_kept_values", check_persons, "lost user bound")(
        "compress(as_list(columns[name]), is_kept)", "as_list(columns[name])"
    ),
    "open columns are found in records kept by their order": at(
        "privacy.settling:_kept_values", check_persons, "sensitivity"
    )("content_keys(columns[name])", "content_keys([0] * len(columns[name]))"),
    "children of parents who are not kept get other parents": at(
        "mechanisms.related:_parents_kept", check_persons, "lost user bound"
    )("np.where(is_kept, np.cumsum(is_kept) - 1, -1)", "np.cumsum(is_kept) - 1"),
    "the noise is for one record of each person": at("privacy.arguments:relation_of", check_persons, "lost user bound")(
        "Privacy('add-remove' if relation is None else relation, stated, person, weight)",
        "Privacy('add-remove' if relation is None else relation, 1 if person else stated, person, weight)",
    ),
    "long keys are cut": at("data.schema.person:_key", keys, "sensitivity")("_hashed(spelled)", "spelled[:15]"),
    "keys are compared without case": at("data.schema.person:_key", keys, "sensitivity")(
        "text.encode('utf-8', 'surrogatepass')", "text.casefold().encode()"
    ),
    "keys of several columns are put together without an end": at("data.schema.person:_joined", keys, "sensitivity")(
        "_hashed(row)", "_hashed(row.replace(b'\\0', b''))"
    ),
    "all records of nobody are one person's": at("data.schema.person:Selection._left_out", keys, "sensitivity")(
        "(first | second)[starts] != 0", "starts >= 0"
    ),
    "records that are held beside files are all kept": at("data.schema.person:Selection.kept", keys, "lost user bound")(
        "self._files", "[]"
    ),
    "records of a person are chosen in each piece": at(
        "data.sources.streamed:StreamedTable.kept", keys, "lost user bound"
    )(
        "selection.kept(secret)",
        "np.concatenate([\n"
        "    person.kept(person.keys(codes), [codes[name] for name in self.domain], secret)\n"
        "    for codes in self._read((*person.columns, *self.domain.attributes), _ROWS, 'the table')\n"
        "])",
    ),
    "pieces may come in another order": at("data.sources.streamed:StreamedTable._codes_now", keys, "not refused")(
        "digest.digest() != expected", "False"
    ),
    "keys in DuckDB keep the white space around them": at(
        "data.sources.streamed:_key_in_duckdb", keys_in_duckdb, "lost user bound"
    )("WHITE_SPACE", "' '"),
    "keys in DuckDB are compared by its collation": at(
        "data.sources.streamed:kept_in_duckdb", keys_in_duckdb, "sensitivity"
    )("_key_in_duckdb(name, type_of[name])", "quoted(name)"),
    "an engine keeps a record more of each person": at(
        "data.sources.engine:kept_in_engine", keys_in_engine, "lost user bound"
    )("ranked['rank'] < person.at_most", "ranked['rank'] <= person.at_most"),
    "an engine knows persons by the first of several columns": at(
        "data.sources.engine:kept_in_engine", keys_in_engine, "sensitivity"
    )("[f'p{i}' for i in range(len(person.columns))]", "['p0']"),
    "an engine compares keys by its collation": at("data.sources.engine:key_of", keys_in_engine, "sensitivity")(
        "bytes_of(ibis, engine, value.strip())", "value.strip()"
    ),
    "fewer records of a person than are kept are believed": at(
        "privacy.arguments:relation_of", check_promises, "not refused"
    )("relation.records_per_person != stated", "relation.records_per_person > stated"),
    "a relation of other persons is believed": at("privacy.arguments:relation_of", check_promises, "not refused")(
        "relation.person not in {(), person}", "False"
    ),
    "records of persons whom nobody named are all kept": at("privacy.counts:kept", check_promises, "not refused")(
        "schema.person is None", "schema.person is None or data.persons is None"
    ),
    "persons are replaced": at("privacy.relation:Privacy.__init__", check_promises, "not refused")(
        "person and self.total_is_public", "False"
    ),
    "a ledger of persons says nothing of records": at("privacy.ledger:Ledger.bind", check_promises, "wrong claim")(
        "not privacy.is_of_people", "False"
    ),
    "noise on children is for one parent of a person": at(
        "mechanisms.related:synthesize_related", check_promises, "lost user bound"
    )("people * bound", "bound"),
    "children for fewer records are put beside parents": at(
        "mechanisms.related_release:RelatedRelease.__post_init__", check_promises, "not refused"
    )("second.privacy != bound", "second.privacy.person != bound.person"),
}
