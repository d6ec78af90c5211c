"""The code of the README and of the tour through Python, as a type checker reads it that knows the package's types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

# What is wrong in the package itself is for its own run of mypy, which has its configuration.
STRICT = ["--strict", "--config-file=", "--follow-imports=silent"]
ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_code_of_pages_is_typed(tmp_path):
    api = pytest.importorskip("mypy.api")
    for name in ("README", "docs/python"):
        code = re.findall(r"```python\n(.*?)```", (ROOT / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL)
        (tmp_path / Path(f"{name}.py").name).write_text("\n".join(code), encoding="utf-8")
    told, errors, status = api.run([*STRICT, "--cache-dir", str(tmp_path / "cache"), *map(str, tmp_path.glob("*.py"))])
    assert status == 0, told + errors


@pytest.mark.slow
def test_a_release_has_the_type_of_its_model(tmp_path):
    api = pytest.importorskip("mypy.api")
    page = tmp_path / "page.py"
    page.write_text("""import pypgm
def look(data: pypgm.Dataset, any_release: pypgm.Release) -> None:
    reveal_type(pypgm.mechanisms.wide(data, epsilon=1, delta=1e-9).model)
    reveal_type(pypgm.bayes.learn_private(data, [], epsilon=1).model)
    reveal_type(pypgm.mrf.learn_ising(data, epsilon=1, delta=1e-9, radius=1.0).model)
    reveal_type(any_release.model)
    look(data, pypgm.bayes.learn_private(data, [], epsilon=1))
""")
    told, errors, status = api.run([*STRICT, "--cache-dir", str(tmp_path / "cache"), str(page)])
    assert status == 0, told + errors
    found = re.findall(r'Revealed type is "(.*?)"', told)
    assert [re.findall(r"\w+$", kind) for part in found for kind in part.split(" | ")] == [
        *(["GraphicalModel"], ["RegionGraphModel"], ["CountedNetwork"], ["MarkovRandomField"], ["ReleasedModel"])
    ]
