"""What a draft leaves open becomes questions, one for each warning, and their answers make the finished schema."""

from __future__ import annotations

import json
import random

import pytest
from drafted import TABLES, drafted, hostile, without_warnings

from pypgm.data import Schema
from pypgm.data.draft.questions import Question, answered, questions_of, whole_of
from pypgm.data.draft.text import schema_text
from pypgm.data.draft.warnings import CODES, Note, explained, meaning, note, notes_of, sentences, warn

AGE = {"kind": "integer", "low": 18, "high": 77}


def details(draw):
    return tuple(hostile(draw) for _ in range(draw.randrange(1, 4)))


@pytest.mark.parametrize("seed", range(20))
def test_codes_and_details_are_read_back_from_a_warning(seed):
    draw = random.Random(seed)
    for _ in range(100):
        codes = draw.sample(list(CODES), draw.randrange(1, 5))
        given = [Note(code, details(draw) if CODES[code].details else ()) for code in codes]
        entry = {}
        warn(entry, *(note(each.code, *each.details) for each in given))
        assert notes_of(entry["warning"]) == given
        assert all(repr(detail) in each.sentence for each in given for detail in each.details)
        assert list(explained({"columns": {"a": entry}})) == sorted(codes, key=[*CODES].index)


def test_a_note_names_its_details_and_a_warning_comes_once():
    assert "'98', '99'" in meaning("null? 98, 99")
    entry = {"warning": "bounds"}
    warn(entry, "bounds", "key?")
    assert entry == {"warning": "bounds; key?"}
    assert notes_of(["bounds", "key?"]) == notes_of("bounds; key?")
    with pytest.raises(KeyError):
        note("no such code")


@pytest.mark.parametrize(
    "text",
    [
        "read from the data",
        "bounds are mine",
        "bounds; ask Jo",
        "bounds 3",
        "follows a,,b",
        'follows "a',
        "bounds;",
        "x",
    ],
)
def test_a_sentence_that_somebody_wrote_is_one_note(text):
    assert notes_of(text) == [Note("", (text,))]
    assert sentences(text) == [text]
    assert [question.note.sentence for question in questions_of({"a": {**AGE, "warning": text}})] == [text]


def test_each_warning_of_a_draft_is_one_question():
    assert {'"', ";", "<"} <= {character for table, _ in drafted() for name in table for character in name}
    n_questions = 0
    for _, draft in drafted():
        places = [draft, draft.get("person", {}), *draft["columns"].values()]
        n_notes = sum(len(notes_of(place.get("warning"))) for place in places)
        questions = questions_of(draft)
        assert len(questions) == n_notes == len({(q.place, q.name, q.note) for q in questions})
        assert all(question.note.code for question in questions)
        proposed = {(q.name, q.note.text): list(q.proposals) for q in questions if q.proposals}
        given = {(n, text): some for n, by in draft.get("proposals", {}).items() for text, some in by.items()}
        assert proposed == given
        n_questions += n_notes
    assert n_questions > 3 * TABLES


def test_a_draft_with_all_kept_is_the_draft_without_its_warnings():
    for _, draft in drafted():
        fields = draft
        while questions := questions_of(fields):
            before = json.dumps(fields)
            changed = answered(fields, questions[0], {})
            assert json.dumps(fields) == before  # the content that was given stays as it is
            assert len(questions_of(changed)) == len(questions) - 1
            fields = changed
        assert {**fields, "codes": 0} == {**without_warnings(draft), "codes": 0}
        assert set(fields.get("codes", {})) <= {"key"}  # of columns that are left out
        assert "proposals" not in fields
        finished = Schema.from_dict(fields)
        assert not finished.draft_warning
        assert finished == Schema.from_dict(draft)


def test_proposals_that_are_taken_make_a_schema():
    """What a draft proposes is valid where it is taken by itself, unless it names a file that has to be written."""
    n_taken = {"rule": 0, "entry": 0}
    for _, draft in drafted():
        for question in questions_of(draft):
            for place, proposal in enumerate(question.proposals):
                is_entry = isinstance(proposal, dict) and "kind" in proposal
                if is_entry and isinstance(proposal.get("mapping"), str):
                    continue
                fields = answered(draft, question, {"accept": [place]})
                assert len(questions_of(fields)) < len(questions_of(draft))
                Schema.from_dict(fields)
                if is_entry:
                    assert fields["columns"][question.name].items() >= proposal.items()
                else:
                    assert fields["rules"] == [proposal]
                n_taken["entry" if is_entry else "rule"] += 1
    assert min(n_taken.values()) > TABLES // 10


