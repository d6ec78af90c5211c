"""Losses: distances of marginals from the measurements."""

from __future__ import annotations

from pypgm.estimation.custom_loss import Custom, check_gradient
from pypgm.estimation.loss import Loss, Sum
from pypgm.estimation.residual_losses import L1, L2, Huber

__all__ = ["L1", "L2", "Custom", "Huber", "Loss", "Sum", "check_gradient"]
