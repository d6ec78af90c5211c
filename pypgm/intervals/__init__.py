"""Intervals for statistics of the original records, computed from a release alone.

No record is read: this is post-processing of noisy answers, and costs no privacy.
"""

from pypgm.intervals.interval import Interval

__all__ = ["Interval"]
