"""A release whose parts contradict each other is refused, also where whoever changed it knows the format."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from fuzz_pgm import ARRAY, digest, pack, unpack

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, LinearMeasurement, Privacy, PrivateTable, Release, cli, mechanisms
from pypgm.errors import OlderFileWarning
from pypgm.privacy.laws import DiscreteGaussian
from pypgm.privacy.measured_lines import measured_lines
from pypgm.queries import Matrix, Partition

DOMAIN = Domain({"a": 2, "b": ["x", "y", "z"], "c": 4})
ROWS = np.random.default_rng(0).integers(0, 12, 500)
DATA = Dataset({"a": ROWS % 2, "b": ROWS % 3, "c": ROWS % 4}, DOMAIN)
BUDGET = {"epsilon": 1, "delta": 1e-9}


def rewritten(path, change, *, older=False, sealed=True):
    """Change header, release and arrays of a file by a function, and load it."""
    header, arrays = unpack(path.read_bytes())
    own = header["release"]
    change(header, own, arrays)
    if older:
        make_older(header, own, arrays)
    path.write_bytes(pack(header, arrays, sealed=sealed))
    return pypgm.load(path)


def make_older(header, own, arrays):
    """Make a file one without a digest and the lines of measurements, which stand in it as often as they are used."""
    pool, named = header.pop("measurements"), set()

    def copied(value):
        if not isinstance(value, dict):
            return value
        if ARRAY not in value:
            return {key: copied(part) for key, part in value.items()}
        name = value[ARRAY]
        if name in named:
            name = f"array {900 + len(arrays)}"
            arrays[name] = arrays[value[ARRAY]]
        named.add(name)
        return {ARRAY: name}

    for part in (header["recipe"], own):
        part["measurements"] = [copied(pool[number]) for number in part["measurements"]]
    for name in ("charged_by", "not_held"):
        del own[name]
    del header["digest"]
    own["version"], header["version"] = 1, 2


def saved(tmp_path, release):
    release.save(tmp_path / "release.pgm")
    return tmp_path / "release.pgm"


def measure_line(own):
    return next(line for line in own["ledger"]["lines"] if line["what"] == "measure")


def more_noise(header, own, arrays):
    line = measure_line(own)
    squared, variance = (Fraction(line["parameters"][name]) for name in ("squared_sensitivity", "variance"))
    line["parameters"]["variance"] = str(100 * variance)
    line["cost"] = str(squared / (200 * variance))


def noise_of_each(header, own, arrays):
    first = header["measurements"][own["measurements"][0]]
    arrays["array 900"] = np.full(arrays[first["values"][ARRAY]].size, first["stddev"])
    first["stddev"] = {ARRAY: "array 900"}


def numbers_that_are_none(header, own, arrays):
    name = header["measurements"][own["measurements"][0]]["values"][ARRAY]
    arrays[name] = arrays[name] + 0.25


def last(header, own):
    return header["measurements"][own["measurements"][-1]]


AT_ODDS = {
    "the variance of a line, and its cost": more_noise,
    "the relation": lambda header, own, arrays: own["ledger"]["privacy"].update(neighbours="replace"),
    "the records of a person": lambda header, own, arrays: own["ledger"]["privacy"].update(records_per_person=9),
    "a standard deviation": lambda header, own, arrays: last(header, own).update(stddev=0.001),
    "a standard deviation of each answer": noise_of_each,
    "the law": lambda header, own, arrays: last(header, own).update(noise="laplace"),
    "answers that are no integers": numbers_that_are_none,
}
OF_LINKED_FILES = {
    "the clique of a line": lambda header, own, arrays: measure_line(own).update(on="(nobody)"),
    "the clique of a measurement": lambda header, own, arrays: last(header, own)["clique"].reverse(),
    "a line gone": lambda header, own, arrays: own["ledger"]["lines"].remove(measure_line(own)),
    "all lines gone": lambda header, own, arrays: own["ledger"].update(lines=[]),
    "lines in another order": lambda header, own, arrays: own["ledger"]["lines"].reverse(),
    "a measurement gone": lambda header, own, arrays: own["measurements"].pop(),
    "a measurement twice": lambda header, own, arrays: own["charged_by"].__setitem__(0, own["charged_by"][1]),
    "a line that is none": lambda header, own, arrays: own["charged_by"].__setitem__(0, 999),
    "a measurement that claims to be given": lambda header, own, arrays: own["charged_by"].__setitem__(0, None),
}
"""What files say that name the line of each measurement; others may hold measurements of elsewhere."""


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("how", AT_ODDS)
@pytest.mark.filterwarnings("ignore::pypgm.errors.OlderFileWarning")
def test_noise_that_was_not_charged_is_refused(how, older, tmp_path):
    path = saved(tmp_path, mechanisms.mst(DATA, **BUDGET))
    with pytest.raises(ValueError, match="not a whole pypgm"):
        rewritten(path, AT_ODDS[how], older=older)


@pytest.mark.parametrize("how", OF_LINKED_FILES)
def test_measurements_and_lines_that_do_not_belong_together_are_refused(how, tmp_path):
    path = saved(tmp_path, mechanisms.mst(DATA, **BUDGET))
    with pytest.raises(ValueError, match="not a whole pypgm release"):
        rewritten(path, OF_LINKED_FILES[how])


@pytest.mark.parametrize("of_measurements", [False, True])
@pytest.mark.parametrize("of_ledger", [False, True])
@pytest.mark.parametrize("of_model", [False, True])
def test_one_mark_of_a_seed_is_enough(of_measurements, of_ledger, of_model, tmp_path):
    def unmark(header, own, arrays):
        if not of_model:
            header["not_private"] = ""
        if not of_ledger:
            own["ledger"].pop("not_private")
        for one in header["measurements"]:
            one["not_private"] = one["not_private"] if of_measurements else ""

    release = mechanisms.mst(DATA, **BUDGET, unsafe_seed=1)
    path = saved(tmp_path, release)
    found = rewritten(path, unmark)
    if of_measurements or of_ledger or of_model:
        assert found.not_private == release.not_private != ""
        assert found.guarantee.startswith("none")
    with pytest.raises(ValueError, match="something in it was changed"):
        rewritten(path, unmark_all, sealed=False)


def unmark_all(header, own, arrays):
    header["not_private"] = "" if header["not_private"] else "a lie"


def test_a_model_that_rests_on_marked_measurements_is_marked(tmp_path):
    mechanisms.mst(DATA, **BUDGET, unsafe_seed=1).model.save(tmp_path / "model.pgm")
    header, arrays = unpack((tmp_path / "model.pgm").read_bytes())
    header["not_private"] = ""
    (tmp_path / "model.pgm").write_bytes(pack(header, arrays))
    assert "seed" in pypgm.load(tmp_path / "model.pgm").not_private


@pytest.mark.parametrize(
    "change",
    [
        lambda header, own, arrays: header.update(total=header["total"] + 1),
        lambda header, own, arrays: arrays["array 0"].__imul__(0),
        lambda header, own, arrays: own["ledger"]["budget"].update(epsilon="100"),
        lambda header, own, arrays: header["labels"].update(b=["z", "y", "x"]),
        lambda header, own, arrays: header.update(labels=dict(header["labels"], a=["no", "yes"])),
        lambda header, own, arrays: own.update(log=[{"round": 1}]),
        lambda header, own, arrays: header.pop("digest"),
        lambda header, own, arrays: header.update(digest=header["digest"].upper()),
    ],
)
def test_what_is_changed_without_a_new_digest_is_refused(change, tmp_path):
    path = saved(tmp_path, mechanisms.mst(DATA, **BUDGET))
    whole = pypgm.load(path)
    assert rewritten(path, lambda *_: None, sealed=False).digest == whole.digest
    with pytest.raises(ValueError, match=r"release\.pgm: not a whole .*its digest does not match its content"):
        rewritten(path, change, sealed=False)


def test_the_digest_is_that_of_the_documentation(tmp_path, capsys):
    release = mechanisms.mst(DATA, **BUDGET)
    path = saved(tmp_path, release)
    header, arrays = unpack(path.read_bytes())
    assert header["digest"] == digest(header, arrays) == release.digest == pypgm.load(path).digest
    assert mechanisms.mst(DATA, **BUDGET).digest != release.digest
    assert cli.main(["info", str(path)]) == 0
    assert ["digest", f"{release.digest[:16]},"] in [line.split()[:2] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.filterwarnings("always::pypgm.errors.OlderFileWarning")
def test_older_files_are_read_and_told_apart(tmp_path, capsys):
    release = mechanisms.mst(DATA, **BUDGET)
    path = saved(tmp_path, release)
    with pytest.warns(OlderFileWarning, match="has no digest"):
        again = rewritten(path, lambda *_: None, older=True)
    assert again.report() == release.report()
    assert again.digest == release.digest
    assert cli.main(["info", str(path)]) == 0
    assert "written by an older pypgm" in capsys.readouterr().err
    again.save(path)
    assert pypgm.load(path).digest == release.digest


@pytest.mark.filterwarnings("ignore::pypgm.errors.OlderFileWarning")
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("a line gone", "not charged in this ledger: 1 of 5 measurements"),
        ("a measurement gone", "not in the release: what 1 line of the ledger measured"),
    ],
)
def test_what_older_files_cannot_tell_is_said(how, told, tmp_path):
    path = saved(tmp_path, mechanisms.mst(DATA, **BUDGET))
    assert told in rewritten(path, OF_LINKED_FILES[how], older=True).report()


def own_release(*, given=False, hidden=False, law="variance", query=None, **seed):
    """A release of one's own: of what was measured, what was given, and without what is hidden."""
    table = PrivateTable(DATA, Privacy("replace", 2), Ledger(Budget(rho=1000)), **seed)
    measured = [table.measure(c, query if c == "c" else None, **{law: 2}) for c in ("a", "c", "a")]
    kept = measured[1:] if hidden else measured
    elsewhere = [LinearMeasurement([250, 250], "a", stddev=9.0)] * given
    table.ledger.charge("measure it oneself", "(a)", DiscreteGaussian(variance=2, squared_sensitivity=8))
    model = pypgm.estimate(DOMAIN, [*elsewhere, *kept], iterations=3)
    return Release(model, (*elsewhere, *kept), table.ledger, "my own")


