"""Figures as files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpsparse.io.atomic import atomic_file
from dpsparse.schema import FileError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = (".png", ".pdf", ".svg")


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write a matplotlib figure as PNG, PDF or SVG, by the ending of the name, and close it.

    The file appears whole or not at all.
    """
    import matplotlib.pyplot as plt

    kind = Path(path).suffix.lower()
    if kind not in _KINDS:
        raise FileError(f"{path}: the picture's name must end in {', '.join(_KINDS)}")
    with atomic_file(path) as stream:
        figure.savefig(stream, format=kind[1:], dpi=150)
    plt.close(figure)
