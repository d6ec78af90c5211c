"""Checks of pypgm's own text, doors, options and files, beside those of `pypgm.audit`, which an installed wheel has.

``python tests/selfcheck`` makes all of both.
"""
