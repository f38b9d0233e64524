"""A progress bar of a fit, for `progress=True`: in a notebook, or on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpsparse.algorithms.progress import Progress
from dpsparse.estimators._types import ShownProgress


@contextmanager
def shown(progress: ShownProgress) -> Iterator[Progress]:
    """The function that a fit tells its steps; for True a bar, which goes away with the fit."""
    if progress is True:
        with _notebook_bar() if _in_notebook() else _terminal_bar() as told:
            yield told
    elif progress is None or callable(progress):
        yield progress
    else:
        raise ValueError(f"progress={progress!r} must be True for a bar, a function of two numbers, or None")


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this; nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def _notebook_bar() -> Iterator[Progress]:
    # Plain HTML: bars of rich and tqdm need widgets, which many notebooks have not.
    # The kernel has imported it.
    notebook: Any = sys.modules["IPython.display"]
    html = notebook.HTML
    shown = notebook.display(html(_bar(0.0, 1)), display_id=True)
    try:
        yield lambda done, total: shown.update(html(_bar(done, total)))
    finally:
        shown.update(html(""))


def _bar(done: float, total: int) -> str:
    share = f"{done / total:.0%}"
    return f'<progress max="{total}" value="{done:.2f}" aria-label="fitting">{share}</progress> fitting, {share}'


@contextmanager
def _terminal_bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("fitting", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
