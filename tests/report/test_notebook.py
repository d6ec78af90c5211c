"""What a notebook shows of an object: every public class, whatever its names and labels hold, and nothing private."""

from __future__ import annotations

import importlib
import inspect
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import (
    Budget,
    CliqueVector,
    Dataset,
    Domain,
    Factor,
    JunctionTree,
    Ledger,
    Privacy,
    PrivateTable,
    RegionGraph,
)
from pypgm._base.html import Markup, Shown, element, folded, shaded, table, text, written
from pypgm.bayes import BayesianNetwork, compare_answers, compare_tables, learn_private
from pypgm.data import Categorical, Integer, OpenSet
from pypgm.notebook import as_html

PACKAGES = (
    [
        "pypgm",
        *(f"pypgm.{name}" for name in ("bayes", "data", "estimation", "estimation.losses", "graphs", "inference")),
    ]
    + [f"pypgm.{name}" for name in ("io", "mechanisms", "models", "mrf", "privacy", "queries", "reconstruction")]
    + [f"pypgm.{name}" for name in ("audit", "errors", "comparison", "evaluation", "planning", "workloads")]
)
ONE_LINE = "its repr is one line that says it whole"
PART = "a part of what is shown: of a schema, a tree, a ledger, an estimate"
COMPUTES = "it answers, and holds nothing to look at"
UNSHOWN = {
    ONE_LINE: "Account AccountEntry Reservation "
    "Budget Privacy Constraint KroneckerQuery Likelihood ErrorBounds PrivateStructure BlockSize SampleSize "
    "RealAnswers Finding Pair FitState TreeCost ConvexGbp RelatedTables Limits Options FieldOptions PrivateOptions "
    "Approximation LearnedStructure DynamicStructure Synthesizer",
    PART: "Blank Boolean Categorical Codes Column Comparison Date Derived Difference Fake Id Integer OneOf OpenSet "
    "Person QuantileBins Real Rule Weight TreeNode Charge AccountRun",
    COMPUTES: "CountedTable EngineTable StreamedTable PrivateColumn Loss L1 L2 Custom Huber Sum L1Selector Screen "
    "Selector StatedSelector FullTable LocalTables ProductMixture Residuals Views",
}
NO_TABLE = {name: reason for reason, names in UNSHOWN.items() for name in names.split()}


def public_classes():
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if inspect.isclass(found) and found.__module__.startswith("pypgm"):
                yield found


def test_every_public_class_shows_itself_or_says_why_not():
    classes = {c for c in public_classes() if not issubclass(c, BaseException | pypgm.queries.LinearQuery)}
    silent = {c.__name__ for c in classes if not hasattr(c, "_repr_html_")}
    assert silent - NO_TABLE.keys() - {"UserOperator", "Products"} == set()
    shown = {c.__name__ for c in classes if hasattr(c, "_repr_html_")}
    assert shown & NO_TABLE.keys() == set()
    assert NO_TABLE.keys() <= {c.__name__ for c in classes}


def subclasses(kind):
    """Yield the classes derived from one, but for those that a dataclass with slots has replaced."""
    for derived in kind.__subclasses__():
        if getattr(sys.modules[derived.__module__], derived.__name__, None) is derived:
            yield derived
        yield from subclasses(derived)


WITHOUT_WRITER = {
    "DynamicNetwork": "its repr has its figures; the network of a number of steps shows itself",
    "Interval": "its repr has each number",
    "NetworkComparison": "its repr has its figures",
    **dict.fromkeys(["ConditionalTables", "EditedTables", "PlannedTables", "RowAnswers"], "parts of a network"),
    "Released": "each is of a class derived from it",
}


def test_every_class_that_shows_itself_has_a_writer_or_its_repr():
    classes = {*public_classes(), *subclasses(Shown)}
    shown = {c for c in classes if issubclass(c, Shown)} - {Shown}
    writers = {c: written.dispatch(c) for c in shown}
    assert {c.__name__ for c, writer in writers.items() if writer is written.dispatch(Shown)} <= {*WITHOUT_WRITER}
    assert written.dispatch(object) not in writers.values()
    with pytest.raises(TypeError, match="class int have no HTML"):
        as_html(3)


