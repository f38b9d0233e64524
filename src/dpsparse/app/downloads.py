"""What a person can take home of a finished fit, each made from its model and the choices alone."""

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpsparse.model.plots import can_be_drawn, effects_picture, figure_bytes, plot_calibration

if TYPE_CHECKING:
    from dpsparse.app.jobs import Job
    from dpsparse.app.workspace import Workspace
    from dpsparse.model.released import LinearModel
    from dpsparse.privacy.ledger.ledger import PrivacyLedger


def report_of(model: "LinearModel") -> str:
    """The report as HTML."""
    from dpsparse.report.fit_page import fit_page

    return fit_page(model)


def _registry(job: "Job", work: "Workspace") -> str:
    from dpsparse.report.registry import registry_entry

    return registry_entry(job.model)


def _nist(job: "Job", work: "Workspace") -> str:
    from dpsparse.report.nist import nist_sheet

    return nist_sheet(job.model)


def _model(job: "Job", work: "Workspace") -> bytes:
    from dpsparse.model.json_file import write_model

    stream = io.BytesIO()
    write_model(job.model, stream)
    return stream.getvalue()


def _script(job: "Job", work: "Workspace") -> str:
    from dpsparse.report.rerun import rerun_script

    return rerun_script(job.asked(), _place(work.ledger))


def _notebook(job: "Job", work: "Workspace") -> str:
    from dpsparse.report.rerun import rerun_notebook

    return rerun_notebook(job.asked(), _place(work.ledger))


def _place(ledger: "PrivacyLedger") -> str:
    """The path of a ledger's file, or the URL of its database without the password."""
    return ledger.url if "://" in str(ledger) else str(ledger)


def _word(job: "Job", work: "Workspace") -> bytes:
    from dpsparse.model.effect_tables import compare_models

    stream = io.BytesIO()
    compare_models([job.model]).write_word(stream)
    return stream.getvalue()


def _calibration(job: "Job", work: "Workspace") -> bytes:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(5, 5), layout="constrained")
    assert job.model.evaluation is not None  # or it is not offered
    plot_calibration(job.model.evaluation.calibration, job.model.target, drawn.subplots())
    return figure_bytes(drawn, "png")


def _forecast(job: "Job", work: "Workspace") -> bytes:
    from matplotlib.figure import Figure

    from dpsparse.report.forecast_section import forecast_of

    drawn = Figure(figsize=(6, 4), layout="constrained")
    forecast_of(job.model).plot(drawn.subplots())
    return figure_bytes(drawn, "png")


# By name: what it is, and how it is made from the model and the choices alone.
DOWNLOADS: dict[str, tuple[str, Callable[["Job", "Workspace"], str | bytes]]] = {
    "report.html": ("The report: one page to open, print or send", lambda job, work: report_of(job.model)),
    "model.json": ("The model, for dpsparse predict and load_model", _model),
    "table.docx": ("The table of effects for Word", _word),
    "table.tex": ("The table of effects for LaTeX, with booktabs", lambda job, work: job.model.to_latex()),
    "table.md": ("The table of effects in Markdown", lambda job, work: job.model.to_markdown()),
    "effects.png": ("The picture of effects, for slides and Word", lambda job, work: effects_picture(job.model, "png")),
    "effects.pdf": ("The picture of effects, for print", lambda job, work: effects_picture(job.model, "pdf")),
    "calibration.png": ("Predicted probabilities and what came of them", _calibration),
    "forecast.png": ("What another epsilon would buy, as a picture", _forecast),
    "bounds.toml": ("What was publicly known of the columns", lambda job, work: job.settings.bounds_text()),
    "entry.yaml": ("Draft of an entry for the registry of deployments", _registry),
    "sheet.md": ("Draft of a review sheet along NIST SP 800-226", _nist),
    "fit_again.py": ("A Python script that fits again; it spends anew", _script),
    "fit_again.ipynb": ("The same as a notebook; it spends anew", _notebook),
    "dpsparse-settings.json": ("The choices, to load here another time", lambda job, work: job.settings.to_json()),
}
# Pictures that not every model has.
_DRAWN: dict[str, Callable[["LinearModel"], bool]] = {
    "effects.png": can_be_drawn,
    "effects.pdf": can_be_drawn,
    "calibration.png": lambda model: model.evaluation is not None and bool(model.evaluation.calibration),
    "forecast.png": lambda model: model.parts is None,
}


def offered(model: "LinearModel") -> Mapping[str, tuple[str, Any]]:
    """The downloads of a model, of `DOWNLOADS`."""
    return {name: each for name, each in DOWNLOADS.items() if name not in _DRAWN or _DRAWN[name](model)}