@pytest.mark.parametrize("law", ["variance", "scale"])
@pytest.mark.parametrize("query", [None, Partition([0, 1, 1, 0]), Matrix([[1, 2, 0, 0]])])
def test_each_measurement_has_its_line(law, query, tmp_path):
    release = own_release(law=law, query=query)
    assert measured_lines(release.measurements, release.ledger) == ((0, 1, 2), ())
    assert "not charged" not in release.report()
    again = pypgm.load(saved(tmp_path, release))
    assert measured_lines(again.measurements, again.ledger) == ((0, 1, 2), ())


def test_what_was_given_and_what_is_not_held_is_told_and_kept(tmp_path):
    release = own_release(given=True, hidden=True)
    assert measured_lines(release.measurements, release.ledger) == ((None, 1, 2), (0,))
    header, _ = unpack(saved(tmp_path, release).read_bytes())
    assert (header["release"]["charged_by"], header["release"]["not_held"]) == ([None, 1, 2], [0])
    again = pypgm.load(tmp_path / "release.pgm")
    told = ["not charged in this ledger: 1 of 3 measurements, given or of a sample"]
    told += ["not in the release: what 1 line of the ledger measured"]
    assert [line.strip() for line in again.report().splitlines() if line.strip().startswith("not ")] == told


def test_what_a_resumed_table_measures_has_the_lines_of_both(tmp_path):
    earlier = mechanisms.mst(DATA, budget=Budget(rho=1))
    table = earlier.resume(DATA, Budget(rho=2))
    later = mechanisms.mwem(table, rounds=2, measurements=earlier.measurements)
    found = measured_lines(later.measurements, later.ledger)
    assert None not in found.of
    assert found.apart == ()
    assert pypgm.load(saved(tmp_path, later)).report() == later.report()


