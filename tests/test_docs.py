"""Every command and example that README.md and docs/ show is run, or stands in NOT_RUN with the reason."""

import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from sqlalchemy import NullPool, create_engine, make_url

import dpsparse
from dpsparse import (
    DPIHTH,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
)
from dpsparse.cli import cli, main
from dpsparse.io.bounds_file import read_bounds
from dpsparse.privacy import sensitivity
from dpsparse.privacy.mechanisms import gaussian, partition, quantile, selection

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "_build" not in path.parts
}
TEAM_LEDGER = "postgresql://keeper@db.example.org/budgets"

NOT_RUN = {
    'python3 -m venv .venv && .venv/bin/pip install ".[data,app]" && .venv/bin/dpsparse demo': (
        "installs; see test_cli.py"
    ),
    'python3 -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/python -m pytest -n 2 -m "not slow"': (
        "runs this test"
    ),
    ".venv/bin/dpsparse reproduce all --quick": "minutes; paper/ runs it smaller",
    "dpsparse reproduce all": "half an hour; paper/ runs it smaller",
    "dpsparse audit": "six minutes; cli/test_audit_command.py runs it smaller",
    "dpsparse audit --long": "forty minutes; cli/test_audit_command.py runs it smaller",
    "python -m pytest tests/privacy": "runs with all other tests",
    "python docs/method_tables.py": "writes docs/method.md; test_method_page.py compares",
    "python -m build": "builds a wheel; the workflow tests.yml does it",
    'pip install "dpsparse[cuda]"': "installs gigabytes",
    'pip install "dpsparse[accounting]"': "installs",
    'pip install "dpsparse[dask]"': "installs",
    'pip install "dpsparse[app]"': "installs",
    'pip install "dpsparse[word]"': "installs",
    "dpsparse app": "serves until it is interrupted; app/ runs it",
    "dpsparse app people.csv --ledger budget.db": "serves until it is interrupted; app/ runs it",
    "dpsparse app people.csv": "serves until it is interrupted; app/ runs it",
    'pip install -e ".[bench]"': "installs",
    "python tests/planted/run.py --results FOLDER --bugs": "an hour; planted/test_bugs.py runs a part of it",
    "python -m peers run --quick": "five minutes; benchmarks/test_peers_run.py runs it smaller",
    "python -m peers run": "three hours; benchmarks/test_peers_run.py runs it smaller",
    "python -m peers report": "writes docs/comparison.md; benchmarks/test_peers_ranking.py runs it",
}
EXAMPLES_NOT_RUN = {
    "README.md": "test_readme.py runs them",
    "docs/gpu.md": "they need a GPU; estimators/test_gpu_fits.py does the same there",
    "docs/scikit-learn.md": "estimators/test_scikit_learn.py runs them, one after the other",
}


def shown_commands(text):
    """Commands, in the order of the page, each with whether it stands in the running text rather than in a fence."""
    for match in re.finditer(r"```(?:sh|console|bash)\n(.*?)```|`((?:dpsparse|python3?|pip) [^`]+)`", text, re.S):
        fence, inline = match.groups()
        if inline is not None:
            yield " ".join(inline.split()), True
        else:
            for line in fence.replace("\\\n", " ").splitlines():
                if line.strip() and not line.startswith("#"):
                    yield line.strip(), False


