"""Markov random fields: learned privately and not, drawn from, and how many records a guarantee takes."""

from pypgm.mrf.diagnostics import effective_sample_size, split_r_hat
from pypgm.mrf.field import MarkovRandomField
from pypgm.mrf.field_release import FieldRelease
from pypgm.mrf.nonprivate_learning import fit_logistic, fit_pseudo_likelihood, fit_sparsitron
from pypgm.mrf.private_learning import FieldOptions, learn_ising, learn_pairwise, learn_t_wise
from pypgm.mrf.sample_size import (
    BlockSize,
    SampleSize,
    excess_risk,
    parameter_sample_size,
    simulated_block_size,
    stability_threshold,
    structure_sample_size,
)
from pypgm.mrf.sampling import Sample, sample
from pypgm.mrf.structure import Structure, learn_structure

__all__ = [
    "BlockSize",
    "FieldOptions",
    "FieldRelease",
    "MarkovRandomField",
    "Sample",
    "SampleSize",
    "Structure",
    "effective_sample_size",
    "excess_risk",
    "fit_logistic",
    "fit_pseudo_likelihood",
    "fit_sparsitron",
    "learn_ising",
    "learn_pairwise",
    "learn_structure",
    "learn_t_wise",
    "parameter_sample_size",
    "sample",
    "simulated_block_size",
    "split_r_hat",
    "stability_threshold",
    "structure_sample_size",
]
