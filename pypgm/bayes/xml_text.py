"""XML of networks: read without what it may declare or include, and its texts written so that they are kept."""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree

from pypgm._base.file_kind import it_looks_like

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped_xml(text: str, kind: str) -> str:
    r"""Return a text for use in quotes or between tags, white space kept.

    `xml.sax.saxutils.escape` would import an HTTP client.

    Raises
    ------
    ValueError
        If it has a character that XML cannot hold; `kind` is the file that it was for.

    Examples
    --------
    >>> print(escaped_xml("a<b\n", "an XDSL file"))
    a&lt;b&#10;
    """
    if _NOT_XML.search(text):
        raise ValueError(f"{kind} cannot hold {text!r}: XML has no such character")
    return escape(text).translate({ord(mark): f"&#{ord(mark)};" for mark in "\t\n\r"})


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
