"""Formulas such as ``cost ~ age*sex + log1p(income) + C(region)``, read from their text and from public types alone.

Formulaic's parser reads the text: which terms ``*``, ``:``, ``^``, ``-`` and parentheses stand for. Its materializer,
which makes the columns, is not used: it reads the data for what a term needs (the levels of a category, the knots of a
spline, the mean of `scale`), and no release would pay for that. Here a factor is a function of one record
(`formula_terms`), and what is to be learned of columns, such as categories, a fit learns within its guarantee.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dpsparse.io.cells.formula_terms import Expression, Spline, category_of
from dpsparse.io.cells.grammar import Kind
from dpsparse.schema import FileError, alternatives, quoted

# What is said to somebody who wrote no formula.
EXAMPLE = "such as 'cost ~ age*sex + log1p(income) + C(region)'"


@dataclass(frozen=True)
class Product:
    """A number times each category of a column: one variable of several features."""

    number: str
    category: str


@dataclass(frozen=True)
class Formula:
    """What a formula makes of a table's columns.

    `text`: the formula, with every product and every column written out.
    `kinds`: how the table's own columns are read that the terms are made of.
    `target`: the column of responses.
    `columns`: the columns of features: the table's own, and those that terms make.
    `numbers`: for each column that is made, the expressions whose product it is.
    `splines`: each makes several columns of one variable.
    `joined`: columns whose text is that of several categories together.
    `categories`: the columns that are read as text whatever their type.
    `products`: numbers times categories.
    """

    text: str
    kinds: dict[str, str]
    target: str
    columns: tuple[str, ...]
    numbers: dict[str, tuple[Expression, ...]] = field(default_factory=dict)
    splines: tuple[Spline, ...] = ()
    joined: dict[str, tuple[str, ...]] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    products: tuple[Product, ...] = ()

    @property
    def target_column(self) -> str:
        """The table's own column that responses are made of; the first one of several."""
        if self.target not in self.numbers:
            return self.target
        as_numbers, as_texts = self.numbers[self.target][0].columns()
        return (as_numbers or as_texts)[0]

    @property
    def variables(self) -> dict[str, str]:
        """The variable of each column that is one of several of a spline."""
        return {name: spline.variable for spline in self.splines for name in spline.names}

    @property
    def units(self) -> dict[str, tuple[float, float]]:
        """Centres and scales of the columns of splines, if numbers lay evenly between their public limits."""
        return {name: unit for spline in self.splines for name, unit in zip(spline.names, spline.units(), strict=True)}

    @cached_property
    def made(self) -> dict[str, Kind]:
        """The columns that it adds to the table's own, and how they are read."""
        return {
            **dict.fromkeys([*self.numbers, *self.variables], Kind.number),
            **dict.fromkeys(self.joined, Kind.text),
        }

    def sources(self, column: str) -> list[str]:
        """The table's own columns that a column is made of."""
        if column in self.joined:
            return list(self.joined[column])
        expressions = self.numbers.get(column, ())
        expressions = expressions or tuple(each.inside for each in self.splines if column in each.names)
        read = [name for each in expressions for names in each.columns() for name in names]
        return list(dict.fromkeys(read)) or [column]


def read_formula(
    text: str,
    names: Sequence[str] | None,
    kinds: Mapping[str, Any],
    *,
    text_types: Collection[str] = (),
    apart: Collection[str | None] = (),
) -> Formula:
    """The formula in a text, for a table with these columns; None for any table, where the text was read before.

    `kinds` are public: how columns are read. `text_types` are the columns that are text or categories by their type. Of
    all other columns it is not known whether they are numbers. Those `apart`, such as ids, are not among the others
    that "." stands for. Raises FileError with the remedy, before a value is read.

    Examples
    --------
    >>> kinds = {"age": "number", "sex": "text"}
    >>> formula = read_formula("cost ~ age*sex", ["age", "sex", "cost"], kinds)
    >>> formula.text, formula.columns, formula.products
    ('cost ~ age + sex + age:sex', ('age', 'sex'), (Product(number='age', category='sex'),))
    """
    left, right = _sides(text, [name for name in names or () if name not in apart])
    reading = _Reading(names, kinds, text_types)
    if len(left) != 1 or len(left[0]) != 1:
        raise FileError(f"formula: the response is one column, or a function of one, {EXAMPLE}")
    target = reading.response(left[0][0])
    for term in right:
        reading.add(term)
    reading.check(target)
    canonical = f"{_written(left[0])} ~ {' + '.join(map(_written, right))}"
    return Formula(
        canonical,
        reading.kinds_read,
        target,
        tuple(dict.fromkeys(reading.columns)),
        reading.numbers,
        tuple(dict.fromkeys(reading.splines)),
        reading.joined,
        tuple(dict.fromkeys(reading.categories)),
        tuple(dict.fromkeys(reading.products)),
    )


