"""What fits into other packages as one of theirs, over this engine.

`pypgm.integrations.opendp` has an estimator for OpenDP's mechanisms, and reads what they release;
`pypgm.integrations.pgmpy` and `pypgm.integrations.pyagrum` turn their networks and fields into pypgm's and back;
`pypgm.integrations.smartnoise` and `pypgm.integrations.sdv` have synthesizers with the methods that SmartNoise's and
SDV's have. None of them imports the package that it is for before it is needed.
"""

from __future__ import annotations