@pytest.mark.parametrize("name", ["", "\x1b[31mred", "a\nguarantee: epsilon 0", "\u202efa", "a ", 'a "b"', "1/0"])
def test_names_of_mechanisms_are_words(name, tmp_path):
    path = saved(tmp_path, own_release())
    with pytest.raises(ValueError, match="name of a mechanism needs words"):
        rewritten(path, lambda header, own, arrays: own.update(mechanism=name))


def query_of(header):
    return next(m["query"] for m in header["measurements"] if m["query"] is not None)


def columns_beyond(header, own, arrays):
    name = query_of(header)["arguments"][0]["columns"][ARRAY]
    arrays[name] = arrays[name] + (2**31 - 1 - int(arrays[name].max()))


def columns_that_are_none(header, own, arrays):
    name = query_of(header)["arguments"][0]["columns"][ARRAY]
    arrays[name] = arrays[name] * 1e-320


def columns_and_rows_swapped(header, own, arrays):
    matrix = query_of(header)["arguments"][0]
    matrix["columns"], matrix["rows"] = matrix["rows"], matrix["columns"]


def of_class(name, *arguments):
    def change(header, own, arrays):
        matrix = query_of(header)["arguments"][0]
        for part in ("entries", "columns", "rows"):
            arrays.pop(matrix[part][ARRAY])
        arrays["array 900"] = np.array([0, 1])
        matrix.clear()
        query_of(header).update({"class": name, "arguments": list(arguments)})

    return change


