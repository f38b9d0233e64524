"""How to make such a fit again, and how to cite it: the end of a report, a Python script and a notebook.

The script and the notebook follow from what was asked: no data, and no release, is in them.
"""

import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpsparse import __version__
from dpsparse.html import tag
from dpsparse.model.exposures import is_log_mean
from dpsparse.model.ratios import names_label
from dpsparse.model.variables import n_variables
from dpsparse.privacy.guarantee import default_delta

if TYPE_CHECKING:
    from dpsparse.fitting import FileFit
    from dpsparse.model.context import Budget
    from dpsparse.model.released import LinearModel

# The paper's data are those of docs/paper-errata.md.
_BIBTEX = f"""@software{{dpsparse,
  title   = {{dpsparse: differentially private sparse linear regression that survives heavy-tailed responses}},
  author  = {{{{The dpsparse developers}}}},
  version = {{{__version__}}},
  year    = {{2026}}
}}

@inproceedings{{tian2025heavytailed,
  title     = {{Differentially Private Sparse Linear Regression with Heavy-tailed Responses}},
  author    = {{Tian and Ding and Tao and Xiang and Wang}},
  booktitle = {{ECML PKDD}},
  year      = {{2025}},
  eprint    = {{2506.06861}},
  archivePrefix = {{arXiv}}
}}"""


_PURSUITS = ("PrivateSparseRegressor", "PrivateSparseClassifier", "PrivateSparsePoissonRegressor")


def rerun(model: "LinearModel", sparsity: int) -> Iterator[str]:
    """The command, or the line of Python, that makes such a fit.

    `sparsity` is the number of variables asked for.
    """
    asked = model.privacy.guarantee
    # A report is published, and so has the ledger's name and not its place.
    budget = None if model.context is None else model.context.budget
    chosen = sparsity if n_variables(model.features, model.effects) == sparsity else "auto"
    is_pursuit = model.parts is not None or model.estimator in _PURSUITS
    if is_pursuit and asked.adjacency == "replace-one" and model.privacy.private:
        yield from _as_command(model, chosen, budget)
    else:
        yield from _in_python(model, chosen, sparsity, budget)
    yield (
        "The public centres and scales of the features, where any were given, are listed in the model file. Another "
        "run draws other noise, so its numbers will differ, and it spends the budget once more: both costs add up."
    )
    yield "This page alone, from the saved model, without the data and at no cost:"
    yield tag("pre", tag("code", "dpsparse report model.json --out report.html"))


def _as_command(model: "LinearModel", chosen: int | str, budget: "Budget | None") -> Iterator[str]:
    tuned = any(release.name.startswith("candidate ") for release in model.privacy.releases)
    public = any(feature.center is not None or feature.scale is not None for feature in model.features)
    options: dict[str, Any] = {"target": model.target} if model.formula is None else {"formula": model.formula.text}
    options |= {"epsilon": model.privacy.guarantee.epsilon} | ({} if tuned else {"sparsity": chosen})
    options |= _of_the_response(model) | _of_the_records(model)
    options |= {"bounds": "bounds.toml"} if public else {}
    options |= {"ledger": "LEDGER", "dataset": budget.dataset} if budget else {}
    options |= {"out": "model.json", "report": "report.html"}
    words = [f"--{name}" + ("" if value is None else f" {shlex.quote(str(value))}") for name, value in options.items()]
    store = "; for a store, which has its own bounds, without --bounds" if public else ""
    kept = f" and the path or URL of the ledger {budget.ledger} in the place of LEDGER" if budget else ""
    candidates = ", and a --sparsity for each of the candidates" if tuned else ""
    yield f"With the table in the place of DATA{kept}{store}{candidates}:"
    yield tag("pre", tag("code", " \\\n    ".join([f"dpsparse {'tune' if tuned else 'fit'} DATA", *words])))


def _of_the_response(model: "LinearModel") -> dict[str, Any]:
    """The options that say what the response is, or what effects are on."""
    if model.classes is not None:
        return {"positive": model.classes[1]} if names_label(model) else {"family": "binomial"}
    if is_log_mean(model):
        return {"family": "poisson"} | ({} if model.exposure is None else {"exposure": model.exposure})
    if model.parts is not None:
        return {"family": "two-part"}
    return {} if model.estimand is None else {"estimand": model.estimand}


def _of_the_records(model: "LinearModel") -> dict[str, Any]:
    """The options of the guarantee, of people, and of records held out."""
    asked, options = model.privacy.guarantee, dict[str, Any]()
    if asked.delta != default_delta(model.privacy.n_records):
        options["delta"] = asked.delta
    if asked.records_per_person > 1:
        options["records-per-person"] = asked.records_per_person
    if asked.rows is not None:
        options["person"] = "COLUMN"
    if model.within:
        options["within"] = None
    if model.scores is not None:
        options["holdout"] = round(model.scores.n_records / model.privacy.n_records, 3)
    return options


def _in_python(model: "LinearModel", chosen: int | str, sparsity: int, budget: "Budget | None") -> Iterator[str]:
    asked = model.privacy.guarantee
    given = "X, y" if model.formula is None else f"X, formula={model.formula.text!r}"
    records = "X and y" if model.formula is None else "X"
    yield f"With the data as {records}{f', and the ledger {budget.ledger} as LEDGER' if budget else ''}:"
    most = f", max_sparsity={sparsity}" if chosen == "auto" else ""
    if model.classes is not None:
        most += f", positive={model.classes[1]!r}" if names_label(model) else ""
    elif is_log_mean(model):
        most += "" if model.exposure is None else f", exposure={model.exposure!r}"
    elif model.estimand is not None and model.parts is None:
        most += f", estimand={model.estimand!r}{', within=True' if model.within else ''}"
    line = f"sparsity={chosen!r}{most}, epsilon={asked.epsilon!r}, delta={asked.delta!r}"
    line += f", adjacency={asked.adjacency!r}, records_per_person={asked.records_per_person}"
    line += f", ledger=LEDGER, dataset={budget.dataset!r}" if budget else ""
    ids = "" if asked.rows is None else ", person=ids"
    yield tag("pre", tag("code", f"{model.estimator}({line}).fit({given}{ids})"))


def citation() -> Iterator[str]:
    """BibTeX of the software and of the paper."""
    yield (
        "The software, and the paper whose methods it grew from. PrivateSparseRegressor, PrivateSparseClassifier, "
        "PrivateSparsePoissonRegressor and PrivateSparseTwoPartRegressor are the software's own methods."
    )
    yield tag("pre", tag("code", _BIBTEX))
    yield f"Made by dpsparse {__version__}."


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