def is_mention(words):
    """Whether this only names a command and lacks its arguments; fails where the command or an option is unknown."""
    command = cli
    while isinstance(command, click.Group):
        if not words:
            return True
        command, words = command.commands[words[0]], words[1:]
    try:
        command.make_context("dpsparse", list(words))
    except (click.MissingParameter, click.BadOptionUsage):
        return True
    return False


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the pages take to be there: records, new people, and a table to evaluate on."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.normal(50, 15, 5_000), "smoker": 1 * (rng.random(5_000) < 0.2)})
    people["visits"] = rng.poisson(2.0, 5_000)
    people["cost"] = 100 * people.age + 9_000 * people.smoker + 600 * people.visits + 2_000 * rng.standard_t(2, 5_000)
    people.to_csv("people.csv", index=False)
    people.drop(columns="cost").to_csv("new.csv", index=False)
    people.tail(1_000).to_csv("test.csv", index=False)
    people.assign(patient=np.arange(len(people)) // 3).to_csv("visits.csv", index=False)
    loans = people.drop(columns="cost").assign(income=rng.normal(50_000, 20_000, len(people)).round())
    denied = rng.random(len(people)) < 1 / (1 + np.exp(1 - 1.5 * people.smoker))
    loans.to_csv("applicants.csv", index=False)
    loans.assign(answer=np.where(denied, "denied", "granted")).to_csv("loans.csv", index=False)
    patients = people.drop(columns="cost").assign(years=rng.uniform(0.5, 3.0, len(people)))
    patients.to_csv("clinic.csv", index=False)
    patients.drop(columns="visits").to_csv("patients.csv", index=False)
    return tmp_path


@pytest.fixture
def team_ledger(request):
    """A database of its own, called on when a page is about to use it."""

    def create():
        url = make_url(request.getfixturevalue("postgres_url")).set(drivername="postgresql+psycopg")
        with create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool).connect() as connection:
            connection.exec_driver_sql("CREATE DATABASE budgets")
        return url.set(drivername="postgresql", database="budgets").render_as_string(hide_password=False)

    return create


COMMANDS = {name: dict(shown_commands(text)) for name, text in PAGES.items()}


RUN = [name for name, commands in COMMANDS.items() if set(commands) - set(NOT_RUN)]


@pytest.mark.parametrize(
    "name", [name if name == "README.md" else pytest.param(name, marks=pytest.mark.slow) for name in RUN]
)
def test_the_commands_run(name, folder, team_ledger, capsys):
    ledger = None
    # Those that need a server come last, so that a skip for want of one skips nothing else.
    for command, in_text in sorted(COMMANDS[name].items(), key=lambda item: TEAM_LEDGER in item[0]):
        program, *words = shlex.split(command)
        if command in NOT_RUN:
            continue
        assert program == "dpsparse", f"{name} shows {command!r}: run it here, or say in NOT_RUN why not"
        if in_text and is_mention(words):
            continue
        if TEAM_LEDGER in words:
            ledger = ledger or team_ledger()
            words[words.index(TEAM_LEDGER)] = ledger
        if "--bounds" in words:
            # Somebody fills it in by hand, as the how-to tells.
            example = re.search(r"```toml\n(.*?)```", PAGES["docs/how-to/your-own-data.md"], re.S)[1]
            (folder / "bounds.toml").write_text(example)
        main(words)
        assert capsys.readouterr().out
        if "--out" in words:
            assert (folder / words[words.index("--out") + 1]).stat().st_size > 0


def test_a_command_or_an_option_that_does_not_exist_is_caught():
    assert is_mention(["budget", "verify", "--head"])
    assert not is_mention(["plan", "--n", "5000", "--d", "3"])
    with pytest.raises(KeyError):
        is_mention(["budge"])
    with pytest.raises(click.NoSuchOption):
        is_mention(["plan", "--m", "1"])


def test_nothing_is_excused_that_is_not_shown():
    assert set(NOT_RUN) <= {command for commands in COMMANDS.values() for command in commands}


