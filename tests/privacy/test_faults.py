"""Faults that real processes meet: nothing is ever out without its line in the account, and no file is half."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("forks, signals and limits as Linux has them", allow_module_level=True)

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
# A fault, how many runs meet it, and how many of them end well.
FAULTS = {
    "SIGKILL": (40, range(2)),
    "SIGINT": (30, range(2)),
    "any moment": (20, range(20)),
    "fork": (6, range(7)),
    "full disk": (20, range(1, 20)),
    "memory": (10, range(11)),
    "clocks": (3, [3]),
    "failing rename": (2, [0]),
}

# A fault of a command, how many calls meet it, and the exit statuses that they may end with.
OF_COMMANDS = {
    "SIGKILL": (15, {-9}),
    "SIGTERM": (15, {0, 5}),
    "full disk": (8, {0, 6}),
    "failing rename": (6, {0, 6}),
    "read-only folder": (2, {2}),
}


def lines_of(script, *arguments):
    command = [sys.executable, "-W", "ignore", str(TESTS / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=TESTS.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("fault", OF_COMMANDS)
def test_whatever_happens_to_a_command_the_next_one_ends_well_and_pays_once(fault, tmp_path):
    n_calls, expected = OF_COMMANDS[fault]
    statuses = [int(status) for status in lines_of("dying_commands.py", tmp_path, fault, 1, n_calls)[-1].split()]
    assert len(statuses) == n_calls
    assert set(statuses) <= expected
    assert any(statuses)


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_happens_to_a_run_its_account_covers_what_is_out(fault, tmp_path):
    n_runs, expected = FAULTS[fault]
    n_ended_well, n_lines, n_settled = map(int, lines_of("dying.py", tmp_path, fault, 1, n_runs)[-1].split())
    assert n_ended_well in expected
    assert n_lines > 500
    assert n_settled > n_runs // 4
