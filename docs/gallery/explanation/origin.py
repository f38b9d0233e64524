"""
Why the paper's defaults stay at the origin
===========================================

The paper's loops, `DPIHTH` and `DPIHTL`, are private and simple. With the parameters printed in
the paper they return nearly zero. This page shows the main arithmetic; :doc:`/paper-errata` has the
rest, and :doc:`/reproduction/README` has every figure.
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
# by signal. Any other movement is noise.
#
# A longer step does not help by itself
# -------------------------------------
# Both noise and signal are proportional to the step. Their ratio decides, and it improves only with
# more records. `peeling_limits` compares the largest signal that standardised data can show with the
# largest of d draws of noise, which a true feature has to exceed.

sizes = np.geomspace(1_000, 1_000_000, 25).astype(int)
limits = [peeling_limits(int(size), 1_000, 5, 0.5) for size in sizes]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
noise = [limit.largest_noise for limit in limits]
signal = [limit.standardized_signal for limit in limits]
axes.loglog(sizes, noise, label="largest of 1,000 draws of noise")
axes.loglog(sizes, signal, "--", label="largest signal of standardised data")
axes.set_xlabel("records")
axes.set_ylabel("units of the step")
axes.set_title("d = 1,000, 5 features, epsilon = 0.5")
axes.legend()
plt.show()

# %%
# Left of the crossing a true feature is lost among the others, whatever the data. Typical
# signals are a few tenths of the largest, so in practice several times more records are needed.
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
# With the short step the error stays near 1, that of the zero estimate, at both sizes. With the
# long step the result is noise at 10,000 records, and the method works at 200,000.
#
# What our own method does differently
# ------------------------------------
# It does not split the records over the steps. It selects each feature once instead of anew in every
# step, clips features harder during selection, and combines all releases by least squares instead of
# following a gradient: see :doc:`/method`.