def fences(language):
    pages = [(name, re.findall(rf"```{language}\n(.*?)```", text, re.S)) for name, text in PAGES.items()]
    return [pytest.param(block, id=f"{name}-{at}") for name, blocks in pages for at, block in enumerate(blocks)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [block for block in fences("python") if block.id.rpartition("-")[0] not in EXAMPLES_NOT_RUN]
)
def test_the_examples_run(block, folder):
    exec(compile(block, "example", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("block", fences("toml"))
def test_the_bounds_files_can_be_read(block, tmp_path):
    (tmp_path / "bounds.toml").write_text(block)
    assert read_bounds(tmp_path / "bounds.toml").columns


def test_the_reference_lists_every_public_name():
    listed = (ROOT / "docs/reference/index.md").read_text().split()
    assert set(dpsparse.__all__) - {"__version__"} - set(listed) == set()


def test_every_file_that_is_named_exists():
    roots = (ROOT, Path(dpsparse.__file__).parent)
    pages = PAGES | {"CONTRIBUTING.md": (ROOT / "CONTRIBUTING.md").read_text()}
    named = {(page, path) for page, text in pages.items() for path in re.findall(r"`([\w./-]+/[\w.-]*\.py)`", text)}
    missing = {(page, path) for page, path in named if not any((root / path).exists() for root in roots)}
    assert missing == set()


# Folders of which a reviewer has to read every file, and files that a reader of a raw file alone needs.
REVIEWED = "privacy", "engine", "learning", "data", "io/cells", "io/store", "io/tables", "algorithms/pursuit/steps"
FOR_THE_CURATOR = {"io/cells/faults.py"}
# What a file that makes releases cannot do without.
RELEASES = re.compile(r"^(?:from|import) .*\b(?:Meter|MeterShare|Releases)\b|\.evaluate\(", re.MULTILINE)


def test_a_reviewer_is_told_of_every_file_that_computes_or_protects_a_term():
    package = Path(dpsparse.__file__).parent
    files = {file for folder in REVIEWED for file in (package / folder).rglob("*.py")}
    others = [*package.glob("*.py"), *(package / "algorithms").rglob("*.py"), *(package / "estimators").rglob("*.py")]
    files |= {file for file in others if RELEASES.search(file.read_text())}
    named = {str(file.relative_to(package)) for file in files if file.name != "__init__.py"} - FOR_THE_CURATOR
    section = PAGES["docs/privacy.md"].partition("## What a reviewer has to read")[2].partition("\n## ")[0]
    assert named - set(re.findall(r"`([\w/]+\.py)`", section)) == set()


@pytest.mark.parametrize(
    "module", [sensitivity, gaussian, partition, quantile, selection], ids=lambda module: module.__name__
)
def test_the_privacy_page_names_every_sensitivity_and_mechanism(module):
    functions = inspect.getmembers(module, inspect.isfunction)
    public = {name for name, value in functions if value.__module__ == module.__name__ and not name.startswith("_")}
    named = set(re.findall(r"`(?:\w+\.)*(\w+)`", PAGES["docs/privacy.md"]))
    assert public - named == set()


FITS = {
    "numbers": lambda X, y: PrivateSparseRegressor(missing="center").fit(X, y),
    "typical": lambda X, y: PrivateSparseRegressor(estimand="typical").fit(X, y),
    "yes or no": lambda X, y: PrivateSparseClassifier().fit(X, y > 0),
    "counts": lambda X, y: PrivateSparsePoissonRegressor().fit(X, abs(y)),
    "two parts": lambda X, y: PrivateSparseTwoPartRegressor().fit(X, y),
    "the paper's": lambda X, y: DPIHTH(sparsity=1, epsilon=1.0).fit(X, y),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FITS)
def test_the_privacy_page_names_every_attribute_of_a_fit(name):
    rng = np.random.default_rng(0)
    model = FITS[name](rng.standard_normal((300, 2)), rng.standard_normal(300))
    section = PAGES["docs/privacy.md"].partition("## What leaves `fit`")[2].partition("\n## ")[0]
    assert set(vars(model)) - set(model.get_params()) <= set(re.findall(r"`(\w+)`", section))


@pytest.mark.slow
def test_the_page_on_genes_can_do_without_its_file(tmp_path):
    page = ROOT / "docs/gallery/tutorials/03_genes.py"
    surroundings = os.environ | {"DPSPARSE_DATA": str(tmp_path), "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, page]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True, timeout=600)
    assert "BUILT WITHOUT METABRIC" in done.stdout
    assert "made_up_" in done.stdout
