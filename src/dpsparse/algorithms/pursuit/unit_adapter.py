"""Temporary: the interface with unknown units, on the pursuit that needs units. Delete it with the new method."""

from dataclasses import dataclass

import numpy as np

from dpsparse.algorithms.pursuit import pursuit as known_units
from dpsparse.algorithms.pursuit import schedule


@dataclass(frozen=True)
class Equation:
    """The estimating equation that the effects solve up to noise."""

    features: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    tau: float
    inner: float
    outer: float


@dataclass(frozen=True)
class PursuitResult:
    """Releases of a pursuit, per unit of each feature."""

    support: np.ndarray
    effects: np.ndarray
    shrunk_effects: np.ndarray
    standard_errors: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    learned: np.ndarray
    trusted: np.ndarray
    intercept: float
    range: tuple | None
    explains: bool
    scale_known: bool
    reason: str
    cut: float
    lumped: bool
    equation: object


class Pursuit(known_units.Pursuit):
    """Today's pursuit, with 0 and 1 for unknown units."""

    def __init__(self, rows, meter, schedule, *, units, **options):
        self.units = units
        center, scale = units.filled()
        super().__init__(rows, meter, schedule, center=center, scale=scale, **options)

    def run(self):
        """Make the releases."""
        made = super().run()
        given = np.array([self.units.of(j) for j in made.support])
        center, scale = np.nan_to_num(given[:, 0]), np.nan_to_num(given[:, 1], nan=1.0)
        cut = known_units.FINAL_TAU * self.state.residual_scale
        reason = "" if made.scale_known else "the response's scale could not be learned"
        return PursuitResult(
            support=made.support,
            effects=made.effects,
            shrunk_effects=made.shrunk_effects,
            standard_errors=made.standard_errors,
            center=center,
            scale=scale,
            learned=np.isnan(given).any(axis=1),
            trusted=made.centered,
            intercept=made.intercept,
            range=None,
            explains=True,
            scale_known=made.scale_known,
            reason=reason,
            cut=cut,
            lumped=False,
            equation=Equation(made.support, center, scale, cut, 1.0, 1.0),
        )


def schedule_for(guarantee, n, d, sparsity, *, units_known, **known):
    """The schedule that spends a guarantee."""
    return schedule.schedule_for(guarantee, n, d, sparsity, **known)
