"""Tables of effects for papers: one model, or several side by side, as Markdown, LaTeX, Word and HTML.

Released models are all they read. Categories have a row for the category that the others are compared with.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from dpsparse.html import Html, table, tag
from dpsparse.io.atomic import atomic_file
from dpsparse.model.effect import INTERVAL_HEADING, Effect, Verdict, p_text, p_words
from dpsparse.model.paper_formats import as_latex, as_markdown, as_word, rows_of
from dpsparse.model.table_notes import NOT_RELIABLE, SIGNIFICANT, WITHOUT, notes
from dpsparse.model.unnamed_values import not_shown

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

REFERENCE = "reference"
# The columns of one model in two parts.
OF_PARTS = ("Overall mean", "Whether above 0", "How much")
_MARKS = {Verdict.SIGNIFICANT: SIGNIFICANT, Verdict.NOT_TRUSTED: NOT_RELIABLE}


@dataclass(frozen=True)
class Line:
    """A row of a table: its heading, its cells, and whether it is a level below the heading of its variable.

    A cell may have several lines, such as an interval below its effect.
    """

    label: str
    cells: tuple[str, ...]
    is_level: bool = False


@dataclass(frozen=True)
class EffectTable:
    """A table of effects for a paper, as `compare_models` makes it.

    Parameters
    ----------
    caption : str
        What it shows.
    headings : tuple of str
        Of its columns but the first, which has the variables.
    measures : tuple of str
        What the numbers of each column are, such as odds ratios; empty where all are the same.
    lines : tuple of Line
        The effects.
    facts : tuple of Line
        Records, selected features and guarantee of each model.
    notes : tuple of str
        Footnotes: what effects are of, marks, guarantees.
    """

    caption: str
    headings: tuple[str, ...]
    measures: tuple[str, ...]
    lines: tuple[Line, ...]
    facts: tuple[Line, ...]
    notes: tuple[str, ...]

    def to_markdown(self) -> str:
        """The table in Markdown.

        Returns
        -------
        str
            A table of GitHub's kind, its footnotes below.
        """
        return as_markdown(self)

    def to_latex(self) -> str:
        """The table in LaTeX.

        Returns
        -------
        str
            A ``table`` that needs the package booktabs.
        """
        return as_latex(self)

    def to_word(self, path: str | os.PathLike[str]) -> None:
        """Write the table as a Word file, which needs python-docx: ``pip install 'dpsparse[word]'``.

        Parameters
        ----------
        path : str or path
            Where, such as ``table.docx``; the file appears whole or not at all.
        """
        with atomic_file(path) as stream:
            self.write_word(stream)

    def write_word(self, stream: IO[bytes]) -> None:
        """Write the Word file to an open binary stream."""
        as_word(self, stream)

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> Html:
        """The table, for notebooks."""
        rows = [
            [f"\u2003{label}" if line.is_level and label else label, *cells]
            for line in (*self.lines, *self.facts)
            for label, *cells in rows_of(line)
        ]
        headings = [
            f"{heading}, {measure}" if measure else heading
            for heading, measure in zip(self.headings, self.measures or [""] * len(self.headings), strict=True)
        ]
        places = range(1, len(self.headings) + 1)
        return tag(
            "div",
            [
                table(self.caption, ["", *headings], rows, numbers=places),
                *(tag("p", note, class_="note") for note in self.notes),
            ],
        )


def compare_models(models: Sequence[Any], names: Sequence[str] | None = None) -> EffectTable:
    """Set the effects of models side by side, as papers do.

    Parameters
    ----------
    models : sequence of LinearModel or fitted private estimators
        One or several, of the same table or of others.
    names : sequence of str or None, default=None
        The headings of their columns; None for their targets, or for numbers where these are the same.

    Returns
    -------
    EffectTable
        With `to_markdown`, `to_latex` and `to_word`; notebooks show it as it is. Effects on log odds are odds ratios.

    Examples
    --------
    >>> from dpsparse import PrivateSparseRegressor, compare_models
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, _ = make_heavy_tailed(5000, 4, 2, random_state=0)
    >>> units = {"feature_center": 0, "feature_scale": 1}
    >>> fits = [PrivateSparseRegressor(sparsity=s, epsilon=1.0, **units).fit(X, y) for s in (1, 2)]
    >>> table = compare_models(fits, names=["one feature", "two features"])
    >>> table.headings
    ('one feature', 'two features')
    >>> [line.label for line in table.facts][:2]
    ['Records', 'Features selected']
    """
    released = [_released(model) for model in models]
    if not released:
        raise ValueError("models is empty: give at least one fitted model")
    if names is not None and len(names) != len(released):
        raise ValueError(f"names has {len(names)} entries for {len(released)} models: give one for each")
    shown, headings = _columns(released, names)
    single, left_out = len(shown) == 1, not_shown(shown)
    measures = tuple(model.ratio or "effect" for model in shown)
    return EffectTable(
        caption=_caption(released, None if names is None or len(released) > 1 else names[0]),
        headings=headings,
        measures=measures if len({*measures}) > 1 else (),
        lines=tuple(_lines([_Column(model, left_out) for model in shown], single)),
        facts=tuple(_facts(released, len(headings))),
        notes=tuple(notes(released, shown, headings)),
    )


def _columns(
    models: Sequence["LinearModel"], names: Sequence[str] | None
) -> tuple[list["LinearModel"], tuple[str, ...]]:
    """The models that have a column each, and the headings: one model has three columns, and so have its two parts."""
    (model, *others) = models
    if others:
        return [*models], tuple(names or _headings(models))
    if model.parts is not None:
        return [model, model.parts.whether, model.parts.how_much], OF_PARTS
    return [model], ((model.ratio or "effect").capitalize(), INTERVAL_HEADING, "p-value")


def _released(model: Any) -> "LinearModel":
    if not hasattr(model, "_released"):
        raise TypeError("models must be fitted private estimators, or what load_model gives")
    released: LinearModel = model._released()
    return released


def _headings(models: Sequence["LinearModel"]) -> list[str]:
    targets = [model.target for model in models]
    return targets if len({*targets}) == len(targets) else [f"({k + 1})" for k in range(len(targets))]


def _caption(models: Sequence["LinearModel"], name: str | None) -> str:
    kinds = {model.ratio for model in models}
    what = f"{kinds.pop() or 'effect'}s".capitalize() if len(kinds) == 1 else "Effects"
    targets = " and ".join(dict.fromkeys(model.target for model in models))
    return f"{name or f'{what} for {targets}'}, per one-unit increase, differentially private"


class _Column:
    """The effects of one model by variable and level, without those to be left out."""

    def __init__(self, model: "LinearModel", left_out: set[str]) -> None:
        self.model = model
        self.effects: dict[str, dict[str | None, Effect]] = {}
        # Of a number times the categories of a column, this one.
        self._texts: dict[str, str] = {}
        for effect, feature in model._selected:
            if effect.feature in left_out:
                continue
            self.effects.setdefault(feature.variable, {})[feature.level] = effect
            self._texts[feature.variable] = feature.indicator.column
        self._variables = {variable.name: variable for variable in model.variables}

    def p_value(self, variable: str, words: Callable[[float | None], str]) -> str:
        """The p-value of a variable as a whole, in `words`; empty where it was not tested."""
        tested = self._variables.get(variable)
        return "" if tested is None else words(tested.p_value) + (WITHOUT if tested.without else "")

    def levels(self, variable: str) -> list[str | None]:
        """The levels of a variable, the one that others are compared with first."""
        levels = list(self.effects.get(variable, {}))
        compared = [level for level in levels if level is not None and not self._is_gap(variable, level)]
        baseline = self.model.baselines.get(self._texts.get(variable, variable))
        return [*([baseline] if compared and baseline is not None else []), *levels]

    def _is_gap(self, variable: str, level: str) -> bool:
        effect = self.effects[variable][level]
        return self.model.features[self.model.places_of([effect.feature])[0]].missing

    def cells(self, variable: str, level: str | None) -> tuple[str, str, str]:
        """The effect of a level, its interval and its p-value; empty where the model has nothing of it."""
        effect = self.effects.get(variable, {}).get(level)
        if effect is None:
            is_reference = level is not None and level in self.levels(variable)
            return REFERENCE if is_reference else "", "", ""
        _, shown, interval, p_value, *_ = effect.row(self.model.ratio is not None)
        return shown + _MARKS.get(effect.verdict, ""), interval, p_value


def _lines(columns: Sequence[_Column], single: bool) -> Iterator[Line]:
    for variable in dict.fromkeys(name for column in columns for name in column.effects):
        levels = list(dict.fromkeys(level for column in columns for level in column.levels(variable)))
        if levels != [None]:
            said = [column.p_value(variable, p_text if single else p_words) for column in columns]
            yield Line(variable, ("", "", *said) if single else tuple(said))
        for level in levels:
            is_level = levels != [None]
            label = variable if not is_level else "per unit" if level is None else level
            cells = [column.cells(variable, level) for column in columns]
            if single:
                yield Line(label, cells[0], is_level)
                continue
            # Side by side there is room for an interval below its effect only, and none for p-values.
            both = (f"{shown}\n{interval}" if interval.strip("-") else shown for shown, interval, _ in cells)
            yield Line(label, tuple(both), is_level)


def _selected(model: "LinearModel") -> str:
    """How many features were selected, and of how many columns: a column of text has a feature for each category."""
    columns, count = len(model.columns_selected), len(model.effects)
    of_columns = "" if columns == count else f", of {columns:,} column{'s' * (columns != 1)}"
    return f"{count:,} of {model.n_features:,}{of_columns}"


def _facts(models: Sequence["LinearModel"], width: int) -> list[Line]:
    every = {model.privacy.guarantee.protects.singles.capitalize() for model in models}
    rows = {
        " or ".join(sorted(every)): [
            f"{model.privacy.guarantee.rows or model.privacy.n_records:,}" for model in models
        ],
        "People": ["" if model.privacy.guarantee.rows is None else f"{model.privacy.n_records:,}" for model in models],
        "Features selected": [_selected(model) for model in models],
        "Spread explained": [
            "" if model.spread_explained is None else f"{model.spread_explained:.0%}".replace("%", " %")
            for model in models
        ],
        "Epsilon": [f"{model.privacy.epsilon:.3g}" if model.privacy.private else "NOT PRIVATE" for model in models],
        "Delta": [f"{model.privacy.delta:.2g}" if model.privacy.private else "" for model in models],
    }
    empty = ("",) * (width - len(models))
    return [Line(label, (*cells, *empty)) for label, cells in rows.items() if any(cells)]
