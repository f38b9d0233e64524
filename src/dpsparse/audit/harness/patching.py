"""Attributes of the package replaced for the length of a `with` block."""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replaced(owner: Any, **values: Any) -> Iterator[None]:
    """Set attributes of a module or class."""
    before = {name: inspect.getattr_static(owner, name) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)
