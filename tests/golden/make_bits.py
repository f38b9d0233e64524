"""Seeded fits and the hashes of what they return: ``python tests/golden/make_bits.py`` writes bits.json.

Only public names of dpsparse are used, so that every module may move. Where two engines are to return the same bits,
one entry serves both; this program refuses to write the file where they differ.
"""

import contextlib
import hashlib
import importlib.metadata
import io
import json
import platform
import runpy
import sys
import tempfile
import warnings
from collections import namedtuple
from functools import cache
from pathlib import Path

import numpy as np
import scipy.linalg
import sklearn
import threadpoolctl
from scipy import sparse

from dpsparse import (
    DPIHTH,
    DPIHTL,
    DPSLR,
    AdaHuber,
    AdaHuberCV,
    OnDisk,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    Streamed,
    plan,
    tune,
)

GOLDEN = Path(__file__).parent / "bits.json"
DTYPES = ("float64", "float32")
ROWS_PREDICTED = 5

# More rows than a block of records holds, and more bytes than one of features, in "long".
SHAPES = {"small": (1_501, 37), "wide": (800, 600), "long": (66_001, 20), "narrow": (1_203, 6)}
CENTERS, SCALES = np.linspace(-0.25, 0.5, SHAPES["small"][1]), np.linspace(0.5, 2.0, SHAPES["small"][1])

# `raw` is the table before public units were applied; a store applies them itself.
Table = namedtuple("Table", ["X", "y", "raw", "is_scaled"])


@cache
def table(name, dtype):
    """Features with many zeros and responses with heavy tails, without linear algebra: its bits vary by machine."""
    is_scaled = name == "small, scaled"
    n, d = SHAPES["small" if is_scaled else name]
    rng = np.random.default_rng([n, d])
    X = rng.standard_normal((n, d))
    X[np.abs(X) < 0.4] = 0
    y = 0.5 + 2.0 * X[:, 0] - 1.5 * X[:, 1] + X[:, 2] + 0.6 * X[:, 3] + 0.7 * rng.standard_t(2.2, n)
    raw = X.astype(dtype)
    X = ((raw.astype(np.float64) - CENTERS) / SCALES).astype(dtype) if is_scaled else raw
    return Table(X, y, raw, is_scaled)


# Units of no feature, and of every other one.
UNKNOWN = {"feature_center": None, "feature_scale": None}
SOME = np.where(np.arange(SHAPES["small"][1]) % 2, np.nan, 1.0)


def _pursuit(**options):
    units = {"feature_center": 0.0, "feature_scale": 1.0}
    return PrivateSparseRegressor(**{"sparsity": 3, "random_state": 1, **units, **options})


class YesNo(PrivateSparseClassifier):
    """A classifier of whether a response is above 0."""

    def fit(self, X, y, **options):
        """Fit on the signs of numbers."""
        return super().fit(X, y > 0, **options)


def _yes_no(**options):
    units = {"feature_center": 0.0, "feature_scale": 1.0}
    return YesNo(**{"sparsity": 3, "epsilon": 4.0, "random_state": 1, **units, **options})


def _two_part(**options):
    units = {"feature_center": 0.0, "feature_scale": 1.0}
    return PrivateSparseTwoPartRegressor(**{"sparsity": 3, "epsilon": 8.0, "random_state": 1, **units, **options})


class Counts(PrivateSparsePoissonRegressor):
    """A Poisson regression of the whole numbers nearest to the sizes of responses."""

    def fit(self, X, y, **options):
        """Fit on counts."""
        return super().fit(X, abs(y).round(), **options)


def _counts(**options):
    units = {"feature_center": 0.0, "feature_scale": 1.0}
    return Counts(**{"sparsity": 3, "epsilon": 4.0, "random_state": 1, **units, **options})


