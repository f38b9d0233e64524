"""Single records: a record's term depends on it alone, is an integer within its bound, and sums are exact.

Every function of the engines that makes terms is run on a table and on each of its rows by itself; the results must
agree to the last bit. Sums are compared with Python's unbounded integers, in every storage, blocking and order of rows.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.neighbors import CLIP, N_FEATURES, pairs
from dpsparse.data.as_table import as_table
from dpsparse.datasets import make_heavy_tailed
from dpsparse.engine import queries, scores
from dpsparse.engine.config import configured
from dpsparse.engine.quantize import (
    EXACT_BELOW,
    FEATURE_LEVELS,
    WEIGHT_LEVELS,
    Quantizer,
    check_exact,
    weight_levels,
)
from dpsparse.engine.threads import threads
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS, integer_vectors, norms

COEF = np.array([0.7, -1.3, 0.11, 1 / 3])
QUANTIZERS = (Quantizer(CLIP), Quantizer(0.7, np.array([0.3, -1.0, 50.0, 0.0]), np.array([2.0, 0.1, 7.0, 1.0])))
# Enough rows at the largest term to pass 2^31 in one sum and 2^24 in few.
FULL_SCALE_ROWS = 3_001


def check_terms() -> Iterator[Finding]:
    """Terms of single records, then sums over them."""
    for check in (_one_at_a_time, _queries, _exact_sums, _full_scale, _too_many_records):
        yield check()


def _tables() -> list[NDArray[np.float64]]:
    X, y, _ = make_heavy_tailed(301, N_FEATURES, 2, df=2.0, random_state=2)
    hostile = [row for pair in pairs() for row in (pair.first, pair.second)]
    return [np.column_stack([y, X]), np.array(hostile)]


def _terms(
    table: NDArray[np.float64], storage: Callable[..., Any]
) -> Iterator[tuple[str, int | None, NDArray[np.float64]]]:
    """Every term the engines make of a table, as named arrays with one column a record."""
    X = storage(table[:, 1:])
    rows: Any = as_table(X).rows(table[:, 0].copy())
    for quantizer in QUANTIZERS:
        yield "levels", FEATURE_LEVELS, quantizer.levels(table[:, 1:].copy()).T
        with np.errstate(all="ignore"):
            residuals = rows.residuals(COEF, range(N_FEATURES), quantizer)
        session = rows.session((quantizer,), check_finite=False)
        for feature in range(N_FEATURES):
            session.add(feature)
            session.rescale(*quantizer.center_and_scale(feature))
        chosen = session._records
        yield "residuals", None, np.array([residuals, chosen.residuals(0.0, COEF)])
        yield "weights", WEIGHT_LEVELS, weight_levels(residuals, 0.7)[None]
        columns = chosen.sanitized(range(N_FEATURES))
        with np.errstate(all="ignore"):
            within = np.minimum(1.0, 1.2 / norms(columns))
        with np.errstate(all="ignore"):
            yield "scores", None, np.concatenate([scores._vectors(chosen, each)[0] for each in (SCORES, SLOPES)])
        yield "vectors", VECTOR_LEVELS, integer_vectors(columns, within, 1.2, VECTOR_LEVELS)
        yield "Gram factors", GRAM_LEVELS, integer_vectors(columns, within, 1.2, GRAM_LEVELS)


def _violation(table: NDArray[np.float64], storage: Callable[..., Any] | type[Any]) -> str | None:
    alone = [list(_terms(row[None], storage)) for row in table]
    for k, (name, bound, terms) in enumerate(_terms(table, storage)):
        apart = np.concatenate([record[k][2] for record in alone], axis=1)
        if terms.tobytes() != np.ascontiguousarray(apart).tobytes():
            return f"a record's {name} depend on other records"
        if bound is None:
            continue
        if not (terms == np.rint(terms)).all():
            return f"{name} are not integers"
        squares = (terms.astype(object) ** 2).sum(axis=0) if name in ("vectors", "Gram factors") else (terms**2).max(0)
        if max(squares) > bound**2:
            return f"{name} exceed their bound"
    return None


def _one_at_a_time() -> Finding:
    storages = {"dense": np.ascontiguousarray, "Fortran": np.asfortranarray, "CSR": sparse.csr_matrix}
    for table in _tables():
        for name, storage in storages.items():
            violation = _violation(table, storage)
            if violation:
                return _finding("records one at a time", f"{violation} ({name})", False)
    return _finding("records one at a time", "the same bits as in a table, all integers within bounds", True)


GRID = np.array([-1e9, -2.0, -0.5, 0.0, 0.3, 1.0, 2.5, 1e9])
EQUATION = (0.2, COEF, 0.8, [0, 2, 3], 0.9, 2.1)
MATRIX = np.array([[1.3, -0.4, 0.1], [0.2, 0.9, -0.5], [0.0, 0.3, 1.1]])
SCORES = scores.Terms("score", MATRIX, [0, 2, 3], 0.2, COEF)
SLOPES = scores.Terms("slope", MATRIX, [0, 2, 3], 0.2, COEF, 0.8)
WEIGHTED = replace(SCORES, long_rows=scores.LongRows(MATRIX.T, 0.7))
ONE = scores.Terms("score", np.eye(1), [2], 0.2, COEF)
NORMS = np.append(np.geomspace(0.1, 1e6, 20), np.inf)
# Each with its public numbers and, for sums of vectors, the largest norm of a record's integers.
QUERIES: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "residual counts": (queries.residual_counts, (0.2, COEF, GRID), None),
    "sizes of residuals": (queries.residual_counts, (0.2, COEF, GRID[3:], True), None),
    "column counts": (queries.column_counts, (1, GRID), None),
    "slope counts": (queries.slope_counts, (COEF, 2, GRID), None),
    "spread": (queries.spread_sums, (0, 0.7, 6.0), VECTOR_LEVELS),
    "mean": (queries.mean_sums, (1, 0.3, 0.7, 2.5), VECTOR_LEVELS),
    "gain": (queries.gain_sums, (0.2, COEF, 4.0, 0.5), VECTOR_LEVELS),
    "calibration": (queries.calibration_sums, (0.2, COEF, -0.3, 1.5, 2.0), VECTOR_LEVELS),
    "median line": (queries.median_line_sums, (0.2, COEF, -0.3, 1.5, 0.9), VECTOR_LEVELS),
    "products": (queries.product_sums, (range(3), 1.3), VECTOR_LEVELS),
    "gradient": (queries.gradient_sums, EQUATION, None),
    "Gram matrix": (queries.gram_sums, EQUATION[3:], GRAM_LEVELS**2),
    "Jacobian": (queries.jacobian_sums, EQUATION, GRAM_LEVELS**2),
    "score variance": (queries.variance_sums, EQUATION, GRAM_LEVELS**2),
    "norms of scores": (scores.norm_counts, (SCORES, NORMS), None),
    "norms of rows": (scores.norm_counts, (SLOPES, NORMS), None),
    "norms of weighted scores": (scores.norm_counts, (WEIGHTED, NORMS), None),
    "mean score": (scores.clipped_sums, (SCORES, 0.9, np.inf, 0.0), VECTOR_LEVELS),
    "mean weighted score": (scores.clipped_sums, (WEIGHTED, 0.9, np.inf, 0.0), VECTOR_LEVELS),
    "mean score, rising": (scores.clipped_sums, (SCORES, 2.1, 1.05, 2.0), VECTOR_LEVELS),
    "scores with their signs": (scores.score_counts, (ONE, GRID), None),
    "mean residual": (scores.ranged_sums, (ONE, (0.4, np.inf, 0.0), (2.1, 1.05, 2.0), 4.2), VECTOR_LEVELS),
    "score moments": (scores.second_moment_sums, (SCORES, 2.1), GRAM_LEVELS**2),
    "weighted score moments": (scores.second_moment_sums, (WEIGHTED, 2.1), GRAM_LEVELS**2),
    "row moments": (scores.second_moment_sums, (SLOPES, 0.9), GRAM_LEVELS**2),
}


@np.errstate(all="ignore")
def _queries() -> Finding:
    """Every query on a table, and on each record by itself; and each record's integers within their norm."""
    for table in _tables():
        rows: Any = as_table(table[:, 1:].copy()).rows(table[:, 0].copy())
        for kind in (rows, rows.differences()):
            session = kind.session((), check_finite=False)
            for feature in range(N_FEATURES):
                session.add(feature)
            records = session._records
            for name, (query, public, norm) in QUERIES.items():
                apart = [query(records.take(slice(k, k + 1)), *public) for k in range(len(records.y))]
                together = query(records, *public)
                if not all(map(np.array_equal, _arrays(together), _arrays(queries.total(apart)))):
                    return _finding("queries one record at a time", f"{name} depend on other records", False)
                if norm and max((np.square(term.astype(object)).sum() for term in apart), default=0) > norm**2:
                    return _finding("queries one record at a time", f"{name} exceed their norm", False)
    evidence = f"{len(QUERIES)} queries, on records and on pairs, add up to the same integers"
    return _finding("queries one record at a time", evidence, True)


