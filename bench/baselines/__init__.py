"""Mechanisms of others, written from their papers over the public calls of this package, to compare with.

Each has ``release(data, budget, seed) -> Dataset``: records of a table, as many as it has, private by add-remove but
for the seed. `private_evolution` changes records by votes; `generator` and `residuals` select marginals round by round,
and explain them by a mixture of products or by pure interactions.
"""
