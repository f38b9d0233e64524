"""Gaps and blank records: what a missing cell adds depends on its own record alone, and a blank record adds nothing.

Every sum on a table with gaps is compared with the same sum on the table without its blank records, and with what the
definition gives for pairs: records are paired by their positions, whatever they lack. Tables are read as callers
pass them, one record at a time and all together.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.neighbors import N_FEATURES, N_RECORDS
from dpsparse.data.as_table import as_table
from dpsparse.datasets import make_heavy_tailed
from dpsparse.engine import queries, scores
from dpsparse.engine.quantize import Quantizer

STORAGES = {"C order": np.ascontiguousarray, "Fortran order": np.asfortranarray, "CSR": sparse.csr_matrix}
FAMILIES = (Quantizer(1.5), Quantizer(1e-30, 1e-30), Quantizer(1.3, 0.2, 0.8, of_gaps=True))
GRID = np.array([-np.inf, -2.0, -0.5, 0.0, 0.3, 1.0, np.inf])


def check_gaps() -> Iterator[Finding]:
    """Blank records, then pairs, then what callers pass."""
    yield _blank_records()
    yield _pairs()
    yield _one_at_a_time()


def _table(seed: int = 0) -> NDArray[np.float64]:
    """Responses in column 0; NaN and infinities among features, NaN among responses, for either half of the pairs."""
    X, y, _ = make_heavy_tailed(N_RECORDS, N_FEATURES, 2, df=2.0, random_state=seed)
    table, places = np.column_stack([y, X]), np.arange(N_RECORDS)
    for feature in range(1, 1 + N_FEATURES):
        table[places % 7 == feature, feature] = (np.nan, np.inf, -np.inf)[feature % 3]
    table[places % 6 == 4, 0] = np.nan
    return table


def _rows(table: NDArray[np.float64], storage: Callable[..., Any] = np.ascontiguousarray) -> Any:
    """The rows as an estimator makes them that accepts gaps."""
    validated = as_table(storage(table[:, 1:]))
    return validated.rows(validated.validate(BaseEstimator(), table[:, 0].copy(), allow_missing=True))


@np.errstate(all="ignore")
def _sums(rows: Any, constant: bool = True) -> dict[str, NDArray[np.int64]]:
    """Sums of every kind, with features and indicators as columns."""
    session = rows.session(FAMILIES, constant=constant, check_finite=False)
    for feature in (0, N_FEATURES + 2, 2):
        session.add(feature)
        session.rescale(0.2, 1.5)
    k = 3 + constant
    effects = np.linspace(-0.7, 0.9, k)
    equation = (0.2, effects, 0.8, np.arange(k), 0.9, 2.1)
    terms = scores.Terms("score", np.eye(k) + np.linspace(-0.3, 0.4, k * k).reshape(k, k), range(k), 0.2, effects)
    one = scores.Terms("score", np.eye(1), (0,), 0.2, effects)
    weighted = replace(terms, long_rows=scores.LongRows(terms.matrix, 0.9))
    asked: dict[str, tuple[Any, ...]] = {
        "residual counts": (queries.residual_counts, 0.2, effects, GRID),
        "column counts": (queries.column_counts, k - 1, GRID),
        "slope counts": (queries.slope_counts, effects, k - 1, GRID),
        "spread": (queries.spread_sums, k - 1, 0.7, 6.0),
        "mean": (queries.mean_sums, k - 1, 0.3, 0.7, 2.5),
        "gain": (queries.gain_sums, 0.2, effects, 4.0, 0.5),
        "calibration": (queries.calibration_sums, 0.2, effects, -0.3, 1.5, 2.0),
        "median line": (queries.median_line_sums, 0.2, effects, -0.3, 1.5, 0.9),
        "products": (queries.product_sums, range(k), 1.3),
        "gradient": (queries.gradient_sums, *equation),
        "Gram matrix": (queries.gram_sums, *equation[3:]),
        "Jacobian": (queries.jacobian_sums, *equation),
        "score variance": (queries.variance_sums, *equation),
        "norms of scores": (scores.norm_counts, terms, GRID),
        "mean score": (scores.clipped_sums, terms, 1.3, 0.65, 0.8),
        "mean weighted score": (scores.clipped_sums, weighted, 1.3, 0.65, 0.8),
        "scores with their signs": (scores.score_counts, one, GRID),
        "mean residual": (scores.ranged_sums, one, (0.4, np.inf, 0.0), (2.1, 1.05, 0.8), 1.67),
        "score moments": (scores.second_moment_sums, terms, 1.3),
        "row moments": (scores.second_moment_sums, replace(terms, factor="slope", tau=0.8), 2.1),
    }
    sums = {name: session.evaluate(*query) for name, query in asked.items()}
    sums["scores"] = session.scores(0.2, effects, 2.0, 0.3)
    return sums | {"counts of features": rows.evaluate(queries.feature_counts, GRID)}


def _differing(one: dict[str, NDArray[np.int64]], other: dict[str, NDArray[np.int64]]) -> str | None:
    """The name of a sum that differs, or None."""
    for name in one:
        both = [value if isinstance(value, tuple) else (value,) for value in (one[name], other[name])]
        if not all(map(np.array_equal, *both)):
            return name
    return None


def _blank_records() -> Finding:
    table = _table()
    filled = ~np.isnan(table[:, 0])
    for name, storage in STORAGES.items():
        rows, without = _rows(table, storage), _rows(table[filled], storage)
        differing = _differing(_sums(rows), _sums(without))
        if differing:
            return _finding("blank records", f"they add to {differing} ({name})", False)
    return _finding("blank records", "every sum is that of the table without them", True)


@np.errstate(all="ignore")
def _pairs() -> Finding:
    """Columns of pairs by definition: record i less record n - 1 - i, NaN where either has a gap."""
    table, half = _table(), N_RECORDS // 2
    known = np.where(np.isfinite(table), table, np.nan)
    first, second = known[:half], known[::-1][:half]
    lacks = [np.isnan(each).astype(float) for each in (first, second)]
    blank = np.isnan(first[:, 0] - second[:, 0])
    for name, storage in STORAGES.items():
        session = _rows(table, storage).differences().session((), check_finite=False)
        for feature in range(2 * N_FEATURES):
            session.add(feature)
        read = np.array([column.units for column in session._records.columns])
        expected = np.concatenate([(first - second)[:, 1:], (lacks[0] - lacks[1])[:, 1:]], axis=1)
        expected[blank] = np.nan
        if read.shape != expected.T.shape or not np.array_equal(read, expected.T, equal_nan=True):
            return _finding("pairs with gaps", f"records are not paired by their positions ({name})", False)
    return _finding("pairs with gaps", "record i less record i + n/2, with a gap where either has one", True)


def _one_at_a_time() -> Finding:
    """Tables as callers pass them: a record read by itself is what it is among the others."""
    table = _table()
    kinds: dict[str, Callable[..., Any]] = {"an array": np.asarray, "objects": _objects, "a data frame": _frame}
    for name, make in kinds.items():
        together = _as_read(table, make)
        alone = np.concatenate([_as_read(record[None], make) for record in table], axis=1)
        if together.shape != alone.shape or not np.array_equal(together, alone, equal_nan=True):
            return _finding("gaps one record at a time", f"a record is read by what others hold ({name})", False)
    return _finding("gaps one record at a time", "the same values as in a table", True)


def _objects(X: NDArray[np.float64]) -> NDArray[Any]:
    objects = X.astype(object)
    objects[np.isnan(X)] = None
    return objects


def _frame(X: NDArray[np.float64]) -> Any:
    import pandas

    return pandas.DataFrame(_objects(X))


def _as_read(table: NDArray[np.float64], make: Callable[..., Any]) -> NDArray[np.float64]:
    """Columns and responses as a session has them."""
    validated = as_table(make(table[:, 1:]))
    y = validated.validate(BaseEstimator(), _objects(table[:, 0]), allow_missing=True)
    session: Any = validated.rows(y).session((), constant=True, check_finite=False)
    for feature in range(2 * N_FEATURES):
        session.add(feature)
    columns = [(column.units, column.sanitized) for column in session._records.columns]
    return np.array([session._records.y, *(each for both in columns for each in both)])


def _finding(mechanism: str, evidence: str, good: bool) -> Finding:
    return Finding(mechanism, "a map of single records; a blank one adds nothing", evidence, good)
