"""
Why the paper's defaults stay at the origin
===========================================

The paper's loops, `DPIHTH` and `DPIHTL`, are private and simple. Run with the parameters printed in
the paper, they return nearly zero. This page shows the arithmetic; :doc:`/paper-errata` has all of
it, :doc:`/reproduction/README` every figure.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpsparse import DPIHTH
from dpsparse.datasets import make_heavy_tailed
from dpsparse.planning import peeling_limits

# %%
# A step that is too short
# ------------------------
# The loop takes T = log n steps, nine for 10,000 records, and each moves a coefficient by the
# step size times a mean of clipped terms. With Huber's tau = 1 and standardised features that
# mean is at most 1. So after T steps of 0.01 no coefficient can have moved further than

n, step = 10_000, 0.01
print(f"{np.log(n) * step:.2f}, where the true ones are near 1")

# %%
# by signal. The rest is noise.
#
# A longer step does not help by itself
# -------------------------------------
# Noise is in proportion to the step, as the signal is. What counts is their ratio, and it needs
# records: `peeling_limits` sets the largest signal that standardised data can show against the
# largest of d draws of noise, which a true feature has to beat.

sizes = np.geomspace(1_000, 1_000_000, 25).astype(int)
limits = [peeling_limits(int(size), 1_000, 5, 0.5) for size in sizes]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
noise = [limit.largest_noise for limit in limits]
signal = [limit.standardised_signal for limit in limits]
axes.loglog(sizes, noise, label="largest of 1,000 draws of noise")
axes.loglog(sizes, signal, "--", label="largest signal of standardised data")
axes.set_xlabel("records")
axes.set_ylabel("units of the step")
axes.set_title("d = 1,000, 5 features, epsilon = 0.5")
axes.legend()
plt.show()

# %%
# Left of the crossing a true feature is lost among the others, whatever the data say. Typical
# signals are some tenths of the largest, so that in practice it takes several times as many records.
#
# Four fits
# ---------

small, large = (10_000, 1_000), (200_000, 100)
for (n, d), step in ((small, 0.01), (small, 0.5), (large, 0.01), (large, 0.5)):
    X, y, coef = make_heavy_tailed(n, d, sparsity=5, random_state=0)
    model = DPIHTH(sparsity=5, epsilon=0.5, step=step).fit(X, y)
    error = np.linalg.norm(model.coef_ - coef) / np.linalg.norm(coef)
    print(f"{n:>7,} records, {d:>5,} features, step {step:<4}: error {error:.2f} of the signal")

# %%
# With the short step the error stays near that of the zero estimate, 1, at both sizes. With the
# long one it is noise at 10,000 records, and the method works at 200,000.
#
# What our own method does differently
# ------------------------------------
# It does not split the records over the steps, picks a feature once instead of anew in every
# step, clips features harder while picking, and combines all releases by least squares instead of
# following a gradient: :doc:`/method`.
