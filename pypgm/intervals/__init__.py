"""How far statistics of a release may be from those of the records, from what was released alone.

Nothing here reads a record: it is all post-processing of noisy answers, and costs no privacy.
"""

from pypgm.intervals.interval import Interval

__all__ = ["Interval"]