def _arrays(value: NDArray[np.int64] | tuple[NDArray[np.int64], int]) -> tuple[NDArray[np.int64] | int, ...]:
    return value if isinstance(value, tuple) else (value,)


@np.errstate(all="ignore")
def _exact_sums() -> Finding:
    for table, quantizer in itertools.product(_tables(), QUANTIZERS):
        X = np.where(np.abs(table[:, 1:]) < 0.5, 0.0, table[:, 1:])
        weights = weight_levels(table[:, 0], 1.0)
        levels = quantizer.levels(X.copy()).astype(int).astype(object)
        exact = (levels * weights.astype(int).astype(object)[:, None]).sum(axis=0).tolist()
        orders = (slice(None), np.arange(len(X))[::-1])
        for storage, order, records, compiled in itertools.product(
            (np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix), orders, (7, 37, 2**18), (True, False)
        ):
            in_blocks = _sums_in_blocks(storage(X[order]), weights[order].copy(), quantizer, records, compiled)
            if any(sums.tolist() != exact for sums in in_blocks):
                return _finding("sums over rows", "storage, blocks, order or compiled loops change a sum", False)
    return _finding("sums over rows", "the same integers in every storage, blocking and order, compiled or not", True)


def _sums_in_blocks(
    X: Any, weights: NDArray[np.float64], quantizer: Quantizer, records: int, compiled: bool
) -> list[NDArray[np.int64]]:
    """`_sums` over blocks of `records` records in two threads, by compiled kernels or by NumPy."""
    sizes = {"least_records": 1, "most_records": records, "block_bytes": 64 * records}
    with configured(compiled=compiled, **sizes), threads(2):
        return _sums(as_table(X).rows(weights), quantizer)


