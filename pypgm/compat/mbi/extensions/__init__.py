"""What mbi has beside its core."""

from pypgm.compat.mbi.extensions import message_passing as message_passing
from pypgm.compat.mbi.extensions.mixture_of_products import MixtureOfProducts, MixtureOfProductsEstimator
from pypgm.compat.mbi.extensions.precompute_marginals import precompute_marginals
from pypgm.compat.mbi.extensions.reweighted_dataset import ReweightedDatasetEstimator
from pypgm.compat.mbi.extensions.synthetic_data import precompile, synthetic_data

__all__ = [
    "MixtureOfProducts",
    "MixtureOfProductsEstimator",
    "ReweightedDatasetEstimator",
    "precompile",
    "precompute_marginals",
    "synthetic_data",
]
