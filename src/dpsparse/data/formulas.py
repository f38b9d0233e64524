"""Formulas, of terms that read one record at a time: ``cost ~ age + C(region) + log1p(income) + age:smoker``.

A term that would read other records (a mean, a quantile, knots at quantiles) learns from them outside of any release,
and is refused with its public counterpart. Every number that a term uses stands in the formula.
"""

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from dpsparse.schema import alternatives, quoted

# Functions of one number.
ROW_WISE: dict[str, Any] = {
    each.__name__: each for each in (np.abs, np.exp, np.expm1, np.log, np.log10, np.log1p, np.log2, np.sqrt)
} | {"abs": np.abs}
_LEARNED_UNITS = "leave it out, since a fit learns units privately; or write I((x - 50) / 15) with public numbers"
_POWERS = "write powers, such as I(x**2), or bs(x, knots=[30, 50, 70], lower=0, upper=110) with public knots"
_KNOTS = "write bs(x, knots=[30, 50, 70], lower=0, upper=110) with public knots"
# What reads other records, and what to write in its place.
LEARNING = {
    **dict.fromkeys(["scale", "center", "standardize", "normalize", "rank"], _LEARNED_UNITS),
    "poly": _POWERS,
    **dict.fromkeys(["ns", "cr", "cs", "cc", "te", "s", "hinge"], _KNOTS),
    **dict.fromkeys(["cut", "qcut"], "write I(x >= 50) with public limits"),
}
_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.USub: np.negative,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_CUBIC = 3


def formula_frame(formula: str, data: Any) -> tuple[Any, Any]:
    """The features and the responses of a formula, for `fit`.

    Parameters
    ----------
    formula : str
        A response and features, such as ``"cost ~ age + C(region) + log1p(income) + age:smoker"``. Terms are columns as
        they are (also text and dates), ``C(column)`` to read numbers as categories, functions of one number (``log``,
        ``log1p``, ``sqrt``, ``exp``, ``abs``, ...), arithmetic and comparisons in ``I(...)``, products of numbers
        ``a:b`` (and ``a*b``, which is ``a + b + a:b``), products with a public category such as ``age:I(sex == 'm')``,
        and cubic splines with public knots, ``bs(age, knots=[30, 50, 70], lower=0, upper=110)``.
    data : data frame of pandas, polars or pyarrow
        The records, or new ones to predict.

    Returns
    -------
    X : pandas.DataFrame
        One column for each term, or several for a spline.
    y : pandas.Series or None
        The responses; None where `data` has not their columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse import formula_frame
    >>> people = pd.DataFrame({"age": [30.0, 50.0], "income": [0.0, 1.0], "region": ["north", "south"], "cost": [1, 2]})
    >>> X, y = formula_frame("cost ~ age + log1p(income) + region + I(age**2)", people)
    >>> list(X.columns), y.name
    (['age', 'log1p(income)', 'region', 'I(age ** 2)'], 'cost')
    >>> formula_frame("cost ~ scale(age)", people)
    Traceback (most recent call last):
    ...
    ValueError: scale(...) reads other records, which no release pays for: leave it out, since a fit learns units \
privately; or write I((x - 50) / 15) with public numbers
    """
    response, between, features = formula.partition("~")
    if not between or not response.strip() or not features.strip() or "~" in features:
        raise ValueError("formula must have a response and features, such as 'cost ~ age + C(region)'")
    data = _as_pandas(data)
    terms = list(dict.fromkeys(ast.unparse(term) for term in _terms(_parsed(features))))
    _check_names(terms, data)
    index = data.index
    columns: dict[str, Any] = {}
    with np.errstate(all="ignore"):
        for term in terms:
            columns |= _columns(ast.parse(term, mode="eval").body, data)
        whole = _parsed(response)
        has_response = {name.id for name in _names(whole)} <= {*map(str, data.columns)}
        (name, values), *others = _columns(whole, data).items() if has_response else [("", None)]
    if others:
        raise ValueError("the response of a formula is one column, or a function of one number")
    from pandas import DataFrame

    # By position: labels of rows are those of the data.
    frame = DataFrame({each: _series(values, index) for each, values in columns.items()})
    return frame, _series(values, index).rename(name) if has_response else None


def _series(values: Any, index: Any) -> Any:
    """A column of a frame; one of a declared type keeps it, whatever its cells are."""
    from pandas import Series

    return values.set_axis(index) if isinstance(values, Series) else Series(values, index=index)


def _as_pandas(data: Any) -> Any:
    """A frame of pandas with the declared types.

    Types of NumPy's would depend on cells: booleans with a gap would be objects, and a late date would be an error.
    """
    if hasattr(data, "get_columns"):
        return data.to_pandas(use_pyarrow_extension_array=True)
    if hasattr(data, "column_names"):
        from pandas import ArrowDtype

        return data.to_pandas(types_mapper=ArrowDtype)
    return data


def _parsed(text: str) -> ast.expr:
    # A product of terms is a colon, which Python's expressions do not have; no other part of a formula has one.
    try:
        return ast.parse(text.strip().replace(":", "@"), mode="eval").body
    except SyntaxError:
        raise ValueError("the formula cannot be read: separate terms by +, and write products as a:b") from None


