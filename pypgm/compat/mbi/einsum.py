"""Contractions that JAX compiles: not without it."""

raise ModuleNotFoundError(
    "mbi.einsum tunes how JAX compiles contractions; pypgm's engine needs none of it: it needs mbi and JAX", name="jax"
)