@pytest.mark.parametrize("drop", [None, ["b"], {"b": "a name"}])
def test_answers_change_drop_and_declare(drop):
    draft = {"columns": {"age": {**AGE, "warning": "bounds; key?"}, "sex": ["F", "M"]}, "warning": "person?"}
    draft |= {} if drop is None else {"drop": drop}
    of_table, bounds, key = questions_of(draft)
    changed = answered(draft, bounds, {"change": {"low": 0, "high": None, "width": 5}})
    assert changed["columns"]["age"] == {"kind": "integer", "low": 0, "width": 5, "warning": "key?"}
    assert answered(draft, key, {"entry": ["x"]})["columns"]["age"] == ["x"]
    left = answered(draft, bounds, {"drop": True})
    assert list(left["columns"]) == ["sex"]
    assert list(left["drop"]) == [*(drop or ()), "age"]
    assert [question.place for question in questions_of(left)] == ["table"]
    with_person = answered(draft, of_table, {"change": {"person": {"column": "id", "at_most": 2}}})
    assert Schema.from_dict(with_person).records_per_person == 2


def test_questions_of_persons_rules_bins_and_of_columns_alone():
    bins = {"quantiles": 4, "share": 0.1, "warning": "as many as there are"}
    draft = {
        "columns": {"age": {**AGE, "bins": bins}, "sex": ["F", "M"]},
        "person": {"column": "id", "at_most": 9, "warning": "at_most id"},
        "rules": ["age <= age2", {"columns": ["age", "sex"], "forbidden": [[18, "M"]], "warning": "seen in none"}],
    }
    assert [(q.place, q.name) for q in questions_of(draft)] == [("person", ""), ("bins", "age"), ("rules", "1")]
    person, of_bins, rule = questions_of(draft)
    assert "person" not in answered(draft, person, {"drop": True})
    assert answered(draft, person, {"change": {"at_most": 2}})["person"] == {"column": "id", "at_most": 2}
    assert answered(draft, of_bins, {"change": {"quantiles": 8}})["columns"]["age"]["bins"] == {
        "quantiles": 8,
        "share": 0.1,
    }
    assert answered(draft, rule, {"drop": True})["rules"] == ["age <= age2"]
    assert "warning" not in answered(draft, rule, {})["rules"][1]
    alone = {"comment": "mine", "warning": "from Jo", "age": {**AGE, "warning": "bounds"}}
    assert [question.subject for question in questions_of(alone)] == ["the table", "age"]
    assert whole_of(alone) == {"comment": "mine", "warning": "from Jo", "columns": {"age": alone["age"]}}
    assert Schema.from_dict(answered(alone, questions_of(alone)[1], {})).warned == ()


def test_a_schema_of_a_draft_keeps_codes_and_proposals_in_its_file(tmp_path):
    for table, draft in drafted(40):
        made = Schema.draft(table)
        made.save(tmp_path / "saved.json")
        saved = json.loads((tmp_path / "saved.json").read_text(encoding="utf-8"))
        assert [q[:3] for q in map(_facts, questions_of(saved))] == [q[:3] for q in map(_facts, questions_of(draft))]
        assert saved.get("proposals") == draft.get("proposals")
        assert saved.get("codes", {}) == draft.get("codes", {})
        assert not {"proposals", "codes"} & {*made.to_dict()}  # which releases hold
        assert all(text in {None, "drafted from a table, and not reviewed"} for text in _warnings(made.to_dict()))
        for name, text in made.notes.items():
            assert text.strip(), name
            assert not {*text.split("; ")} & {*CODES}, name


def _warnings(fields):
    yield from (place.get("warning") for place in (fields, fields.get("person", {}), *fields["columns"].values()))


@pytest.mark.parametrize("proposals", [[], {"a": []}, {"a": {"bounds": {}}}, 3])
def test_proposals_of_another_form_are_refused(proposals):
    with pytest.raises(ValueError, match="proposals needs"):
        Schema.from_dict({"columns": {"a": AGE}, "proposals": proposals})


def _facts(question: Question):
    return question.place, question.name, question.note, question.proposals


def test_the_text_of_a_schema_has_a_line_for_each_field():
    for _, draft in drafted(60):
        text = schema_text(draft)
        assert json.loads(text) == draft
        lines = text.splitlines()
        fields = sum(len(entry) for entry in draft["columns"].values())
        assert len(lines) >= fields + 2 * len(draft["columns"])
        assert all(c.isprintable() for c in text.replace("\n", ""))
