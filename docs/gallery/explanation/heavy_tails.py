"""
Heavy tails
===========

Why outliers cost twice under differential privacy, and what clipping does about it.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpsparse import PrivateSparseRegressor
from dpsparse.datasets import make_heavy_tailed
from dpsparse.privacy.guarantee import Guarantee

# %%
# A mean that never settles
# -------------------------
# Costs and incomes have heavy tails: now and then a record is hundreds of times the typical one.
# Their means follow the largest record so far; their medians do not. Below are 10,000 draws of
# Student's t with 1.2 degrees of freedom: the mean exists, the variance is infinite.

rng = np.random.default_rng(0)
draws = rng.standard_t(1.2, 10_000)
count = np.arange(1, len(draws) + 1)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.semilogx(count, np.cumsum(draws) / count, label="mean")
axes.semilogx(count[9::10], [np.median(draws[:n]) for n in count[9::10]], label="median")
axes.axhline(0, color="black", linewidth=0.8, linestyle=":")
axes.set_ylim(-2, 2)
axes.set_xlabel("records")
axes.legend()
plt.show()

# %%
# Privacy needs a bound
# ---------------------
# Noise must hide the most that one record can change a sum: its *sensitivity*. For unbounded values
# it is infinite. So the code clips each record's term at some tau, and the noise is proportional
# to tau.
#
# - A large tau needs much noise, to hide records that hardly ever occur.
# - A small tau clips ordinary records too, which biases the result.
#
# The error of a mean of 10,000 such values, clipped at tau, has three parts:

rho = Guarantee(epsilon=0.5, delta=1e-5).rho_per_record
taus = np.geomspace(0.3, 300, 40)
values = rng.standard_t(1.5, 2_000_000) + 1  # the true mean is 1
clipped = [np.clip(values, -tau, tau) for tau in taus]
bias = np.abs([c.mean() - 1 for c in clipped])
sampling = np.array([c.std() for c in clipped]) / np.sqrt(10_000)
noise = 2 * taus / 10_000 / np.sqrt(2 * rho)
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.loglog(taus, bias, ":", label="bias of clipping")
axes.loglog(taus, sampling, "--", label="sampling")
axes.loglog(taus, noise, "-.", label="privacy noise")
axes.loglog(taus, np.sqrt(bias**2 + sampling**2 + noise**2), color="black", label="all together")
axes.set_xlabel("tau, where values are clipped")
axes.set_ylabel("error of the mean")
axes.set_ylim(1e-3, None)
axes.legend()
plt.show()

# %%
# Both extremes are bad. Regression is easier than a mean: it clips *residuals*, and if the noise
# is symmetric, clipping does not bias the effects. Huber's loss does exactly that: small residuals
# count in full, large ones as plus or minus tau. So tau may be small, near the typical residual,
# and the noise is small with it. `PrivateSparseRegressor` learns that size privately and lowers tau
# as the residuals shrink; :doc:`/method` explains how. What comes out is the effect on the *typical*
# response, ``estimand="typical"``. For effects on the mean, its default, a second step clips far out,
# as far as the number of records allows, and says in its intervals what the clip may leave out.
#
# Does it work?
# -------------
# The same model, whose effects have an l2 norm of about 2, under noise with lighter and heavier
# tails, from Gaussian to infinite variance:

for df in (np.inf, 5, 3, 1.75, 1.2):
    errors = []
    for seed in range(3):
        X, y, coef = make_heavy_tailed(10_000, 200, sparsity=5, df=df, random_state=seed)
        public = {"feature_center": 0, "feature_scale": 1}
        model = PrivateSparseRegressor(sparsity=5, estimand="typical", epsilon=0.5, **public).fit(X, y)
        errors.append(np.linalg.norm(model.coef_ - coef))
    print(f"t with {df:>4} degrees of freedom: l2 error {np.mean(errors):.3f}")

# %%
# What robust does not mean
# -------------------------
# - Such a result describes typical records. If a tenth of the patients causes nine tenths of the
#   cost, the *mean* cost is not what is estimated: :doc:`/how-to/mean-or-typical`.
# - A large effect that only one record in twenty carries looks like outliers and is
#   underestimated: see "Large effects of rare features" in :doc:`/method`.
# - Skewed noise moves the intercept: predictions are of typical responses, below the mean of costs.
