"""Row-wise factors of a formula: numbers, comparisons and splines that are made of one record at a time.

A function that would read other records (a mean, a quantile, knots at quantiles) learns from them outside of any
release, and is refused with its public counterpart. Every number that a factor uses stands in the formula.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from dpsparse.schema import FileError

Numbers = NDArray[np.float64]

# Functions of one number.
ROW_WISE: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (np.exp, np.expm1, np.log, np.log10, np.log1p, np.log2, np.sqrt)
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
    "lag": "make the column of earlier values first, of each person's own rows",
}
# What formulas elsewhere have, and where it is here.
OTHERWISE = {
    "factor": "write the name of a column of text alone, or C(x) for any column",
    "Q": "write the name in backticks, such as `my name`",
    "offset": "give exposure=... to PrivateSparsePoissonRegressor",
}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_CUBIC = 3
# Points at which a spline's mean and spread over its limits are taken: far more than it has bends.
_EVEN_POINTS = 1_001


class Reader(Protocol):
    """The cells of some records, by the names of their columns."""

    def numbers(self, name: str) -> Numbers:
        """The numbers of a column; NaN for gaps."""

    def matches(self, name: str, text: str) -> Numbers:
        """Whether the cells of a column are a text, 1 or 0; NaN for gaps."""


@dataclass(frozen=True)
class Expression:
    """A number of each record, from this record alone.

    `text`: as it stands in the formula.

    Examples
    --------
    >>> expression = Expression("I((age - 50) / 15)")
    >>> expression.columns()
    (['age'], [])
    """

    text: str

    def value(self, reader: Reader) -> Numbers:
        """One number for each record; infinite or NaN where there is none."""
        node, names = _parsed(self.text)
        with np.errstate(all="ignore"):
            return np.asarray(_value(node, _Renamed(reader, names)), dtype=np.float64)

    def columns(self) -> tuple[list[str], list[str]]:
        """The columns that are read as numbers, and those that are compared with a text.

        Raises FileError where the expression is not row-wise: nothing is read.
        """
        nothing = _Nothing([], [])
        self.value(nothing)
        if not nothing.as_numbers and not nothing.as_texts:
            raise FileError(f"formula: {self.text} names no column")
        return list(dict.fromkeys(nothing.as_numbers)), list(dict.fromkeys(nothing.as_texts))


@dataclass(frozen=True)
class _Nothing:
    """No records: it notes which columns are asked for."""

    as_numbers: list[str]
    as_texts: list[str]

    def numbers(self, name: str) -> Numbers:
        self.as_numbers.append(name)
        return np.empty(0)

    def matches(self, name: str, text: str) -> Numbers:
        self.as_texts.append(name)
        return np.empty(0)


@dataclass(frozen=True)
class _Renamed:
    """A reader whose columns have other names: those in backticks are no names of Python's."""

    reader: Reader
    names: dict[str, str]

    def numbers(self, name: str) -> Numbers:
        return self.reader.numbers(self.names.get(name, name))

    def matches(self, name: str, text: str) -> Numbers:
        return self.reader.matches(self.names.get(name, name), text)


def _parsed(text: str) -> tuple[ast.expr, dict[str, str]]:
    names: dict[str, str] = {}

    def placeholder(found: re.Match[str]) -> str:
        return next((key for key, name in names.items() if name == found[1]), None) or _noted(names, found[1])

    try:
        return ast.parse(re.sub(r"`([^`]+)`", placeholder, text), mode="eval").body, names
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FileError(f"formula: {text} cannot be read; it must be an expression such as log1p(income)") from None


def _noted(names: dict[str, str], name: str) -> str:
    key = f"_in_backticks_{len(names)}"
    names[key] = name
    return key


def _value(node: ast.expr, reader: Any) -> Any:
    match node:
        case ast.Name(id=name):
            return reader.numbers(name)
        case ast.Constant(value=bool() | int() | float() as number):
            return float(number)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, reader), _value(right, reader))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return np.negative(_value(operand, reader))
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=str() as text)]):
            return reader.matches(name, text)
        case ast.Compare(left=ast.Name(id=name), ops=[ast.NotEq()], comparators=[ast.Constant(value=str() as text)]):
            return 1 - reader.matches(name, text)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
            sides = [np.asarray(_value(side, reader), dtype=np.float64) for side in (left, right)]
            # What is missing is on neither side of a limit.
            return np.where(np.isnan(sides[0]) | np.isnan(sides[1]), np.nan, _OPERATORS[type(op)](*sides))
        case ast.Call(func=ast.Name(id="I"), args=[inside], keywords=[]):
            return _value(inside, reader)
        case ast.Call(func=ast.Name(id=name), args=[inside], keywords=[]) if name in ROW_WISE:
            return ROW_WISE[name](_value(inside, reader))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name), args=[inside], keywords=[]) if (
            name in ROW_WISE
        ):
            return ROW_WISE[name](_value(inside, reader))
        case ast.Call(func=func):
            raise FileError(f"formula: {ast.unparse(func)}(...) {_refusal(ast.unparse(func))}")
    raise FileError("formula: a term has columns, numbers, arithmetic, comparisons and functions of one number")


