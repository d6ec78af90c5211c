"""Helpers of all packages that are no part of the public interface."""
