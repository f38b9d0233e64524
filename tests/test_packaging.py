"""What is declared agrees with what is there: dependencies, the version, the workflows of the repository's host."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dpsparse

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGE = Path(dpsparse.__file__).parent

# Where the name to import is not the name to install.
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "dp_accounting": "dp-accounting",
    "distributed": "dask",
    "docx": "python-docx",
}
# Extras for users; the others are for contributors.
USERS_EXTRAS = ("accounting", "app", "postgres", "dask", "data", "word", "zarr", "cuda")

SCHEMAS = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.citation-file-format": "CITATION.cff",
}


def names_of(requirements):
    return {re.match(r"[\w-]+", requirement)[0].lower() for requirement in requirements}


def imported():
    """Top-level names of other projects that the package imports, at once or later."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module]
            else:
                continue
            for module in modules:
                name = module.partition(".")[0]
                if name not in sys.stdlib_module_names and name != "dpsparse":
                    yield DISTRIBUTIONS.get(name, name)


def test_everything_imported_is_declared_and_everything_declared_is_imported():
    extras = [PROJECT["optional-dependencies"][extra] for extra in USERS_EXTRAS]
    declared = names_of(PROJECT["dependencies"]).union(*map(names_of, extras))
    # SQLAlchemy imports psycopg by the ledger's URL, and Starlette python-multipart where a form comes.
    assert set(imported()) == declared - {"psycopg", "python-multipart"}


def test_no_two_modules_share_a_name():
    """A name says what is inside, without its folder."""
    names = [path.stem for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"]
    assert importlib.metadata.version("dpsparse") == dpsparse.__version__
    assert f"\nversion: {dpsparse.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {dpsparse.__version__} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_pythons_tested_are_those_declared():
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    for row in re.findall(r"python: \[(.*)\]", workflow):
        assert re.findall(r"3\.\d+", row) == classified
    assert PROJECT["requires-python"] == f">={classified[0]}"


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_host_understands_its_files(schema):
    pytest.importorskip("check_jsonschema", reason="the schemas are not installed: pip install check-jsonschema")
    files = sorted(ROOT.glob(SCHEMAS[schema]))
    assert files
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    done = subprocess.run(checker, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
