from pypgm.intervals.interval import Interval as Interval
