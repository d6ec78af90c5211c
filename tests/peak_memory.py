"""How much memory a piece of code took at most, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys

# The peak of resource.getrusage is no use: a new process inherits it from the one that started it.
_PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
"""


def printed_numbers(code, *arguments):
    """Run code that may call ``peak()``, bytes so far (on Linux), and return the numbers it prints."""
    asked = [sys.executable, "-I", "-c", _PEAK + code, *arguments]
    done = subprocess.run(asked, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]