def _refusal(name: str) -> str:
    if name in LEARNING:
        return f"reads other records, which no release pays for: {LEARNING[name]}"
    if name in OTHERWISE:
        return f"is not of a formula here: {OTHERWISE[name]}"
    if name in ("C", "bs"):
        return "stands alone, or in a product a:C(b): it cannot be a part of arithmetic"
    return f"is no row-wise function of a formula: use {', '.join(ROW_WISE)}, I(...), C(...) or bs(...)"


def category_of(text: str) -> str | None:
    """The column of C(column); None for any other factor."""
    match _parsed(text):
        case ast.Call(func=ast.Name(id="C"), args=[ast.Name(id=name)], keywords=[]), names:
            return names.get(name, name)
        case ast.Call(func=ast.Name(id="C")), _:
            raise FileError("formula: C(...) takes one column, such as C(region); its categories are learned privately")
    return None


@dataclass(frozen=True)
class Spline:
    """Cubic B-splines with public knots; numbers beyond the public limits are at them.

    The first one is left out: it follows from the others and the constant.

    Examples
    --------
    >>> spline = Spline.of("bs(age, knots=[30, 50, 70], lower=0, upper=110)")
    >>> spline.inside.text, len(spline.names), [round(unit, 2) for unit in spline.units()[0]]
    ('age', 6, [0.11, 0.19])
    """

    inside: Expression
    limits: tuple[float, ...]

    @classmethod
    def of(cls, text: str) -> "Spline | None":
        """The spline of a factor; None for any other factor."""
        node, names = _parsed(text)
        match node:
            case ast.Call(func=ast.Name(id="bs"), args=args, keywords=keywords):
                pass
            case _:
                return None
        try:
            given = {each.arg: ast.literal_eval(each.value) for each in keywords}
            (column,) = args
            limits = np.array([given.pop("lower"), *given.pop("knots"), given.pop("upper")], dtype=float)
        except (ValueError, TypeError, KeyError):
            raise FileError(f"formula: bs needs public numbers: {_KNOTS}") from None
        if given or not np.all(np.diff(limits) > 0) or not np.all(np.isfinite(limits)):
            raise FileError(f"formula: bs needs knots that increase, between lower and upper: {_KNOTS}")
        inside = ast.unparse(column)
        for key, name in names.items():
            inside = inside.replace(key, f"`{name}`")
        return cls(Expression(inside), tuple(limits.tolist()))

    @property
    def variable(self) -> str:
        """What all its columns are of."""
        return f"bs({self.inside.text})"

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [f"{self.variable}[{place}]" for place in range(1, len(self.limits) + _CUBIC - 1)]

    def values(self, reader: Reader) -> Iterator[Numbers]:
        """Its columns, in order; NaN for gaps."""
        values = self.inside.value(reader)
        basis = self._basis(np.where(np.isnan(values), self.limits[0], values))
        basis[np.isnan(values)] = np.nan
        yield from basis.T[1:]

    def _basis(self, values: Numbers) -> Numbers:
        lower, upper = self.limits[0], self.limits[-1]
        padded = np.array([*[lower] * _CUBIC, *self.limits, *[upper] * _CUBIC], dtype=np.float64)
        if not len(values):
            return np.empty((0, len(padded) - _CUBIC - 1))
        return np.asarray(BSpline.design_matrix(np.clip(values, lower, upper), padded, _CUBIC).toarray())

    def units(self) -> list[tuple[float, float]]:
        """The centre and the scale of each column if numbers lay evenly between the public limits: nothing is read."""
        basis = self._basis(np.linspace(self.limits[0], self.limits[-1], _EVEN_POINTS))[:, 1:]
        return [*zip(basis.mean(axis=0).tolist(), basis.std(axis=0).tolist(), strict=True)]
