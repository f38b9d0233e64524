"""The report of a fit: a summary that anybody understands, the effects, and the details folded away.

It reads releases and public facts only. A `LinearModel`, what a model file holds, is its one input: no table of
records, no path, no clock, no setting of the machine. So it reveals nothing that the model does not, and the same model
gives the same bytes.
"""

from typing import TYPE_CHECKING

from dpsparse.html import Page, folded
from dpsparse.model.ratios import ratio_words
from dpsparse.report import details
from dpsparse.report.effects import effects
from dpsparse.report.forecast_section import forecast, sparsity_of
from dpsparse.report.report_summary import in_short
from dpsparse.report.rerun import citation, rerun

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

PREVIEW = (
    "PREVIEW on made-up records. No record of yours was read: of your table only public numbers and the names of "
    "columns are here, and every effect is invented. "
)


def fit_page(model: "LinearModel") -> str:
    """The report of a released model, as HTML.

    Nothing but the model is read. The page is self-contained: no script, and nothing is fetched.
    """
    return _page(model, "What", "")


def marked_page(model: "LinearModel") -> str:
    """The report of a model that was fitted on made-up records, marked as such."""
    return _page(model, "PREVIEW: what", PREVIEW)


def _page(model: "LinearModel", first: str, mark: str) -> str:
    private = "with a guarantee of privacy" if model.privacy.private else "WITHOUT any guarantee of privacy"
    words = ratio_words(model)
    what = "regression" if words is None else words.model
    what = what if model.parts is None else "two-part regression"
    page = Page(
        f"{first} explains {model.target}",
        f"{mark}A {what} on {model.privacy.size}, {private}. Fitted by {model.estimator}.",
    )
    page.section("In short", *in_short(model))
    page.section("Effects", *effects(model))
    page.section(
        "Details",
        "For those who check, repeat or cite the fit.",
        folded("Units", *details.units(model)),
        folded("Records held out", *details.held_out(model)),
        folded("Categories and gaps", *details.categories_and_gaps(model)),
        folded("Date and budget", *details.circumstances(model)),
        folded("The guarantee in full, and every release", *details.releases(model.privacy)),
        folded("What another epsilon would buy, and more records", *forecast(model)),
        folded("Run it again", *rerun(model, sparsity_of(model))),
        folded("Cite", *citation()),
    )
    return page.html()
