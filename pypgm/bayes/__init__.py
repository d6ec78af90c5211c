"""Bayesian networks: conditional tables in, exact answers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm import _later

_NAMES = {  # by the module they are in
    "pypgm.bayes.bounds": ("ErrorBounds", "error_bounds"),
    "pypgm.bayes.comparison": (
        *("AnswerComparison", "NetworkComparison", "TableComparison", "compare_answers", "compare_networks"),
        *("compare_tables", "map_agreement"),
    ),
    "pypgm.bayes.counted": ("CountedNetwork",),
    "pypgm.bayes.learning": ("fit_score", "learn"),
    "pypgm.bayes.network": ("BayesianNetwork",),
    "pypgm.bayes.network_release": ("NetworkRelease",),
    "pypgm.bayes.private_learning": ("learn_private",),
    "pypgm.bayes.private_structure": ("PrivateStructure",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

if TYPE_CHECKING:
    from pypgm.bayes.bounds import ErrorBounds as ErrorBounds
    from pypgm.bayes.bounds import error_bounds as error_bounds
    from pypgm.bayes.comparison import AnswerComparison as AnswerComparison
    from pypgm.bayes.comparison import NetworkComparison as NetworkComparison
    from pypgm.bayes.comparison import TableComparison as TableComparison
    from pypgm.bayes.comparison import compare_answers as compare_answers
    from pypgm.bayes.comparison import compare_networks as compare_networks
    from pypgm.bayes.comparison import compare_tables as compare_tables
    from pypgm.bayes.comparison import map_agreement as map_agreement
    from pypgm.bayes.counted import CountedNetwork as CountedNetwork
    from pypgm.bayes.learning import fit_score as fit_score
    from pypgm.bayes.learning import learn as learn
    from pypgm.bayes.network import BayesianNetwork as BayesianNetwork
    from pypgm.bayes.network_release import NetworkRelease as NetworkRelease
    from pypgm.bayes.private_learning import learn_private as learn_private
    from pypgm.bayes.private_structure import PrivateStructure as PrivateStructure
else:
    __all__ = list(_HOMES)
    __getattr__ = _later(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(_HOMES)
