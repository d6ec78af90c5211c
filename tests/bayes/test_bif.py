"""BIF files: every dialect, the same bits back, every refusal."""

from __future__ import annotations

import gzip
import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm import CliqueVector, Domain, JunctionTree, ModelTooLargeError
from pypgm.bayes import BayesianNetwork
from pypgm.bayes.bif import noisy_max, parse_bif
from pypgm.bayes.checks import NetworkError

NETWORKS = [
    "alarm", "andes", "asia", "cancer", "child", "earthquake", "hailfinder", "insurance", "pigs", "sachs", "survey",
    "water", "win95pts",
]  # fmt: skip

RAIN = "network n { } variable rain { type discrete[2] { no, yes }; } variable wet { type discrete[3] { a, b, c }; }\n"


def write(folder, text, name="net.bif"):
    path = folder / name
    path.write_text(text)
    return path


def read(folder, text):
    return BayesianNetwork.read_bif(write(folder, text))


def same(a, b):
    assert (a.name, a.domain, dict(a.parents)) == (b.name, b.domain, dict(b.parents))
    for attribute in a.domain:
        assert a.tables[attribute].values.tobytes() == b.tables[attribute].values.tobytes()


# Files of other tools.


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_the_repository(data_dir, tmp_path, name):
    net = BayesianNetwork.read_bif(data_dir / "bif" / f"{name}.bif.gz")
    net.write_bif(tmp_path / "out.bif.gz")
    again = BayesianNetwork.read_bif(tmp_path / "out.bif.gz")
    same(net, again)
    assert net.notes == again.notes


@pytest.mark.parametrize(("name", "twin"), [("alarm", "alarm"), ("insurance", "insurance")])
def test_dialects_with_a_twin(data_dir, name, twin):
    net = BayesianNetwork.read_bif(data_dir / "bif_dialects" / f"{name}.bif")
    other = BayesianNetwork.read_bif(data_dir / "bif" / f"{twin}.bif.gz")
    assert dict(net.domain.labels) == dict(other.domain.labels)
    for attribute in net.domain:
        assert set(net.parents[attribute]) == set(other.parents[attribute])
        found = net.tables[attribute].transpose(other.tables[attribute].domain.attributes).values
        # The two tools print other digits.
        np.testing.assert_allclose(found, other.tables[attribute].values, rtol=0, atol=1e-4)


def test_dialect_of_whole_tables_under_other_names(data_dir):
    net = BayesianNetwork.read_bif(data_dir / "bif_dialects" / "asia.bif")
    other = BayesianNetwork.read_bif(data_dir / "bif" / "asia.bif.gz")
    names = {
        "visit_to_Asia": "asia", "tuberculosis": "tub", "smoking": "smoke", "lung_cancer": "lung",
        "bronchitis": "bronc", "tuberculos_or_cancer": "either", "positive_XraY": "xray", "dyspnoea": "dysp",
    }  # fmt: skip
    assert net.domain.labels["visit_to_Asia"] == ("a1", "a2")
    for attribute, known in names.items():
        order = [names[a] for a in net.tables[attribute].domain.attributes]
        np.testing.assert_array_equal(net.tables[attribute].values, other.tables[known].transpose(order).values)


def test_dialect_with_properties_and_noisy_maxima(data_dir):
    net = BayesianNetwork.read_bif(data_dir / "bif_dialects" / "carpo.bif")
    assert len(net.domain) == 61
    assert net.to_networkx().number_of_edges() == 74
    assert net.domain.labels["N9"] == ("0", "1", "2")
    for table in net.tables.values():
        np.testing.assert_allclose(table.values.sum(axis=-1), 1, rtol=0, atol=2e-7)
    np.testing.assert_array_equal(net.tables["N9"].values[1, 0, 0], [0.1000000015, 0.8000000119, 0.1000000015])
    assert "'N117': no probability block and no children; all its values are equally likely" in net.notes
    assert "'N9': 4 of 8 rows are the noisy maximum of the 4 written" in net.notes
    # P(N9 <= y | two causes) is the product of both over the leak.
    leak, first, second = (np.cumsum(net.tables["N9"].values[i]) for i in ((0, 0, 0), (1, 0, 0), (0, 1, 0)))
    np.testing.assert_allclose(np.cumsum(net.tables["N9"].values[1, 1, 0]), first * second / leak, rtol=1e-12)


