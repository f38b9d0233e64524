"""The R package, where R and its packages are installed: its own tests, its example, and R's check."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

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


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A folder with the package installed."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    folder = tmp_path_factory.mktemp("library")
    for name in NEEDED:
        if run_r("Rscript", "-e", f"stopifnot(requireNamespace('{name}', quietly = TRUE))", folder=folder).returncode:
            pytest.skip(f"R has no package {name}")
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
def test_a_fit_stands_beside_lm(library):
    done = run_r("Rscript", str(PACKAGE / "inst" / "examples" / "beside_lm.R"), folder=library)
    assert done.returncode == 0, done.stderr
    assert re.search(r"lm +smoker", done.stdout)
    assert re.search(r"private +smoker", done.stdout)


@pytest.mark.slow
@pytest.mark.long
def test_the_check_of_r_has_no_error_and_no_warning(library, tmp_path):
    options = {"_R_CHECK_FORCE_SUGGESTS_": "false"}.items()
    built = run_r("R", "CMD", "build", str(PACKAGE), folder=tmp_path, more=options)
    assert built.returncode == 0, built.stdout + built.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    done = run_r("R", "CMD", "check", "--no-manual", archive.name, folder=tmp_path, more=options)
    assert "\nStatus: OK" in done.stdout or re.search(r"\nStatus: \d NOTEs?\n", done.stdout), done.stdout
