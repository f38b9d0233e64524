"""
Doctor visits: a first private fit
==================================

Does insurance change how often people see a doctor? The RAND health insurance experiment gave
families insurance plans with different co-payments and counted their visits: 20,190
person-years, most with few visits and some with dozens.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from statsmodels.datasets import randhie

from dpsparse import PrivateSparseRegressor, plan, scale_from_bounds

people = randhie.load_pandas().data
visits = people.pop("mdvis")

# %%
# What is public
# --------------
# A fit can learn the units of the features that it selects, within its guarantee. Here much is known
# beforehand, and stating it leaves more of the budget to the effects. For measurements this is the
# range of most people, from the terms of the plans and the definition of the disease index; for
# yes/no columns it is the share that surveys report.
#
# (In fact these numbers were rounded by hand by someone who had seen this table. For your own
# records, ask someone who has not seen them.)

bounds = pd.DataFrame(
    {
        "lncoins": (0, 4.7),  # log of the share paid by the patient, 0 to 100 %, plus 1
        "lpi": (0, 7.5),  # log of the yearly incentive payment
        "fmde": (0, 8.5),  # log of the most a family pays, over the share
        "disea": (0, 25),  # index of chronic disease
    },
    index=["low", "high"],
)
shares = {"idp": 0.25, "physlm": 0.12, "hlthg": 0.35, "hlthf": 0.1, "hlthp": 0.02}

center, scale = scale_from_bounds(bounds.loc["low"], bounds.loc["high"])
for name, share in shares.items():
    center[name], scale[name] = share, np.sqrt(share * (1 - share))

# %%
# The experiment lasted up to five years, and a person has one row for each year. The guarantee must
# protect the person, not the row. The number of rows per person is public too.

records_per_person = 5

# %%
# Plan before spending
# --------------------
# The forecast needs the size of the table and a guess of the noise, say 3 visits. It reads no record
# and spends nothing. With five rows a person the table is as small to privacy as one of 4,000 rows, and
# a few people with dozens of visits rule the mean: intervals of effects on the mean would be wide. We
# ask for effects on the typical number of visits (:doc:`/how-to/mean-or-typical`).

forecast = plan(
    n=len(people),
    d=people.shape[1],
    sparsity=5,
    epsilon=1.0,
    estimand="typical",
    units_known=True,
    noise_scale=3,
    records_per_person=records_per_person,
)
print(forecast)
forecast.plot()
plt.show()

# %%
# At epsilon 1 an effect of less than a fifth of a visit is selected in 4 fits of 5 (for a feature
# that moves by its scale). Below epsilon 0.25 we would find little; above 2 we would gain little.
# We take 1.
#
# Fit
# ---
# One call spends the whole guarantee. We set no seed: a fit whose noise can be repeated is
# not private.

model = PrivateSparseRegressor(
    sparsity=5,
    estimand="typical",
    epsilon=1.0,
    feature_center=center,
    feature_scale=scale,
    records_per_person=records_per_person,
).fit(people, visits)
print(model.summary())

# %%
# Read the intervals
# ------------------
# An effect is in visits per unit of the feature. The 95 % interval and the p-value include sampling
# error and privacy noise. Effects with a star are not significant: among nine features without any effect, one
# this large is common. `clear_` marks the significant ones (5 % family-wise), and `noise_floor_` is
# the threshold, per *scaled* feature.

low, high = model.conf_int().T
selected = model.support_
units = np.array([scale[name] for name in people.columns])[selected]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for row, (j, unit) in enumerate(zip(selected, units, strict=True)):
    color = "tab:blue" if model.clear_[j] else "tab:gray"
    axes.plot([low[j] * unit, high[j] * unit], [row, row], color=color, linewidth=3)
axes.axvspan(-model.noise_floor_, model.noise_floor_, color="tab:gray", alpha=0.2, label="noise floor")
axes.set_yticks(range(len(selected)), people.columns[selected])
axes.set_xlabel("visits, when the feature moves by its scale")
axes.legend()
plt.show()

# %%
# The index of chronic disease is almost always selected, and so is a term of the plan:
# those who pay more go less often. Several terms of a plan carry nearly the same information, so a
# different one may be selected in another fit.
#
# What is guaranteed
# ------------------
# The record lists every release: what it was, how far one record could move it, and its price.

print(model.privacy_)

# %%
# What may be published, and what not
# -----------------------------------
# You may publish everything above: the summary, the figure, the record, predictions for other people.
#
# You may not publish what reads the same records without being charged:
#
# - ``model.score(people, visits)``, residuals, a plot of the visits;
# - the mean or the maximum of a column, also as a "bound" of the next fit;
# - a second fit, unless both are accounted together: see :doc:`/how-to/team-budget`.
