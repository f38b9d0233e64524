"""A change of the package's source in a copy of the checkout: how mutants and bugs are planted alike.

A change has a `key` and gives the `texts` of the files that it changes. A `Bug` is written by hand and breaks the
guarantee: a check of the audit must notice it. A `Mutant` is made by a program (`mutants`): a test must notice it.
"""

import ast
import contextlib
import hashlib
import os
import textwrap
from dataclasses import dataclass

PACKAGE = "src/dpsparse"


class StaleEdit(LookupError):
    """An edit whose piece of source is no longer there."""


@dataclass(frozen=True)
class Bug:
    """A bug to plant.

    Parameters
    ----------
    name : str
        The fault, in words.
    check : str
        The check of the audit that notices it.
    edits : dict of str to list of (old, new)
        Pieces of functions to replace. A function is named by its module below the package and its qualified name.
    """

    name: str
    check: str
    edits: dict

    @property
    def key(self):
        """A name in hexadecimal digits."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:12]

    def texts(self, package):
        """The changed files by their paths below the package."""
        changed: dict = {}
        for function, pieces in self.edits.items():
            module, _, name = function.partition(":")
            file = f"{module.replace('.', '/')}.py"
            if not (package / file).exists():
                file = f"{module.replace('.', '/')}/__init__.py"
            source = changed.get(file) or (package / file).read_text()
            changed[file] = edited(source, name, pieces)
        return changed


def edited(source, function, pieces):
    """A module's source with pieces of one function, (old, new), replaced.

    The function is taken without its indentation and decorators. Each old piece must occur in it exactly once: an edit
    that no longer fits the code fails instead of changing nothing.

    Examples
    --------
    >>> print(edited("class A:\\n    def f(self):\\n        return 1\\n", "A.f", [("return 1", "return 2")]))
    class A:
        def f(self):
            return 2
    """
    node = _found(source, function)
    lines = source.splitlines()
    text = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
    for old, new in pieces:
        if text.count(old) != 1:
            raise StaleEdit(f"{function} holds {old!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    lines[node.lineno - 1 : node.end_lineno] = [textwrap.indent(text, " " * node.col_offset)]
    return "\n".join([*lines, ""])


def _found(source, function):
    node: ast.AST = ast.parse(source)
    for name in function.split("."):
        inside = [each for each in ast.walk(node) if getattr(each, "name", None) == name and hasattr(each, "body")]
        if not inside:
            raise StaleEdit(f"there is no {function}")
        node = inside[0]
    return node


@contextlib.contextmanager
def planted(change, package):
    """Put a change into a copy of the package, and take it out again."""
    before = {}
    for file, text in change.texts(package).items():
        path = package / file
        before[path] = path.read_text(), path.stat()
        path.write_text(text)
        # A time of its own: nobody takes it for a file that was compiled before, numba's cache of kernels included.
        times = before[path][1]
        os.utime(path, (times.st_atime, times.st_mtime + 1000 + int(change.key[:5], 16)))
    try:
        yield
    finally:
        for path, (text, times) in before.items():
            path.write_text(text)
            os.utime(path, (times.st_atime, times.st_mtime))
