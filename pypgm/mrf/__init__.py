"""Markov random fields: learned privately and not, drawn from, and how many records a guarantee takes."""

from pypgm.mrf.diagnostics import effective_sample_size, split_r_hat
from pypgm.mrf.sampling import Sample, sample

__all__ = ["Sample", "effective_sample_size", "sample", "split_r_hat"]