def test_numbers_are_read_to_the_last_bit(data_dir):
    with gzip.open(data_dir / "bif" / "sachs.bif.gz", "rt") as file:
        text = file.read()
    net = BayesianNetwork.read_bif(data_dir / "bif" / "sachs.bif.gz")
    inside = text[text.index("probability") :]
    words = {w for w in inside.replace(",", " ").replace(";", " ").split() if w[0].isdigit()}
    found = set(np.concatenate([t.datavector() for t in net.tables.values()]).tolist())
    assert found <= {float(w) for w in words}


def test_labels_with_odd_characters(data_dir):
    net = BayesianNetwork.read_bif(data_dir / "bif" / "child.bif.gz")
    assert "Asy/Patch" in net.domain.labels["ChestXray"]
    assert net.domain.labels["CO2Report"] == ("<7.5", ">=7.5")


# The format.


def test_all_ways_to_write(tmp_path):
    net = read(
        tmp_path,
        """// a comment with a } in it
        network "My net" { property "a } ; b" ; property x = { 1 } ; }
        variable "two words" { property one; type discrete [ 2 ] { "no way", yes/no }; property two = "}"; }
        variable <5 { /* a comment
                       of two lines */ type discrete[3]{ ">= 1", 2.5-3 , "a, b" } }
        probability (<5 | "two words") { property p; ("no way") 0.1, 2e-1, .7; (yes/no) 1 0 0.; }
        probability ( "two words" ) { table 0.25 , 0.75; }
        """,
    )
    assert net.name == "My net"
    assert net.domain.labels == {"two words": ("no way", "yes/no"), "<5": (">= 1", "2.5-3", "a, b")}
    np.testing.assert_array_equal(net.tables["<5"].values, [[0.1, 0.2, 0.7], [1, 0, 0]])


def test_labels_may_hold_spaces_between_commas(tmp_path):
    net = read(
        tmp_path,
        """variable a { type discrete[2] { less than 5, 5 or more }; } variable b { type discrete[1] { any one }; }
        probability (a) { table 1 0; } probability (b | a) { (less than 5) 1; (5 or more) 1; }""",
    )
    assert net.domain.labels == {"a": ("less than 5", "5 or more"), "b": ("any one",)}


def test_table_has_its_own_value_slowest(tmp_path):
    net = read(tmp_path, RAIN + "probability (rain) { table .5 .5; } probability (wet | rain) { table 1 2 3 4 6 4; }"
               .replace("1 2 3 4 6 4", "0.1 0.2 0.3 0.4 0.6 0.4"))  # fmt: skip
    np.testing.assert_array_equal(net.tables["wet"].values, [[0.1, 0.3, 0.6], [0.2, 0.4, 0.4]])


def test_rows_in_any_order_and_default(tmp_path):
    text = RAIN + "probability (wet rain) { (yes) 0.1 0.2 0.7; default 0.3 0.3 0.4; } probability (rain) { table 0 1; }"
    net = read(tmp_path, text)
    np.testing.assert_array_equal(net.tables["wet"].values, [[0.3, 0.3, 0.4], [0.1, 0.2, 0.7]])
    assert net.parents["wet"] == ("rain",)
    text = RAIN + "probability (rain) { default 0.5 0.5; } probability (wet, rain) { (yes) 1 0 0; (no) 0 1 0; }"
    np.testing.assert_array_equal(read(tmp_path, text).tables["wet"].values, [[0, 1, 0], [1, 0, 0]])


def test_probabilities_may_come_before_variables(tmp_path):
    blocks = RAIN.split("variable")
    text = "probability (rain) { table 0 1; }" + blocks[0] + "variable" + blocks[1]
    assert read(tmp_path, text).domain.attributes == ("rain",)


def test_rows_near_one_are_kept_and_noted(tmp_path):
    net = read(tmp_path, RAIN + "probability (rain) {table 0.33333 0.66666;} probability (wet) {table 0.5 0.25 0.25;}")
    np.testing.assert_array_equal(net.tables["rain"].values, [0.33333, 0.66666])
    assert net.notes == ("'rain': rows sum to 1 within 1.0e-05, not exactly; answers divide each by its sum",)
    np.testing.assert_allclose(net.marginals()["rain"].values, np.array([0.33333, 0.66666]) / 0.99999, rtol=1e-15)


def test_one_value_many_ways(tmp_path):
    text = "variable a { type discrete[1] { x } } probability (a) { table 1; }"
    for written in (text, "\ufeff" + text, text.replace(" ", "\r\n"), text.replace(";", " ;")):
        assert read(tmp_path, written).domain == Domain({"a": ["x"]})


