"""Edits of the package's code for the length of a `with` block."""

import contextlib
import functools
import inspect
import textwrap


class StaleEdit(LookupError):
    """An edit whose piece of source is no longer there."""


@contextlib.contextmanager
def replaced(owner, **values):
    """Set attributes of a module or class."""
    before = {name: inspect.getattr_static(owner, name) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


@contextlib.contextmanager
def rewritten(function, *edits):
    """Run a function with pieces of its source, (old, new), replaced, wherever it was imported.

    The code object is swapped inside the function, so names bound elsewhere see the change. Each old piece must occur
    in the source exactly once: an edit that no longer fits the code fails instead of changing nothing.
    """
    caches = [function] if hasattr(function, "cache_clear") else []
    plain = _plain(function)
    source = textwrap.dedent(inspect.getsource(plain))
    for old, new in edits:
        if source.count(old) != 1:
            raise StaleEdit(f"{plain.__qualname__} holds {old!r} {source.count(old)} times, not once")
        source = source.replace(old, new)
    lines = source.splitlines()
    while not lines[0].startswith("def "):
        lines.pop(0)
    before = plain.__code__
    code = _compiled("\n".join(lines), plain)
    _clear(caches)
    plain.__code__ = code
    try:
        yield
    finally:
        plain.__code__ = before
        _clear(caches)


def _compiled(source, plain):
    """The code of a function with this source; names from around it, such as that of `super()`, stay what they are."""
    names, around = dict(plain.__globals__), plain.__code__.co_freevars
    if around:
        unset = "".join(f"    {name} = None\n" for name in around)
        source = f"def _around():\n{unset}{textwrap.indent(source, '    ')}\n    return {plain.__name__}"
        exec(source, names)
        return names["_around"]().__code__
    exec(source, names)
    return names[plain.__name__].__code__


def _plain(function):
    if isinstance(function, property):
        return function.fget
    if isinstance(function, functools.cached_property):
        return function.func
    return inspect.unwrap(function)


def _clear(caches):
    for cache in caches:
        cache.cache_clear()
