"""Peak memory of a piece of code, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys

# The peak of resource.getrusage is no use: a new process inherits it from the one that started it.
_PEAK = """
def bytes_of(what):
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith(what))

def peak():
    return bytes_of("VmHWM")

def now():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins anew
    return bytes_of("VmRSS")
"""


def printed_numbers(code, *arguments):
    """Run code and return the numbers it prints.

    On Linux it may call ``now()``, bytes held, and ``peak()``, the most of them since then or since the beginning.
    """
    command = [sys.executable, "-I", "-c", _PEAK + code, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]