# A factor: its text, and whether it is the name of a column.
_Factor = tuple[str, bool]


def _sides(text: str, others: Sequence[str]) -> tuple[list[list[_Factor]], list[list[_Factor]]]:
    """The terms on both sides, each a list of factors; "." stands for the `others` that are not on the left."""
    try:
        from formulaic.parser import DefaultFormulaParser  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        raise FileError("formula: reading one needs formulaic: pip install 'dpsparse[data]'") from None
    if not isinstance(text, str) or text.count("~") != 1 or not all(map(str.strip, text.split("~"))):
        raise FileError(f"formula must have a response and features, {EXAMPLE}")
    known = {"__formulaic_variables_available__": list(others)}
    try:
        sides = DefaultFormulaParser().get_terms(text, context=known)
        left, right = [[_factors(term) for term in side] for side in (sides.lhs, sides.rhs)]
    except Exception:
        # Formulaic's errors have several lines, and depend on the text alone.
        raise FileError(
            "formula cannot be read: separate terms by +, write products as a:b, and names with blanks as `my name`"
        ) from None
    if _CONSTANT not in right:
        raise FileError("formula: the constant is no term; leave out 0 and -1, and fit with fit_intercept=False")
    terms = [term for term in right if term != _CONSTANT]
    if not terms:
        raise FileError(f"formula must have a response and features, {EXAMPLE}")
    if any(method == "LITERAL" for term in (*left, *terms) for _, method in term):
        raise FileError("formula: a number alone is no factor of a term; write I(2 * x)")
    named = [[[(each, how == "LOOKUP") for each, how in term] for term in side] for side in (left, terms)]
    return named[0], named[1]


# What formulaic adds to every formula, unless it says otherwise.
_CONSTANT = [("1", "LITERAL")]


def _factors(term: Any) -> list[tuple[str, str]]:
    return [(factor.expr, factor.eval_method.name) for factor in term.factors]


def _written(term: Sequence[_Factor]) -> str:
    plain = [(text, is_name and not text.replace(".", "_").isidentifier()) for text, is_name in term]
    return ":".join(f"`{text}`" if needs else text for text, needs in plain)


