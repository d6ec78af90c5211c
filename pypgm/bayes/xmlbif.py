"""Text of a Bayesian network in the format XMLBIF: read into plain parts, and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

import numpy as np

from pypgm._base.file_kind import it_looks_like
from pypgm.bayes.bif import Description
from pypgm.bayes.checks import NetworkError
from pypgm.bayes.xml_text import escaped_xml, parse_xml
from pypgm.data.sources.files import is_weight
from pypgm.factor import Factor

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n'
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"  # of an element whose white space counts


def parse_xmlbif(text: str, path: str = "text") -> Description:
    """Read a network from the text of an XMLBIF file, in whose tables the attribute's own value varies fastest.

    Raises
    ------
    ValueError
        If the text is not a whole network.

    Examples
    --------
    >>> one = "<VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
    >>> table = "<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>"
    >>> parse_xmlbif(f"<BIF><NETWORK>{one}{table}</NETWORK></BIF>").tables["a"]
    array([0.25, 0.75])
    """
    root = parse_xml(text, path, "XMLBIF")
    for element in root.iter():  # a namespace, as AISpace declares it, says nothing else
        element.tag = element.tag.rpartition("}")[2]
    network = root.find("NETWORK") if root.tag == "BIF" else None
    if network is None:
        raise ValueError(
            f"{path} must be XMLBIF, with BIF and NETWORK, got {root.tag!r}{it_looks_like(text, 'XMLBIF')}"
        )
    title = network.find("NAME")
    description = Description("unknown" if title is None else _text(title))
    for variable in network.findall("VARIABLE"):
        name = _text(variable.find("NAME"))
        description.labels[name] = tuple(_text(outcome) for outcome in variable.findall("OUTCOME"))
    for block in network.findall("DEFINITION"):
        child, given = _text(block.find("FOR")), tuple(_text(parent) for parent in block.findall("GIVEN"))
        for name in (child, *given):
            if name not in description.labels:
                raise NetworkError(child, f"{path}: the definition of {child!r} names {name!r}, which is no variable")
        words = _text(block.find("TABLE")).split()
        shape = tuple(len(description.labels[name]) for name in (*given, child))
        if len(words) != np.prod(shape) or not all(map(is_weight, words)):
            needed = f"{int(np.prod(shape))} finite numbers of at least 0"
            raise NetworkError(child, f"{path}: the table of {child!r} needs {needed}, got {len(words)} words")
        description.parents[child], description.tables[child] = given, np.array(list(map(float, words))).reshape(shape)
    return description


def _text(element: ElementTree.Element | None) -> str:
    text = "" if element is None else "".join(element.itertext())
    return text if element is not None and element.get(_SPACE) == "preserve" else text.strip()


def _element(tag: str, text: str) -> str:
    """Return an element that holds a text."""
    space = "" if text == text.strip() else ' xml:space="preserve"'
    return f"<{tag}{space}>{escaped_xml(text, 'an XMLBIF file')}</{tag}>"


def format_xmlbif(name: str, labels: Mapping[str, Sequence[str]], tables: Mapping[str, Factor]) -> Iterator[str]:
    """Yield the text of an XMLBIF file; each number is the shortest that reads back as the same double."""
    yield f"{_HEAD}{_element('NAME', name)}\n"
    for attribute, values in labels.items():
        inside = "".join(_element("OUTCOME", value) for value in values)
        yield f'<VARIABLE TYPE="nature">{_element("NAME", attribute)}{inside}</VARIABLE>\n'
    for attribute, table in tables.items():
        given = "".join(_element("GIVEN", p) for p in table.domain.attributes[:-1])
        cells = " ".join(map(repr, table.datavector().tolist()))
        yield f"<DEFINITION>{_element('FOR', attribute)}{given}<TABLE>{cells}</TABLE></DEFINITION>\n"
    yield "</NETWORK>\n</BIF>\n"