def _sums(rows: Any, quantizer: Quantizer) -> list[NDArray[np.int64]]:
    """Sums over blocks of rows whose responses are weight levels: of features, and of levels kept."""
    (of_levels,) = rows.quantized((quantizer,), check_finite=False).weighted_sums(rows.y)
    return [rows.evaluate(lambda block: block.weighted_sums(quantizer, block.y)), of_levels]


def _full_scale() -> Finding:
    X, weights = np.full((FULL_SCALE_ROWS, 2), 1e9), np.full(FULL_SCALE_ROWS, float(WEIGHT_LEVELS))
    exact = [FULL_SCALE_ROWS * FEATURE_LEVELS * WEIGHT_LEVELS] * 2
    for storage in (np.ascontiguousarray, sparse.csr_matrix):
        rows = as_table(storage(X)).rows(weights)
        for sums in _sums(rows, QUANTIZERS[0]):
            if sums.tolist() != exact:
                return _finding("sums at full scale", "an integer overflows", False)
    return _finding("sums at full scale", f"{FULL_SCALE_ROWS:,} largest terms add up exactly", True)


def _too_many_records() -> Finding:
    most = (EXACT_BELOW - 1) // (FEATURE_LEVELS * WEIGHT_LEVELS)
    try:
        check_exact(most)
        check_exact(most + 1)
    except OverflowError as refused:
        good = str(most + 1) in str(refused)
        return _finding("more records than exact sums allow", f"refused beyond {most:,}", good)
    return _finding("more records than exact sums allow", "accepted", False)


def _finding(mechanism: str, evidence: str, good: bool) -> Finding:
    return Finding(mechanism, "exact integers, one record at a time", evidence, good)