CELLS, PREFIX = {ARRAY: "array 900"}, {"class": "Prefix", "arguments": [10**9]}


@pytest.mark.parametrize(
    "change",
    [
        columns_beyond,
        columns_that_are_none,
        columns_and_rows_swapped,
        of_class("Subset", CELLS, 10**9, None),
        of_class("Folded", PREFIX, CELLS),
        of_class("Kronecker", [PREFIX, {"class": "Partition", "arguments": [CELLS]}]),
        lambda header, own, arrays: query_of(header)["arguments"][0].update(shape=[2, 2**62]),
        lambda header, own, arrays: query_of(header)["arguments"][0].update(shape=[]),
        lambda header, own, arrays: query_of(header).update(arguments=[]),
    ],
)
def test_queries_of_files_are_of_no_other_cells_than_the_cliques(change, tmp_path):
    path = saved(tmp_path, own_release(query=Matrix([[1, 2, 0, 0], [0, 1, 1, 1]])))
    with pytest.raises(ValueError, match="not a whole pypgm"):
        rewritten(path, change)


@pytest.mark.parametrize("total", [2.0**53 + 2, float("inf"), float("nan"), -1.0, 1e-320])
def test_totals_are_numbers_of_records(total, tmp_path):
    path = saved(tmp_path, mechanisms.mst(DATA, **BUDGET))
    with pytest.raises(ValueError, match="not a whole pypgm model file"):
        rewritten(path, lambda header, own, arrays: header.update(total=total))


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_counts_of_regions_are_counts(value, tmp_path):
    path = saved(tmp_path, mechanisms.mst(DATA, **BUDGET, oracle="region_graph", iterations=5))

    def change(header, own, arrays):
        arrays[header["marginals"][ARRAY]][0] = value

    with pytest.raises(ValueError, match="not a whole pypgm model file"):
        rewritten(path, change)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["potentials", "prior", "masks"])
def test_logs_of_tables_are_finite_or_those_of_zeros(name, value, tmp_path):
    mechanisms.wide(DATA, **BUDGET).save(path := tmp_path / "release.pgm")

    def change(header, own, arrays):
        if name == "masks":
            arrays["array 900"] = np.full(2, value)
            header["masks"] = [{"clique": ["a"], "allowed": {ARRAY: "array 900"}}]
            return
        held = header["potentials"] if name == "potentials" else header["recipe"]["prior"]["values"]
        arrays[held[ARRAY]][0] = value

    with pytest.raises(ValueError, match="not a whole pypgm model file"):
        rewritten(path, change)


