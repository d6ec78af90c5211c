"""Pictures: each function draws on ``ax=``, or on new axes that a notebook shows, and returns the axes.

They need matplotlib, the extra ``plot``; graphs are laid out by Graphviz where its program ``dot`` is installed.
"""

from __future__ import annotations

from pypgm.plot.budgets import budget, privacy
from pypgm.plot.counts import bars, marginal, pairs, table
from pypgm.plot.solving import convergence, network, regions, tree

__all__ = ["bars", "budget", "convergence", "marginal", "network", "pairs", "privacy", "regions", "table", "tree"]
