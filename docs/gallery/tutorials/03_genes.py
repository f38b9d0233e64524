"""
Genes: hundreds of features
===========================

Which genes are associated with the expression of GATA3, a gene that matters in breast cancer? METABRIC
measured gene expression in the tumours of 1,904 patients. Here are 488 candidates and one response:
too many to inspect one by one, and each patient's profile identifies her.
"""

import matplotlib.pyplot as plt
import pandas as pd

from dpsparse import PrivateSparseRegressor, plan
from dpsparse.datasets import fetch_metabric, make_heavy_tailed

# %%
# The file is not shipped. If it is missing, a synthetic table of the same size replaces it, and the
# genes below are made up.

try:
    genes, response = fetch_metabric(target="expr_GATA3", return_X_y=True, as_frame=True)
    print("METABRIC:", *genes.shape)
except (FileNotFoundError, ImportError) as missing:
    size = {"n_samples": 1_904, "n_features": 488, "sparsity": 5}
    values, response, _ = make_heavy_tailed(**size, correlation=0.5, random_state=0)
    genes = pd.DataFrame(values, columns=[f"made_up_{j}" for j in range(488)])
    print("THIS PAGE WAS BUILT WITHOUT METABRIC, ON SYNTHETIC DATA:", missing)

# %%
# What is public
# --------------
# Expression levels in this file are z-scores over the patients, as the study published them, so
# we state centre 0 and scale 1. The guarantee covers what our fit adds to what
# the study has published. If we had standardised raw levels with a ``StandardScaler`` on these
# records, there would be no guarantee at all.
#
# Plan before spending
# --------------------

# Effects on the mean of the response need more patients than these for ten genes; z-scores have no
# few that dominate a mean, so we ask for those on the typical response.

asked = {"sparsity": 5, "estimand": "typical", "units_known": True, "correlation": 0.5}
forecast = plan(n=len(genes), d=genes.shape[1], epsilon=2.0, **asked)
print(forecast)

# %%
# With so few patients privacy has a visible price. At epsilon 0.1 the effect that is selected in 4 fits of 5
# is larger than the noise itself, so a fit is not worthwhile. At 2 it is a fifth of the noise or less. How many
# patients would epsilon 0.5 need for the same?

stricter = plan(n=len(genes), d=genes.shape[1], epsilon=0.5, **asked)
print(f"{stricter.n_for_effect(forecast.smallest_effect):,} patients")

# %%
# Fit
# ---
# How many genes matter is unknown. ``sparsity="auto"`` selects ten; which of them are significant, the
# fit says. Ten selections share the budget of five.

public = {"feature_center": 0, "feature_scale": 1}
model = PrivateSparseRegressor(sparsity="auto", max_sparsity=10, estimand="typical", epsilon=2.0, **public)
model.fit(genes, response)
print(model.summary())

# %%
# Read the intervals
# ------------------
# Two cautions with genes.
#
# - Genes are correlated. Of two that rise and fall together either may be selected, and the next
#   fit may select the other. An effect means "this gene, or those correlated with it".
# - An effect is not a cause.

low, high = model.conf_int().T
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for row, j in enumerate(model.support_):
    axes.plot([low[j], high[j]], [row, row], color="tab:blue", linewidth=3)
floor = model.noise_floor_
axes.axvspan(-floor, floor, color="tab:gray", alpha=0.2, label="noise floor")
axes.set_yticks(range(len(model.support_)), genes.columns[model.support_])
axes.set_xlabel("effect and 95 % interval")
axes.legend()
plt.show()

# %%
# Where privacy says no
# ---------------------
# The paper's other table has 59 cell lines and 14,000 genes: no meaningful epsilon finds
# anything. `plan` says so beforehand.

print(plan(n=59, d=14_194, sparsity=5, epsilon=1.0, estimand="typical", units_known=True))

# %%
# What not to publish
# -------------------
# - Genes of a non-private fit, next to those of the private one: the first list voids the
#   guarantee of the second.
# - "Three fits selected the same five genes": those are three fits, at three times the cost.
# - Names of genes that are not significant, as if they were findings.
