"""The schedule of a private pursuit: its releases in order and their prices, fixed in advance from public numbers."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit.settings import SHARED, Settings, clip
from dpsparse.engine.vector_sums import VECTOR_LEVELS
from dpsparse.learning.prices import SLOTS, preparation_slot
from dpsparse.privacy.accounting.commitment import Commitment
from dpsparse.privacy.accounting.compose import largest_factor
from dpsparse.privacy.accounting.release import (
    ExponentialMechanism,
    GaussianMechanism,
    RepeatedPicks,
    Slot,
)

# How many final gradients there are, and the least share of rho that they, or the steps below, have together.
FINAL_GRADIENTS, FINAL_LEAST = 3, 0.1
# Price of the last pick against the first: features come out largest first, and the later, smaller ones need more.
PICK_RISE = 8
# Where all features are taken: how many gradients there are, how many of the last are averaged, and before which the
# residual scale is released again.
N_STEPS, N_AVERAGED, RESCALED = 60, 30, (11, 31)
# The most features for which a start from slopes is looked for then.
MOST_STARTS = 12

# A public grid of sizes, from a millionth to a trillion in steps of 2 %.
SIZES = np.exp(np.arange(math.log(1e-6), math.log(1e12), 0.02))


UNIT = ("unit size", "unit spread", "unit tail", "unit centre", "unit mean")


@dataclass(frozen=True)
class Schedule:
    """The releases of a pursuit in order of time, each at its price.

    Parameters
    ----------
    settings : Settings
        What the pursuit does.
    factor : float
        The prices in units of the zCDP budget; above 1 where the Gaussian account allows it.
    whole : Schedule or None
        Has the releases that this fit shares with others (`Settings.whole`).
    """

    settings: Settings
    factor: float = 1.0
    whole: "Schedule | None" = None

    @cached_property
    def commitment(self):
        """The releases as a commitment."""
        return Commitment(tuple(self._slot(*each) for each in self._priced()))

    def slots(self):
        """One slot for each release, in the order that is stated in `_named` alone."""
        return self.commitment.slots

    @property
    def preparation(self):
        """The first slots, which tell what the columns of a raw table are."""
        return self.slots()[: len(self.settings.preparation)]

    @property
    def naming(self):
        """The last slot, if any, which names the selected features of a raw table that are text."""
        return tuple(slot for slot in self.slots() if slot.name == "names")

    @property
    def shared(self):
        """The slots about the response's and the features' units, which one fit can fill for several."""
        return tuple(slot for slot in self.slots() if slot.group in SHARED)

    @property
    def pursuit(self):
        """The slots between them, which `Pursuit` fills; where it leads, those that it fills for other fits too."""
        slots = self.slots()
        own = slots[len(self.preparation) : len(slots) - len(self.naming)]
        if not self.settings.leads:
            return own
        by_name = {slot.name: slot for slot in (*own, *self.whole.shared)}
        return tuple(by_name[name] for name, _ in self._named() if name in by_name)

    def response_slot(self, name):
        """The slot of a release about the response, here or in the whole; None where it is public."""
        public = self.settings.center_known if name == "response centre" else self.settings.scale_known
        slots = (self.whole or self).slots()
        return None if public else next((slot for slot in slots if slot.name == name), None)

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
        if self.settings.choose and not self.settings.known:
            # What is plentiful goes to second moments too.
            sandwich = self.settings.sandwich
            extra = {"Gram matrix": 0.12 - 0.06 * self.settings.plenty, "Jacobian": 0.06 * sandwich}
            extra["score variance"] = 0.03 * sandwich
        n_final = FINAL_GRADIENTS if self.settings.choose else N_STEPS
        final = left * (1 - math.fsum(extra.values())) / n_final
        whole = self.factor * self.settings.rho * (1 - 1e-9)
        for name, share in self._named():
            share = final if share is None else shrink * share + left * extra.get(name, 0.0)
            if share > 0:
                yield name, share * whole

    def _named(self):
        """Names and shares of rho in order of time; None for those that share what is left."""
        settings, once = self.settings, self.settings.once()
        yield from settings.preparation
        for name in ("splits", "responses", "response size", "response centre", "response scale"):
            yield name, once[name]
        yield from self._one_by_one() if settings.choose else self._all_at_once()
        for name in ("response range", "gain", "calibration", "residual median"):
            yield name, once[name]
        yield "names", settings.naming

    def _one_by_one(self):
        """Select a feature, learn its unit and its effect, and so on; then all effects together."""
        settings, once, each = self.settings, self.settings.once(), self.settings.each()
        n_picks = settings.n_picks
        rises, grows = np.linspace(1, PICK_RISE, n_picks), np.arange(1, n_picks + 1) ** 1.5
        early = 0.09 if settings.known else 0.09 - 0.055 * settings.plenty
        rows = (0.03 if settings.known else 0.03 - 0.015 * settings.plenty) if settings.rows else 0.0
        for k in range(1, n_picks + 1):
            yield f"level {k}", each["level"]
            yield f"pick {k}", settings.selection() * rises[k - 1] / rises.sum()
            for name in UNIT:
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

    def _all_at_once(self):
        """Learn the units of all features, then all effects together."""
        settings, once, each = self.settings, self.settings.once(), self.settings.each()
        for k in range(1, settings.n_picks + 1):
            for name in UNIT:
                yield f"{name} {k}", each[name]
        yield "Gram matrix", once["Gram matrix"]
        for step in range(1, N_STEPS + 1):
            if step == RESCALED[0] and settings.slopes and settings.n_picks <= MOST_STARTS:
                for place in range(1, settings.n_picks + 1):
                    yield f"second slope {place}", each["slope"]
            if step in RESCALED:
                yield f"residual scale {1 + RESCALED.index(step)}", once["residual scale"]
            yield f"descent {step}", None
        yield "fraction", once["fraction"]
        yield "Jacobian", once["Jacobian"]
        yield "score variance", once["score variance"]

    def _slot(self, name, rho):
        if name == "splits":
            return Slot(name, RepeatedPicks(rho, count=self.settings.n_splits))
        if name.rstrip(" 0123456789") in PICKS:
            return Slot(name, ExponentialMechanism(rho))
        if name in (*SLOTS, "names"):
            return preparation_slot(name, rho, self.settings.n, self.settings.naming_failure)
        # The coarsest noise and the most numbers: no released vector has fewer levels, no Gram matrix more entries, and
        # a calibration has four.
        k = self.settings.n_picks + 1
        scale, size = VECTOR_LEVELS / math.sqrt(2 * rho), max(k * (k + 1) // 2, 4)
        return Slot(name, GaussianMechanism.drawn(scale=scale, size=size, rho=rho))

    @property
    def final_tau(self):
        """Where final residuals are clipped, in residual scales: tighter where privacy noise dominates."""
        k, settings = self.settings.n_picks + 1, self.settings
        price = self.final_share * self.factor * settings.rho
        ratio = 2 * 0.6 * math.sqrt(k) / math.sqrt(2 * price) / math.sqrt(settings.n)
        return clip(1.15 - 1.2 * ratio, 0.6, 1.1)


# The groups of slots that are picks by the exponential mechanism; the others are Gaussian.
PICKS = {
    *("response size", "response centre", "response scale", "pick", "unit size", "unit tail", "unit centre", "slope"),
    *("second slope", "residual scale", "response range", "residual median"),
}


def median_share(n, rho, grid, least, most):
    """The share at which a median by exponential mechanism is safe from the far ends of its grid.

    A point beyond all data has a utility of n/2 less than the median, so all points of the grid together have odds of
    at most exp(log |grid| - e0 n / 4), e0^2 = 8 share rho: these are kept to e^-6, within public limits on the share.
    """
    epsilon0 = 4 * (math.log(len(grid)) + 6) / n
    return float(np.clip(epsilon0**2 / (8 * rho), least, most))


def taking_over(whole, units_known, n_known):
    """Settings of a fit that takes over the units that another one released, in slots of the schedule `whole`.

    It may select that many features at most, and those `n_known` whose units are public.
    """
    n_selectable = n_known + whole.settings.n_picks
    return {"units_known": "all" if units_known == "all" else "released", "n_selectable": n_selectable}


def schedule_for(guarantee, n, d, sparsity, *, whole=None, **public):
    """The schedule that spends a guarantee: shares of the zCDP budget, stretched to fill the Gaussian account.

    `whole` is a schedule that pays for the releases about units, if another one than this does.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.schedule import schedule_for
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> schedule = schedule_for(Guarantee(1.0, 1e-6), 10_000, 1_000, 5)
    >>> schedule.settings.n_picks, schedule.factor > 1
    (6, True)
    """
    of_whole = whole.settings if whole else None
    settings = Settings(n, d, sparsity, guarantee.rho_per_record, whole=of_whole, **public)
    at_zcdp = Schedule(settings, whole=whole)
    factor = largest_factor([slot.mechanism for slot in at_zcdp.slots()], guarantee.mu_per_record)
    stretched = replace(at_zcdp, factor=factor)
    if factor > 1 and stretched.commitment.composed.tv_slack_fits(guarantee):
        return stretched
    # Where a release may fail, zCDP is converted at a delta that is a little smaller.
    return replace(at_zcdp, factor=0.999) if settings.naming else at_zcdp
