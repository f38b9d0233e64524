"""What a private pursuit does, and the share of rho of each of its releases, from public numbers alone.

N = n sqrt(rho) is the size of a table as privacy sees it: at a share s of rho a count is known to n / (N sqrt(2 s)),
and a quantile on a grid needs a share in proportion to 1 / N^2. N decides which releases there are, and most prices.
"""

import math
from dataclasses import dataclass
from functools import cached_property

# One pick more than asked; the least significant is dropped after the first final gradient.
SPARE_PICKS = 1
# Nats by which the most balanced split of a feature must lead, at least and at most; what all features' splits may cost
# beyond the least, and at all.
LEAST_NATS, MOST_NATS, SPLITS_CHEAP, SPLITS_SHARE = 9, 15, 0.01, 0.08
# Beyond this many features another pass over all of them takes more time than it is worth.
WIDE = 1_000
# The releases that fits on the same records can share: the number of responses, and all units.
SHARED = {
    *("responses", "response size", "response centre", "response scale"),
    *("unit size", "unit spread", "unit tail", "unit centre", "unit mean"),
}


# Below this N nothing is predicted from features in unknown units.
LEAST_SIZE = 100
# From this size on a slope of residuals on predictions is more than noise.
CALIBRATE = 200
# "auto" takes all features where there are at most this many in known units, or N is this many times their number;
# otherwise it selects this many.
MOST_TAKEN, RECORDS_A_FEATURE, MOST_SELECTED = 300, 12, 10


def takes_all(n, n_candidates, rho, known):
    """Whether all features are better taken than some of them selected, if nobody knows how many matter.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.settings import takes_all
    >>> takes_all(10_000, 30, 0.02, known=False), takes_all(10_000, 200, 0.02, known=False)
    (True, False)
    """
    return n_candidates <= (MOST_TAKEN if known else n * math.sqrt(rho) / RECORDS_A_FEATURE)


