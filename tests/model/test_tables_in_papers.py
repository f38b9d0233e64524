"""Tables as LaTeX and Word make them, where pdflatex and LibreOffice are installed: nothing breaks, nothing sticks out.

The pages are kept as pictures among the artefacts, to be looked at.
"""

import os
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from dpsparse import compare_models
from dpsparse.families.estimands import LOG_ODDS
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect

pytestmark = pytest.mark.slow

LONG = "Have you ever been told by a doctor_1 that you had a condition which lasts (50% & more, #3, {a} ~ b^2 \\ $x$)"
DOCUMENT = (
    r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx}\begin{document}%s\end{document}"
)


def needed(*programs):
    """Skip where a program is not installed, unless all are required."""
    for program in programs:
        if shutil.which(program) is None:
            (pytest.fail if os.environ.get("DPSPARSE_REQUIRE_PAPERS") else pytest.skip)(f"{program} is not installed")


def run(*command, folder):
    """Run a program; it must succeed."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env=os.environ | {"HOME": str(folder)}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def tables(region, fitted):
    """One model, several side by side, names that are long and full of signs, and more models than a line holds."""
    features = (Feature(LONG, category="Yes, more than once"), Feature("age", 50.0, 15.0))
    effects = (Effect(features[0].name, -2.0, -2.5e-5, 1e-6, clear=True), Effect("age", 100.5, 100.25, 2.5))
    long = replace(region, features=features, effects=effects, baselines={LONG: "No"}, correlations=((), (0.1,)))
    odds = replace(region, estimand=LOG_ODDS.name, classes=("no", "yes"))
    return {
        "one": compare_models([region]),
        "two": compare_models([region, odds], names=["Mean", "Odds"]),
        "long": compare_models([long, region]),
        "wide": compare_models([region, odds, long, region, odds, region]),
    }


def test_latex_makes_them(tables, tmp_path, artifacts):
    needed("pdflatex", "pdftotext", "pdftoppm")
    pages = "\\clearpage\n".join(table.to_latex() for table in tables.values())
    (tmp_path / "tables.tex").write_text(DOCUMENT % pages)
    log = run("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex", folder=tmp_path)
    assert re.findall(r"Overfull \\hbox.*", log) == []
    text = run("pdftotext", "-layout", "tables.pdf", "-", folder=tmp_path)
    assert text.count("\f") == len(tables)
    first = text.split("\f")[0]
    assert "reference" in first
    assert "per one-unit increase" in first
    assert re.search(r"Epsilon\s+3\b", first)
    run("pdftoppm", "-r", "80", "-png", "tables.pdf", str(artifacts / "table-latex"), folder=tmp_path)


def test_word_makes_them(tables, tmp_path, artifacts):
    needed("soffice", "pdftotext", "pdftoppm")
    for name, table in tables.items():
        table.to_word(tmp_path / f"{name}.docx")
    run("soffice", "--headless", "--convert-to", "pdf", *(f"{name}.docx" for name in tables), folder=tmp_path)
    for name, table in tables.items():
        text = run("pdftotext", "-layout", f"{name}.pdf", "-", folder=tmp_path)
        assert "differentially private" in " ".join(text.split())
        # Numbers are not broken: each interval stands on one line.
        intervals = {part for line in table.lines for cell in line.cells for part in re.findall(r"\[.*?\]", cell)}
        shown = text.replace("\u2212", "-").replace("\u00a0", " ")
        assert {each for each in intervals if "e-" not in each and each not in shown} == set(), name
        run("pdftoppm", "-r", "60", "-png", f"{name}.pdf", str(artifacts / f"table-word-{name}"), folder=tmp_path)
