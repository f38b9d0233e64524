"""The paper's private methods: DP-IHT-H, DP-IHT-L and DP-SLR."""

import math

import numpy as np

from dpsparse.algorithms.iht import PEELING_SCALES, private_iht
from dpsparse.algorithms.theory import (
    default_clip_bound,
    default_n_iter,
    step_sizes,
    theory_parameters,
    two_phase_step,
)
from dpsparse.engine.rows import rows_of
from dpsparse.estimators._private import PrivateLinearRegressor
from dpsparse.estimators._validation import (
    cap_sparsity,
    check_choice,
    check_count,
    check_number,
    validate_table,
)
from dpsparse.losses import Absolute, Huber, Squared
from dpsparse.privacy.selection import paper_scale_is_sound

_COMMON = """
    Parameters
    ----------
    sparsity : int, default=5
        Features to pick.
    epsilon : float, default=1.0
        The promise to each person; smaller is more private.
    delta : float or None, default=None
        The promise's slack; None for n**-1.1, the paper's.
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
        Which tables the promise covers: one record changed to any other, or blanked. n is public in both.
    records_per_person : int, default=1
        The most rows one person may have in X; the promise is to the person.
    random_state : int, RandomState or None, default=None
        Leave None for a private fit. A seed makes the noise repeatable and the fit not private; its record says so.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Released coefficients, zero outside the support.
    intercept_ : float
        0: the method fits none.
    support_ : ndarray of shape (sparsity,)
        Features picked, in order of picking.
    privacy_ : PrivacyRecord
        Every release, its cost, the promise kept.
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
    Data frames, integers and CSC matrices are converted to floats once; arrays and CSR are never copied.
"""


def _documented(**text):
    def fill(cls):
        before, after = cls.__doc__.split("    {common}\n")
        cls.__doc__ = before + _COMMON.strip("\n").format(**text) + "\n" + after
        return cls

    return fill


