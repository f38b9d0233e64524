"""Base class of the paper's three private methods: parameters, their documentation, one fit."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.iht.private_iht import PEELING_SCALES, iht_commitment, private_iht, step_units
from dpsparse.algorithms.iht.theory import default_clip_bound, default_n_iter, step_sizes
from dpsparse.algorithms.losses import Loss
from dpsparse.data.as_table import as_table
from dpsparse.data.validation import cap_sparsity, check_choice, check_count, check_number, name_of_response
from dpsparse.estimators._private import PrivateLinearRegressor, as_dtype
from dpsparse.estimators._types import Calibration, LedgerLocation, Progress
from dpsparse.model.effect import Effect
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.selection import paper_scale_is_sound
from dpsparse.privacy.protection import Adjacency

_COMMON = """
    Parameters
    ----------
    sparsity : int, default=5
        Features to select.
    epsilon : float, default=1.0
        The guarantee to each person; smaller is more private.
    delta : float or None, default=None
        The guarantee's failure probability; None for n**-1.1, the paper's, or the ledger's if that is
        smaller.
{extra}
    step : {step_type}, default=None
        {step_text}
    n_iter : int or None, default=None
        Steps, and disjoint parts of the rows; None for log n. Part t holds every n_iter-th row from row t on.
    clip_bound : float or None, default=None
        Features are clipped at +- this and read in steps of clip_bound / 127; None for max(1, log d).
    radius : float or None, default=None
        {radius_text}
    calibration : {{"tight", "paper"}}, default="tight"
        The smallest peeling scale the accounting allows, or the paper's closed form, an error where that is unsound.
    adjacency : {{"replace-one", "zero-out-one"}}, default="replace-one"
        Which tables the guarantee covers: one record changed to any other, or blanked. n is public in both.
    records_per_person : int, default=1
        The most rows one person may have in X; the guarantee is to the person.
    random_state : int, RandomState or None, default=None
        Leave None for a private fit. A seed makes the noise repeatable and the fit not private; its record says so.
    ledger : path, URL or PrivacyLedger, default=None
        Where the budget of `dataset` is kept over many fits; see `PrivacyLedger`. None for no ledger.
    dataset : str or None, default=None
        The name under which that budget was granted.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Released coefficients, zero outside the support.
    intercept_ : float
        0: the method fits none.
    support_ : ndarray of shape (sparsity,)
        Features selected, in order of selection.
    privacy_ : PrivacyRecord
        The guarantee, every release and its cost.
    released_ : LinearModel
        All of the above as one object, which files, reports and notebooks read.
    n_iter_ : int
        Steps made.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where X has names.

    Notes
    -----
    There is no `sample_weight`: a weight multiplies a record's influence, and with it the sensitivity. The method
    takes features as publicly scaled to about unit size; it standardises nothing, since that would read the data.
    Data frames and CSC matrices are converted to floats once; arrays and the values of CSR are never copied.
"""


Method = TypeVar("Method", bound="PaperMethod")


def documented(**text: str) -> Callable[[type[Method]], type[Method]]:
    """Fill a class docstring's ``{common}`` with the shared parameters, attributes and notes."""

    def fill(cls: type[Method]) -> type[Method]:
        assert cls.__doc__ is not None  # every method has one
        before, after = cls.__doc__.split("    {common}\n")
        cls.__doc__ = before + _COMMON.strip("\n").format(**text) + "\n" + after
        return cls

    return fill