class _Reading:
    """The terms of a formula, one after another."""

    def __init__(self, names: Sequence[str] | None, kinds: Mapping[str, Any], text_types: Collection[str]) -> None:
        self._names, self._kinds, self._text_types = names, kinds, text_types
        self.columns: list[str] = []
        self.numbers: dict[str, tuple[Expression, ...]] = {}
        self.splines: list[Spline] = []
        self.joined: dict[str, tuple[str, ...]] = {}
        self.categories: list[str] = []
        self.products: list[Product] = []
        self.kinds_read: dict[str, str] = {}
        self._plain: list[str] = []
        self._product_texts: list[str] = []

    def response(self, factor: _Factor) -> str:
        """The column of responses."""
        text, is_name = factor
        if is_name:
            return self._column(text)
        if category_of(text) is not None or Spline.of(text) is not None:
            raise FileError("formula: the response is one column, or a number made of one, such as log(cost)")
        return self._number(factor)

    def add(self, term: Sequence[_Factor]) -> None:
        """Take in a term."""
        if len(term) > 1:
            self._add_product(term)
            return
        text, is_name = term[0]
        if is_name:
            self._plain.append(self._column(text))
            self.columns.append(text)
        elif (category := self._category(text)) is not None:
            self.columns.append(category)
        elif (spline := Spline.of(text)) is not None:
            self._read(spline.inside)
            self.splines.append(spline)
            self.columns += spline.names
        else:
            self.columns.append(self._number(term[0]))

    def _add_product(self, term: Sequence[_Factor]) -> None:
        numbers: list[_Factor] = []
        categories: list[str] = []
        for text, is_name in term:
            if not is_name and Spline.of(text) is not None:
                raise FileError("formula: bs(...) has no products; write powers, such as I(x**2):C(region)")
            category = self._category(text) if not is_name else text if self._is_category(text, term) else None
            if category is None:
                numbers.append((text, is_name))
            else:
                self.categories.append(category)
                self.kinds_read.setdefault(category, Kind.text.value)
                categories.append(category)
        number = self._times(numbers) if numbers else None
        joined = ":".join(categories)
        if len(categories) > 1:
            self.joined[joined] = tuple(categories)
        if number is not None and categories:
            self.products.append(Product(number, joined))
            self._product_texts.append(_written(term))
        else:
            self.columns.append(joined if number is None else number)

    def _is_category(self, name: str, term: Sequence[_Factor]) -> bool:
        """Whether a column in a product is one of categories, by its public kind, or its type.

        Of columns without a type C(...) tells: where one factor is marked by it, a bare name is a number. Columns of a
        frame that is all text may be numbers.
        """
        kind = self._kinds.get(self._column(name))
        if kind is not None:
            return Kind(kind) == Kind.text
        is_text = name in self._text_types
        marked = any(not is_name and category_of(text) is not None for text, is_name in term)
        if is_text or not marked:
            remedy = f"schema={{{name!r}: 'number'}}" if is_text else f"I({_written(term).replace(':', ' * ')})"
            raise FileError(
                f"formula: nothing public says which factors of {_written(term)} are numbers and which categories: "
                f"write C(...) for categories, and {remedy} for numbers"
            )
        return False

    def _category(self, text: str) -> str | None:
        category = category_of(text)
        if category is not None:
            self.categories.append(self._column(category))
        return category

    def _times(self, factors: Sequence[_Factor]) -> str:
        """The column of a product of numbers."""
        if len(factors) == 1 and factors[0][1]:
            (name, _), *_ = factors
            self._read_number(name)
            return name
        if len(factors) == 1:
            return self._number(factors[0])
        expressions = tuple(Expression(f"`{text}`" if is_name else text) for text, is_name in factors)
        for expression in expressions:
            self._read(expression)
        label = ":".join(text for text, _ in factors)
        self.numbers[label] = expressions
        return label

    def _number(self, factor: _Factor) -> str:
        expression = Expression(factor[0])
        self._read(expression)
        self.numbers[factor[0]] = (expression,)
        return factor[0]

    def _read(self, expression: Expression) -> None:
        as_numbers, as_texts = expression.columns()
        for name in as_numbers:
            self._read_number(self._column(name))
        for name in map(self._column, as_texts):
            self.kinds_read.setdefault(name, Kind.text.value)

    def _read_number(self, name: str) -> None:
        kind = self._kinds.get(name)
        if kind == Kind.text or (kind is None and name in self._text_types):
            raise FileError(
                f"formula: {quoted(name)} is no column of numbers by its type: use it as a category, or say how it is "
                f"read: schema={{{name!r}: 'number'}}"
            )
        # All that plain numbers are, and commas between thousands.
        self.kinds_read[name] = Kind(kind or Kind.number_grouped).value

    def _column(self, name: str) -> str:
        if self._names is not None and name not in self._names:
            raise FileError(f"formula: there is no column {quoted(name)}; {alternatives(name, self._names)}")
        return name

    def check(self, target: str) -> None:
        """Refuse terms that do not go together."""
        both = [name for name in self._plain if name in self.categories and self._kinds.get(name) not in (None, "text")]
        if both:
            raise FileError(f"formula: {quoted(both[0])} is a number in one term and C({both[0]}) in another; name one")
        if target in self.columns:
            raise FileError(f"formula: {quoted(target)} is the response, and cannot be a feature too")
        for product, text in zip(self.products, self._product_texts, strict=True):
            lacking = [name for name in (product.number, product.category) if name not in self.columns]
            if lacking:
                raise FileError(
                    f"formula: {text} needs {lacking[0]} as a term beside it, since it says how an effect differs: "
                    f"write {text.replace(':', '*')}"
                )
        if {*self.joined, *self.numbers} & {*(self._names or ())}:
            raise FileError("formula: a column of the table has the name of a term; give the column another name")
