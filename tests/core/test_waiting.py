"""The way the core's threads wait is chosen once, for the core alone."""

import os
import subprocess
import sys

import pytest

import pypgm

_INFO = pypgm.build_info()
pytestmark = pytest.mark.skipif(
    _INFO["openmp"] == 0 or "gcc" not in str(_INFO["compiler"]) or sys.platform != "linux", reason="no GNU OpenMP"
)


def _shown(**variables: str) -> tuple[str, str]:
    environment = {k: v for k, v in os.environ.items() if k not in {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}}
    environment |= {"OMP_DISPLAY_ENV": "VERBOSE", **variables}
    code = "import os, pypgm._core; print(os.environ.get('GOMP_SPINCOUNT'))"
    # Isolated: the source tree, where tests start, would shadow the installed package.
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


def test_waiting_threads_soon_sleep_and_the_environment_stays_as_it_was() -> None:
    left, shown = _shown()
    assert left == "None"
    assert "GOMP_SPINCOUNT = '3000'" in shown


@pytest.mark.parametrize(
    ("variables", "expected"), [({"GOMP_SPINCOUNT": "77"}, "= '77'"), ({"OMP_WAIT_POLICY": "passive"}, "PASSIVE")]
)
def test_the_users_choice_stays(variables: dict[str, str], expected: str) -> None:
    left, shown = _shown(**variables)
    assert left == variables.get("GOMP_SPINCOUNT", "None")
    assert expected in shown
    assert "'3000'" not in shown
