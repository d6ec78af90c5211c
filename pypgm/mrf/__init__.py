"""Markov random fields: learned privately and not, drawn from, and how many records a guarantee takes."""

from pypgm.mrf.companions import fit_logistic, fit_pseudo_likelihood, fit_sparsitron
from pypgm.mrf.diagnostics import effective_sample_size, split_r_hat
from pypgm.mrf.sampling import Sample, sample

__all__ = [
    "Sample",
    "effective_sample_size",
    "fit_logistic",
    "fit_pseudo_likelihood",
    "fit_sparsitron",
    "sample",
    "split_r_hat",
]
