"""A Python script and a notebook that make a fit again, from what was asked: no data, and no release, is in them."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsparse.fitting import FileFit

_HEAD = """\
This fits again. It SPENDS epsilon {epsilon} ONCE MORE, on the same people: the noise is drawn anew, the numbers will
differ, and both costs add up. It is charged to the ledger named below, which refuses it where too little is left. To
see the first result again at no cost, open its model file: load_model("model.json").

Put the table, the bounds file and this file in one folder, and run it there (pip install "dpsparse[data]"). The ledger
stays where it is: a copy of it would grant the budget twice."""
_PASSWORD = " Its password is not in here; PostgreSQL finds it in ~/.pgpass or PGPASSWORD."


def rerun_script(asked: "FileFit", ledger: str) -> str:
    """A Python script that makes a fit again.

    Of paths the last part is used. `ledger` is the ledger's place, without a password.

    Examples
    --------
    >>> from dpsparse.fitting import FileFit
    >>> from dpsparse.report.rerun_script import rerun_script
    >>> asked = FileFit("people.csv", "cost", 1.0, dataset="trial-7")
    >>> 'read_table("people.csv", "cost"' in rerun_script(asked, "budget.db")
    True
    """
    head, *parts = _parts(asked, ledger)
    return "\n".join([f'"""{head}\n"""\n', *(f"{part}\n" for part in parts)])


def rerun_notebook(asked: "FileFit", ledger: str) -> str:
    """The same as a Jupyter notebook, one cell a step.

    It is JSON in the format of notebooks, version 4.
    """
    head, *parts = _parts(asked, ledger)
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "about", "metadata": {}, "source": _lines(head)}]
    for place, part in enumerate(parts):
        code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": [], "metadata": {}}
        cells.append({**code, "id": f"step-{place}", "source": _lines(part)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1) + "\n"


def _parts(asked: "FileFit", ledger: str) -> Iterator[str]:
    from os.path import basename

    quoted = json.dumps
    dialect = {"separator": asked.separator, "encoding": asked.encoding}
    options = [f"{name}={quoted(value)}" for name, value in dialect.items() if value not in (None, "utf-8")]
    options = [*(["bounds=" + quoted(basename(asked.bounds))] if asked.bounds else []), *options]
    odds, parts = asked.family == "binomial" or asked.positive is not None, asked.family == "two-part"
    options += [] if asked.positive is None else [f"positive={quoted(asked.positive)}"]
    options += [] if asked.formula is None else [f"formula={quoted(asked.formula)}"]
    options += [] if asked.exposure is None else [f"exposure={quoted(asked.exposure)}"]
    options += [] if asked.person is None else [f"person={quoted(asked.person)}"]
    target = [] if asked.target is None else [quoted(asked.target)]
    table = ", ".join([quoted(basename(asked.data)), *target, *options])
    is_poisson = asked.family == "poisson"
    number = "PrivateSparsePoissonRegressor" if is_poisson else "PrivateSparseRegressor"
    estimator = "PrivateSparseTwoPartRegressor" if parts else "PrivateSparseClassifier" if odds else number
    parameters = {
        "sparsity": asked.sparsity,
        "estimand": None if odds or is_poisson or parts else asked.estimand or "mean",
        "within": True if asked.within else None,
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "records_per_person": asked.records_per_person,
        "ledger": ledger,
        "dataset": asked.dataset,
    }
    lines = "".join(
        f"    {name}={value if value is True else quoted(value)},\n"
        for name, value in parameters.items()
        if value is not None
    )
    held_out = asked.holdout is not None
    names = [estimator, *(["fit_and_evaluate"] if held_out else []), "read_table", "save_model"]
    yield _HEAD.format(epsilon=f"{asked.epsilon:g}") + (_PASSWORD if "://" in ledger else "")
    yield f"from dpsparse import {', '.join(names)}"
    yield f"data = read_table({table})\nmodel = {estimator}(\n{lines})"
    run = f"model, evaluation = fit_and_evaluate(model, data, holdout={asked.holdout!r})" if held_out else ""
    yield f'{run or "model.fit(data)"}\nsave_model(model, "model-again.json")'
    yield "print(model.summary())\nprint(model.privacy_.statement())"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