class _PaperMethod(PrivateLinearRegressor):
    """One fit for the three methods; subclasses give the loss and the defaults of the theory."""

    _clip_predictions = True

    def __init__(
        self,
        *,
        sparsity=5,
        epsilon=1.0,
        delta=None,
        step=None,
        n_iter=None,
        clip_bound=None,
        radius=None,
        calibration="tight",
        adjacency="replace-one",
        records_per_person=1,
        random_state=None,
    ):
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

    def fit(self, X, y):
        """Fit privately. The whole promise is spent; it is charged before each release.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite features.
        y : array-like of shape (n_samples,)
            Finite responses.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        X, y = validate_table(self, X, y, reset=True, min_samples=2)
        n, d = X.shape
        sparsity = cap_sparsity(self.sparsity, d)
        n_iter = min(default_n_iter(n), n) if self.n_iter is None else int(self.n_iter)
        if n_iter > n:
            raise ValueError(f"n_iter={n_iter} is more than the {n} rows of X; each step needs rows of its own")
        clip_bound = default_clip_bound(d) if self.clip_bound is None else float(self.clip_bound)
        meter = self._open_meter(n)
        if self.calibration == "paper" and not paper_scale_is_sound(meter.promise, sparsity):
            raise ValueError(
                f"calibration='paper' does not keep epsilon={self.epsilon!r} at delta={meter.promise.delta:.3g} with "
                f"sparsity={sparsity}; use calibration='tight'"
            )
        radius = self._radius(sparsity)
        result = private_iht(
            rows_of(X, self._response(y)),
            meter,
            loss=self._loss(n, d, sparsity, meter.promise, clip_bound, radius),
            steps=step_sizes(self._step(sparsity), n_iter),
            sparsity=sparsity,
            clip_bound=clip_bound,
            radius=radius,
            calibration=self.calibration,
            clip_predictions=self._clip_predictions,
        )
        self.coef_ = result.coef.astype(X.dtype)
        self.intercept_ = 0.0
        self.support_ = result.support
        self.n_iter_ = n_iter
        self.privacy_ = meter.record()
        return self

    def _check_parameters(self):
        self._check_promise()
        check_count("sparsity", self.sparsity, remedy="it is the number of features to pick")
        if self.n_iter is not None:
            check_count("n_iter", self.n_iter, remedy="use None for log n")
        if self.clip_bound is not None:
            check_number("clip_bound", self.clip_bound, above=0, remedy="use None for max(1, log d)")
        if self.radius is not None:
            check_number("radius", self.radius, above=0, remedy="use None for the default")
        if self.step is not None and not isinstance(self.step, str):
            check_number("step", self.step, above=0, remedy="use None for the theory's default")
        check_choice("calibration", self.calibration, tuple(PEELING_SCALES))

    def _radius(self, sparsity):
        return self.radius

    def _response(self, y):
        return y

    def _step(self, sparsity):
        if isinstance(self.step, str):
            raise ValueError(f"step={self.step!r} must be a number above 0, or None for the theory's default")
        return 0.5 if self.step is None else self.step


@_documented(
    extra="""    tau : float or None, default=1.0
        Threshold of the Huber loss; None to take it from `zeta` by theory.
    zeta : float, default=1.0
        The noise has 1 + zeta finite moments; used where `tau` is None.""",
    step_type="float or None",
    step_text="Step size; None for 0.5 (the paper's experiments use 0.01, which cannot leave the origin).",
    radius_text="Coefficients are projected on the ball of this radius; None for no projection.",
)
class DPIHTH(_PaperMethod):
    """DP-IHT-H: private iterative hard thresholding with the Huber loss (Algorithm 1 of the paper).

    Follows the printed algorithm with its step's sign and its sensitivity mended: descent, and twice the printed
    sensitivity under "replace-one".

    {common}

    Examples
    --------
    >>> from dpsparse import DPIHTH
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, coef = make_heavy_tailed(1000, 50, 3, random_state=0)
    >>> model = DPIHTH(sparsity=3, epsilon=1.0).fit(X, y)
    >>> int((model.coef_ != 0).sum()) <= 3, model.privacy_.epsilon <= 1.0
    (True, True)
    """

    def __init__(
        self,
        *,
        sparsity=5,
        epsilon=1.0,
        delta=None,
        tau=1.0,
        zeta=1.0,
        step=None,
        n_iter=None,
        clip_bound=None,
        radius=None,
        calibration="tight",
        adjacency="replace-one",
        records_per_person=1,
        random_state=None,
    ):
        super().__init__(
            sparsity=sparsity,
            epsilon=epsilon,
            delta=delta,
            step=step,
            n_iter=n_iter,
            clip_bound=clip_bound,
            radius=radius,
            calibration=calibration,
            adjacency=adjacency,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.tau = tau
        self.zeta = zeta

    def _check_parameters(self):
        super()._check_parameters()
        if self.tau is not None:
            check_number("tau", self.tau, above=0, remedy="use None to take it from zeta by theory")

    def _loss(self, n, d, sparsity, promise, clip_bound, radius):
        if self.tau is not None:
            return Huber(float(self.tau))
        return Huber(theory_parameters(n, d, sparsity, self.zeta, promise.epsilon, promise.delta).tau)


@_documented(
    extra="",
    step_type='float, "two-phase" or None',
    step_text='A constant step, or Theorem 4\'s: geometric decay, then constant; None for "two-phase".',
    radius_text="Coefficients are projected on the ball of this radius; None for no projection.",
)
class DPIHTL(_PaperMethod):
    """DP-IHT-L: private iterative hard thresholding with the absolute loss (Algorithm 3 of the paper).

    {common}

    Examples
    --------
    >>> from dpsparse import DPIHTL
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, coef = make_heavy_tailed(1000, 50, 3, df=1.75, random_state=0)
    >>> DPIHTL(sparsity=3, epsilon=1.0).fit(X, y).privacy_.private
    True
    """

    _clip_predictions = False

    def _step(self, sparsity):
        if self.step is None or self.step == "two-phase":
            return two_phase_step(sparsity)
        if isinstance(self.step, str):
            raise ValueError(f"step={self.step!r} must be a number above 0, 'two-phase' or None")
        return self.step

    def _loss(self, n, d, sparsity, promise, clip_bound, radius):
        return Absolute()


@_documented(
    extra="""    response_bound : float or None, default=None
        Responses are clipped at +- this; None for sqrt(2 log n).""",
    step_type="float or None",
    step_text="Step size; None for 0.5.",
    radius_text="Coefficients are projected on the ball of this radius; None for sqrt(sparsity), as it must be finite.",
)
class DPSLR(_PaperMethod):
    """DP-SLR: private sparse regression for light tails (Cai, Wang and Zhang 2021), the paper's baseline.

    The same loop with the squared loss. A residual is at most response_bound + clip_bound sqrt(sparsity) radius
    because responses, features and coefficients are clipped, and the sensitivity rests on that; the published
    constant rests on an assumption about the rows instead.

    {common}

    Examples
    --------
    >>> from dpsparse import DPSLR
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, coef = make_heavy_tailed(1000, 50, 3, df=30, random_state=0)
    >>> len(DPSLR(sparsity=3, epsilon=1.0).fit(X, y).support_)
    3
    """

    def __init__(
        self,
        *,
        sparsity=5,
        epsilon=1.0,
        delta=None,
        response_bound=None,
        step=None,
        n_iter=None,
        clip_bound=None,
        radius=None,
        calibration="tight",
        adjacency="replace-one",
        records_per_person=1,
        random_state=None,
    ):
        super().__init__(
            sparsity=sparsity,
            epsilon=epsilon,
            delta=delta,
            step=step,
            n_iter=n_iter,
            clip_bound=clip_bound,
            radius=radius,
            calibration=calibration,
            adjacency=adjacency,
            records_per_person=records_per_person,
            random_state=random_state,
        )
        self.response_bound = response_bound

    def _check_parameters(self):
        super()._check_parameters()
        if self.response_bound is not None:
            check_number("response_bound", self.response_bound, above=0, remedy="use None for sqrt(2 log n)")

    def _radius(self, sparsity):
        return math.sqrt(sparsity) if self.radius is None else float(self.radius)

    def _bound(self, n):
        return math.sqrt(2 * math.log(n)) if self.response_bound is None else float(self.response_bound)

    def _response(self, y):
        bound = self._bound(len(y))
        return np.clip(y, -bound, bound)

    def _loss(self, n, d, sparsity, promise, clip_bound, radius):
        return Squared(self._bound(n) + clip_bound * math.sqrt(sparsity) * radius)