def test_a_class_without_a_writer_shows_its_repr():
    data = Dataset({"a": [0, 1, 1] * 40}, Domain({"a": 2}))
    interval = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9).interval(lambda records: 2.0 + records["a"].mean())
    assert check_harmless(interval) == repr(interval)


class Seen(HTMLParser):
    """The elements and attributes that a browser would find, and the text beside them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.shown = set(), set(), []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.shown.append(data)


ELEMENTS = "div span b table thead tbody tr th td details summary svg rect g path defs use clippath text tspan"
OURS = {*ELEMENTS.split(" ")}
ATTRIBUTES = (
    "style colspan open width height fill role aria-label x y d id clip-path transform viewbox version xmlns "
    "xmlns:xlink xlink:href"
)
NAMES = {*ATTRIBUTES.split(" ")}


def check_harmless(thing):
    seen = Seen(thing._repr_html_())
    assert seen.tags <= OURS, seen.tags - OURS
    assert seen.attributes <= NAMES, seen.attributes - NAMES
    return "".join(seen.shown)


HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</td></table>",
    "&lt;b&gt;",
    "\u202e\x1b[2J",
    "$\\frac",
]
words = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8)), min_size=2, max_size=3, unique_by=str)


def things(names, labels):
    a, b = names[:2]
    domain = Domain({a: labels, b: 3})
    data = Dataset({a: [0, 1, 1, 0] * 20, b: [0, 1, 2, 0] * 20}, domain)
    release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=0)
    yield from (domain, data, data.project((a, b)), data.project(b), release, release.ledger, release.model)
    yield from (release.model.tree, release.model.fit, release.marginal((a, b), draws=2), release.measurements[0])
    yield from (release.model.potentials, RegionGraph.saturated(domain, [(a, b)]))
    yield pypgm.evaluate(release, unsafe_data=data, cliques=[(a, b), (a,)])
    yield pypgm.workloads.all_k_way(domain, 2)
    yield PrivateTable(data, Privacy(), Ledger(Budget(rho=1)))


@settings(max_examples=5, deadline=None)
@given(words, words)
def test_names_and_labels_are_text_whatever_they_hold(names, labels):
    for thing in things(names, labels):
        check_harmless(thing)


def test_hostile_names_are_there_as_text():
    for thing in things(HOSTILE[:2], HOSTILE[:2]):
        assert "<script>" not in thing._repr_html_()
    shown = check_harmless(Domain({HOSTILE[0]: HOSTILE[1:4]}))
    assert HOSTILE[0] in shown
    assert HOSTILE[1] in shown


def test_schemas_show_what_is_declared():
    columns = {"age": Integer(0, 99, width=10), "<i>": Categorical(["<b>", "", "x"]), "city": OpenSet(share=0.05)}
    schema = pypgm.OpenSchema(columns, drop=["<id>"], records_per_person=3)
    shown = check_harmless(schema)
    for word in ("low 0", "<b>", "(missing)", "to be found", "<id>", "at most 3 records a person"):
        assert word in shown


def test_networks_fields_and_comparisons_show_themselves():
    domain = Domain({"<a>": 2, "b": 2})
    net = BayesianNetwork(domain, {"b": ["<a>"]}, {"<a>": [0.5, 0.5], "b": [[0.9, 0.1], [0.2, 0.8]]})
    release = learn_private(net.sample(200, rng=0), net, epsilon=1, unsafe_seed=0)
    field = pypgm.mrf.MarkovRandomField(CliqueVector(domain, [("<a>", "b")], [1, 0, 0, 1]), 100)
    compared = compare_tables(net, release.model), compare_answers(net, release.model, ["b"])
    tables = (
        pypgm.Dataset({"<a>": [0, 1]}, domain.project(["<a>"])),
        pypgm.Dataset({"b": [0, 1]}, domain.project(["b"])),
    )
    related = pypgm.mechanisms.synthesize_related(
        *tables, [0, 1], max_children=2, context=["<a>"], epsilon=2, delta=1e-9, mechanism="mst", unsafe_seed=0
    )
    structure = pypgm.mrf.Structure(domain.attributes, {("<a>", "b"): 1.5}, release.ledger, None, 0.1)
    sample = pypgm.mrf.sample(field.potentials, 5, rng=0)
    plan = pypgm.mechanisms.plan("mst", domain, epsilon=1, delta=1e-9, n_records=100)
    uai = pypgm.io.uai.UaiModel("MARKOV", domain, (Factor(domain.project("b"), [1, 2]),))
    for thing in (net, release, release.model, field, *compared, related, structure, sample, plan, uai):
        assert len(check_harmless(thing)) > 20


def test_a_graph_is_a_picture_where_matplotlib_is_there(monkeypatch):
    pytest.importorskip("matplotlib")
    tree = JunctionTree(Domain({"a": 2, "b": 2, "c": 2}), [("a", "b"), ("b", "c")])
    assert "<svg" in tree._repr_html_()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<svg" not in tree._repr_html_()
    assert "a, b" in check_harmless(tree)


def test_numbers_are_shaded_labelled_and_have_their_errors():
    domain = Domain({"sex": ["F", "M"], "income": ["low", "", "high"]})
    counts = Factor(domain, [[0, 10, 20], [30, 40, 50]])
    shown = counts._repr_html_()
    assert "rgba(37,99,168,0.00)" in shown
    assert "rgba(37,99,168,0.45)" in shown
    assert "(missing)" in check_harmless(counts)
    errors = Factor(domain, [[1.234, 2, 3], [np.inf, 5, 0.0567]])
    said = check_harmless(pypgm.models.Marginal(counts, errors, "measured"))
    assert "0.0 ± 2.0" in said
    assert "30 ± unknown" in said
    assert "50.000 ± 0.093" in said
    strange = Factor(Domain({"a": 4}), [-np.inf, np.nan, 1e300, -2.0])
    assert "-inf" in check_harmless(strange)


def test_large_things_are_cut_and_say_so():
    assert "70 more" in check_harmless(Domain([f"a{i}" for i in range(100)], [2] * 100))
    assert "992 more" in check_harmless(Dataset({"a": np.zeros(1000, int)}, Domain({"a": 2})))
    assert "970 more" in check_harmless(Factor(Domain({"a": 1000}), np.ones(1000)))
    for nothing in (Domain({}), Dataset({}, Domain({})), Factor(Domain({}), [3.0]), CliqueVector(Domain({"a": 2}), [])):
        check_harmless(nothing)


@pytest.mark.parametrize("show", [repr, str, lambda thing: thing._repr_html_()], ids=["repr", "str", "html"])
def test_a_private_table_shows_the_same_of_any_records(show):
    domain = Domain({"a": ["x", "y"], "b": 5})
    told = []
    for seed, rows in ((0, 10), (1, 1000)):
        rng = np.random.default_rng(seed)
        data = Dataset({"a": rng.integers(0, 2, rows), "b": rng.integers(0, 5, rows)}, domain)
        table = PrivateTable(data, Privacy(), Ledger(Budget(rho=1)))
        table.measure("a", rho=0.25)
        told.append(show(table).split(" object at ")[0])
    assert told[0] == told[1]


def test_small_parts():
    assert text(Markup("<b>")) == "<b>"
    assert [text(x) for x in (0.0, 1e-9, 1234567.0, 12.5, 10**400, True, float("nan"))] == [
        *("0", "1e-09", "1,234,567", "12.5", "huge", "True", "nan")
    ]
    assert element("a", "x", title='"') == '<a title="&quot;">x</a>'
    assert folded("<t>", "x") == "<details><summary>&lt;t&gt;</summary>x</details>"
    assert "0.45" in shaded(1, 7.0)
    assert "colspan" in table(["a"], [], left_out=3)
