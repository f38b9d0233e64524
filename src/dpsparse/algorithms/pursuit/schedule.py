"""The schedule of a private pursuit: its releases in order and their prices, fixed in advance from public numbers.

N = n sqrt(rho) is the size of a table as privacy sees it: at a share s of rho a count is known to n / (N sqrt(2 s)),
and a quantile on a grid needs a share in proportion to 1 / N^2. N decides which releases there are, and most prices.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpsparse.engine.vector_sums import VECTOR_LEVELS
from dpsparse.privacy.accounting.commitment import Commitment
from dpsparse.privacy.accounting.compose import largest_factor
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, RepeatedPicks, Slot

# How many final gradients there are, and the least share of rho that they have together.
FINAL_GRADIENTS, FINAL_LEAST = 3, 0.1
# One pick more than asked; the least significant is dropped after the first final gradient.
SPARE_PICKS = 1
# Price of the last pick against the first: features come out largest first, and the later, smaller ones need more.
PICK_RISE = 8
# Nats by which the most balanced split of a feature must lead, at least and at most; what all features' splits may cost
# beyond the least, and at all.
LEAST_NATS, MOST_NATS, SPLITS_CHEAP, SPLITS_SHARE = 9, 15, 0.01, 0.08
# Beyond this many features another pass over all of them takes more time than it is worth.
WIDE = 1_000

# A public grid of sizes, from a millionth to a trillion in steps of 2 %.
SIZES = np.exp(np.arange(math.log(1e-6), math.log(1e12), 0.02))


def _clip(value, low, high):
    return float(min(max(value, low), high))


@dataclass(frozen=True)
class Settings:
    """What a pursuit does, from public numbers alone.

    Parameters
    ----------
    n, d, sparsity : int
        Records, features, features in the result.
    rho : float
        What a record may cost by zCDP.
    units_known : {"all", "none", "some"}
        For which features centre and scale are public.
    center_known, scale_known : bool
        Whether the response's centre and scale are public.
    fit_intercept : bool
        Whether there is an intercept.
    """

    n: int
    d: int
    sparsity: int
    rho: float
    units_known: str = "all"
    center_known: bool = False
    scale_known: bool = False
    fit_intercept: bool = True

    @cached_property
    def size(self):
        """N = n sqrt(rho)."""
        return self.n * math.sqrt(self.rho)

    @cached_property
    def plenty(self):
        """0 where privacy noise dominates, 1 where sampling noise does."""
        return _clip((self.size - 400) / 1000, 0, 1)

    @cached_property
    def known(self):
        """Whether the units of all features are public."""
        return self.units_known == "all"

    @cached_property
    def noise_to_signal(self):
        """How much noise a pick sees against its signal: log d sqrt(s) / (n sqrt(rho))."""
        return max(1.0, math.log(self.d)) * math.sqrt(self.sparsity) / self.size

    @cached_property
    def n_picks(self):
        """How many features are selected; a spare one where d and the budget allow it."""
        return min(self.sparsity + (SPARE_PICKS if self.known or self.size >= 300 else 0), self.d)

    @property
    def choose(self):
        """Whether features are selected; otherwise all are taken in order."""
        return self.d > self.n_picks

    @property
    def clip_bound(self):
        """Clip of the features in the picks, in public units."""
        return _clip(0.5 * math.sqrt(0.04 / self.noise_to_signal), 0.4, 1.5)

    @property
    def learn(self):
        """Whether units are released: where they are unknown, and where it is cheap to check given ones."""
        return not self.known or self.size >= 1500

    @property
    def split_nats(self):
        """By how many nats an even split of a feature leads a useless one."""
        return _clip(self.size * math.sqrt(SPLITS_CHEAP / (2 * self.d)), LEAST_NATS, MOST_NATS)

    @property
    def splits_share(self):
        """The share of one balanced split for every feature; 0 where it is too much."""
        share = 2 * self.split_nats**2 * self.d / self.size**2
        possible = not self.known and self.choose and self.d <= WIDE
        return share if possible and share <= SPLITS_SHARE else 0.0

    @property
    def pairs(self):
        """Whether signs of pairs are candidates: where units are unknown, and where given ones are checked."""
        return self.choose and (not self.known or (self.learn and self.d <= WIDE))

    @property
    def thresholds(self):
        """Whether "x is above its split" is a candidate beside the pairs."""
        return not self.known and self.choose and (self.size >= 350 or self.splits_share > 0)

    @property
    def level(self):
        """Whether the residuals' level is released before each pick: thresholds need it, and the constant to move."""
        return self.thresholds and self.fit_intercept

    @property
    def tail(self):
        """The upper tail of a feature's differences that its scale looks at; 0 for none."""
        return (0 if self.size < 500 else 5 if self.size < 1500 else 10) if self.learn else 0

    @property
    def means(self):
        """Whether the mean and the square of a selected feature are released."""
        return self.learn and self.size >= 350 and self.fit_intercept

    @property
    def slopes(self):
        """Whether an effect starts from the slopes of pairs."""
        return self.size >= (500 if self.known else 275)

    @property
    def second_slopes(self):
        """Whether it starts so a second time, once all features are selected."""
        return self.size >= 800 and not self.known

    @property
    def rows(self):
        """Whether the newest feature's second moments are released at once."""
        noise = 2.6 * math.sqrt(self.sparsity) / (self.size * math.sqrt(0.12 / (self.sparsity + 1)))
        return noise <= 0.12 and self.n_picks > 1

    @property
    def sandwich(self):
        """Whether the Jacobian and the variance of the score are released: below this they would be noise."""
        return math.sqrt(2) * 0.9 * (self.n_picks + 1) / (0.2 * self.size) <= 0.08

    @property
    def inner(self):
        """Where row norms are clipped, in units of the square root of their length."""
        return 0.6 if self.known else 0.6 + 0.2 * self.plenty

    @property
    def outer(self):
        """Where the weight of a row begins to fall with its square, in the same units."""
        return 1.5 if self.known else self.inner + 0.9 + 0.3 * self.plenty

    def once(self):
        """Shares of rho of the releases that are made once, without the final gradients."""
        N, plenty = self.size, self.plenty
        closing = 0.004 if self.known else 0.01 - 0.006 * plenty
        intercept = self.fit_intercept
        return {
            "response size": 0.0 if self.scale_known else _clip(800 / N**2, 0.004, 0.02),
            "response centre": _clip(360 / N**2, 0.003, 0.0105) if intercept and not self.center_known else 0.0,
            "response scale": 0.0 if self.scale_known else _clip(150 / N**2, 0.002, 0.005),
            "splits": self.splits_share,
            "Gram matrix": (0.02 if self.rows else 0.03) + 0.02 * _clip(2 - N / 400, 0, 1),
            "Jacobian": 0.02 if self.sandwich else 0.0,
            "score variance": 0.01 if self.sandwich else 0.0,
            "gain": closing,
            "intercept": _clip(200 / N**2, 0.004, 0.02) if intercept else 0.0,
            "offset width": _clip(100 / N**2, 0.001, 0.006) if intercept else 0.0,
            "offset": _clip(800 / N**2, 0.004, 0.02) if intercept else 0.0,
            "response range": _clip(150 / N**2, 0.001, 0.004),
        }

    def each(self):
        """Shares of rho of the releases that are made for each selected feature."""
        N, plenty = self.size, self.plenty
        shares = {
            "level": _clip(2000 / N**2, 0.003, 0.01) if self.level else 0.0,
            "unit size": _clip(650 / N**2, 0.004 if self.known else 0.012, 0.02) if self.learn else 0.0,
            "unit spread": _clip(300 / N**2, 0.0015 if self.known else 0.003, 0.005) if self.learn else 0.0,
            "unit tail": _clip(3000 / N**2, 0.0025, 0.006) if self.tail else 0.0,
            "unit centre": _clip(250 / N**2, 0.002, 0.007) if self.learn and self.fit_intercept else 0.0,
            "unit mean": _clip(900 / N**2, 0.003, 0.005) if self.means else 0.0,
            "slope": 0.004 + 0.001 * plenty * (not self.known) if self.slopes else 0.0,
            "residual scale": _clip(100 / N**2, 0.001, 0.003),
            "fraction": 0.0012,
        }
        shrink = min(1.0, (6 / self.n_picks) ** 0.75, 7 / self.n_picks)
        return {name: share * shrink for name, share in shares.items()}

    def selection(self):
        """The share of rho of all picks."""
        if not self.choose:
            return 0.0
        share = 0.45 + 0.09 * math.log2(self.noise_to_signal / 0.02)
        return _clip(share, 0.3, 0.6 if self.known else 0.5)


