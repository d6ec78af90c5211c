"""Where estimates of the compatible surface end."""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {"stop": "optimum", "tolerance": 1e-6}
"""As `pypgm.estimate` takes them."""
