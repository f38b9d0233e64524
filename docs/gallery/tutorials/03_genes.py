"""
Genes: hundreds of features
===========================

Which genes go with the activity of GATA3, a gene that matters in breast cancer? METABRIC measured
the expression of genes in the tumours of 1,904 patients. Here are 488 candidates and one response:
too many to look at, and each patient's profile identifies her.
"""

import matplotlib.pyplot as plt
import pandas as pd

from dpsparse import PrivateSparseRegressor, plan
from dpsparse.datasets import fetch_metabric, make_heavy_tailed

# %%
# The file is not shipped. Where it is missing, a synthetic table of the same size takes its
# place, and the genes below are made up.

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
# Expression levels in this file are z-scores over the patients: the study published them so, and
# centre 0 and scale 1, the defaults, fit. The promise starts there: it covers what we add to what
# the study has told. Had we standardised raw levels ourselves, by a ``StandardScaler`` on these
# records, there would be no promise at all.
#
# Plan before spending
# --------------------

forecast = plan(n=len(genes), d=genes.shape[1], sparsity=5, epsilon=2.0, correlation=0.5)
print(forecast)

# %%
# With so few patients the price of privacy shows. At epsilon 0.1 only effects larger than the
# noise itself would be found: not worth asking. At 2, effects of a seventh of it are. Would it
# help to wait for more patients at epsilon 0.5?

stricter = plan(n=len(genes), d=genes.shape[1], sparsity=5, epsilon=0.5, correlation=0.5)
print(f"{stricter.n_for_effect(forecast.smallest_effect):,} patients")

# %%
# Fit
# ---
# How many genes matter is unknown. ``sparsity="auto"`` picks ten and keeps those that stand clear
# of the noise; that decision reads releases only and costs nothing, but ten picks share the
# budget that five had.

model = PrivateSparseRegressor(sparsity="auto", max_sparsity=10, epsilon=2.0)
model.fit(genes, response)
print(model.summary())

# %%
# Read the intervals
# ------------------
# Two cautions with genes.
#
# - Genes are correlated. Of two that rise and fall together either may be picked, and the next
#   fit may pick the other. An effect says "this gene, or its companions".
# - An effect is no cause.

low, high = model.conf_int(0.9).T
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for row, j in enumerate(model.support_):
    axes.plot([low[j], high[j]], [row, row], color="tab:blue", linewidth=3)
floor = model.noise_floor_
axes.axvspan(-floor, floor, color="tab:gray", alpha=0.2, label="noise floor")
axes.set_yticks(range(len(model.support_)), genes.columns[model.support_])
axes.set_xlabel("effect and 90 % interval")
axes.legend()
plt.show()

# %%
# Where privacy says no
# ---------------------
# 59 cell lines and 14,000 genes, the paper's other table: no epsilon that deserves the name finds
# anything. `plan` says so beforehand.

print(plan(n=59, d=14_194, sparsity=5, epsilon=1.0))

# %%
# What not to publish
# -------------------
# - Genes of a fit without a promise, next to those of the private one: the first table voids the
#   second's promise.
# - "The same five genes came out in three fits": those are three fits, and three times the price.
# - Names of genes that did not stand clear, as if they were findings.
