"""Checks of what the package refuses, keeps and says of itself; those of its noise are in `pypgm.audit`."""