WET = "probability (wet) { table 0.5 0.25 0.25; }"
REFUSED = [
    ("hello", 1, "a block must begin with network, variable or probability, got 'hello'"),
    ("}", 1, "a block must begin with network, variable or probability, got '}'"),
    ("network n\nvariable", 2, "'{' must follow the name of the network, got the end of the file"),
    ("network n {\n\n dog; }", 3, "'property' or '}' must stand in this network block, got 'dog'"),
    ("network n {", 1, "'property' or '}' must stand in this network block, got the end of the file"),
    ("variable {", 1, "the name of a variable must stand here, got '{'"),
    ("variable a type", 1, "'{' must follow the name 'a', got 'type'"),
    ("variable a { }", 1, "variable 'a' needs a type"),
    ("variable a { color red; }", 1, "'property' or 'type' or '}' must stand in this variable block, got 'color'"),
    ("variable a {\n type continuous; }", 2, "variable 'a' needs type discrete, got 'continuous'"),
    ("variable a { type discrete 2", 1, "'[' must follow discrete, got '2'"),
    ("variable a { type discrete [ two ]", 1, "needs a number of values, 1 or more, got 'two'"),
    ("variable a { type discrete [ 0 ] { }; }", 1, "needs a number of values, 1 or more, got '0'"),
    ("variable a { type discrete [ 2 } { x, y }; }", 1, "']' must follow the number of values, got '}'"),
    ("variable a { type discrete [ 2 ] x, y; }", 1, "the values of 'a' must stand here in braces"),
    ("variable a { type discrete[3] { x, y }; }", 1, "variable 'a' needs 3 values, got 2: x, y"),
    ("variable a { type discrete[2] { x, x }; }", 1, "variable 'a' has value 'x' twice"),
    ("variable a {type discrete[1] {x}; type discrete[1] {x}; }", 1, "variable 'a' has two types"),
    (RAIN + "variable rain { }", 2, "variable 'rain' is declared twice"),
    ('variable "a { }', 1, "a quote must be closed"),
    ("variable a { /* type", 1, "must stand in this variable block, got the end of the file"),
    ("probability a", 1, "'(' must follow probability, got 'a'"),
    ("probability ( a ; ) { }", 1, "')' must close the list of variables, got ';'"),
    ("probability ( a", 1, "')' must close the list of variables, got the end of the file"),
    ("probability ( ) { }", 1, "needs one variable, and its parents after one '|'"),
    ("probability ( a, b | c ) { }", 1, "needs one variable, and its parents after one '|'"),
    ("probability ( a | b | c ) { }", 1, "needs one variable, and its parents after one '|'"),
    ("probability ( a ) { table 1;", 1, "the probabilities must stand here in braces"),
    ("probability (a) { table 1; }", 1, "probability block of 'a' names 'a', which is not declared"),
    (RAIN + "\nprobability (rain | snow) { }", 3, "names 'snow', which is not declared"),
    (RAIN + WET + WET, 2, "variable 'wet' has two probability blocks"),
    (RAIN + "probability (wet | rain, rain) { }", 2, "must differ, got wet, rain, rain"),
    (RAIN + "probability (wet | wet) { }", 2, "must differ, got wet, wet"),
    (RAIN + "probability (wet) { table\n 0.5 half 0.2; }", 3, "finite and at least 0, got 'half'"),
    (RAIN + "probability (wet) { table 0.5 nan 0.2; }", 2, "finite and at least 0, got 'nan'"),
    (RAIN + "probability (wet) { table 0.5 -.1 0.6; }", 2, "finite and at least 0, got '-.1'"),
    (RAIN + "probability (wet) { table 0.5 inf 0.6; }", 2, "finite and at least 0, got 'inf'"),
    (RAIN + "probability (wet) { table 0.5 0_1 0.6; }", 2, "finite and at least 0, got '0_1'"),
    (RAIN + "probability (wet) { table 0.5 0.5; }", 2, "3 probabilities must stand here, got 2"),
    (RAIN + "probability (wet) { table ; }", 2, "3 probabilities must stand here, got 0"),
    (RAIN + "probability (wet | rain) { table 0.5 0.5 0; }", 2, "6 probabilities must stand here, got 3"),
    (RAIN + "probability (wet | rain) {\n(no) 1 0 0;\n(yes) 1 0; }", 4, "3 probabilities must stand here, got 2"),
    (RAIN + "probability (wet | rain) {\n(no) 1 0 0;\n(no) 1 0 0; }", 4, "the row (no) of 'wet' comes twice"),
    (RAIN + "probability (wet | rain) {\n(no) 1 0 0;\n(maybe) 1 0 0; }", 4, "'rain' has no value 'maybe'; its values"),
    (RAIN + "probability (wet | rain) {\n(no, no) 1 0 0; }", 3, "a row needs 1 values, of rain, got (no, no)"),
    (RAIN + "probability (wet | rain) { (no) 1 0 0; }", 2, "'wet' needs 2 rows or a default; row (yes) is missing"),
    (RAIN + "probability (wet) { }", 2, "'wet' needs 1 rows or a default; table is missing"),
    (RAIN + "probability (wet | rain) { (no) 1 0 0; table 1 1 0 0 0 0; }", 2, "table must stand alone"),
    (RAIN + "probability (wet | rain) { table 1 1 0 0 0 0; (no) 1 0 0; }", 2, "(no) of 'wet' comes twice"),
    (RAIN + "probability (wet) { default 1 0 0; default 1 0 0; }", 2, "default must stand alone"),
    (RAIN + "probability (wet) {\n table 1 0 0 }", 3, "closed by ';', must stand here, got 'table 1 0 0'"),
    (RAIN + "probability (wet) { dog 1 0 0; }", 2, "must stand here, got 'dog 1 0 0;'"),
    (RAIN + "probability (wet | rain) { property function max; (yes) 1 0 0; }", 2, "noisy maximum of 'wet': it needs"),
    (RAIN + "probability (wet|rain) {(no) 1 0 0; (yes) 0 1 0;}", 2, "'rain' has children and needs a"),
    (RAIN + "\nprobability (wet) { table 0.5 0.25 0.2; }", 3, "of 'wet' must sum to 1 within 0.0001, got 0.95"),
    (RAIN + "probability (wet | rain) {(no) 1 0 0;\n(yes) 0 0 0;}", 2, "of 'wet' given rain=yes must sum to 1"),
    ("variable a {type discrete[1] {x}} variable b {type discrete[1] {x}}\nprobability (a | b) {default 1;}\n"
     "probability (b | a) {default 1;}", 2, "may not run in a circle: a <- b <- a"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), REFUSED)
