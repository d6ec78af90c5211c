"""Kinds of columns: raw values to codes and back."""
