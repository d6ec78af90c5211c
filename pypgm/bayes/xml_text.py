"""XML of networks, read without what it may declare or include."""

from __future__ import annotations

from xml.etree import ElementTree

from pypgm._base.file_kind import it_looks_like


def parse_xml(text: str, path: str, kind: str) -> ElementTree.Element:
    """Return the root of an XML text, already decoded: an encoding that it declares is ignored.

    Raises
    ------
    ValueError
        If the text is not XML, or declares entities.

    Examples
    --------
    >>> parse_xml('<?xml version="1.0" encoding="latin-1"?><a>é</a>', "text", "a network").text
    'é'
    """
    if "<!ENTITY" in text:  # a few lines of which may expand to gigabytes
        raise ValueError(f"{path}: entities declared in the file are not read")
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"{path} must be {kind}, but is not XML: {error}{it_looks_like(text, kind)}") from None
