"""Stopping rule of the estimates of the compatible surface."""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {"stop": "optimum", "tolerance": 1e-6}
"""Options for `pypgm.estimate`."""
