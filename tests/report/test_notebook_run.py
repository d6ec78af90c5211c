"""A notebook from beginning to end: objects, pictures and bars are seen in it."""

from __future__ import annotations

import pytest

CELLS = (
    "import pypgm\nfrom pypgm.demo import titanic\ndata = titanic()",
    "release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9, progress=True)",
    "release",
    "pypgm.plot.marginal(release, 'class')",
    "release.model.tree",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of Jupyter's own packages
def test_a_notebook_shows_objects_pictures_and_bars():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for needed in ("ipykernel", "matplotlib", "tqdm"):
        pytest.importorskip(needed)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    seen = [{kind for o in cell.outputs for kind in o.get("data", {o.get("name"): ""})} for cell in book.cells]
    assert seen[0] == set()
    assert seen[1] & {"application/vnd.jupyter.widget-view+json", "stderr"}
    assert "text/html" in seen[2]
    assert "image/png" in seen[3]
    assert "text/html" in seen[4]
