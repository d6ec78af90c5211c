"""``python -m pypgm.compat run script.py …``: a script that imports mbi, run with pypgm's engine."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from pypgm.compat import install_as_mbi

_USAGE = "usage: python -m pypgm.compat run (script.py | -m module) [arguments]"


def main(arguments: list[str]) -> None:
    """Run a script or a module as if mbi were installed."""
    if arguments[:1] != ["run"]:
        sys.exit(_USAGE)
    rest = arguments[1:]
    if rest[:1] == ["--2021"]:
        print("--2021 is not needed: one surface has the names of all releases of mbi", file=sys.stderr)
        rest = rest[1:]
    is_module = rest[:1] == ["-m"]
    rest = rest[is_module:]
    if not rest:
        sys.exit(_USAGE)
    install_as_mbi()
    sys.argv = rest
    if is_module:
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(rest[0]).resolve().parent)
        runpy.run_path(rest[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