@dataclass(frozen=True)
class Schedule:
    """The releases of a pursuit in order of time, each at its price.

    Parameters
    ----------
    settings : Settings
        What the pursuit does.
    factor : float
        The prices in units of the zCDP budget; above 1 where the Gaussian account allows it.
    """

    settings: Settings
    factor: float = 1.0

    @cached_property
    def commitment(self):
        """The releases as a commitment."""
        return Commitment(tuple(self._slot(*each) for each in self._priced()))

    def slots(self):
        """One slot for each release: `Pursuit` makes them in this order, which is stated in `_named` alone."""
        return self.commitment.slots

    @cached_property
    def _others(self):
        """What all releases but the final gradients ask for, as a share of rho."""
        return math.fsum(share for _, share in self._named() if share is not None)

    @cached_property
    def final_share(self):
        """What the other releases leave for the final gradients together."""
        return max(FINAL_LEAST, 1 - self._others)

    def _priced(self):
        left, extra = self.final_share, {}
        shrink = min(1.0, (1 - FINAL_LEAST) / self._others)
        if not self.settings.known or not self.settings.choose:
            # What is plentiful goes to second moments too.
            sandwich = self.settings.sandwich
            extra = {"Gram matrix": 0.12 - 0.06 * self.settings.plenty, "Jacobian": 0.06 * sandwich}
            extra["score variance"] = 0.03 * sandwich
        final = left * (1 - math.fsum(extra.values())) / FINAL_GRADIENTS
        whole = self.factor * self.settings.rho * (1 - 1e-9)
        for name, share in self._named():
            share = final if share is None else shrink * share + left * extra.get(name, 0.0)
            if share > 0:
                yield name, share * whole

    def _named(self):
        """Names and shares of rho in order of time; None for a final gradient."""
        settings, once, each = self.settings, self.settings.once(), self.settings.each()
        for name in ("splits", "response size", "response centre", "response scale"):
            yield name, once[name]
        n_picks = settings.n_picks
        rises, grows = np.linspace(1, PICK_RISE, n_picks), np.arange(1, n_picks + 1) ** 1.5
        early = 0.09 if settings.known else 0.09 - 0.055 * settings.plenty
        rows = (0.03 if settings.known else 0.03 - 0.015 * settings.plenty) if settings.rows else 0.0
        for k in range(1, n_picks + 1):
            yield f"level {k}", each["level"]
            yield f"pick {k}", settings.selection() * rises[k - 1] / rises.sum()
            for name in ("unit size", "unit spread", "unit tail", "unit centre", "unit mean"):
                yield f"{name} {k}", each[name]
            if k > 1:
                yield f"Gram row {k}", rows / (n_picks - 1)
            yield f"slope {k}", each["slope"]
            yield f"residual scale {k}", each["residual scale"]
            yield f"gradient {k}", early * grows[k - 1] / grows.sum()
            yield f"fraction at gradient {k}", each["fraction"]
        yield "Gram matrix", once["Gram matrix"]
        for k in range(1, FINAL_GRADIENTS + 1):
            if k == 2 and settings.second_slopes:
                for place in range(1, min(settings.sparsity, n_picks) + 1):
                    yield f"second slope {place}", each["slope"]
                yield "residual scale", each["residual scale"]
            if k == FINAL_GRADIENTS:
                yield "Jacobian", once["Jacobian"]
                yield "score variance", once["score variance"]
            yield f"final gradient {k}", None
            yield f"fraction at final gradient {k}", each["fraction"]
        for name in ("gain", "intercept", "offset width", "offset", "response range"):
            yield name, once[name]

    def _slot(self, name, rho):
        if name == "splits":
            return Slot(name, RepeatedPicks(rho, count=self.settings.d))
        if name.rstrip(" 0123456789") in PICKS:
            return Slot(name, ExponentialMechanism(rho))
        # The coarsest noise and the most numbers: no released vector has fewer levels, and no Gram matrix more entries.
        k = self.settings.n_picks + 1
        scale = VECTOR_LEVELS / math.sqrt(2 * rho)
        return Slot(name, GaussianMechanism.drawn(scale=scale, size=k * (k + 1) // 2, rho=rho))

    @property
    def final_tau(self):
        """Where final residuals are clipped, in residual scales: tighter where privacy noise dominates."""
        k, settings = self.settings.n_picks + 1, self.settings
        price = self.final_share * self.factor * settings.rho
        ratio = 2 * 0.6 * math.sqrt(k) / math.sqrt(2 * price) / math.sqrt(settings.n)
        return _clip(1.15 - 1.2 * ratio, 0.6, 1.1)


# The groups of slots that are picks by the exponential mechanism; the others are Gaussian.
PICKS = {
    *("response size", "response centre", "response scale", "pick", "unit size", "unit tail", "unit centre", "slope"),
    *("second slope", "residual scale", "intercept", "offset width", "response range"),
}


def median_share(n, rho, grid, least, most):
    """The share at which a median by exponential mechanism is safe from the far ends of its grid.

    A point beyond all data has a utility of n/2 less than the median, so all points of the grid together have odds of
    at most exp(log |grid| - e0 n / 4), e0^2 = 8 share rho: these are kept to e^-6, within public limits on the share.
    """
    epsilon0 = 4 * (math.log(len(grid)) + 6) / n
    return float(np.clip(epsilon0**2 / (8 * rho), least, most))


def schedule_for(guarantee, n, d, sparsity, **public):
    """The schedule that spends a guarantee: shares of the zCDP budget, stretched to fill the Gaussian account.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.schedule import schedule_for
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> schedule = schedule_for(Guarantee(1.0, 1e-6), 10_000, 1_000, 5)
    >>> schedule.settings.n_picks, schedule.factor > 1
    (6, True)
    """
    settings = Settings(n, d, sparsity, guarantee.rho_per_record, **public)
    at_zcdp = Schedule(settings)
    factor = largest_factor([slot.mechanism for slot in at_zcdp.slots()], guarantee.mu_per_record)
    stretched = Schedule(settings, factor)
    return stretched if stretched.commitment.composed.tv_slack_fits(guarantee) else at_zcdp