def clip(value, low, high):
    """A number within limits."""
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
    units_known : {"all", "none", "some", "released"}
        For which features centre and scale are public; "released" where those of all that may be selected were
        released before, or are public.
    center_known, scale_known : bool
        Whether the response's centre and scale are public.
    fit_intercept : bool
        Whether there is an intercept.
    missing : bool
        Whether features and responses may be missing.
    preparation : tuple of (str, float)
        Names and shares of rho of the releases, before all others, that tell what the columns of a raw table are.
    most_splits : int or None
        How many features may need a split, where that is not d: those of a raw table that are not 0/1.
    naming, naming_failure : float
        The share of rho and the failure probability of the release of the selected features' names; 0 for none.
    whole : Settings or None
        Of the releases that this fit shares with others: the response's and the features' units. They are priced
        there, and not here.
    n_selectable : int or None
        The most features that may be selected by a fit that takes over units; None for all features. A fit with
        `whole` and without this number leads: it makes the shared releases.
    """

    n: int
    d: int
    sparsity: int
    rho: float
    units_known: str = "all"
    center_known: bool = False
    scale_known: bool = False
    fit_intercept: bool = True
    missing: bool = False
    preparation: tuple[tuple[str, float], ...] = ()
    most_splits: int | None = None
    naming: float = 0.0
    naming_failure: float = 0.0
    whole: "Settings | None" = None
    n_selectable: int | None = None

    @cached_property
    def size(self):
        """N = n sqrt(rho)."""
        return self.n * math.sqrt(self.rho)

    @cached_property
    def plenty(self):
        """0 where privacy noise dominates, 1 where sampling noise does."""
        return clip((self.size - 400) / 1000, 0, 1)

    @cached_property
    def known(self):
        """Whether the units of all features are public."""
        return self.units_known == "all"

    @property
    def features_pay(self):
        """Whether features can say more than a constant: units that are not known need a table of some size."""
        return self.known or self.size >= LEAST_SIZE

    @cached_property
    def noise_to_signal(self):
        """How much noise a pick sees against its signal: log d sqrt(s) / (n sqrt(rho))."""
        return max(1.0, math.log(self.width)) * math.sqrt(self.sparsity) / self.size

    @property
    def leads(self):
        """Whether the fit makes the releases that it shares with others."""
        return self.whole is not None and self.n_selectable is None

    @property
    def released(self):
        """Whether the units of all features that may be selected were released before, or are public."""
        return self.units_known == "released"

    @property
    def width(self):
        """How many features compete in a selection, each counted once."""
        return self.d if self.n_selectable is None else min(self.d, self.n_selectable)

    @cached_property
    def n_candidates(self):
        """How many features may be selected: those of the table and, where cells may be missing, whether each is."""
        everything = 2 * self.d if self.missing else self.d
        return everything if self.n_selectable is None else min(self.n_selectable, everything)

    @cached_property
    def n_picks(self):
        """How many features are selected; a spare one where there are enough and the budget allows it."""
        if self.leads:
            return self.whole.n_picks
        return min(self.sparsity + (SPARE_PICKS if self.known or self.size >= 300 else 0), self.n_candidates)

    @property
    def choose(self):
        """Whether features are selected; otherwise all are taken in order."""
        return self.n_candidates > self.n_picks

    @property
    def clip_bound(self):
        """Clip of the features in the picks, in public units."""
        return clip(0.5 * math.sqrt(0.04 / self.noise_to_signal), 0.4, 1.5)

    @property
    def learn(self):
        """Whether units are released, here or once for several fits: where some are unknown, and where it is cheap to
        check given ones.

        Of a feature that says whether another is missing nothing is known.
        """
        return not self.known or self.missing or (self.whole or self).size >= 1500

    @property
    def n_splits(self):
        """How many features may need a split."""
        return self.d if self.most_splits is None else self.most_splits

    @property
    def split_nats(self):
        """By how many nats an even split of a feature leads a useless one; where all are 0/1, none needs one."""
        return clip(self.size * math.sqrt(SPLITS_CHEAP / (2 * max(1, self.n_splits))), LEAST_NATS, MOST_NATS)

    @property
    def splits_share(self):
        """The share of one balanced split for every feature; 0 where it is too much."""
        share = 2 * self.split_nats**2 * self.n_splits / self.size**2
        possible = self.unit_free and 0 < self.n_splits <= WIDE
        return share if possible and share <= SPLITS_SHARE else 0.0

    @property
    def unit_free(self):
        """Whether features are selected whose units are not known yet."""
        return self.choose and not (self.known or self.released)

    @property
    def pairs(self):
        """Whether signs of pairs are candidates: where units are unknown, and where given ones are checked."""
        return self.unit_free or (self.choose and self.known and self.learn and self.d <= WIDE)

    @property
    def thresholds(self):
        """Whether "x is above its split" is a candidate: beside the pairs, or at the median of a released unit."""
        return (self.unit_free and (self.size >= 350 or self.splits_share > 0)) or (self.released and self.choose)

    @property
    def level(self):
        """Whether the residuals' level is released before each pick: thresholds need it, and the constant to move."""
        return (self.thresholds or self.gaps) and self.fit_intercept

    @property
    def gaps(self):
        """Whether "x is missing" is a candidate for every feature."""
        return self.missing and self.choose

    @property
    def tail(self):
        """The upper tail of a feature's differences that its scale looks at; 0 for none."""
        return (0 if self.size < 500 else 5 if self.size < 1500 else 10) if self.learn else 0

    @property
    def means(self):
        """Whether a selected feature's mean and square are released: one wrong centre would spoil all effects."""
        return self.learn and self.size >= LEAST_SIZE and self.fit_intercept

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
    def _moment_noise(self):
        """The noise of a released second moment, about."""
        return math.sqrt(2) * 0.9 * (self.n_picks + 1) / (0.2 * self.size)

    @property
    def sandwich(self):
        """Whether the Jacobian and the variance of the score are released: below this they would be noise."""
        return self._moment_noise <= 0.08

    @property
    def caution(self):
        """What standard errors of selected features are multiplied by if their units are given.

        Where second moments are noisy, nothing tells skewed features and correlated ones from others. Without this, one
        fit in five on permuted responses of real tables would find a feature significant.
        """
        return clip(1 + 12 * (self._moment_noise - 0.12), 1.0, 1.5) if self.choose else 1.0

    @property
    def inner(self):
        """Where row norms are clipped, in units of the square root of their length."""
        return 0.6 if self.known else 0.6 + 0.2 * self.plenty

    @property
    def outer(self):
        """Where the weight of a row begins to fall with its square, in the same units."""
        return 1.5 if self.known else self.inner + 0.9 + 0.3 * self.plenty

    @property
    def calibrate(self):
        """Whether the slope of residuals on predictions is released with their mean: in small tables it is noise."""
        return self.size >= CALIBRATE

    def once(self):
        """Shares of rho of the releases that are made once, without the final gradients."""
        N = self.size
        intercept = self.fit_intercept
        # In small tables with unknown units the constant and the check of the gain need more.
        small = 0.0 if self.known else 1 / N**2
        # With all features taken more is left for predictions.
        line = clip(3000 / N**2, 0.04, 0.09) if self.calibrate and not self.choose else clip(1000 / N**2, 0.01, 0.09)
        shares = {
            "response size": 0.0 if self.scale_known else clip(max(800 / N**2, 1600 * small), 0.004, 0.3),
            "response centre": clip(360 / N**2, 0.003, 0.15) if intercept and not self.center_known else 0.0,
            "response scale": 0.0 if self.scale_known else clip(150 / N**2, 0.002, 0.07),
            "splits": self.splits_share,
            "responses": clip(50 / N**2, 0.0005, 0.003) if self.missing else 0.0,
            "Gram matrix": (0.02 if self.rows else 0.03) + 0.02 * clip(2 - N / 400, 0, 1) if self.choose else 0.06,
            "residual scale": clip(800 / N**2, 0.004, 0.01) if N >= 280 else 0.0,
            "fraction": 0.0012,
            "Jacobian": (0.02 if self.choose else 0.08) if self.sandwich else 0.0,
            "score variance": (0.01 if self.choose else 0.04) if self.sandwich else 0.0,
            "response range": clip(max(250 / N**2, 600 * small), 0.002, 0.06),
            "gain": clip(1200 * small, 0.004, 0.03),
            "residual median": clip(1000 / N**2, 0.002, 0.03) if intercept else 0.0,
            "calibration": max(line, clip(5000 * small, 0.0, 0.09)) if intercept else 0.0,
        }
        return self._without_shared(shares)

    def each(self):
        """Shares of rho of the releases that are made for each selected feature."""
        N, plenty = self.size, self.plenty
        shares = {
            "level": clip(2000 / N**2, 0.003, 0.01) if self.level else 0.0,
            "unit size": clip(650 / N**2, 0.004 if self.known else 0.012, 0.02) if self.learn else 0.0,
            "unit spread": clip(300 / N**2, 0.0015 if self.known else 0.003, 0.005) if self.learn else 0.0,
            "unit tail": clip(3000 / N**2, 0.0025, 0.006) if self.tail else 0.0,
            "unit centre": clip(250 / N**2, 0.002, 0.007) if self.learn and self.fit_intercept else 0.0,
            "unit mean": (clip(900 / N**2, 0.003, 0.005) if N >= 350 else 0.002) if self.means else 0.0,
            "slope": 0.004 + 0.001 * plenty * (not self.known) if self.slopes else 0.0,
            "residual scale": clip(100 / N**2, 0.001, 0.003),
            "fraction": 0.0012,
        }
        shrink = min(1.0, (6 / self.n_picks) ** 0.75, 7 / self.n_picks)
        return self._without_shared({name: share * shrink for name, share in shares.items()})

    def _without_shared(self, shares):
        """The same, but nothing for releases that others pay for."""
        return {name: 0.0 if self.whole and name in SHARED else share for name, share in shares.items()}

    def selection(self):
        """The share of rho of all picks."""
        if not self.choose:
            return 0.0
        share = 0.45 + 0.09 * math.log2(self.noise_to_signal / 0.02)
        # Without units there is more to learn after a pick; where features are few, picks need less.
        return clip(share, 0.3, 0.6 if self.known else min(0.5, 0.35 + 0.03 * math.log(self.width)))