# What to fit and on which table. A list of estimators is given to `tune`.
CASES = {
    "pursuit": (_pursuit(), "small"),
    "pursuit, auto": (_pursuit(sparsity="auto", max_sparsity=6, epsilon=3.0), "small"),
    "pursuit, auto, no Gram rows": (_pursuit(sparsity="auto", epsilon=0.5), "small"),
    "pursuit, no intercept": (_pursuit(fit_intercept=False, sparsity=4), "small"),
    "pursuit, response known": (_pursuit(response_center=0.5, response_scale=1.5), "small"),
    "pursuit, response's centre known": (_pursuit(response_center=0.5, random_state=2), "small"),
    "pursuit, response's scale known": (_pursuit(response_scale=1.5, fit_intercept=False), "small"),
    "pursuit, units by feature": (_pursuit(feature_center=CENTERS, feature_scale=SCALES), "small"),
    "pursuit, one unit": (_pursuit(feature_center=-0.1, feature_scale=0.9), "small"),
    "pursuit, scaled before": (_pursuit(random_state=3), "small, scaled"),
    "pursuit, zero-out-one": (_pursuit(adjacency="zero-out-one"), "small"),
    "pursuit, two records a person": (_pursuit(records_per_person=2, epsilon=2.0), "small"),
    "pursuit, large epsilon": (_pursuit(epsilon=8.0, sparsity=5), "small"),
    "pursuit, small epsilon": (_pursuit(epsilon=0.2, delta=1e-6), "small"),
    "pursuit, all features": (_pursuit(sparsity=6, epsilon=3.0), "narrow"),
    "pursuit, wide": (_pursuit(epsilon=4.0), "wide"),
    "pursuit, long": (_pursuit(sparsity=4), "long"),
    "pursuit, long, zero-out-one, auto": (_pursuit(sparsity="auto", adjacency="zero-out-one"), "long"),
    "pursuit, units unknown": (_pursuit(epsilon=4.0, **UNKNOWN), "small"),
    "pursuit, units unknown, no intercept": (_pursuit(fit_intercept=False, epsilon=2.0, **UNKNOWN), "small"),
    "pursuit, some units unknown": (_pursuit(feature_center=0.0, feature_scale=SOME, epsilon=4.0), "small"),
    "pursuit, units unknown, long": (_pursuit(sparsity=4, **UNKNOWN), "long"),
    # A step to Huber's estimator; where there is enough of a table, the others above make one to least squares.
    "pursuit, typical, long": (_pursuit(sparsity=4, estimand="typical"), "long"),
    "pursuit, typical, units unknown": (_pursuit(estimand="typical", epsilon=8.0, **UNKNOWN), "small"),
    "pursuit, typical, no intercept": (
        _pursuit(estimand="typical", fit_intercept=False, sparsity=1, epsilon=8.0, adjacency="zero-out-one"),
        "small",
    ),
    "pursuit, typical, all features": (_pursuit(estimand="typical", sparsity=6, epsilon=9.0), "narrow"),
    "pursuit, mean, no intercept": (_pursuit(fit_intercept=False, sparsity=1, epsilon=8.0), "small"),
    "pursuit, mean, all features": (_pursuit(sparsity=6, epsilon=9.0, **UNKNOWN), "narrow"),
    "counts": (_counts(), "small"),
    "counts, exposure, units unknown": (_counts(exposure=3, **UNKNOWN), "narrow"),
    "yes or no": (_yes_no(), "small"),
    "yes or no, zero-out-one, no intercept": (_yes_no(adjacency="zero-out-one", fit_intercept=False), "small"),
    "yes or no, units unknown": (_yes_no(epsilon=9.0, **UNKNOWN), "small"),
    "yes or no, all features": (_yes_no(sparsity=6, **UNKNOWN), "narrow"),
    "two parts": (_two_part(), "small"),
    "two parts, units unknown, zero-out-one": (_two_part(adjacency="zero-out-one", **UNKNOWN), "small"),
    "DP-IHT-H": (DPIHTH(sparsity=3, random_state=3), "small"),
    "DP-IHT-H, theory": (DPIHTH(sparsity=3, tau=None, zeta=0.5, epsilon=4.0, random_state=4), "small"),
    "DP-IHT-H, options": (
        DPIHTH(sparsity=4, tau=2.0, step=0.3, n_iter=4, clip_bound=1.5, radius=2.0, epsilon=4.0, random_state=5),
        "small",
    ),
    "DP-IHT-H, paper": (
        DPIHTH(sparsity=5, epsilon=0.5, calibration="paper", adjacency="zero-out-one", random_state=6),
        "small",
    ),
    "DP-IHT-H, two records a person": (DPIHTH(sparsity=2, records_per_person=2, random_state=7), "small"),
    "DP-IHT-H, wide": (DPIHTH(sparsity=3, epsilon=8.0, random_state=8), "wide"),
    "DP-IHT-H, long": (DPIHTH(sparsity=3, random_state=9), "long"),
    "DP-IHT-L": (DPIHTL(sparsity=3, random_state=3), "small"),
    "DP-IHT-L, options": (DPIHTL(sparsity=2, step=0.2, clip_bound=1.0, n_iter=3, delta=1e-4, random_state=4), "small"),
    "DP-IHT-L, paper": (DPIHTL(sparsity=5, epsilon=0.5, calibration="paper", random_state=5), "small"),
    "DP-IHT-L, long": (DPIHTL(sparsity=3, random_state=6), "long"),
    "DP-SLR": (DPSLR(sparsity=3, random_state=3), "small"),
    "DP-SLR, options": (DPSLR(sparsity=2, response_bound=3.0, radius=1.5, epsilon=6.0, random_state=4), "small"),
    "DP-SLR, paper": (DPSLR(sparsity=5, epsilon=0.5, calibration="paper", random_state=5), "small"),
    "DP-SLR, long": (DPSLR(sparsity=3, random_state=6), "long"),
    "tune": ([_pursuit(sparsity=s, epsilon=6.0) for s in (1, 4)], "small"),
    "tune, zero-out-one": (
        [_pursuit(sparsity=s, epsilon=6.0, adjacency="zero-out-one") for s in ("auto", 2, 3)],
        "small",
    ),
    "tune, units unknown": ([_pursuit(sparsity=s, epsilon=6.0, **UNKNOWN) for s in (1, 3)], "small"),
    "AdaHuber": (AdaHuber(lam=0.1), "small"),
    "AdaHuber, sparse": (AdaHuber(lam=0.05, sparsity=3), "small"),
    "AdaHuber, R's tau": (AdaHuber(lam=0.1, tau_rule="adahuber-1.1"), "wide"),
    "AdaHuberCV": (AdaHuberCV(n_lambdas=4, cv=3, random_state=0), "small"),
}
NAMES = [(name, dtype) for name in CASES for dtype in DTYPES]
FEW = [
    *(
        (name, "float64")
        for name in (
            *("pursuit", "pursuit, units unknown, long", "pursuit, long", "pursuit, typical, units unknown"),
            *("yes or no", "DP-IHT-H", "DP-IHT-L", "DP-SLR"),
        )
    ),
    *((name, "float32") for name in ("pursuit, units by feature", "pursuit, scaled before", "DP-IHT-H, long")),
]

