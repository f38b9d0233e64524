"""The paper's private methods: DP-IHT-H, DP-IHT-L and DP-SLR."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.iht.theory import theory_parameters, two_phase_step
from dpsparse.algorithms.losses import Absolute, Huber, Squared
from dpsparse.data.validation import check_number
from dpsparse.estimators._paper import PaperMethod, documented
from dpsparse.estimators._types import Calibration, LedgerLocation
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import Adjacency


@documented(
    extra="""    tau : float or None, default=1.0
        Threshold of the Huber loss; None to take it from `zeta` by theory.
    zeta : float, default=1.0
        The noise has 1 + zeta finite moments; used where `tau` is None.""",
    step_type="float or None",
    step_text="Step size; None for 0.5 (the paper's experiments use 0.01, which cannot leave the origin).",
    radius_text="Coefficients are projected on the ball of this radius; None for no projection.",
)
class DPIHTH(PaperMethod):
    """DP-IHT-H: private iterative hard thresholding with the Huber loss (Algorithm 1 of the paper).

    Follows the printed algorithm with its step's sign and its sensitivity corrected: descent, and twice the printed
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
        sparsity: int = 5,
        epsilon: float = 1.0,
        delta: float | None = None,
        tau: float | None = 1.0,
        zeta: float = 1.0,
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
            ledger=ledger,
            dataset=dataset,
        )
        self.tau = tau
        self.zeta = zeta

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.tau is not None:
            check_number("tau", self.tau, above=0, remedy="use None to take it from zeta by theory")

    def _loss(
        self, n: int, d: int, sparsity: int, guarantee: Guarantee, clip_bound: float, radius: float | None
    ) -> Huber:
        if self.tau is not None:
            return Huber(float(self.tau))
        return Huber(theory_parameters(n, d, sparsity, self.zeta, guarantee.epsilon, guarantee.delta).tau)


@documented(
    extra="",
    step_type='float, "two-phase" or None',
    step_text='A constant step, or Theorem 4\'s: geometric decay, then constant; None for "two-phase".',
    radius_text="Coefficients are projected on the ball of this radius; None for no projection.",
)
class DPIHTL(PaperMethod):
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

    def _step(self, sparsity: int) -> float | tuple[float, float, float]:
        if self.step is None or self.step == "two-phase":
            return two_phase_step(sparsity)
        if isinstance(self.step, str):
            raise ValueError(f"step={self.step!r} must be a number above 0, 'two-phase' or None")
        return self.step

    def _loss(
        self, n: int, d: int, sparsity: int, guarantee: Guarantee, clip_bound: float, radius: float | None
    ) -> Absolute:
        return Absolute()


@documented(
    extra="""    response_bound : float or None, default=None
        Responses are clipped at +- this; None for sqrt(2 log n).""",
    step_type="float or None",
    step_text="Step size; None for 0.5.",
    radius_text="Coefficients are projected on the ball of this radius; None for sqrt(sparsity), as it must be finite.",
)
class DPSLR(PaperMethod):
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
        sparsity: int = 5,
        epsilon: float = 1.0,
        delta: float | None = None,
        response_bound: float | None = None,
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
            ledger=ledger,
            dataset=dataset,
        )
        self.response_bound = response_bound

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.response_bound is not None:
            check_number("response_bound", self.response_bound, above=0, remedy="use None for sqrt(2 log n)")

    def _radius(self, sparsity: int) -> float:
        return math.sqrt(sparsity) if self.radius is None else float(self.radius)

    def _bound(self, n: int) -> float:
        return math.sqrt(2 * math.log(n)) if self.response_bound is None else float(self.response_bound)

    def _response(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        bound = self._bound(len(y))
        return np.clip(y, -bound, bound)

    def _loss(
        self, n: int, d: int, sparsity: int, guarantee: Guarantee, clip_bound: float, radius: float | None
    ) -> Squared:
        assert radius is not None  # `_radius` gives one
        return Squared(self._bound(n) + clip_bound * math.sqrt(sparsity) * radius)
