"""Type checkers and editors see every public name, although each loads when it is first used."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpsparse

pytest.importorskip("mypy", reason="the type checker is not installed: pip install mypy")

PACKAGE = Path(dpsparse.__file__).parent

USES_EVERY_NAME = """
import warnings

import numpy as np

import dpsparse
from sklearn.pipeline import make_pipeline

from dpsparse import (
    AdaHuber,
    AdaHuberCV,
    BudgetExceeded,
    DPIHTH,
    DPIHTL,
    DPSLR,
    Evaluation,
    LedgerError,
    NotPrivateWarning,
    OnDisk,
    PrivacyLedger,
    PrivacyRecord,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    Streamed,
    UnreadResponsesWarning,
    check_pipeline,
    compare_models,
    evaluate,
    fit_and_evaluate,
    load_model,
    plan,
    plot_budget,
    read_bounds,
    read_table,
    save_model,
    scale_from_bounds,
    theory_parameters,
    tune,
)

X, y = np.ones((50, 2)), np.ones(50)
center, scale = scale_from_bounds([20.0, 0.0], [80.0, 1.0])
bounds = read_bounds("bounds.toml")
forecast = plan(n=50, d=2, sparsity=1, epsilon=1.0, noise_scale=2.0)
needed: int = forecast.n_for_effect(0.5)

ledger = PrivacyLedger("budget.db")
ledger.grant("trial", epsilon=3.0, delta=1e-6)
plot_budget(ledger, "trial").set_title("spent so far")
classifier = PrivateSparseClassifier(sparsity=1, positive="yes").fit(X, ["yes", "no"] * 25)
probabilities = classifier.predict_proba(X)
counts = PrivateSparsePoissonRegressor(sparsity=1).fit(X, y, exposure=y)
costs_in_two_parts = PrivateSparseTwoPartRegressor(sparsity=1).fit(X, y)
model = PrivateSparseRegressor(sparsity="auto", epsilon=1, feature_center=center, ledger=ledger, dataset="trial")
try:
    model = model.fit(X, y, progress=lambda done, total: None)
except (BudgetExceeded, LedgerError):
    warnings.simplefilter("ignore", NotPrivateWarning)
    warnings.simplefilter("error", UnreadResponsesWarning)
record: PrivacyRecord = model.privacy_
low_and_high: np.ndarray = model.conf_int(level=0.95)
text: str = model.summary()
predictions = model.predict(X)
save_model(model, "model.json")
again = load_model("model.json")
cells = read_table("people.csv", formula="cost ~ age*C(sex)", schema={"age": "number"})
by_formula = PrivateSparseRegressor().fit(cells, progress=True)
check_pipeline(make_pipeline(PrivateSparseRegressor())).fit(X, y)
latex: str = compare_models([model, again], names=["fitted", "read"]).to_latex()
found: Evaluation = evaluate(again, X, y, epsilon=0.5, ledger=ledger, dataset="trial")
better: bool = found.improvement.low > 0
held_out: Evaluation = fit_and_evaluate(PrivateSparseRegressor(), X, y, holdout=0.2).evaluation

PrivateSparseRegressor().fit(read_table("claims.csv", "cost"))

tau: float = theory_parameters(n=50, d=2, sparsity=1, zeta=1.0, epsilon=1.0, delta=1e-6).tau
for estimator in (DPIHTH(tau=tau, step=0.5), DPIHTL(step="two-phase"), DPSLR(response_bound=3.0)):
    estimator.fit(X, y)
AdaHuber(lam=0.1).fit(X, y)
AdaHuberCV(cv=3, random_state=0).fit(X, y)
tuned = tune([PrivateSparseRegressor(sparsity=1), PrivateSparseRegressor(sparsity=2)], X, y)
chosen: PrivateSparseRegressor = tuned.estimator
table = OnDisk("claims.parquet")
chosen.fit(table.drop("cost"), table["cost"])
chosen.fit(Streamed(X, device="cuda"), y)
version: str = dpsparse.__version__
"""

MISTAKES = """
from dpsparse import DPIHTH, OnDisk, PrivacyLedger, PrivateSparseRegressor, plan, theory_parameters, tune
import dpsparse

PrivateSparseRegressor(epsilom=1)
DPIHTH(sparsty=3)
dpsparse.evaluate(PrivateSparseRegressor(), [[1.0]], [1.0], epsilon=1.0, dataste="trial")
plan(n=50, d=2, sparsity=1, epsilon=1.0, noise_skale=2.0)
tune([PrivateSparseRegressor()], X=[[1.0]], Y=[1.0])
PrivacyLedger("budget.db").grant("trial", epsilon=3.0, delt=1e-6)
theory_parameters(n=50, d=2, sparsity=1, zetta=1.0, epsilon=1.0, delta=1e-6)
OnDisk(pathh="claims.parquet")
PrivateSparseRegressor(epsilon="1")
PrivateSparseRegressor(adjacency="add-one")
dpsparse.PrivateSparseRegresor
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """Lines of mypy's complaints on each script."""
    folder = tmp_path_factory.mktemp("typing")
    scripts = {"uses.py": USES_EVERY_NAME, "mistakes.py": MISTAKES}
    for name, text in scripts.items():
        (folder / name).write_text(text)
    # An installed package is found by its py.typed; a checkout has to be named.
    checkout = {} if PACKAGE.parent.name == "site-packages" else {"MYPYPATH": str(PACKAGE.parent)}
    options = ["--config-file=", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, f"--cache-dir={folder}/cache", *scripts],
        cwd=folder,
        timeout=600,
        env=os.environ | checkout,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {name: re.findall(rf"^{name}:(\d+): error: (.*)$", done.stdout, re.M) for name in scripts}


@pytest.mark.slow
def test_a_script_that_uses_every_public_name_passes(complaints):
    used = {node.id for node in ast.walk(ast.parse(USES_EVERY_NAME)) if isinstance(node, ast.Name)}
    assert set(dpsparse.__all__) - {"__version__"} <= used
    assert complaints["uses.py"] == []


@pytest.mark.slow
def test_every_misspelt_option_and_name_is_caught(complaints):
    wrong = [at for at, line in enumerate(MISTAKES.splitlines(), 1) if line and "import" not in line]
    assert [int(at) for at, _ in complaints["mistakes.py"]] == wrong
    assert 'did you mean "epsilon"' in complaints["mistakes.py"][0][1]


def test_the_stub_lists_the_public_names_and_their_modules():
    imported = {
        alias.asname: node.module.removeprefix("dpsparse.")
        for node in ast.walk(ast.parse((PACKAGE / "__init__.pyi").read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {*imported, "__version__"} == set(dpsparse.__all__)
    assert imported == {name: getattr(dpsparse, name).__module__.removeprefix("dpsparse.") for name in imported}


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
