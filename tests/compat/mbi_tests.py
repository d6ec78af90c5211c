"""Run mbi's own tests, from its source distributions, against the compatible surface.

They are of 2.0.0, of 1.0.0 for the names that 2.0 has not, and of the last state before 1.0; none of 1.1.0 is on the
package index. The source distributions come from there into a temporary directory, the oldest tests from mbi's
repository or from the directory that is named. The environment needs pytest and what the tests themselves import: jax,
optax and parameterized, but not mbi. Fails if a test fails that is not listed below.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

RELEASES = ("2.0.0", "1.0.0")
OLDEST = "https://raw.githubusercontent.com/ryan112358/private-pgm/5b9126295c110b741e5426ddbff419ea1e60e788/test/"
OLDEST_TESTS = ("dataset", "domain", "factor", "graphical_model", "inference", "junction_tree")
COUNTS_COMPILATIONS = "counts what JAX compiles; nothing is compiled here"
TREES = "jits a function of mbi's objects, which are no trees of JAX here"
PRIVATE = "calls private functions of mbi's sampler"
CHUNKS = "test_synthetic_data_chunking.TestStochasticRoundChunking"
REASONS = {
    "test_ext_synthetic_data.TestExtSyntheticDataPrecompile.test_precompile_signature_matches_generation": PRIVATE,
    "test_ext_synthetic_data.TestExtSyntheticDataCacheHit.test_cache_hit_default": COUNTS_COMPILATIONS,
    "test_ext_synthetic_data.TestExtSyntheticDataCacheHit.test_cache_hit_x64": COUNTS_COMPILATIONS,
    "test_ext_synthetic_data.TestExtSyntheticDataConstraints.test_precompile_with_constraints_warms_cache": (
        COUNTS_COMPILATIONS
    ),
    "test_marginal_loss.TestJitCacheReuse.test_stddev_change_does_not_recompile": TREES,
    "test_marginal_loss.TestJitCacheReuse.test_lipschitz_change_does_not_recompile": TREES,
    "test_precompile.TestAbstractDtypeStability.test_float32": "tables are of float64, whatever JAX is set to",
    "test_precompile.TestBulkVariableEliminationPrecompile.test_precompile_cache_reuse": COUNTS_COMPILATIONS,
    "test_precompile.TestEstimatorPrecompileReuse.test_estimate_without_precompile_compiles_once": COUNTS_COMPILATIONS,
    "test_precompile.TestEstimatorPrecompileReuse.test_reuse_float32": COUNTS_COMPILATIONS,
    "test_precompile.TestEstimatorPrecompileReuse.test_reuse_float64": COUNTS_COMPILATIONS,
    "test_precompile.TestKnownTotalDtype.test_small_total_does_not_trigger_recompile": COUNTS_COMPILATIONS,
    "test_precompile.TestSyntheticDataPrecompile.test_reuse_float64": COUNTS_COMPILATIONS,
    f"{CHUNKS}.test_chunked_matches_contract_and_exercises_scan": PRIVATE,
    f"{CHUNKS}.test_dense_path_used_below_threshold": PRIVATE,
    f"{CHUNKS}.test_end_to_end_generation_with_forced_chunking": PRIVATE,
    "test_inf_handling.TestInfHandling.test_calculate_many_marginals_zero_division": "writes into arrays by JAX's .at",
}
LEFT_OUT = ("test_einsum.py",)  # tunes JAX's compiler; the module is refused


def fetched(release: str, directory: Path) -> Path:
    """Return the directory of a release's tests, fetched with pip."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--retries", "10"]
    subprocess.run([*pip, "--timeout", "60", "-d", str(directory), f"mbi=={release}"], check=True)
    (archive,) = directory.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(directory, filter="data")
    return next(directory.glob("*/test"))


def oldest(directory: Path) -> Path | None:
    """Return the directory of the tests of before 1.0; None if the repository does not answer."""
    if sys.argv[1:]:
        return Path(sys.argv[1])
    (directory / "test").mkdir()
    try:
        for name in OLDEST_TESTS:
            urllib.request.urlretrieve(f"{OLDEST}test_{name}.py", directory / "test" / f"test_{name}.py")
    except (urllib.error.URLError, OSError) as error:
        print(f"mbi's tests of before 1.0: NOT RUN, its repository did not answer: {error}")
        return None
    return directory / "test"


def failures(tests: Path) -> tuple[int, set[str]]:
    """Run the tests; return how many there are, and the names of those that fail."""
    report = tests.parent / "report.xml"
    ignored = [f"--ignore={tests / name}" for name in LEFT_OUT]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "as_mbi", "-p", "no:cacheprovider", f"--junitxml={report}"]
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu", "PYTEST_ADDOPTS": ""}
    subprocess.run([*command, "--tb=line", *ignored, str(tests)], check=False, env=environment, cwd=tests.parent)
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    return len(cases), {f"{c.get('classname', '').removeprefix('test.')}.{c.get('name')}" for c in failed}


def main() -> None:
    """Fetch, run, compare."""
    unexpected, told = [], []
    for release in RELEASES:
        with tempfile.TemporaryDirectory() as name:
            total, failed = failures(fetched(release, Path(name)))
        known = set(REASONS) if release == RELEASES[0] else set()
        for test in sorted(failed & known):
            print(f"expected: {test}: {REASONS[test]}")
        told.append(f"{total - len(failed)} of {total} of {release}")
        unexpected += [f"{release}: {test}" for test in sorted(failed - known)]
    with tempfile.TemporaryDirectory() as name:
        if (tests := oldest(Path(name))) is not None:
            total, failed = failures(tests)
            told.append(f"{total - len(failed)} of {total} of before 1.0")
            unexpected += [f"before 1.0: {test}" for test in sorted(failed)]
    if unexpected:
        print("these fail and are not expected to:", *unexpected, sep="\n")
    print(f"mbi's own tests that pass: {', '.join(told)}")
    sys.exit(bool(unexpected))


if __name__ == "__main__":
    main()
