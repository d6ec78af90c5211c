"""A workload as it is written on the command line."""

from __future__ import annotations

import json

from pypgm import workloads
from pypgm.data.files import open_text
from pypgm.domain import Domain
from pypgm.workloads import Workload

__all__ = ["HELP", "workload_named"]

HELP = (
    "what is to be answered well: a number K for all marginals of K attributes, up-to-K for those of at most K, or a "
    '.json file with a list of marginals such as [["age", "sex"], ["income"]] (default: all pairs)'
)


def workload_named(domain: Domain, text: str) -> Workload:
    """Return the workload of a text: ``2``, ``up-to-3`` or the name of a JSON file.

    Parameters
    ----------
    domain : Domain
        Its attributes.
    text : str
        See `HELP`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the text or the file is no workload over the domain.

    Examples
    --------
    >>> list(workload_named(Domain({"a": 2, "b": 3}), "up-to-2"))
    [('a',), ('b',), ('a', 'b')]
    """
    number = text.removeprefix("up-to-")
    if number.isascii() and number.isdigit():
        try:
            return (workloads.all_k_way if number == text else workloads.up_to_k_way)(domain, int(number))
        except ValueError as error:
            raise ValueError(f"--workload {text}: {error}") from None
    if not text.endswith(".json"):
        raise ValueError(f"--workload needs a number, up-to-K or a .json file, got {text!r}")
    with open_text(text) as file:
        try:
            listed = json.loads(file.read())
        except (json.JSONDecodeError, RecursionError):
            raise ValueError(f"{text} must be JSON, and is not") from None
    if not isinstance(listed, list) or not all(
        isinstance(c, list) and c and all(isinstance(a, str) for a in c) for c in listed
    ):
        raise ValueError(f'{text} needs a list of marginals, such as [["age", "sex"], ["income"]]')
    try:
        return Workload(domain, [domain.canonical(clique) for clique in listed])
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None
