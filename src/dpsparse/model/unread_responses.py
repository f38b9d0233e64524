"""How many responses a fit could read, in words, and what is said where they are few."""

from typing import TYPE_CHECKING

from dpsparse.io.cells.grammar import Kind
from dpsparse.model.ratios import share_of_yes
from dpsparse.schema import quoted

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


class UnreadResponsesWarning(UserWarning):
    """Clearly fewer than 98 % of the responses are there and could be read, by a released number.

    Examples
    --------
    >>> import warnings
    >>> from dpsparse import UnreadResponsesWarning
    >>> warnings.simplefilter("error", UnreadResponsesWarning)  # raise where responses could not be read
    >>> warnings.resetwarnings()
    """


class ResponsesUnread(ValueError):
    """Most responses could not be read: nothing is to be predicted from such a fit."""


_LABELS_REMEDY = (
    ". If they are labels, say which one is yes: --positive LABEL, which is positive of read_table. Every other one is "
    "no; with more than two labels make one fit for each"
)
_YES_OR_NO = (
    ", and were fitted as the numbers 1 and 0: for odds ratios of yes or no give --family binomial, which in Python is "
    "PrivateSparseClassifier"
)


def readable(model: "LinearModel") -> str:
    """How many responses are what they were read as, and which family they are of where numbers were fitted."""
    is_yes_or_no = model.classes is None and model.target_kind == Kind.boolean
    return f"{_readable(model)}{_YES_OR_NO if is_yes_or_no else ''}"


def _readable(model: "LinearModel") -> str:
    if model.classes is not None:
        share = share_of_yes(model)
        return f"{_counted(model)} are {_labels(model)}{_empty(model)}{share and f', {share}'}"
    kind = model.target_kind or Kind.number
    what = "true or false" if kind == Kind.boolean else "dates" if kind.startswith("date") else "numbers"
    return f"{_counted(model)} are {what}{_empty(model)}"


def _counted(model: "LinearModel") -> str:
    """The number of responses; of people with several rows one row each is counted."""
    margin = "" if model.responses is None else model.responses.margin
    each = "" if model.privacy.guarantee.rows is None else ", one of each person,"
    return f"{model.responses}{margin} responses{each}"


def _labels(model: "LinearModel") -> str:
    """What the responses of a yes/no fit are."""
    assert model.classes is not None
    if model.target_kind == Kind.text:
        return f"{quoted(model.classes[1])} (yes) or another label (no)"
    return "true or false" if model.target_kind == Kind.boolean else "0 or 1"


def _empty(model: "LinearModel") -> str:
    """How many cells of the response are empty, where that is more than noise."""
    if model.responses is None or not model.responses.empty:
        return ""
    many = model.privacy.guarantee.protects.many
    return f" (about {100 * model.responses.empty:.0f} % of the {many} have an empty cell there)"


def unread(model: "LinearModel") -> str:
    """The same, with a remedy for those that are not."""
    if model.classes is not None:
        return f"{_readable(model)}; the others counted as missing{_LABELS_REMEDY if _names_no_label(model) else ''}"
    return (
        f"{_readable(model)}; the others counted as missing. If they are not missing but written in another way, "
        "declare it (the kinds of read_table) or write them as plain numbers; lines in another encoding count as "
        "missing, too (--encoding): dpsparse check shows their holder which"
    )


def refuse_unread(model: "LinearModel") -> None:
    """Raise ResponsesUnread where most responses that are not empty could not be read, by released numbers.

    Its budget is spent.
    """
    if model.responses is not None and model.responses.is_too_short and model.classes is not None:
        remedy = _LABELS_REMEDY if _names_no_label(model) else ". Choose another response, or a table with fewer gaps"
        raise ResponsesUnread(
            f"only {_readable(model)} in {model.target!r}, by a noisy count that epsilon was spent on: nothing is "
            f"predicted from so few, and no model is kept{remedy}"
        )
    if model.responses is not None and model.responses.is_too_short:
        raise ResponsesUnread(
            f"only {_readable(model)} in {model.target!r}, by a noisy count that epsilon was spent on: nothing is "
            "predicted from so few, and no model is kept. dpsparse check shows their holder those that are not, and "
            "whether the file needs another --encoding or --separator; or choose another response. If they are labels, "
            "say which one is yes: --positive LABEL"
        )


def _names_no_label(model: "LinearModel") -> bool:
    """Whether responses are read as 0 or 1, or true or false: no label of yes was given."""
    return model.target_kind != Kind.text
