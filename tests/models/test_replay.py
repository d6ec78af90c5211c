"""Published noise-free replays, reproduced with local answers and bettered by the default ones."""

from __future__ import annotations

import pytest
from replay import all_pairs, published, replay

import pypgm

TIE = 1e-6  # scores, in counts, that close may fall either way


def load(data_dir, name):
    import json

    domain = pypgm.Domain(json.loads((data_dir / name / "domain.json").read_text()))
    (path,) = (data_dir / name).glob("*.csv*")
    return pypgm.read_table(path, domain)


def check_local(data_dir, name):
    rows = published(data_dir, name, "approx")

    def take(n, scores):
        best = max(scores, key=scores.get)
        pair = rows[n][0]
        assert scores[best] - scores[pair] <= TIE
        return pair

    data = load(data_dir, name)
    played = replay(data.domain, all_pairs(data), method="local", rounds=len(rows) - 1, take=take)
    for (_, pair, error, _), (wanted, figure) in zip(played, rows, strict=True):
        assert pair == wanted
        assert error == pytest.approx(figure, abs=1e-9)


def test_titanic_is_reproduced_with_local_answers(data_dir):
    check_local(data_dir, "titanic")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "fire", "msnbc"])
def test_others_are_reproduced_with_local_answers(data_dir, name):
    check_local(data_dir, name)


def test_default_answers_are_next_to_the_exact_model(data_dir):
    data = load(data_dir, "titanic")
    exact, local = (published(data_dir, "titanic", kind) for kind in ("exact", "approx"))
    last = float("inf")
    for n, _, error, _ in replay(data.domain, all_pairs(data), rounds=24, tree_cells=2e4):
        assert error <= 1.15 * exact[n][1] + 1e-12
        assert error <= local[n][1] + 1e-9
        assert error <= 1.01 * last
        last = error


def test_estimate_of_exact_measurements_is_the_data(data_dir):
    data = load(data_dir, "titanic")
    pairs = [("Survived", "Sex"), ("Sex", "Pclass"), ("Pclass", "Survived"), ("SibSp", "Parch"), ("Parch", "Pclass")]
    measurements = [pypgm.LinearMeasurement(data.project(p).datavector(), p, 0.1) for p in pairs]
    model = pypgm.estimate(data.domain, measurements, 1304.0, oracle="region_graph", stop="optimum", tolerance=1e-9)
    for p in pairs:
        assert abs(model.project(p).values - data.project(p).values).max() < 0.5
