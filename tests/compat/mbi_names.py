"""Compare all public names, parameters and keywords of mbi's releases with the compatible surface.

The wheels come from the package index into a temporary directory and are read, not imported; further source trees may
be named, as those of mbi's repository before 1.0. Fails if something is missing that is not refused below.
"""

from __future__ import annotations

import ast
import fnmatch
import importlib
import inspect
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pypgm.compat

RELEASES = ("1.0.0", "1.1.0", "2.0.0")
STEPS = "the state of mbi's own steps, which the engine's estimates do not have"
INNER = "the inner function of an estimator that is there"
COUNTING = "the numbers of mbi's own message passing; marginals and distances are there"
REFUSED = {
    "mbi.einsum*": "steers JAX's compiler",
    "mbi.mechanism*": "draws its noise as floating-point numbers, which is not private",
    "mbi.torch_factor*": "tables of torch",
    "mbi.*State": STEPS,
    "mbi.*.adam": INNER,
    "mbi.*.entropic_mirror_descent": INNER,
    "mbi.*.synthetic_col": INNER,
    "mbi.local_inference.LocalInference.mirror_descent_auto": INNER,
    "mbi.callbacks.Logger.*": "what its lines are made of; they are written",
    "mbi.factor_graph.FactorGraph.*": COUNTING,
    "mbi.region_graph.*": COUNTING,
    "mbi.extensions.mixture_of_products.MixtureOfProducts.products": "of each instance here, where it is a method's",
}


def modules(tree: Path) -> Iterator[tuple[str, ast.Module]]:
    """Yield the public modules of a source tree by name."""
    for file in sorted(tree.rglob("mbi/**/*.py")):
        name = ".".join(file.relative_to(tree).with_suffix("").parts).removesuffix(".__init__")
        if not any(part.startswith("_") for part in name.split(".")):
            yield name, ast.parse(file.read_text(encoding="utf-8"))


def wanted(module: ast.Module) -> Iterator[tuple[list[str], ast.FunctionDef | None]]:
    """Yield the paths of the public functions, classes and methods of a module, functions with their signature."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield [node.name], node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield [node.name], None
            is_interface = any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
            for each in [] if is_interface else node.body:
                if isinstance(each, ast.FunctionDef) and (not each.name.startswith("_") or each.name == "__init__"):
                    yield [node.name, each.name], each


def keywords(function: object) -> set[str] | None:
    """Return the names under which a function takes its parameters; None if it takes any."""
    try:
        parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):  # a property
        return None
    spellings = getattr(function, "spellings", None)
    if spellings is None and any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    return {*parameters, *(spellings or ())}


def missing(tree: Path) -> Iterator[str]:
    """Yield what a source tree has and the surface has not."""
    for name, module in modules(tree):
        try:
            home: object = importlib.import_module(name)
        except ImportError:
            yield name
            continue
        for path, signature in wanted(module):
            found = home
            for part in path:
                try:
                    found = getattr(found, part, None)
                except ImportError:
                    found = None
            where = ".".join([name, *path])
            if found is None:
                yield where
            elif signature is not None and callable(found) and (known := keywords(found)) is not None:
                given = [a.arg for a in signature.args.args + signature.args.kwonlyargs if a.arg not in {"self", "cls"}]
                yield from (f"{where}({a}=)" for a in given if a not in known)


def wheel(release: str, directory: Path) -> Path:
    """Return the unpacked wheel of a release."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries", "10", "--timeout", "60"]
    subprocess.run([*pip, "--only-binary", ":all:", "-d", str(directory), f"mbi=={release}"], check=True)
    (archive,) = directory.glob(f"mbi-{release}-*.whl")
    with zipfile.ZipFile(archive) as file:
        file.extractall(directory / release)
    return directory / release


def main() -> None:
    """Fetch, read, compare."""
    pypgm.compat.install_as_mbi()
    with tempfile.TemporaryDirectory() as name:
        trees = [wheel(release, Path(name)) for release in RELEASES] + [Path(each) for each in sys.argv[1:]]
        lacking = {each for tree in trees for each in missing(tree)}
    refused = {
        each: reason for each in lacking for pattern, reason in REFUSED.items() if fnmatch.fnmatch(each, pattern)
    }
    for each, reason in sorted(refused.items()):
        print(f"refused: {each}: {reason}")
    unexpected = sorted(lacking - refused.keys())
    if unexpected:
        print("these are missing:", *unexpected, sep="\n")
    print(f"names and keywords of mbi {', '.join(RELEASES)}: {len(unexpected)} missing, {len(refused)} refused")
    sys.exit(bool(unexpected))


if __name__ == "__main__":
    main()
