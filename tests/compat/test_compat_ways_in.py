"""Ways in to the compatible surface: under the name of mbi, for a script, and never by itself."""

from __future__ import annotations

import ast
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import pypgm
from pypgm.compat import install_as_mbi, mbi, uninstall

ROOT = Path(pypgm.__file__).parent
OURS = [path for name in ("compat", "integrations") for path in (ROOT / name).rglob("*.py")]


def run(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, **options).stdout


@pytest.fixture
def installed():
    install_as_mbi()
    yield
    uninstall()


def test_modules_are_the_same_under_both_names(installed):
    import mbi
    import mbi.junction_tree
    from mbi.extensions.synthetic_data import synthetic_data

    from pypgm.compat import mbi as own

    assert mbi is own
    assert mbi.junction_tree is own.junction_tree
    assert mbi.extensions.synthetic_data is synthetic_data
    assert mbi.__spec__.name == "pypgm.compat.mbi"
    install_as_mbi()  # twice is once
    with pytest.raises(ImportError, match="JAX"):
        from mbi.einsum import scan_einsum  # noqa: F401


def test_uninstall_leaves_nothing():
    before, finders = set(sys.modules), list(sys.meta_path)
    install_as_mbi()
    uninstall()
    left = {name for name in set(sys.modules) - before if not name.startswith("pypgm.")}
    assert not {name for name in left if name.split(".")[0] in {"mbi", "jax"}}
    assert sys.meta_path == finders


def test_a_real_mbi_is_not_replaced(monkeypatch):
    monkeypatch.setitem(sys.modules, "mbi", ast)
    with pytest.raises(ImportError, match="imported already"):
        install_as_mbi()


def test_scripts_run_unchanged(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, mbi\nfrom neighbour import x\nprint(mbi.Domain(['a'], [2]), sys.argv[1:], x)\n")
    (tmp_path / "neighbour.py").write_text("x = 1\n")
    assert run("-m", "pypgm.compat", "run", str(script), "--y") == "Domain(a: 2) ['--y'] 1\n"
    assert run("-m", "pypgm.compat", "run", "-m", "script", "z", cwd=tmp_path) == "Domain(a: 2) ['z'] 1\n"


def test_a_script_of_before_1_0_needs_no_option_and_finds_a_version(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import importlib.metadata as m, mbi\nprint(mbi.FactoredInference.__name__, m.version('mbi'))\n")
    for option in ([], ["--2021"]):
        command = [sys.executable, "-m", "pypgm.compat", "run", *option, str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stdout.split() == ["FactoredInference", mbi.__version__]
        assert ("--2021 is not needed" in done.stderr) == bool(option)


def test_nothing_of_it_is_imported_by_itself():
    loaded = run("-c", "import sys, pypgm; pypgm.GraphicalModel; print([m for m in sys.modules if 'pypgm' in m])")
    assert "pypgm.models" in loaded
    assert not {"pypgm.compat", "pypgm.integrations"} & {*ast.literal_eval(loaded)}
    heavy = "{'jax', 'attr', 'pandas', 'optax', 'networkx'} & set(sys.modules)"
    assert run("-c", f"import sys, pypgm.compat.mbi; print({heavy})") == "set()\n"


def test_the_rest_of_the_package_does_not_know_it():
    for path in ROOT.rglob("*.py"):
        if not {"compat", "integrations"} & {*path.relative_to(ROOT).parts}:
            for node in ast.walk(ast.parse(path.read_text())):
                names = [n.name for n in node.names] if isinstance(node, ast.Import) else []
                names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                assert not any(name.startswith("pypgm.compat") for name in names), path


def test_it_is_small():
    # What a wheel holds is compressed.
    assert sum(len(zlib.compress(path.read_bytes())) for path in OURS) < 100_000
