"""Files of networks: what is written is read back to the last bit, what others write is read, all else refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import Domain, read_network, write_network
from pypgm.bayes import BayesianNetwork
from pypgm.cli import main

NAMES = [".net", ".dsc", ".xdsl", ".xmlbif", ".net.gz"]
HEAD = {
    ".net": 'net { name = "n"; } % a comment\n',
    ".dsc": 'belief network "n"\n// a comment\n',
    ".xdsl": '<?xml version="1.0"?><smile id="n">',
}
# b given c and a: rows by c, then a.
TEXTS = {
    ".net": HEAD[".net"]
    + """
node a { label = "A"; position = (10 20); states = ("no" "yes"); }
discrete node c { states = ("x" "y"); }
node b { states = ("1" "2" "3"); HR_Color = "7"; }
potential (a) { data = (0.25 0.75); }
potential (b | c a) { data = (((0.5 0.5 0) % the first
 (0 0.5 0.5)) ((1 0 0) (0 0 1))); }
potential (c) { }
""",
    ".dsc": HEAD[".dsc"]
    + """
node a { name: "A"; type : discrete [ 2 ] = { "no", "yes" }; position: (10, 20); }
node c { type: discrete[2] = { x, y }; }
node b { type: discrete[3] = { "1", "2", "3" } }
probability ( a ) { 0.25, 0.75; }
probability ( b | c, a ) { (1, 1): 0, 0, 1; (0, 0): 0.5, 0.5, 0; (0, 1): 0, 0.5, 0.5; (1, 0): 1, 0, 0; }
probability ( c ) { 0.5, 0.5; }
""",
    ".xdsl": HEAD[".xdsl"]
    + """<nodes>
