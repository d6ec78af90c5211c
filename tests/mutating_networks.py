"""What the fuzzer does with a network in HUGIN's, Microsoft's or GeNIe's format."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from mutating import NUMBERS, ODD, data_files

from pypgm import read_network, write_network
from pypgm.bayes import BayesianNetwork

TOKENS = [*NUMBERS, *ODD, *b'{ } ( ) [ ] | ; , : = " % // < > </ /> & &lt; node potential data states'.split()]
TOKENS += [b"discrete node", b"probability", b"[ 99999999999 ]", b"[ -1 ]", b"(" * 3000, b"{" * 3000, b'" "' * 100]
TOKENS += [b"<cpt id=", b"<state id=", b"<parents>", b"<!-- -->", b"<![CDATA[", b"]]>", b"a", b"b", b"yes", b"no"]


def networks(ending: str) -> dict[str, bytes]:
    """Return small networks of the repository, and one of hand with odd names, in a format."""
    found = {}
    labels = {'a "name"': ["yes, no", "no"], "b": ["x", "y", "%"], "c d": ["0", "1"]}
    tables = {'a "name"': [0.3, 0.7], "b": [[0.1, 0.2, 0.7], [1, 0, 0]], "c d": np.full((3, 2, 2), 0.5)}
    parents = {"b": ['a "name"'], "c d": ["b", 'a "name"']}
    with tempfile.TemporaryDirectory() as folder:
        plain, path = Path(folder) / "net.bif", Path(folder) / f"net{ending}"
        write_network(BayesianNetwork(labels, parents, tables, name="an odd one"), path)
        found["own"] = path.read_bytes()
        for name, data in data_files("bif/*.bif.gz", 2_500).items():
            plain.write_bytes(data)
            write_network(BayesianNetwork.read_bif(plain), path)
            found[name] = path.read_bytes()
    return found


def use(path: str) -> str:
    """Read a network, ask it, and write and read it again."""
    net = read_network(path)
    for name, table in net.tables.items():
        if not (table.values >= 0).all() or np.abs(table.values.sum(axis=-1) - 1).max() > 1e-3:
            return f"the rows of {name!r} are no probabilities"
    for last in net.domain.attributes[-1:]:
        if abs(net.query(last).values.sum() - 1) > 1e-6:
            return f"the probabilities of {last!r} do not sum to 1"
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / f"again{Path(path).suffix}"
        write_network(net, again)
        read = read_network(again)
    same = read == net and read.name == net.name and read.parents == net.parents
    return "" if same else "another network after it is written and read again"
