"""Text of a Bayesian network in GeNIe's format .xdsl: read into plain parts, and written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

import numpy as np

from pypgm._base.file_kind import it_looks_like
from pypgm.bayes.bif import Description
from pypgm.bayes.block_text import Parts, identifiers
from pypgm.bayes.checks import ordered
from pypgm.bayes.xml_text import escaped_xml, parse_xml
from pypgm.domain import Domain
from pypgm.factor import Factor

_COLUMNS = 8  # of nodes on GeNIe's canvas
_STYLE = '<interior color="e5f6f7" /><outline color="000080" /><font color="000000" name="Arial" size="8" />'


def parse_xdsl(text: str, path: str = "text") -> Description:
    """Read a network from the text of an .xdsl file, in whose tables the attribute's own value varies fastest.

    Nodes are tables or deterministic. Names and the order of nodes that `format_xdsl` wrote beside them are used.

    Raises
    ------
    ValueError
        If the text is not a whole network of discrete attributes.

    Examples
    --------
    >>> states = '<state id="x"/><state id="y"/><probabilities>0.25 0.75</probabilities>'
    >>> parse_xdsl(f'<smile><nodes><cpt id="a">{states}</cpt></nodes></smile>').tables["a"]
    array([0.25, 0.75])
    """
    root = parse_xml(text, path, "XDSL")
    nodes = root.find("nodes") if root.tag == "smile" else None
    if nodes is None:
        raise ValueError(f"{path} must be XDSL, with smile and nodes, got {root.tag!r}{it_looks_like(text, 'XDSL')}")
    parts = Parts(path)
    extras = {node.get("id", ""): node for node in root.iterfind("extensions/pypgm/node")}
    of_tag: dict[str, ElementTree.Element] = {}
    for node in nodes:
        if of_tag.setdefault(node.get("id", ""), node) is not node:
            parts.fail(node.get("id", ""), f"the node {node.get('id', '')!r} is declared twice")
    names = {a: node.get("name", a) for a, node in extras.items()}
    for a in [*(a for a in extras if a in of_tag), *(a for a in of_tag if a not in extras)]:
        node = of_tag[a]
        if node.tag not in {"cpt", "deterministic"}:
            parts.fail(a, f"nodes that are tables or deterministic are read, got {node.tag!r} of {a!r}")
        written = [state.get("name", "") for state in extras[a].iterfind("state")] if a in extras else []
        parts.add(a, written or [state.get("id", "") for state in node.iterfind("state")])
    for a, node in of_tag.items():
        _table(parts, a, node)
    extension = root.find("extensions/pypgm")
    title = root.get("id", "unknown") if extension is None else extension.get("name", "unknown")
    return parts.whole(title, names)


def _table(parts: Parts, child: str, node: ElementTree.Element) -> None:
    parents = tuple((node.findtext("parents") or "").split())
    shape = parts.shape(child, parents)
    if node.tag == "cpt":
        words = (node.findtext("probabilities") or "").split()
        parts.set(child, parents, parts.numbers(child, words, math.prod(shape)).reshape(shape))
        return
    states = [state.get("id", "") for state in node.iterfind("state")]
    results = (node.findtext("resultingstates") or "").split()
    if len(results) != math.prod(shape[:-1]) or not set(results) <= set(states):
        parts.fail(child, f"{child!r} needs {math.prod(shape[:-1])} resulting states, all of its own")
    codes = [states.index(result) for result in results]
    parts.set(child, parents, np.eye(shape[-1])[codes].reshape(shape))


def format_xdsl(name: str, labels: Mapping[str, Sequence[str]], tables: Mapping[str, Factor]) -> Iterator[str]:
    """Yield the text of an .xdsl file; each number is the shortest that reads back as the same double.

    Names and labels that GeNIe does not take are replaced, and stand beside the others in an extension, with the order
    of the nodes, which GeNIe reads parents first.

    Raises
    ------
    ValueError
        If a name or label has a character that XML cannot hold.
    """
    ids = identifiers(labels)
    of_states = {a: identifiers(values) for a, values in labels.items()}
    domain = Domain({a: len(values) for a, values in labels.items()})
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<smile version="1.0" id="{identifiers([name])[name]}">\n<nodes>\n'
    for a in ordered(domain, {a: t.domain.attributes[:-1] for a, t in tables.items()}):
        states = "".join(f'<state id="{of_states[a][value]}" />' for value in labels[a])
        given = " ".join(ids[p] for p in tables[a].domain.attributes[:-1])
        cells = " ".join(map(repr, tables[a].datavector().tolist()))
        parents = f"<parents>{given}</parents>" if given else ""
        yield f'<cpt id="{ids[a]}">{states}{parents}<probabilities>{cells}</probabilities></cpt>\n'
    yield f'</nodes>\n<extensions>\n<genie version="1.0" app="pypgm" name={_attribute(name)}>\n'
    for i, a in enumerate(labels):
        left, top = 120 * (i % _COLUMNS), 80 * (i // _COLUMNS)
        place = f"<position>{left} {top} {left + 90} {top + 40}</position>"
        yield f'<node id="{ids[a]}"><name>{_text(a)}</name>{_STYLE}{place}</node>\n'
    yield f"</genie>\n<pypgm name={_attribute(name)}>\n"
    for a, values in labels.items():
        states = "".join(f"<state name={_attribute(value)} />" for value in values)
        yield f'<node id="{ids[a]}" name={_attribute(a)}>{states}</node>\n'
    yield "</pypgm>\n</extensions>\n</smile>\n"


def _attribute(text: str) -> str:
    """Return a text as the quoted value of an attribute, white space kept."""
    return f'"{_text(text)}"'


def _text(text: str) -> str:
    return escaped_xml(text, "an XDSL file")
