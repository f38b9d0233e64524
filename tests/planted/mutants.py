"""Small changes of the package's source, one at a time: a mutant that no test notices is a hole in the tests.

A mutant replaces one piece of text in one file. What is replaced: operators, comparisons, `and`, `or`, `not`, numbers,
truth values, words in quotes, conditions, returned values, calls for their effect, and `raise`. What is left alone:
docstrings, types, decorators, and the sentences of errors.
"""

import ast
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from planting import PACKAGE

# What carries the guarantee: mechanisms, accounting and ledger; what computes a sum or a term of it; who spends.
TARGETS = (
    "privacy/**/*.py",
    *(
        f"engine/{name}.py"
        for name in ("arrays", "errors", "quantize", "queries", "regrets", "two_part_sums", "vector_sums")
    ),
    *(f"engine/cpu/{name}.py" for name in ("dense_rows", "dispatch", "local_rows", "sparse_rows")),
    *(f"engine/cpu/{name}.py" for name in ("numba_kernels", "numpy_kernels")),
    "engine/disk/disk_rows.py",
    "algorithms/guarantee_shares.py",
    "estimators/_spending.py",
    "estimators/_tuning_plan.py",
    "estimators/_two_part_plan.py",
    "estimators/tuning.py",
)

_BINARY = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.Mod: "*",
    ast.Pow: "*",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.BitXor: "&",
}
_SIGN = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
# The same order with the other end, and the other order.
_COMPARISONS = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_WORD = re.compile(r"[A-Za-z][\w-]*")


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Parameters
    ----------
    file : str
        Below the package.
    function : str
        The qualified name of the innermost function or class; empty for the module.
    line : int
        The number of its line.
    text : str
        The line, stripped.
    start, stop : int
        Where the replaced piece lies in the file.
    old, new : str
        The piece and its replacement.
    lines : tuple of int
        The first and last line of the statement.
    nth : int
        0 unless the function has the same change on the same text before.
    """

    file: str
    function: str
    line: int
    text: str
    start: int
    stop: int
    old: str
    new: str
    lines: tuple
    nth: int = 0

    @property
    def change(self):
        """The change in words, and how many times it was made before in the function."""
        return f"{self.old} -> {self.new}" + f" #{self.nth + 1}" * (self.nth > 0)

    @property
    def key(self):
        """A name that survives edits elsewhere in the file."""
        return hashlib.sha256("\n".join((self.file, self.function, self.text, self.change)).encode()).hexdigest()[:12]

    def texts(self, package):
        """The changed file by its path below the package."""
        return {self.file: self.applied((package / self.file).read_text())}

    def applied(self, source):
        """The file's text with the change."""
        return source[: self.start] + self.new + source[self.stop :]

    def __str__(self):
        return f"{self.file}:{self.line} {self.function}: {self.change}   | {self.text}"


class _Finder(ast.NodeVisitor):
    """Collects the mutants of one file."""

    def __init__(self, file, source):
        self.file, self.source, self.mutants = file, source, []
        # ast counts bytes of a line; sources are cut by characters.
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._names, self._statement = [], None

    def find(self):
        self.visit(ast.parse(self.source))
        return self.mutants

    def _place(self, line, column):
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node):
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _add(self, start, stop, new):
        line = self.source.count("\n", 0, start) + 1
        function, text = ".".join(self._names), self._lines[line - 1].strip()
        lines = (self._statement.lineno, self._statement.end_lineno) if self._statement else (line, line)
        mutant = Mutant(self.file, function, line, text, start, stop, self.source[start:stop], new, lines)
        same = [other for other in self.mutants if _same(other, mutant)]
        self.mutants.append(Mutant(**{**vars(mutant), "nth": len(same)}))

    def _swap(self, node, new):
        self._add(*self._span(node), new)

    def _between(self, left, right, old, new):
        """Replace an operator between two operands; brackets and comments may lie there too."""
        start, stop = self._span(left)[1], self._span(right)[0]
        gap = re.sub(r"#[^\n]*", lambda found: " " * len(found[0]), self.source[start:stop])
        place = re.search(
            rf"\b{old}\b" if old.isalpha() else old.replace(" ", r"\s+") if " " in old else re.escape(old), gap
        )
        self._add(start + place.start(), start + place.end(), new)

    def visit(self, node):
        if isinstance(node, ast.stmt):
            outer, self._statement = self._statement, _first_lines(node)
            super().visit(node)
            self._statement = outer
        else:
            super().visit(node)

    def _named(self, node):
        self._names.append(node.name)
        for default in getattr(node, "args", ast.arguments(defaults=[], kw_defaults=[])).defaults:
            self.visit(default)
        for default in getattr(getattr(node, "args", None), "kw_defaults", []):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _named

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call):
            self._swap(node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node):
        self._swap(node, "pass")

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node):
        pass

    def visit_JoinedStr(self, node):
        pass

    def visit_If(self, node):
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self._condition(node)

    def _condition(self, node):
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            start, stop = self._span(node.test)
            self._add(start, stop, f"not ({self.source[start:stop]})")
        self.generic_visit(node)

    visit_While = visit_IfExp = _condition

    def visit_Return(self, node):
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._swap(node, "return None")
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if type(node.op) in _BINARY:
            self._between(node.left, node.right, _SIGN[type(node.op)], _BINARY[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if type(node.op) in _BINARY:
            self._between(node.target, node.value, _SIGN[type(node.op)] + "=", _BINARY[type(node.op)] + "=")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            start = self._span(node)[0]
            self._add(start, self._span(node.operand)[0], "") if not self._bracketed(node) else None
        self.generic_visit(node)

    def _bracketed(self, node):
        return "(" in self.source[self._span(node)[0] : self._span(node.operand)[0]]

    def visit_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, old, new)
        self.generic_visit(node)

    def visit_Compare(self, node):
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            old, *others = _COMPARISONS[type(op)]
            for new in others:
                self._between(left, right, old, new)
        self.generic_visit(node)

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self._swap(node, str(not value))
        elif isinstance(value, int):
            self._swap(node, f"{value + 1}")
        elif isinstance(value, float):
            self._swap(node, repr(value * 2 or 1.0))
        elif isinstance(value, str) and _WORD.fullmatch(value):
            self._swap(node, repr(f"{value}_"))


def _same(one, other):
    return (one.function, one.text, one.old, one.new) == (other.function, other.text, other.old, other.new)


def _first_lines(statement):
    """A statement without what is nested in it: of `if`, `for` and `with` their first lines."""
    body = getattr(statement, "body", None)
    if not body:
        return statement
    header = ast.Pass(lineno=statement.lineno, end_lineno=max(statement.lineno, body[0].lineno - 1))
    return header


def mutants_of(file, source):
    """All mutants of a file, in order.

    Examples
    --------
    >>> [mutant.change for mutant in mutants_of("f.py", "def f(x):\\n    return x + 1\\n")]
    ['return x + 1 -> return None', '+ -> -', '1 -> 2']
    """
    return _Finder(file, source).find()


def all_mutants(root, files=()):
    """The mutants of the targets below a checkout, or of those of them whose name contains one of `files`."""
    package = Path(root) / PACKAGE
    paths = sorted({path for target in TARGETS for path in package.glob(target)})
    names = [path.relative_to(package).as_posix() for path in paths]
    wanted = [name for name in names if not files or any(part in name for part in files)]
    return [mutant for name in wanted for mutant in mutants_of(name, (package / name).read_text())]
