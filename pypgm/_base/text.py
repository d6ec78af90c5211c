"""Texts of a caller that are kept: plain ``str``, of characters that every file and database holds."""

from __future__ import annotations


def checked_text(name: str, value: object) -> str:
    """Return a text as a plain ``str``, whatever methods a subclass of it has.

    Raises
    ------
    TypeError
        If it is no ``str``.
    ValueError
        If it has a NUL character, or half of a surrogate pair.

    Examples
    --------
    >>> import numpy as np
    >>> type(checked_text("key", np.str_("monday")))
    <class 'str'>
    >>> checked_text("key", b"monday")
    Traceback (most recent call last):
    TypeError: key must be a str, got bytes
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}")
    text = str.__str__(value)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{name} has a character that no database holds: a NUL, or half of a surrogate pair")
    return text
