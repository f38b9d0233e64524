"""Losses, each as the two things that a private gradient needs: its derivative psi and a bound on |psi|."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Loss(Protocol):
    """What a private gradient needs of a loss."""

    @property
    def bound(self) -> float:
        """The largest |psi|."""

    def psi(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derivative."""


@dataclass(frozen=True)
class Huber:
    """Huber's loss: squared within `tau`, absolute beyond."""

    tau: float

    @property
    def bound(self) -> float:
        """The largest |psi|."""
        return self.tau

    def psi(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """The residual, clipped at tau."""
        return np.clip(residual, -self.tau, self.tau)


@dataclass(frozen=True)
class Absolute:
    """The absolute loss; psi is the sign."""

    bound = 1.0

    def psi(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sign of the residual."""
        return np.sign(residual)


@dataclass(frozen=True)
class Squared:
    """The squared loss, with residuals clipped at `bound`."""

    bound: float

    def psi(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """The residual, clipped at the bound."""
        return np.clip(residual, -self.bound, self.bound)