def test_refused_texts(tmp_path, text, line, message):
    if "has children" not in message and "rain" in text and "(rain)" not in text:
        text += " probability (rain) { table 0.5 0.5; }"
    with pytest.raises(ValueError, match=r"net\.bif") as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert f"net.bif, line {line}: " in str(caught.value)


def test_a_table_that_does_not_fit_is_refused_with_its_size(tmp_path):
    names = [f"x{i}" for i in range(60)]
    text = "".join(f"variable {n} {{ type discrete[2] {{ a, b }}; }}\n" for n in names)
    text += f"probability (x0 | {', '.join(names[1:])}) {{ default 0.5 0.5; }}"
    with pytest.raises(ModelTooLargeError, match=r"line 61: the table of 'x0', of 59 parents, needs 1.15e\+18 cells"):
        read(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        BayesianNetwork.read_bif(tmp_path / "none.bif")
    path = tmp_path / "net.bif.gz"
    path.write_bytes(gzip.compress(RAIN.encode() * 100)[:-20])
    with pytest.raises(ValueError, match=r"net\.bif\.gz is truncated"):
        BayesianNetwork.read_bif(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="UTF-8"):
        BayesianNetwork.read_bif(path)


def test_damaged_files_raise_nothing_foreign(tmp_path):
    text = RAIN + "probability (rain) { table .5 .5; } probability (wet | rain) { (no) 1 0 0; (yes) 0 0 1; }"
    rng = np.random.default_rng(0)
    for _ in range(400):
        damaged = list(text)
        for place in rng.integers(0, len(text), 2):
            damaged[place] = rng.choice(list('{}()[]|;,"/* x1\n'))
        try:
            parse_bif("".join(damaged))
        except ValueError as error:
            assert "line" in str(error)  # noqa: PT017


# Writing.

NAMES = st.text(st.characters(blacklist_characters='"\n\r', blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=6)


@st.composite
def networks(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    sizes = [draw(st.integers(1, 4)) for _ in names]
    domain = Domain(
        {n: draw(st.lists(NAMES, min_size=s, max_size=s, unique=True)) for n, s in zip(names, sizes, strict=True)}
    )
    order = draw(st.permutations(names))
    parents = {n: tuple(p for p in order[:i] if draw(st.booleans())) for i, n in enumerate(order)}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tables = {}
    for n in names:
        cells = rng.dirichlet(
            np.full(domain.size(n), draw(st.sampled_from([0.01, 1.0]))), size=domain.sizes(parents[n])
        )
        tables[n] = cells
    return BayesianNetwork(domain, parents, tables, name=draw(NAMES))


@given(networks())
def test_what_is_written_reads_back_to_the_last_bit(tmp_path_factory, net):
    path = tmp_path_factory.mktemp("bif") / "net.bif"
    net.write_bif(path)
    same(net, BayesianNetwork.read_bif(path))


def test_codes_and_numbers_become_labels(tmp_path):
    net = BayesianNetwork(Domain({"a": 2, "b": [1.5, 2]}), {"b": "a"}, {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]})
    net.write_bif(tmp_path / "net.bif")
    assert BayesianNetwork.read_bif(tmp_path / "net.bif").domain.labels == {"a": ("0", "1"), "b": ("1.5", "2")}


@pytest.mark.parametrize("name", ['a"b', "a\nb"])
def test_names_that_cannot_be_written(tmp_path, name):
    for domain, title in ((Domain({name: 1}), "n"), (Domain({"a": [name]}), "n"), (Domain({"a": 1}), name)):
        net = BayesianNetwork(domain, {}, {domain.attributes[0]: [1.0]}, name=title)
        with pytest.raises(ValueError, match="a BIF file cannot hold"):
            net.write_bif(tmp_path / "net.bif")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="two labels that read the same"):
        BayesianNetwork(Domain({"a": [1, "1"]}), {}, {"a": [0.5, 0.5]}).write_bif(tmp_path / "net.bif")


# The noisy maximum.


def test_noisy_maximum_is_the_maximum_of_independent_causes():
    rng = np.random.default_rng(0)
    leak, *causes = rng.dirichlet(np.ones(3), size=4)  # of the leak, of a=1, of a=2, of b=1
    shape = (3, 2)

    def effect(*own):
        table = np.zeros(3)
        for values in itertools.product(range(3), repeat=len(own)):
            table[max(values)] += np.prod([p[v] for p, v in zip(own, values, strict=True)])
        return table

    rows = {0: leak, 1: effect(leak, causes[2]), 2: effect(leak, causes[0]), 4: effect(leak, causes[1])}
    table = noisy_max(rows, shape)
    np.testing.assert_allclose(table[3], effect(leak, causes[0], causes[2]), rtol=1e-12)
    np.testing.assert_allclose(table[5], effect(leak, causes[1], causes[2]), rtol=1e-12)
    for row, values in rows.items():
        np.testing.assert_array_equal(table[row], values)


def test_noisy_maximum_refuses_causes_that_cannot_be_independent():
    rows = {0: [0.5, 0.4, 0.1], 1: [0.5, 0.1, 0.4], 2: [0.8, 0.1, 0.1]}
    with pytest.raises(ValueError, match="its causes cannot be independent"):
        noisy_max({**rows, 1: [0.9, 0.05, 0.05]}, (2, 2))
    with pytest.raises(ValueError, match=r"the row in which the parents have values number \(1, 0\)"):
        noisy_max({0: rows[0], 1: rows[1]}, (2, 2))


def test_impossible_effects_stay_impossible():
    table = noisy_max({0: [0.0, 1.0], 1: [0.0, 1.0], 2: [0.0, 1.0]}, (2, 2))
    np.testing.assert_array_equal(table[3], [0.0, 1.0])


def test_marginals_of_the_repository(data_dir):
    for name in NETWORKS:
        net = BayesianNetwork.read_bif(data_dir / "bif" / f"{name}.bif.gz")
        known = json.loads((data_dir / "bif" / f"{name}.marginals.json").read_text())["marginals"]
        found = net.marginals()
        assert list(found) == list(known) == list(net.domain)
        for attribute, probabilities in known.items():
            wanted = [probabilities[label] for label in net.domain.labels[attribute]]
            np.testing.assert_allclose(found[attribute].values, wanted, rtol=0, atol=1e-7 if net.notes else 1e-9)
        # They are those of the product of the tables as written.
        written = CliqueVector.from_factors(net.domain, net.tables.values()).log()
        found = JunctionTree.of(written).attribute_marginals(written)
        for attribute, probabilities in known.items():
            np.testing.assert_allclose(
                found[attribute], [probabilities[v] for v in net.domain.labels[attribute]], rtol=0, atol=1e-9
            )


@pytest.mark.parametrize("text", ["", " \n\n", "// nothing but this\n"])
def test_a_file_without_a_block_is_no_network(tmp_path, text):
    with pytest.raises(NetworkError, match="is empty"):
        read(tmp_path, text)


def test_an_arc_to_its_own_node_is_refused_in_a_file(tmp_path):
    with pytest.raises(ValueError, match="must differ, got rain, rain"):
        read(tmp_path, RAIN + "probability (rain | rain) { default 0.5 0.5; }")


def test_what_cannot_be_a_network_is_named_as_such_when_read(tmp_path):
    with pytest.raises(NetworkError, match="line 2: probabilities of 'rain' must sum to 1"):
        read(tmp_path, RAIN + "probability (rain) { table 0.5 0.6; }")


def test_probabilities_beyond_the_doubles_in_sum_are_refused(tmp_path):
    text = "variable a { type discrete [2] { x, y }; } probability (a) { table 1e308, 1e308; }"
    (tmp_path / "network.bif").write_text(text)
    with pytest.raises(ValueError, match="line 1: probabilities must be about 1 in sum"):
        BayesianNetwork.read_bif(tmp_path / "network.bif")


UNSEEN = """network bn { }
variable a { type discrete [2] { x, y }; }
variable b { type discrete [2] { u, v }; }
probability ( a ) { table 1.0, 0.0; }
probability ( b | a ) { (x) 0.25, 0.75; (y) NaN, NaN; }
"""


def test_rows_that_no_record_had_are_uniform_by_choice(tmp_path):
    path = tmp_path / "bnlearn.bif"
    path.write_text(UNSEEN, encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 5.* got 'NaN'; unseen='uniform' reads a row"):
        BayesianNetwork.read_bif(path)
    net = BayesianNetwork.read_bif(path, unseen="uniform")
    assert net.tables["b"].values.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert net.notes == ("1 rows of NaN, of values that no record had, are uniform",)
    path.write_text(UNSEEN.replace("NaN, NaN", "NaN, 0.5"), encoding="utf-8")
    with pytest.raises(ValueError, match="got 'NaN'"):
        BayesianNetwork.read_bif(path, unseen="uniform")
    with pytest.raises(ValueError, match="unseen must be 'refuse' or 'uniform', got 'drop'"):
        BayesianNetwork.read_bif(path, unseen="drop")


def test_xmlbif_keeps_a_network_to_the_bit(tmp_path):
    rng = np.random.default_rng(0)
    domain = Domain({"a & b": ["<x>", "y z"], "c": ["1", "2", "\u00e4"], "d": ["u", "v"]})
    tables = {"a & b": rng.dirichlet([1, 1]), "c": rng.dirichlet([1] * 3, 2), "d": rng.dirichlet([1, 1], (3, 2))}
    net = BayesianNetwork(domain, {"c": ["a & b"], "d": ["c", "a & b"]}, tables, name="n < m")
    net.write_xmlbif(tmp_path / "net.xml")
    back = BayesianNetwork.read_xmlbif(tmp_path / "net.xml")
    assert back == net
    assert back.name == "n < m"
    with pytest.raises(ValueError, match="it looks like XMLBIF"):
        BayesianNetwork.read_bif(tmp_path / "net.xml")
    net.write_bif(tmp_path / "net.bif")
    with pytest.raises(ValueError, match=r"must be XMLBIF, but is not XML: .*; it looks like a BIF network"):
        BayesianNetwork.read_xmlbif(tmp_path / "net.bif")
    text = (tmp_path / "net.xml").read_text(encoding="utf-8")
    for namespace in ('xmlns="http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3"', 'xmlns="urn:x" VERSION="0.3"'):
        (tmp_path / "named.xml").write_text(text.replace('VERSION="0.3"', namespace), encoding="utf-8")
        assert BayesianNetwork.read_xmlbif(tmp_path / "named.xml") == net
    for old, new, message in (
        ("<BIF", '<!DOCTYPE BIF [<!ENTITY x "y">]><BIF', "entities declared in the file are not read"),
        ("<TABLE>0", "<TABLE>nan 0", "needs .* finite numbers of at least 0"),
        ("<GIVEN>c<", "<GIVEN>e<", "names 'e', which is no variable"),
        ("NETWORK>", "NET>", "must be XMLBIF, with BIF and NETWORK, got 'BIF'"),
    ):
        (tmp_path / "bad.xml").write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            BayesianNetwork.read_xmlbif(tmp_path / "bad.xml")
