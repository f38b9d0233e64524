"""The notebooks of the documentation run from end to end, and show what they promise."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def shown(cell):
    """All that a cell shows, by its type."""
    found = {}
    for output in cell.outputs:
        data = {"text": output["text"]} if output.output_type == "stream" else output.get("data", {})
        for kind, content in data.items():
            found[kind] = found.get(kind, "") + content
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    _, fitted, latex, effects, picture, predictions, refused = map(shown, code)
    assert "differentially private" in fitted["text/html"]
    assert "<img alt=" in fitted["text/html"]
    # The bar has gone with the fit.
    assert "<progress" not in fitted["text/html"]
    assert "\\begin{table}" in latex["text"]
    # The noise of a fit decides which three of the terms are selected, so none of them is asked for by name.
    assert any(term in effects["text/html"] for term in ("age", "sex", "region", "income", "seen"))
    assert "image/png" in picture
    assert "array([" in predictions["text/plain"]
    assert refused["text"].startswith("formula: scale(...) reads other records")


def test_there_is_one_of_each_library():
    assert [path.stem for path in NOTEBOOKS] == ["pandas", "polars"]
