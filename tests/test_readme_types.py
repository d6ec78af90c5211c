"""The code of the README, as a type checker reads it that knows the package's types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

# What is wrong in the package itself is for its own run of mypy, which has its configuration.
STRICT = ["--strict", "--config-file=", "--follow-imports=silent"]
README = Path(__file__).parents[1] / "README.md"


@pytest.mark.slow
def test_the_code_of_the_readme_is_typed(tmp_path):
    api = pytest.importorskip("mypy.api")
    code = "\n".join(re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL))
    assert "release.model.expected_error(" in code
    page = tmp_path / "readme.py"
    page.write_text(code, encoding="utf-8")
    told, errors, status = api.run([*STRICT, "--cache-dir", str(tmp_path / "cache"), str(page)])
    assert status == 0, told + errors


@pytest.mark.slow
def test_a_release_has_the_type_of_its_model(tmp_path):
    api = pytest.importorskip("mypy.api")
    page = tmp_path / "page.py"
    page.write_text("""import pypgm
def look(data: pypgm.Dataset, any_release: pypgm.Release) -> None:
    reveal_type(pypgm.mechanisms.wide(data, epsilon=1, delta=1e-9).model)
    reveal_type(pypgm.bayes.learn_private(data, [], epsilon=1).model)
    reveal_type(pypgm.mrf.learn_ising(data, 1.0, epsilon=1, delta=1e-9).model)
    reveal_type(any_release.model)
    look(data, pypgm.bayes.learn_private(data, [], epsilon=1))
""")
    told, errors, status = api.run([*STRICT, "--cache-dir", str(tmp_path / "cache"), str(page)])
    assert status == 0, told + errors
    found = re.findall(r'Revealed type is "(.*?)"', told)
    assert [re.findall(r"\w+$", kind) for part in found for kind in part.split(" | ")] == [
        *(["GraphicalModel"], ["RegionGraphModel"], ["CountedNetwork"], ["MarkovRandomField"], ["ReleasedModel"])
    ]