def test_codes_of_records_are_of_their_domain(tmp_path):
    release = mechanisms.fem(DATA, 1, rounds=2, samples=2, estimator="records", unsafe_seed=1)
    for change in (
        lambda header, own, arrays: arrays[header["columns"][0][ARRAY]].__setitem__(0, 2),
        lambda header, own, arrays: arrays[header["weights"][ARRAY]].__setitem__(0, np.nan),
        lambda header, own, arrays: arrays[header["weights"][ARRAY]].__setitem__(0, -1),
    ):
        path = saved(tmp_path, release)
        with pytest.raises(ValueError, match="not a whole pypgm model file"):
            rewritten(path, change)


@pytest.mark.parametrize("name", ["more", "oracle", "callback"])
def test_options_of_an_estimate_are_those_it_has(name, tmp_path):
    path = saved(tmp_path, mechanisms.mst(DATA, **BUDGET))
    with pytest.raises(ValueError, match=rf"field recipe\.options\.{name} is not known"):
        rewritten(path, lambda header, own, arrays: header["recipe"]["options"].update({name: 1}))


PLACES = {
    "the whole": ((), ""),
    "a measurement": (("measurements", 0), r"measurements\[0\]"),
    "the release": (("release",), "release"),
    "the ledger": (("release", "ledger"), r"release\.ledger"),
    "a line": (("release", "ledger", "lines", 0), r"release\.ledger\.lines\[0\]"),
    "the budget": (("release", "ledger", "budget"), r"release\.ledger\.budget"),
    "the relation": (("release", "ledger", "privacy"), r"release\.ledger\.privacy"),
    "the layout": (("release", "layout"), r"release\.layout"),
    "the fit": (("fit",), "fit"),
    "the estimate": (("recipe",), "recipe"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_field_that_is_not_known_is_named(place, tmp_path):
    path, shown = PLACES[place]
    schema = pypgm.Schema({"a": 2, "b": ["x", "y", "z"]})
    table = {"a": [0, 1] * 50, "b": ["x", "y"] * 50}
    release = pypgm.synthesize(table, schema, **BUDGET, mechanism="mst")

    def change(header, own, arrays):
        entry = header
        for step in path:
            entry = entry[step]
        entry["extra"] = 1

    with pytest.raises(ValueError, match=rf"field {shown}{'.' if shown else ''}extra is not known") as error:
        rewritten(saved(tmp_path, release), change)
    assert "__init__" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "arguments"), [("Prefix", [2, 3]), ("Folded", []), ("Partition", []), ("Kronecker", [1, 2, 3])]
)
def test_arguments_that_a_query_does_not_take_are_said_to_be_so(name, arguments, tmp_path):
    release = mechanisms.mst(DATA, **BUDGET, unsafe_seed=0)

    def change(header, own, arrays):
        last(header, own)["query"] = {"class": name, "arguments": arguments}

    with pytest.raises(ValueError, match=f"a query of the class {name} has other arguments"):
        rewritten(saved(tmp_path, release), change)


OTHER_ESTIMATES = {
    "a gap below 0": lambda header, own, arrays: header["fit"].update(gap=-1.0),
    "noise that no estimate takes": lambda header, own, arrays: last(header, own).update(stddev=1e-199),
    "a total that no estimate takes": lambda header, own, arrays: header.update(total=1e200),
    "an encoding that is none": lambda header, own, arrays: own["layout"].update(encoding="x"),
    "a type of pandas that is none": lambda header, own, arrays: own["layout"].update(pandas={"a": "int"}),
    "two marks of decimals": lambda header, own, arrays: own["layout"].update(decimal=".."),
    "one mark for two things": lambda header, own, arrays: own["layout"].update(decimal=","),
    "a mark between fields of two": lambda header, own, arrays: own["layout"].update(delimiter=";;"),
}


