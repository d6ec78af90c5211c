"""Files of Bayesian networks in the formats of other packages, by the ending of their name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from pypgm.bayes.bif import Description
from pypgm.bayes.checks import check_network
from pypgm.bayes.dsc import format_dsc, parse_dsc
from pypgm.bayes.hugin import format_hugin, parse_hugin
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.xdsl import format_xdsl, parse_xdsl
from pypgm.bayes.xmlbif import format_xmlbif, parse_xmlbif
from pypgm.data.columns.codebook import label_texts
from pypgm.data.sources.files import read_text, replacing_text
from pypgm.factor import Factor
from pypgm.io.uai import read_uai_model, write_uai

_Parse = Callable[[str, str], Description]
_Format = Callable[[str, Mapping[str, Sequence[str]], Mapping[str, Factor]], Iterator[str]]

_FORMATS: dict[str, tuple[_Parse, _Format]] = {
    ".net": (parse_hugin, format_hugin),
    ".dsc": (parse_dsc, format_dsc),
    ".xdsl": (parse_xdsl, format_xdsl),
    ".xmlbif": (parse_xmlbif, format_xmlbif),
    ".xml": (parse_xmlbif, format_xmlbif),
}
_ENDINGS = (".bif", ".uai", *_FORMATS)


def read_network(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> BayesianNetwork:
    """Read a Bayesian network, in the format that the ending of the name says; numbers are read to the last bit.

    Parameters
    ----------
    path : path
        ``.bif``, ``.xmlbif`` or ``.xml`` (XMLBIF), ``.net`` (HUGIN), ``.dsc`` (Microsoft), ``.xdsl`` (GeNIe) or
        ``.uai``, plain or compressed with gzip (``.gz``). In a UAI file attributes are named "0", "1", ….
    encoding : str
        Python's name of the encoding, such as "latin-1", which HUGIN writes.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the ending is another one, or the text is not a whole network of discrete attributes: decisions, utilities
        and continuous nodes are refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rain.net")
    >>> _ = path.write_text('net { } node rain { states = ("no" "yes"); } potential (rain) { data = (0.8 0.2); }')
    >>> read_network(path).query("rain").values
    array([0.8, 0.2])
    """
    ending = _ending(path)
    if ending == ".bif":
        return BayesianNetwork.read_bif(path, encoding=encoding)
    if ending == ".uai":
        model = read_uai_model(path)
        if model.kind != "BAYES":
            raise ValueError(f"{os.fspath(path)} is a Markov network: pypgm.read_uai reads it")
        tables = {table.domain.attributes[-1]: table for table in model.tables}
        return BayesianNetwork(model.domain, {a: t.domain.attributes[:-1] for a, t in tables.items()}, tables)
    read = _FORMATS[ending][0](read_text(path, encoding), os.fspath(path))
    net = BayesianNetwork(read.labels, read.parents, read.tables, name=read.name)
    net.notes = (*read.notes, *net.notes)
    return net


def write_network(net: BayesianNetwork, path: str | os.PathLike[str]) -> None:
    """Write a Bayesian network; `read_network` reads the same network back, to the last bit.

    Labels are written as text, attributes without labels get their codes as labels. Names and labels of any characters
    are kept: where a format has none for them, beside those that its programs read; but UAI has no names at all.

    Parameters
    ----------
    net : BayesianNetwork
    path : path
        Its ending says the format, see `read_network`. The file appears whole or not at all.

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the ending is another one, the format cannot hold a character of a name or label, or two labels of an
        attribute read the same as text.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> net = BayesianNetwork({"rain": ["no", "yes"]}, [], {"rain": [0.8, 0.2]})
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rain.xdsl")
    >>> write_network(net, path)
    >>> read_network(path) == net
    True
    """
    check_network(net)
    ending = _ending(path)
    if ending == ".bif":
        net.write_bif(path)
    elif ending == ".uai":
        write_uai(net, path)
    else:
        labels = {a: label_texts(net.domain, a) or list(map(str, range(net.domain.size(a)))) for a in net.domain}
        with replacing_text(path) as file:
            file.writelines(_FORMATS[ending][1](net.name, labels, net.tables))


def is_network_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a name has the ending of a network's file.

    Examples
    --------
    >>> is_network_file("alarm.net.gz"), is_network_file("alarm.pgm")
    (True, False)
    """
    return _ending_of(path) in _ENDINGS


def _ending_of(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(os.fspath(path).removesuffix(".gz"))[1].lower()


def _ending(path: str | os.PathLike[str]) -> str:
    if not is_network_file(path):
        needed = f"an ending among {', '.join(_ENDINGS)}"
        raise ValueError(f"the name of a network's file needs {needed}, got {os.fspath(path)!r}")
    return _ending_of(path)