def _terms(side: ast.expr) -> Iterator[ast.expr]:
    """The terms of a sum; a * b stands for both and their product."""
    match side:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _terms(left)
            yield from _terms(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield from _terms(left)
            yield from _terms(right)
            yield ast.BinOp(left=left, op=ast.MatMult(), right=right)
        case ast.BinOp(op=ast.MatMult()) | ast.Name() | ast.Call():
            yield side
        case _:
            raise ValueError(
                "a term of a formula is a column, a function of one or a product a:b; use I(...) for others"
            )


def _names(term: ast.AST) -> Iterator[ast.Name]:
    """The columns of a term; the name of a function is none."""
    functions = {id(node.func) for node in ast.walk(term) if isinstance(node, ast.Call)}
    return (node for node in ast.walk(term) if isinstance(node, ast.Name) and id(node) not in functions)


def _check_names(terms: list[str], data: Any) -> None:
    known = [*map(str, data.columns)]
    for name in (name.id for term in terms for name in _names(ast.parse(term, mode="eval"))):
        if name not in known:
            raise ValueError(f"data has no column {quoted(name)}; {alternatives(name, known)}")


def _columns(term: ast.expr, data: Any) -> dict[str, Any]:
    """The columns of a term, by name."""
    label = ast.unparse(term).replace(" @ ", ":")
    match term:
        case ast.Name(id=name):
            return {name: data[name]}
        case ast.Call(func=ast.Name(id="C"), args=[ast.Name(id=name)], keywords=[]):
            return {name: _levels(data[name])}
        case ast.Call(func=ast.Name(id="bs")):
            return _spline(term, data)
    return {label: _value(term, data)}


def _levels(column: Any) -> Any:
    """A column as categories: numbers as texts that nobody reads as numbers, of one type whatever they are."""
    if column.dtype.kind not in "biuf":
        return column
    from pandas import Series

    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan).tolist()
    return Series([None if number != number else f"level {number:g}" for number in numbers], dtype=object)


def _value(node: ast.expr, data: Any) -> Any:
    """A number for each record, from this record alone."""
    match node:
        case ast.Name(id=name):
            return _numbers(name, data)
        case ast.Constant(value=bool() | int() | float() as number):
            return number
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return np.multiply(_value(left, data), _value(right, data))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, data), _value(right, data))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return np.negative(_value(operand, data))
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=str() as text)]):
            column = data[name]
            return np.where(column.isna(), np.nan, column.astype(object) == text)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
            sides = [np.asarray(_value(side, data), dtype=np.float64) for side in (left, right)]
            # What is missing is on neither side of a limit.
            return np.where(np.isnan(sides[0]) | np.isnan(sides[1]), np.nan, _OPERATORS[type(op)](*sides))
        case ast.Call(func=ast.Name(id="I"), args=[inside], keywords=[]):
            return _value(inside, data)
        case ast.Call(func=ast.Name(id=name), args=[inside], keywords=[]) if name in ROW_WISE:
            return ROW_WISE[name](_value(inside, data))
        case ast.Call(func=func):
            raise ValueError(f"{ast.unparse(func)}(...) {_refusal(ast.unparse(func))}")
    raise ValueError("a term of a formula has columns, numbers, arithmetic and functions of one number")


def _refusal(name: str) -> str:
    if name in LEARNING:
        return f"reads other records, which no release pays for: {LEARNING[name]}"
    if name in ("C", "bs"):
        return "stands alone in a term: write it with one column, and without products"
    return f"is no row-wise function of a formula: use {', '.join(ROW_WISE)}, I(...), C(...) or bs(...)"


def _numbers(name: str, data: Any) -> NDArray[np.float64]:
    if data[name].dtype.kind not in "biuf":
        raise ValueError(f"{quoted(name)} is no column of numbers by its type: use it as it is, or convert it first")
    return np.asarray(data[name].to_numpy(dtype=np.float64, na_value=np.nan))


def _spline(term: ast.Call, data: Any) -> dict[str, NDArray[np.float64]]:
    """Cubic B-splines with public knots; numbers beyond the public limits are at them."""
    try:
        given = {each.arg: ast.literal_eval(each.value) for each in term.keywords}
        (column,) = term.args
        knots, lower, upper = np.array(given.pop("knots"), dtype=float), float(given.pop("lower")), given.pop("upper")
        limits = np.array([lower, *knots, float(upper)])
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"bs needs public numbers: {_KNOTS}") from None
    if given or not np.all(np.diff(limits) > 0) or not np.all(np.isfinite(limits)):
        raise ValueError(f"bs needs knots that increase, between lower and upper: {_KNOTS}")
    values = np.asarray(_value(column, data), dtype=np.float64)
    inside = np.clip(np.where(np.isnan(values), lower, values), lower, float(upper))
    padded = np.concatenate([[lower] * _CUBIC, limits, [float(upper)] * _CUBIC])
    basis = BSpline.design_matrix(inside, padded, _CUBIC).toarray()
    basis[np.isnan(values)] = np.nan
    # The first one follows from the others and the constant.
    return {f"bs({ast.unparse(column)})[{k}]": basis[:, k] for k in range(1, basis.shape[1])}