@pytest.mark.parametrize("how", OTHER_ESTIMATES)
def test_what_no_estimate_and_no_table_has_is_refused(how, tmp_path):
    frame = {"a": [0, 1] * 200, "b": ["x", "y"] * 200}
    release = pypgm.synthesize(frame, {"a": 2, "b": ["x", "y"]}, **BUDGET, mechanism="mst")
    with pytest.raises(ValueError, match="not a whole pypgm"):
        rewritten(saved(tmp_path, release), OTHER_ESTIMATES[how])


def test_an_estimate_without_end_is_not_made_again_without_end(tmp_path):
    """A file may say that it was allowed any number of iterations; so may an honest one whose time limit ended it."""

    def endless(header, own, arrays):
        header["recipe"]["options"] |= {"iterations": 10**15, "tolerance": 0.0, "stop": "optimum"}

    release = rewritten(saved(tmp_path, mechanisms.mst(DATA, **BUDGET)), endless)
    assert np.isfinite(release.model.expected_error("a", draws=2, rng=0).values).all()


@pytest.mark.parametrize("argument", ["", "3", 0.5, "1e999999999"])
def test_arguments_of_a_query_are_no_texts_and_no_fractions(argument, tmp_path):
    def change(header, own, arrays):
        header["measurements"][0]["query"] = {"class": "Prefix", "arguments": [argument]}

    with pytest.raises(ValueError, match="arguments of a query are integers, arrays"):
        rewritten(saved(tmp_path, mechanisms.mst(DATA, **BUDGET)), change)


@pytest.mark.parametrize("name", ["", "l3", "1e999999999"])
def test_the_loss_of_an_estimate_is_one_there_is(name, tmp_path):
    path = saved(tmp_path, mechanisms.mst(DATA, **BUDGET))
    with pytest.raises(ValueError, match=r"field recipe\.options\.loss needs one of"):
        rewritten(path, lambda header, own, arrays: header["recipe"]["options"].update(loss=name))


@pytest.mark.parametrize("name", ["mst", "wide", "aim", "fem"])
def test_equal_releases_have_equal_digests(name, tmp_path, monkeypatch):
    """A seed and a table give one digest, however long an estimate takes; nothing but its seconds is left out of it."""
    releases = []
    for pace in (1e-6, 1e-3):
        ticks = itertools.count()
        monkeypatch.setattr("time.perf_counter", lambda ticks=ticks, pace=pace: next(ticks) * pace)
        releases.append(getattr(mechanisms, name)(DATA, **BUDGET, unsafe_seed=3, n_threads=1))
        releases[-1].save(tmp_path / f"{pace}.pgm")
    one, other = releases
    assert one.model.fit.seconds != other.model.fit.seconds
    assert one.model.fit == other.model.fit
    headers, arrays = zip(*(unpack((tmp_path / f"{pace}.pgm").read_bytes()) for pace in (1e-6, 1e-3)), strict=True)
    assert one.digest == other.digest == headers[0]["digest"] == headers[1]["digest"]
    for header in headers:
        del header["fit"]["seconds"]
    assert headers[0] == headers[1]
    assert all((arrays[0][key] == arrays[1][key]).all() for key in arrays[0])


def test_a_file_of_the_version_whose_digest_is_of_times_is_read(tmp_path):
    release = mechanisms.mst(DATA, **BUDGET, unsafe_seed=3)
    release.save(tmp_path / "r.pgm")
    header, arrays = unpack((tmp_path / "r.pgm").read_bytes())
    header["version"] = 3
    (tmp_path / "r.pgm").write_bytes(pack(header, arrays))
    assert pypgm.load(tmp_path / "r.pgm").digest == release.digest
    header["fit"]["seconds"] += 1.0
    (tmp_path / "r.pgm").write_bytes(pack(header, arrays, sealed=False))
    with pytest.raises(ValueError, match="its digest does not match its content"):
        pypgm.load(tmp_path / "r.pgm")
