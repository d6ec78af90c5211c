"""Estimation: noisy measurements to the potentials of a graphical model."""

from pypgm.estimation import losses
from pypgm.estimation.constraint import Constraint
from pypgm.estimation.fit import Fit, FitState
from pypgm.estimation.limits import Limits
from pypgm.estimation.loss import Loss
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.total import estimate_total

__all__ = ["Constraint", "Fit", "FitState", "Limits", "LinearMeasurement", "Loss", "estimate_total", "losses"]