<cpt id="a"><state id="no"/><state id="yes"/><probabilities>0.25 0.75</probabilities></cpt>
<cpt id="c"><state id="x"/><state id="y"/><probabilities>0.5 0.5</probabilities></cpt>
<cpt id="b"><state id="1"/><state id="2"/><state id="3"/><parents>c a</parents>
<probabilities>0.5 0.5 0 0 0.5 0.5 1 0 0 0 0 1</probabilities></cpt></nodes>
<extensions><genie name="n"><node id="a"><name>A</name></node></genie></extensions></smile>""",
}
WORDS = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=6)


@st.composite
def networks(draw):
    names = draw(
        st.lists(
            WORDS | st.sampled_from(["x1", "a b", 'q"', "back\\", "net", "%", "//"]),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    domain = Domain({a: draw(st.lists(WORDS, min_size=1, max_size=3, unique=True)) for a in names})
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    order = rng.permutation(len(names))
    parents = {names[i]: [names[j] for j in order[:k] if rng.random() < 0.6] for k, i in enumerate(order)}
    tables = {a: rng.dirichlet(np.ones(domain.size(a)), domain.sizes(p)) for a, p in parents.items()}
    return BayesianNetwork(domain, parents, tables, name=draw(WORDS))


@settings(max_examples=40, deadline=None)
@given(networks())
@pytest.mark.parametrize("ending", NAMES)
def test_what_is_written_is_read_back(tmp_path_factory, ending, net):
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    write_network(net, path)
    again = read_network(path)
    assert again == net
    assert again.name == net.name
    assert [again.parents[a] for a in net.domain] == [net.parents[a] for a in net.domain]


@pytest.mark.parametrize("ending", TEXTS)
def test_files_of_others_are_read(tmp_path, ending):
    path = tmp_path / f"net{ending}"
    path.write_text(TEXTS[ending])
    net = read_network(path)
    assert {a: net.domain.labels[a] for a in "abc"} == {"a": ("no", "yes"), "b": ("1", "2", "3"), "c": ("x", "y")}
    assert net.name == "n"
    assert net.parents["b"] == ("c", "a")
    expected = [[[0.5, 0.5, 0], [0, 0.5, 0.5]], [[1, 0, 0], [0, 0, 1]]]
    assert net.tables["b"].values.tolist() == expected
    assert net.tables["c"].values.tolist() == [0.5, 0.5]


def test_deterministic_nodes_of_genie_are_read(tmp_path):
    path = tmp_path / "net.xdsl"
    node = (
        '<deterministic id="c"><state id="x"/><state id="y"/><parents>a</parents><resultingstates>y x</resultingstates>'
    )
    path.write_text(
        TEXTS[".xdsl"].replace(
            '<cpt id="c"><state id="x"/><state id="y"/><probabilities>0.5 0.5</probabilities></cpt>',
            f"{node}</deterministic>",
        )
    )
    assert read_network(path).tables["c"].values.tolist() == [[0, 1], [1, 0]]


def test_uai_files_hold_networks_without_names(tmp_path):
    net = BayesianNetwork({"a": 2, "b": 3}, [("a", "b")], {"a": [0.1, 0.9], "b": np.full((2, 3), 1 / 3)})
    write_network(net, tmp_path / "net.uai")
    assert read_network(tmp_path / "net.uai") == net.rename({"a": "0", "b": "1"})
    pypgm.write_uai(net.potentials, tmp_path / "field.uai")
    with pytest.raises(ValueError, match="Markov"):
        read_network(tmp_path / "field.uai")
    for ending in (".bif", ".xml"):
        labelled = net.rename(labels={"a": ["x", "y"], "b": ["1", "2", "3"]})
        write_network(labelled, tmp_path / f"net{ending}")
        assert read_network(tmp_path / f"net{ending}") == labelled
    for call in (lambda: read_network("net.txt"), lambda: write_network(net, "net.json")):
        with pytest.raises(ValueError, match="ending"):
            call()


@pytest.mark.parametrize("ending", TEXTS)
def test_every_text_cut_short_or_changed_is_refused_or_read(tmp_path, ending):
    path = tmp_path / f"net{ending}"
    rng = np.random.default_rng(0)
    text = TEXTS[ending]
    for _ in range(100):
        first, last = sorted(rng.integers(0, len(text), 2))
        path.write_text(text[:first] + text[max(last, first + 1) if rng.random() < 0.5 else first + 1 :])
        try:
            net = read_network(path)
        except ValueError:
            continue
        assert np.allclose([net.query(a).values.sum() for a in net.domain], 1)


@pytest.mark.parametrize(
    ("ending", "old", "new", "message"),
    [
        (".net", "node a", "utility a", "discrete nodes"),
        (".net", "potential (a)", "potential (z)", "no node"),
        (".net", "potential (c) { }", "", "table each"),
        (".net", "0.25 0.75", "0.25 0.5 0.25", "2 finite numbers"),
        (".net", "0.25", "nan", "finite"),
        (".net", "data = (0.25 0.75)", "model_nodes = ()", "expression"),
        (".net", '"yes");', '"yes);', "quote"),
        (".dsc", "discrete [ 2 ]", "continuous [ 2 ]", "discrete"),
        (".dsc", "(1, 1)", "(1, 2)", "numbers of its 2 parents"),
        (".dsc", "(1, 1)", "(0, 0)", "twice"),
        (".dsc", "(1, 1): 0, 0, 1;", "", "4 rows"),
        (".xdsl", '<cpt id="a">', '<cpt id="c">', "two tables|declared|no node"),
        (".xdsl", "<nodes>", '<nodes><cpt id="a"><state id="no"/><probabilities>1</probabilities></cpt>', "twice"),
        (".xdsl", "<smile", "<smiles", "XML|smile"),
        (".xdsl", "<nodes>", "<nodes><utility id='u'/>", "utility"),
        (".xdsl", '<?xml version="1.0"?>', '<!DOCTYPE x [<!ENTITY a "b">]>', "entities"),
    ],
)
def test_what_is_no_network_of_discrete_attributes_is_refused(tmp_path, ending, old, new, message):
    path = tmp_path / f"net{ending}"
    assert old in TEXTS[ending]
    path.write_text(TEXTS[ending].replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_network(path)


@pytest.mark.parametrize("declared", ["ISO-8859-1", "UTF-16", "no-such-encoding"])
@pytest.mark.parametrize("ending", [".xdsl", ".xmlbif"])
def test_the_encoding_that_decoded_a_text_counts_and_not_the_declared_one(tmp_path, ending, declared):
    net = BayesianNetwork({"é": ["ü", "y"]}, [], {"é": [0.25, 0.75]})
    path = tmp_path / f"net{ending}"
    write_network(net, path)
    path.write_text(path.read_text("utf-8").replace('"UTF-8"', f'"{declared}"'), "latin-1")
    assert read_network(path, encoding="latin-1") == net


def test_characters_that_a_format_cannot_hold_are_refused(tmp_path):
    for ending, name in ((".net", "a\nb"), (".dsc", "a\rb"), (".xdsl", "a\x00b"), (".xmlbif", "a\x01b")):
        net = BayesianNetwork({name: ["x"]}, {}, {name: [1.0]})
        with pytest.raises(ValueError, match="cannot hold"):
            write_network(net, tmp_path / f"net{ending}")
        assert not (tmp_path / f"net{ending}").exists()


@pytest.mark.parametrize("ending", [".xdsl", ".xmlbif"])
def test_xml_keeps_white_space(tmp_path, ending):
    net = BayesianNetwork(
        {" a\r\n": ["\tx", "x", "x "], "a": ["y", " "]}, [], {" a\r\n": [0.5, 0.25, 0.25], "a": [1.0, 0.0]}
    )
    write_network(net, tmp_path / f"net{ending}")
    assert read_network(tmp_path / f"net{ending}") == net


def test_what_is_no_network_is_not_written(tmp_path):
    for name in ("net.net", "net.bif", "net.uai"):
        with pytest.raises(TypeError, match="BayesianNetwork is needed"):
            write_network({}, tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_the_command_queries_each_format(tmp_path, capsys):
    answers = []
    for ending, text in TEXTS.items():
        path = tmp_path / f"net{ending}"
        path.write_text(text)
        assert main(["query", str(path), "b", "--given", "c=y", "--json"]) == 0
        answers.append(capsys.readouterr().out)
    assert len(set(answers)) == 1
