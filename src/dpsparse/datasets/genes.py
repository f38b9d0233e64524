"""The paper's two gene-expression tables, in scikit-learn's style. The files are not shipped: their licences differ."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

_NCI60 = ("nci60.parquet", "877da537ac4283f6edd0949dc1d6b8a41216ba71ca2fed462a881cc88bf2ef3e")
_METABRIC = ("metabric.parquet", "4a6a85686c6d5e0a6ee09b071f660ae9d8b3327ad58888e5bad5f20d2a017e68")


def fetch_nci60(
    *, data_home: str | Path | None = None, return_X_y: bool = False, as_frame: bool = False, verify: bool = True
) -> Any:
    """The NCI-60 cell lines: KRT19 protein (log2) on the expression of 14,194 genes and probes, n = 59.

    Parameters
    ----------
    data_home : str or path, optional
        Folder that holds `nci60.parquet`; by default the environment variable ``DPSPARSE_DATA``, else
        ``~/dpsparse_data``.
    return_X_y : bool, default=False
        Return (data, target) alone.
    as_frame : bool, default=False
        Data and target as pandas objects.
    verify : bool, default=True
        Refuse a file whose checksum is not the known one.

    Returns
    -------
    Bunch or tuple
        ``data``, ``target``, ``feature_names``, ``target_names``, ``frame``, ``DESCR``; or (data, target).
    """
    frame = _read(*_NCI60, data_home, verify)
    return _bunch(frame, "KRT19_protein", frame.columns[1:], fetch_nci60.__doc__, return_X_y, as_frame)


def fetch_metabric(
    *,
    target: str = "clin_tumor_size",
    features: Literal["expression", "mutation", "all"] = "expression",
    data_home: str | Path | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
    verify: bool = True,
) -> Any:
    """The METABRIC breast cancer patients: a clinical value or a gene on the other genes, n = 1,904.

    The known file is the public extract with 489 expression columns (z-scores over these patients) and 173 mutation
    columns. The full matrix of 24,368 genes works the same way with ``verify=False``, if its columns are named
    ``expr_SYMBOL``.

    Parameters
    ----------
    target : str, default="clin_tumor_size"
        A numeric column. Patients where it is missing are not returned; the file is public, and so is their number. A
        gene used as target is not a feature.
    features : {"expression", "mutation", "all"}, default="expression"
        Expression levels, 0/1 for a mutation in a gene, or both.
    data_home : str or path, optional
        Folder that holds `metabric.parquet`; by default the environment variable ``DPSPARSE_DATA``, else
        ``~/dpsparse_data``.
    return_X_y : bool, default=False
        Return (data, target) alone.
    as_frame : bool, default=False
        Data and target as pandas objects.
    verify : bool, default=True
        Refuse a file whose checksum is not the known one.

    Returns
    -------
    Bunch or tuple
        ``data``, ``target``, ``feature_names``, ``target_names``, ``frame``, ``DESCR``; or (data, target).
    """
    kinds = {"expression": ("expr_",), "mutation": ("mut_",), "all": ("expr_", "mut_")}
    if features not in kinds:
        raise ValueError(f"features={features!r} must be one of {', '.join(map(repr, kinds))}")
    frame = _read(*_METABRIC, data_home, verify)
    if target not in frame.columns or frame[target].dtype.kind not in "fiu":
        raise ValueError(f"target={target!r} must be a numeric column, such as 'clin_tumor_size' or 'expr_GATA3'")
    names = [name for name in frame.columns if name.startswith(kinds[features]) and name != target]
    mutations = [name for name in names if name.startswith("mut_")]
    frame = frame.loc[frame[target].notna(), [target, *names]].copy()
    frame[mutations] = (frame[mutations] != "0").astype(np.float32)
    return _bunch(frame, target, names, fetch_metabric.__doc__, return_X_y, as_frame)


def _read(name: str, checksum: str, data_home: str | Path | None, verify: bool) -> Any:
    try:
        import pandas as pd
        import pyarrow  # noqa: F401  (pandas reads Parquet through it)
    except ImportError:
        raise ImportError(f"{name} is a Parquet file: pip install 'dpsparse[data]' to read it") from None
    path = Path(data_home or os.environ.get("DPSPARSE_DATA") or Path.home() / "dpsparse_data") / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there, and dpsparse downloads nothing: place {name} there by hand, or name its folder "
            "by data_home or the environment variable DPSPARSE_DATA"
        )
    if verify and hashlib.sha256(path.read_bytes()).hexdigest() != checksum:
        raise ValueError(
            f"{path} is not the known file (sha256 {checksum[:16]}...); pass verify=False to use it anyway"
        )
    return pd.read_parquet(path)


def _bunch(
    frame: Any, target: str, names: Iterable[str], description: str | None, return_X_y: bool, as_frame: bool
) -> Any:
    data, response = frame[list(names)], frame[target]
    if not as_frame:
        data, response = data.to_numpy(), response.to_numpy(dtype=np.float64)
    if return_X_y:
        return data, response
    return Bunch(
        data=data,
        target=response,
        feature_names=list(names),
        target_names=[target],
        frame=frame if as_frame else None,
        DESCR=description,
    )