class PaperMethod(PrivateLinearRegressor):
    """One fit for the three methods; subclasses give the loss and the defaults of the theory."""

    _clip_predictions = True

    def __init__(
        self,
        *,
        sparsity: int = 5,
        epsilon: float = 1.0,
        delta: float | None = None,
        step: float | str | None = None,
        n_iter: int | None = None,
        clip_bound: float | None = None,
        radius: float | None = None,
        calibration: Calibration = "tight",
        adjacency: Adjacency = "replace-one",
        records_per_person: int = 1,
        random_state: Any = None,
        ledger: LedgerLocation = None,
        dataset: str | None = None,
    ) -> None:
        self.sparsity = sparsity
        self.epsilon = epsilon
        self.delta = delta
        self.step = step
        self.n_iter = n_iter
        self.clip_bound = clip_bound
        self.radius = radius
        self.calibration = calibration
        self.adjacency = adjacency
        self.records_per_person = records_per_person
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset

    def fit(self, X: Any, y: Any, *, progress: Progress = None) -> Self:
        """Fit privately. The whole guarantee is spent; it is charged before each release.

        Parameters
        ----------
        X : array-like, sparse matrix or other table of shape (n_samples, n_features)
            Finite features: also a memory map, a Zarr array or `OnDisk`, each read whole in every step, and a torch
            CUDA tensor, a CuPy array or `Streamed`, which are read by a GPU; and a dask array or data frame.
        y : array-like of shape (n_samples,)
            Finite responses; where X is dask's also a dask array or series.
        progress : callable or None, default=None
            Called with the steps done and their number.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        table = as_table(X)
        n, d = self._public_shape(table, y)
        sparsity = int(min(self.sparsity, d))
        n_iter = min(default_n_iter(n), n) if self.n_iter is None else int(self.n_iter)
        if n_iter > n:
            raise ValueError(f"n_iter={n_iter} is more than the {n} rows of X; each step needs rows of its own")
        clip_bound = default_clip_bound(d) if self.clip_bound is None else float(self.clip_bound)
        meter = self._open_meter(n)
        if self.calibration == "paper" and not paper_scale_is_sound(meter.guarantee, sparsity):
            raise ValueError(
                f"calibration='paper' does not keep epsilon={self.epsilon!r} at delta={meter.guarantee.delta:.3g} with "
                f"sparsity={sparsity}; use calibration='tight'"
            )
        radius = self._radius(sparsity)
        loss = self._loss(n, d, sparsity, meter.guarantee, clip_bound, radius)
        steps = step_sizes(self._step(sparsity), n_iter)
        step_units(n, steps, clip_bound, loss)
        with self._reserved(meter, lambda guarantee: iht_commitment(guarantee, sparsity, n_iter, self.calibration)):
            given, y = y, self._validated(table, y, (n, d))
            cap_sparsity(self.sparsity, d)
            self._warn_if_weak(meter)
            rows = table.rows(self._response(y), check_before_release=self._check_before_release)
            if self._must_check_finite():
                rows.require_finite()
        self._reset()
        result = private_iht(
            rows,
            meter,
            loss=loss,
            steps=steps,
            sparsity=sparsity,
            clip_bound=clip_bound,
            radius=radius,
            calibration=self.calibration,
            clip_predictions=self._clip_predictions,
            progress=progress,
        )
        self.coef_ = as_dtype(result.coef, table.dtype)
        self.intercept_ = 0.0
        self.support_ = result.support
        self.n_iter_ = n_iter
        names = self._names_of(self.support_)
        effects = [Effect(name, float(self.coef_[j])) for j, name in zip(self.support_, names, strict=True)]
        target = name_of_response(given, table.names)
        self._publish(self._linear_model(effects, meter.record(), target, constant=self.intercept_))
        return self

    def _check_parameters(self) -> None:
        self._check_guarantee()
        check_count("sparsity", self.sparsity, remedy="it is the number of features to select")
        if self.n_iter is not None:
            check_count("n_iter", self.n_iter, remedy="use None for log n")
        if self.clip_bound is not None:
            check_number("clip_bound", self.clip_bound, above=0, remedy="use None for max(1, log d)")
        if self.radius is not None:
            check_number("radius", self.radius, above=0, remedy="use None for the default")
        if self.step is not None and not isinstance(self.step, str):
            check_number("step", self.step, above=0, remedy="use None for the theory's default")
        check_choice("calibration", self.calibration, tuple(PEELING_SCALES))

    def _radius(self, sparsity: int) -> float | None:
        return self.radius

    def _loss(
        self, n: int, d: int, sparsity: int, guarantee: Guarantee, clip_bound: float, radius: float | None
    ) -> Loss:
        raise NotImplementedError

    def _response(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return y

    def _step(self, sparsity: int) -> float | tuple[float, float, float]:
        if isinstance(self.step, str):
            raise ValueError(f"step={self.step!r} must be a number above 0, or None for the theory's default")
        return 0.5 if self.step is None else self.step
