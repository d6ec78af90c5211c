"""Adapters that fit into other packages, over this engine.

`pypgm.integrations.opendp` has an estimator for OpenDP's mechanisms, and reads their releases;
`pypgm.integrations.pgmpy` and `pypgm.integrations.pyagrum` turn their networks and fields into pypgm's and back;
`pypgm.integrations.smartnoise` and `pypgm.integrations.sdv` have synthesizers with the methods of SmartNoise's and
SDV's. None of them imports its package before it is needed.
"""

from __future__ import annotations