PLANS = {
    "plain": plan(10_000, 1_000, 5, 0.5),
    "known units": plan(10_000, 1_000, 5, 0.5, units_known=True),
    "delta": plan(2_000, 30, 3, 2.0, 1e-6),
    "guesses": plan(50_000, 200, 10, 1.0, noise_scale=2.5, correlation=0.6),
    "two records a person": plan(5_000, 100, 4, 1.0, records_per_person=2),
    "hopeless": plan(50, 10_000, 5, 0.1),
}


def forecast(name):
    """The numbers of a plan."""
    planned = PLANS[name]
    numbers = [planned.expected_error, planned.smallest_effect, planned.interval_width]
    return [*numbers, planned.n_for_error(0.1), planned.n_for_effect(0.3), planned.epsilon_for_effect(0.5)]


def is_private(name):
    """Whether a case is an estimator with a guarantee, and so with the same bits on every engine."""
    return not name.startswith("AdaHuber")


def _columns(X):
    return [f"x{j}" for j in range(X.shape[1])]


def _frame(X):
    import pandas as pd

    return pd.DataFrame(X, columns=_columns(X))


def _npy(X, folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def _parquet(X, folder):
    for k, part in enumerate(np.array_split(np.arange(len(X)), 2)):
        _frame(X[part]).to_parquet(folder / f"{k}.parquet", row_group_size=10_007)
    return folder


def _zarr(X, folder):
    import zarr

    array = zarr.create_array(
        folder / "x.zarr", shape=X.shape, chunks=(20_000, max(15, X.shape[1] // 3)), dtype=X.dtype
    )
    array[:] = X
    return array


def _store(given, folder):
    """What `dpsparse convert` writes. Run as a module, so that the command line too may move."""
    _frame(given.raw).assign(y=given.y).to_parquet(folder / "table.parquet")
    arguments = ["convert", str(folder / "table.parquet"), str(folder / "store"), "--target", "y"]
    arguments += ["--dtype", given.raw.dtype.name]
    if given.is_scaled:
        units = zip(_columns(given.raw), CENTERS.tolist(), SCALES.tolist(), strict=True)
        lines = [f"[columns.{name}]\ncenter = {center!r}\nscale = {scale!r}\n" for name, center, scale in units]
        (folder / "bounds.toml").write_text("".join(lines))
        arguments += ["--bounds", str(folder / "bounds.toml")]
    before, sys.argv = sys.argv, ["dpsparse", *arguments]
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            # runpy warns where the module was imported before.
            warnings.simplefilter("ignore", RuntimeWarning)
            runpy.run_module("dpsparse", run_name="__main__")
    finally:
        sys.argv = before
    store = OnDisk(folder / "store")
    return store, store.response


def _dask(given, _):
    import dask.array as da

    X = da.from_array(given.X, chunks=(len(given.y) // 3 + 1, 25))
    return X, da.from_array(given.y, chunks=len(given.y) // 2 + 1)


def _on_card(X):
    import torch

    return torch.tensor(X, device="cuda")


IN_MEMORY = {
    "NumPy": lambda given, folder: (np.ascontiguousarray(given.X), given.y),
    "Fortran": lambda given, folder: (np.asfortranarray(given.X), given.y),
    "CSR": lambda given, folder: (sparse.csr_matrix(given.X), given.y),
    "DataFrame": lambda given, folder: (_frame(given.X), given.y),
    "memory map": lambda given, folder: (np.load(_npy(given.X, folder), mmap_mode="r"), given.y),
}
ELSEWHERE = {
    "npy": lambda given, folder: (OnDisk(_npy(given.X, folder)), given.y),
    "Fortran npy": lambda given, folder: (OnDisk(_npy(np.asfortranarray(given.X), folder)), given.y),
    "Parquet": lambda given, folder: (OnDisk(_parquet(given.X, folder)), given.y),
    "Zarr": lambda given, folder: (_zarr(given.X, folder), given.y),
    "store": _store,
    "dask": _dask,
    "dask cluster": _dask,
}
ON_GPU = {
    "CUDA": lambda given, folder: (_on_card(given.X), given.y),
    "CUDA by columns": lambda given, folder: (_on_card(np.ascontiguousarray(given.X.T)).T, given.y),
    "Streamed": lambda given, folder: (Streamed(given.X), given.y),
}
ENGINES = IN_MEMORY | ELSEWHERE | ON_GPU
# Dense and sparse kernels, and those of a GPU, have code of their own for each dtype.
EVERY_DTYPE = ("NumPy", "CSR", *ON_GPU)


def cases_on(engine):
    """The names and dtypes of the cases that an engine fits: `tune` and AdaHuber read arrays in memory."""
    # What the other engines do with float32 does not vary with what is fitted.
    cases = NAMES if engine in EVERY_DTYPE else [each for each in NAMES if each[1] == "float64" or each in FEW]
    if engine in IN_MEMORY:
        return cases
    elsewhere = [each for each in cases if is_private(each[0]) and not each[0].startswith("tune")]
    return [each for each in elsewhere if each in FEW] if engine == "dask cluster" else elsewhere


class Engine:
    """Fits the cases on one engine; a table is written once for all of them."""

    def __init__(self, name, folder):
        self.name, self._folder, self._tables = name, Path(folder), {}

    def _given(self, name, dtype):
        if (name, dtype) not in self._tables:
            folder = self._folder / f"{name} {dtype}"
            folder.mkdir()
            self._tables[name, dtype] = ENGINES[self.name](table(name, dtype), folder)
        return self._tables[name, dtype]

    def fit(self, name, dtype):
        """The numbers and the bits of a case."""
        made, table_name = CASES[name]
        X, y = self._given(table_name, dtype)
        with warnings.catch_warnings():
            # That a seed is not private, and that some of these fits have little hope.
            warnings.simplefilter("ignore", UserWarning)
            if isinstance(made, list):
                return _of_tuned(tune(made, X, y), X)
            # The bits of a large product may depend on the number of threads; a private fit makes none.
            with contextlib.nullcontext() if is_private(name) else _one_thread():
                return _of_model(sklearn.clone(made).fit(X, y), X)


@contextlib.contextmanager
def running(name):
    """An engine, with its tables in a temporary folder and its cluster for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if name == "dask":
            import dask

            stack.enter_context(dask.config.set(scheduler="synchronous"))
        if name == "dask cluster":
            from distributed import Client, LocalCluster

            options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
            stack.enter_context(Client(stack.enter_context(LocalCluster(**options))))
        yield Engine(name, folder)


def _one_thread():
    return threadpoolctl.threadpool_limits(1, user_api="blas")


def _hash(*values):
    """The SHA-256 of arrays by dtype, shape and bytes, and of anything else by what it prints as."""
    digest = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype.str} {value.shape} ".encode() + value.tobytes())
        else:
            digest.update(f"{value!r} ".encode())
    return digest.hexdigest()


def _of_model(model, X):
    coef, intercept = model.coef_, float(model.intercept_)
    with _one_thread():
        predictions = np.asarray(model.predict(X)[:ROWS_PREDICTED])
    places = np.flatnonzero(coef)
    numbers = {"places": places.tolist(), "coef": coef[places].tolist(), "intercept": intercept}
    bits = {"coef": _hash(coef), "intercept": _hash(intercept), "predict": _hash(predictions)}
    bits["support"] = _hash(np.asarray(model.support_, dtype=np.int64))
    if hasattr(model, "coef_se_"):
        bits |= {"coef_se": _hash(model.coef_se_), "conf_int": _hash(model.conf_int(0.9))}
        bits["clear"] = _hash(model.clear_, float(model.noise_floor_))
    if hasattr(model, "privacy_"):
        record = model.privacy_.to_dict()
        numbers["promise"] = [record["epsilon"], record["rho"], record["mu"]]
        bits["promise"] = _hash(*numbers["promise"])
        bits["releases"] = _of_releases(record, "kind", "rho", "scale", "size", "part")
        bits["sensitivities"] = _of_releases(record, "sensitivity", "pure_epsilon")
        # By themselves: words may be changed on purpose.
        bits["words"] = _of_releases(record, "name", "mechanism")
    return numbers | {"predict": predictions.tolist()}, bits


def _of_releases(record, *fields):
    return _hash(*([release[field] for field in fields] for release in record["releases"]))


def _of_tuned(tuned, X):
    numbers, bits = _of_model(tuned.estimator, X)
    bits["choice"] = _hash(tuned.index, *(model.coef_ for model in tuned.candidates))
    return numbers, bits


def fingerprint():
    """What the bits of linear algebra and of numpy's and libm's functions depend on, but for the number of cores."""
    built = np.show_config(mode="dicts")
    blas = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": _version("numba"),
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "cpu": _cpu(),
        "simd": built["SIMD Extensions"]["found"],
        "blas": sorted({f"{each['internal_api']} {each['version']} {each.get('architecture')}" for each in blas}),
    }


def _version(library):
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def key(name, dtype):
    """The name of an entry."""
    return f"{name}, {dtype}"


def made():
    """All that bits.json holds."""
    fits = {}
    for engine_name in IN_MEMORY | ELSEWHERE:
        with running(engine_name) as engine:
            for name, dtype in cases_on(engine_name):
                numbers, bits = engine.fit(name, dtype)
                entry = fits.setdefault(key(name, dtype), {**numbers, "bits": bits, "engines": {}})
                other = {part: found for part, found in bits.items() if found != entry["bits"][part]}
                if is_private(name) and not set(other) <= {"predict"}:
                    raise SystemExit(f"{name} in {dtype} differs on {engine_name}: {', '.join(other)}")
                if other:
                    entry["engines"][engine_name] = other
    return {"fingerprint": fingerprint(), "plans": {name: forecast(name) for name in PLANS}, "fits": fits}


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(made(), indent=1) + "\n")
