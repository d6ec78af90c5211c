"""Extensions of mbi 2.0: other models, records from a seed, precomputed marginals."""

from __future__ import annotations

from pypgm.compat.mbi.extensions import message_passing as message_passing
from pypgm.compat.mbi.extensions.mixture_of_products import MixtureOfProducts as MixtureOfProducts
from pypgm.compat.mbi.extensions.mixture_of_products import MixtureOfProductsEstimator as MixtureOfProductsEstimator
from pypgm.compat.mbi.extensions.precompute_marginals import precompute_marginals as precompute_marginals
from pypgm.compat.mbi.extensions.reweighted_dataset import ReweightedDatasetEstimator as ReweightedDatasetEstimator
from pypgm.compat.mbi.extensions.synthetic_data import precompile as precompile
from pypgm.compat.mbi.extensions.synthetic_data import synthetic_data as synthetic_data
