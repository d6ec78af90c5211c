"""Workloads in their command-line form."""

from __future__ import annotations

from pypgm import workloads
from pypgm.data.codebook import read_json
from pypgm.domain import Domain
from pypgm.numeric import whole_of
from pypgm.workloads import Workload

HELP = (
    "what is to be answered well: a number K for all marginals of K attributes, up-to-K for those of at most K, or a "
    '.json file with a list of marginals such as [["age", "sex"], ["income"]] (default: all pairs)'
)


def workload_named(domain: Domain, text: str) -> Workload:
    """Return the workload of a text: ``2``, ``up-to-3`` or the name of a JSON file.

    Parameters
    ----------
    domain : Domain
        The domain of the attributes.
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
    if (order := whole_of(number)) is not None:
        try:
            return (workloads.all_k_way if number == text else workloads.up_to_k_way)(domain, order)
        except ValueError as error:
            raise ValueError(f"--workload {text}: {error}") from None
    if not text.endswith(".json"):
        raise ValueError(f"--workload needs a number, up-to-K or a .json file, got {text[:40]!r}")
    listed = read_json(text)
    if not isinstance(listed, list) or not all(
        isinstance(c, list) and c and all(isinstance(a, str) for a in c) for c in listed
    ):
        raise ValueError(f'{text} needs a list of marginals, such as [["age", "sex"], ["income"]]')
    try:
        return Workload(domain, [domain.canonical(clique) for clique in listed])
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None
