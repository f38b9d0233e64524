"""The R package, where R and its packages are installed: its own tests, its example, and R's check."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import docx
import pytest

import dpsparse

PACKAGE = Path(__file__).parents[2] / "r" / "dpsparse"
NEEDED = ("reticulate", "testthat", "generics", "broom")


def run_r(*command, folder, more=()):
    """Run a command of R's with this Python and this checkout."""
    environment = os.environ | {
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(dpsparse.__file__).parents[1]),
        "R_LIBS": str(folder),
        **dict(more),
    }
    return subprocess.run(command, cwd=folder, env=environment, timeout=800, capture_output=True, text=True)


def absent(reason):
    """Skip, unless R is required."""
    (pytest.fail if os.environ.get("DPSPARSE_REQUIRE_R") else pytest.skip)(reason)


def has_package(name, folder):
    """Whether R has a package."""
    return not run_r(
        "Rscript", "-e", f"stopifnot(requireNamespace('{name}', quietly = TRUE))", folder=folder
    ).returncode


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A folder with the package installed."""
    if shutil.which("Rscript") is None:
        absent("R is not installed")
    folder = tmp_path_factory.mktemp("library")
    for name in NEEDED:
        if not has_package(name, folder):
            absent(f"R has no package {name}")
    done = run_r("R", "CMD", "INSTALL", "--no-docs", "-l", str(folder), str(PACKAGE), folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_exported_name_has_help_and_the_version_is_the_packages():
    exported = re.findall(r"^(?:export|S3method)\(([\w.]+)", (PACKAGE / "NAMESPACE").read_text(), re.M)
    help_of = "".join(path.read_text() for path in (PACKAGE / "man").glob("*.Rd"))
    assert len(exported) > 15
    assert [name for name in exported if name not in help_of] == []
    assert f"\nVersion: {dpsparse.__version__}\n" in (PACKAGE / "DESCRIPTION").read_text()


@pytest.mark.slow
def test_its_own_tests_pass(library):
    folder = PACKAGE / "tests" / "testthat"
    script = f'library(dpsparse); testthat::test_dir("{folder}", package = "dpsparse", load_package = "installed")'
    done = run_r("Rscript", "-e", script, folder=library)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL 0" in done.stdout


@pytest.mark.slow
def test_a_fit_stands_beside_lm(library, tmp_path):
    script = str(PACKAGE / "inst" / "examples" / "beside_lm.R")
    done = run_r("Rscript", script, str(tmp_path), folder=library)
    assert done.returncode == 0, done.stderr
    assert re.search(r"lm +smoker", done.stdout)
    assert re.search(r"private +smoker", done.stdout)
    if has_package("flextable", library):
        (grid,) = docx.Document(tmp_path / "beside_lm.docx").tables
        assert [cell.text for cell in grid.rows[1].cells] == ["", "lm, not private", "dp_lm, epsilon 1"]
        assert [row.cells[0].text for row in grid.rows][2:] == ["age", "smoker", "visits", "Records"]


@pytest.mark.slow
def test_the_notebook_runs(library, tmp_path):
    """The vignette, as a notebook of R: every chunk, with the one error that it shows."""
    if not has_package("knitr", library):
        absent("R has no package knitr")
    notebook, made = PACKAGE / "vignettes" / "dpsparse.Rmd", tmp_path / "made.md"
    script = f'knitr::opts_knit$set(base.dir = "{tmp_path}/"); knitr::knit("{notebook}", "{made}", quiet = TRUE)'
    done = run_r("Rscript", "-e", script, folder=library)
    assert done.returncode == 0, done.stdout + done.stderr
    text = made.read_text()
    assert len(re.findall(r"^## Error", text, re.M)) == 1
    assert text.count("scale(...) reads other records") == 1
    assert "Differentially private: epsilon 1" in text
    assert [*tmp_path.glob("figure/*.png")]


@pytest.mark.slow
@pytest.mark.long
def test_the_check_of_r_has_no_error_and_no_warning(library, tmp_path):
    options = {"_R_CHECK_FORCE_SUGGESTS_": "false"}.items()
    built = run_r("R", "CMD", "build", str(PACKAGE), folder=tmp_path, more=options)
    assert built.returncode == 0, built.stdout + built.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    done = run_r("R", "CMD", "check", "--no-manual", archive.name, folder=tmp_path, more=options)
    assert "\nStatus: OK" in done.stdout or re.search(r"\nStatus: \d NOTEs?\n", done.stdout), done.stdout
