"""Tables in the shapes of public files go the whole way: their drafts are confirmed by their questions."""

from __future__ import annotations

import csv
import random

import pytest
from shapes import SHAPES, N

import pypgm
from pypgm.data.draft import draft_schema
from pypgm.data.draft.questions import answered, questions_of


def confirmed(draft):
    """Return a draft whose questions are answered: what it says is kept, and each rule that it proposes is taken."""
    fields = draft
    while questions := questions_of(fields):
        rules = [i for i, proposal in enumerate(questions[0].proposals) if not _is_declaration(proposal)]
        fields = answered(fields, questions[0], {"accept": rules})
    return fields


def _is_declaration(proposal):
    return isinstance(proposal, dict) and "kind" in proposal


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_confirmed_draft_makes_records_that_can_exist(shape, tmp_path):
    columns = shape(random.Random(5))
    with (tmp_path / "table.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*(values for values, _ in columns.values()), strict=True))
    fields = confirmed(draft_schema(tmp_path / "table.csv"))
    schema = pypgm.Schema.from_dict(fields)
    assert not schema.draft_warning
    release = pypgm.synthesize(tmp_path / "table.csv", schema, epsilon=3, delta=1e-9)
    release.write(tmp_path / "synthetic.csv")
    with (tmp_path / "synthetic.csv").open(newline="", encoding="utf-8") as file:
        made = list(csv.DictReader(file))
    assert len(made) > N // 4  # as many as are kept of each person
    wrong = {}
    for name, (values, is_possible) in columns.items():
        if is_possible is None:
            assert name in fields["drop"], name
        elif name in fields["columns"]:
            open_text = {"other"} if fields["columns"][name]["kind"] == "open" else set()
            strange = [row[name] for row in made if row[name] not in open_text and not is_possible(row[name])]
            if strange:
                wrong[name] = (len(strange), strange[:3], values[:3], fields["columns"][name])
        else:
            wrong[name] = fields["drop"][name]
    assert not wrong
