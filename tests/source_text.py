"""The sources where releases are made: what draws there, and what reaches records."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pypgm
from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import SAMPLERS

__all__ = ["CHARGE_FIRST", "ROOMS", "check_source"]

_CORE = Path(__file__).parents[1] / "cpp" / "core"
_BANNED_MODULES = (
    *("random", "secrets", "uuid", "time", "tempfile", "ctypes", "importlib", "torch", "jax", "tensorflow", "pickle"),
    *("numpy.random", "scipy.stats", "os.urandom", "os.getrandom", "_random", "hashlib", "numpy.testing"),
)
_BANNED_CALLS = {"__import__", "eval", "exec", "compile", "hash", "id"}
_BANNED_NAMES = {"random", "urandom", "getrandom", "stats", "SystemRandom", "default_rng", "Generator", "RandomState"}
_BANNED_CPP = re.compile(
    r"std::(normal|cauchy|gamma|exponential|uniform_real|uniform_int|discrete)_distribution|std::mt19937|"
    r"std::(minstd_rand|random_device|default_random_engine|shuffle)|\b(s?rand|drand48|random|arc4random)\s*\(|"
    r"\bgetrandom\s*\(|/dev/u?random|rdrand|rdseed|rdtsc"
)
_DRAWS = {*SAMPLERS, "flip_coins", "SeededWords"}
# Where id() groups what is the same object, whatever a caller says is equal to it.
_SAME = {"access.py", "charge.py", "private_table.py", "trusted_query.py"}
_SAMPLER = "sampler.py"  # the one module that draws with the core
_SOURCE = "random_bits.cpp"  # the one file that asks the operating system
ROOMS = (
    "privacy",
    "mechanisms",
    "release.py",
    "released.py",
    *(f"mrf/{m}.py" for m in ("private_learning", "regression_plans", "frank_wolfe", "stability")),
    *(f"bayes/private_{m}.py" for m in ("learning", "structure")),
)
CHARGE_FIRST = {"frank_wolfe.py", "stability.py"}  # beside those of privacy, whose steps may reach the records


def check_source(package: Path = Path(pypgm.__file__).parent, core: Path = _CORE) -> Finding:
    """Read the sources where releases are made: no float or seeded generator of Python, NumPy or C++ is used there.

    Nor is anything drawn but by `Sampler`, which alone knows the draws of the core, and no mechanism reaches
    the records but by the steps of a private table.
    """
    found, files = [], 0
    rooms = [package / room for room in ROOMS]
    for path in [p for r in rooms for p in (sorted(r.rglob("*.py")) if r.is_dir() else [r] if r.exists() else [])]:
        files += 1
        found += [("unsafe source", f"{path.name}:{line} uses {what}") for line, what in _banned(path)]
    sources = sorted([*core.rglob("*.hpp"), *core.rglob("*.cpp")]) if core.is_dir() else []
    for path in sources:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = _BANNED_CPP.search(line.split("//")[0])
            if match and not (path.name == _SOURCE and match[0].startswith("getrandom")):
                found.append(("unsafe source", f"core/{path.name}:{number} uses {match[0]}"))
    figures = f"{files} Python files, {len(sources)} C++ files"
    return finding("sources", "privacy, mechanisms, core", found, figures)


def _banned(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in _outside_annotations(tree):
        if isinstance(node, ast.Attribute) and node.attr in _BANNED_NAMES:
            yield node.lineno, f".{node.attr}"
        elif isinstance(node, ast.Attribute) and node.attr == "trusted_access":
            if path.parent.name != "privacy" and path.name not in CHARGE_FIRST:
                yield node.lineno, ".trusted_access beside the steps of a private table"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BANNED_CALLS:
            if not (node.func.id == "id" and path.name in _SAME):
                yield node.lineno, f"{node.func.id}()"
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "_core" and node.attr in _DRAWS:
            yield from [(node.lineno, f"_core.{node.attr} beside the sampler")] if path.name != _SAMPLER else []
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if _is_banned(a.name))
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{a.name}" for a in node.names]
            yield from ((node.lineno, n) for n in names if _is_banned(n))


def _is_banned(name: str) -> bool:
    return any(name == banned or name.startswith(f"{banned}.") for banned in _BANNED_MODULES)


def _outside_annotations(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, part in ast.iter_fields(node):
        if name in {"annotation", "returns"}:
            continue
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST):
                yield from _outside_annotations(child)
