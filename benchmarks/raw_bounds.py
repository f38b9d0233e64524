"""A carefully filled bounds file for a raw file, and the features that it describes as a matrix.

The numbers are the training records' own, which no private fit may have: they stand for somebody who knows the
population. Categories are those of at least 1 % of the records, the most common first, which is the baseline. The
response is left to the fit: over 40 splits of four development files its units made no difference beyond chance.
"""

import json
from dataclasses import dataclass

import numpy as np

COMMON = 0.01


@dataclass(frozen=True)
class Careful:
    """What a careful person types.

    Parameters
    ----------
    drop : list of str
        Columns to leave out.
    columns : dict
        For each other column its (centre, scale), or the shares of its categories by name, the baseline first.
    """

    drop: list
    columns: dict

    def toml(self):
        """The bounds file.

        Examples
        --------
        >>> from raw_bounds import Careful
        >>> print(Careful(["id"], {"age": (50.0, 15.0), "sex": {"f": 0.6, "m": 0.4}}).toml())
        drop = ["id"]
        <BLANKLINE>
        [columns."age"]
        center = 50.0
        scale = 15.0
        <BLANKLINE>
        [columns."sex"]
        categories = {"f" = 0.6, "m" = 0.4}
        <BLANKLINE>
        """
        sections = [f"drop = {_quoted(self.drop)}\n"]
        for name, known in self.columns.items():
            about = _shares(known) if isinstance(known, dict) else _spread(known)
            sections.append(f"[columns.{_quoted(name)}]\n{about}")
        return "\n".join(sections)

    @property
    def typed(self):
        """How many numbers and texts that is."""
        return len(self.drop) + sum(2 * len(known) if isinstance(known, dict) else 2 for known in self.columns.values())


def _quoted(value):
    # For printable texts JSON's quotes are TOML's.
    return json.dumps(value, ensure_ascii=False)


def _shares(known):
    return "categories = {" + ", ".join(f"{_quoted(name)} = {share!r}" for name, share in known.items()) + "}\n"


def _spread(known):
    center, scale = known
    return f"center = {center!r}\nscale = {scale!r}\n"


def _typed_number(value):
    """A number of six digits."""
    return float(f"{value:.6g}")


def careful(frame, dataset, codes=()):
    """What a careful person would know of a file with these records.

    Parameters
    ----------
    frame : DataFrame
        The training records.
    dataset : Dataset
        Its target and the columns to leave out.
    codes : sequence of str
        Columns of numbers to be given as categories.
    """
    import pandas as pd

    drop, columns = list(dataset.drop), {}
    for name in frame.columns.drop([dataset.target, *dataset.drop]):
        values = frame[name].dropna()
        if pd.api.types.is_numeric_dtype(values) and name not in codes:
            known = tuple(map(_typed_number, (values.mean(), values.std(ddof=0)))) if len(values) else (0, 0)
            enough = known[1] > 0
        else:
            shares = values.astype(str).value_counts() / len(frame)
            # Rounded down: shares that add up to 1 must not exceed it.
            known = {
                name: float(np.floor(1e4 * share + 1e-9) / 1e4) for name, share in shares.items() if share >= COMMON
            }
            enough = len(known) >= 2
        if enough:
            columns[name] = known
        else:
            drop.append(name)
    return Careful(drop, columns)


def matrix(frame, known, gaps):
    """The features that a bounds file describes, for fits on arrays; a gap is at the column's centre.

    Parameters
    ----------
    frame : DataFrame
        The records.
    known : Careful
        The bounds.
    gaps : sequence of str
        Columns of which the gap is a feature of its own.

    Returns
    -------
    ndarray of shape (len(frame), n_features)
        Numbers in their own units; 0/1 for categories but the baseline, and for gaps.
    """
    features = []
    for name, about in known.columns.items():
        missing = frame[name].isna().to_numpy()
        if isinstance(about, dict):
            text = frame[name].astype(str).to_numpy()
            features += [(text == category) & ~missing for category in list(about)[1:]]
        else:
            features.append(frame[name].fillna(about[0]).to_numpy(float))
        if name in gaps:
            features.append(missing)
    return np.column_stack(features).astype(float)


def with_gaps(frame, known):
    """The columns with gaps in at least 1 % of the records, and in at most 99 %."""
    shares = frame[list(known.columns)].isna().mean()
    return [name for name, share in shares.items() if COMMON <= share <= 1 - COMMON]
