"""Whether a selected column seems to number the rows, from its public name and its released unit: nothing is read."""

import math
import re
import shlex
from typing import TYPE_CHECKING

from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.schema import listed

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

# Names, in small letters alone, that programs and people give to a number of the row or of the person.
NAMES = frozenset(
    {
        "id",
        "ids",
        "index",
        "indexlevel",
        "line",
        "lineno",
        "linenumber",
        "nr",
        "obs",
        "observation",
        "observationid",
        "patientid",
        "personid",
        "pid",
        "record",
        "recordid",
        "recordno",
        "recordnumber",
        "row",
        "rowid",
        "rowindex",
        "rowname",
        "rownames",
        "rowno",
        "rownr",
        "rownumber",
        "rows",
        "serial",
        "serialnumber",
        "subjectid",
        "unnamed",
    }
)
# The numbers 1 to n have a centre of n / 2, and typical pairs of them differ by n / 3. Noise and grids move a released
# centre and scale: scales within these parts of n, and centres by at most a sixth, and less in larger tables, in
# proportion to 1 / (n sqrt(rho)). Of 24 such columns in 5,000 and 20,000 records at epsilon 1 none was further off, and
# of as many incomes with a median of 0.6 n none was as near.
SCALES, FURTHEST, NEARLY, PER_SIZE = (1 / 5, 2 / 3), 1 / 6, 0.02, 50


def row_numbers(model: "LinearModel") -> str:
    """Which selected columns seem to number the rows, and what to do; empty where none does."""
    numbers = [(effect, feature.column) for effect, feature in model._selected if _is_number(feature)]
    named = [column for _, column in numbers if has_such_a_name(column)]
    n = model.privacy.guarantee.rows or model.privacy.n_records
    spread = [
        column
        for effect, column in numbers
        if column not in named
        and has_such_a_unit(effect, n, math.sqrt(model.privacy.guarantee.rho_per_record))
        # Where nothing was learned units are noise.
        and model.response_scale_known
    ]
    parts = [f"{listed(named)}, by the name"] if named else []
    if spread:
        parts.append(f"{listed(spread)}, whose released centre and scale are like those of the numbers 1 to {n:,}")
    if not parts:
        return ""
    dropped = " ".join(f"--drop {shlex.quote(column)}" for column in (*named, *spread))
    return (
        f"perhaps {'; and '.join(parts)}. If a column numbers the rows or the people, its effect is that of the order "
        f"in the file: leave it out of the next fit ({dropped}, or drop in a bounds file)"
    )


def _is_number(feature: Feature) -> bool:
    plain = feature.category is None and feature.buckets is None and feature.within is None and not feature.missing
    return plain and (feature.kind is None or feature.kind.startswith("number"))


def has_such_a_name(column: str) -> bool:
    """Whether a column is called as numbers of rows are.

    Examples
    --------
    >>> [has_such_a_name(name) for name in ("Unnamed: 0", "row.names", "patient_id", "age", "idle")]
    [True, True, True, False, False]
    """
    return re.sub("[^a-z]", "", column.lower()) in NAMES


def has_such_a_unit(effect: Effect, n_records: int, root_rho: float) -> bool:
    """Whether the released centre and scale of an effect's feature are like those of the numbers 1 to n."""
    if effect.center is None or effect.scale is None:
        return False
    center, scale = effect.center / n_records, effect.scale / n_records
    off = min(FURTHEST, NEARLY + PER_SIZE / (n_records * root_rho))
    return abs(center - 1 / 2) <= off and SCALES[0] <= scale <= SCALES[1]
