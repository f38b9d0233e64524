"""
Doctor visits: a first private fit
==================================

Does insurance change how often people see a doctor? The RAND health insurance experiment gave
families plans with different shares to pay by themselves and counted the visits: 20,190
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
# A private fit never looks at the records to find their units: we say, from public knowledge,
# about where each feature lies. For measurements it is the range in which most people lie, from
# the plans' terms and from the definition of the disease index; for yes/no columns the share that
# surveys report.
#
# (To be honest: these numbers were rounded by hand by someone who had seen this table. With your
# records, ask someone who has not.)

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
# The experiment lasted up to five years, and a person has a row for each. The promise must be to
# the person, not to the row: that is a public number too.

records_per_person = 5

# %%
# Plan before spending
# --------------------
# The forecast needs the size of the table and a guess of the noise, say 3 visits. No record is
# read and nothing is spent.

forecast = plan(
    n=len(people),
    d=people.shape[1],
    sparsity=5,
    epsilon=1.0,
    noise_scale=3,
    records_per_person=records_per_person,
)
print(forecast)
forecast.plot()
plt.show()

# %%
# At epsilon 1 an effect of about an eighth of a visit (for a feature that moves by its scale) is
# found four times in five. Below 0.25 little would be left; above 2 little is gained. We take 1.
#
# Fit
# ---
# One call, and the whole promise is spent. There is no seed: a fit whose noise can be repeated is
# not private.

model = PrivateSparseRegressor(
    sparsity=5,
    epsilon=1.0,
    feature_center=center,
    feature_scale=scale,
    records_per_person=records_per_person,
).fit(people, visits)
print(model.summary())

# %%
# Read the intervals
# ------------------
# An effect is in visits for one unit of the feature. The interval holds sampling error and
# privacy noise together. Effects with a star are within the noise: one of nine features without
# any effect would often look like that. `clear_` marks the others, and `noise_floor_` is the
# height to beat, per *scaled* feature.

low, high = model.conf_int(0.9).T
picked = model.support_
units = np.array([scale[name] for name in people.columns])[picked]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for row, (j, unit) in enumerate(zip(picked, units, strict=True)):
    colour = "tab:blue" if model.clear_[j] else "tab:gray"
    axes.plot([low[j] * unit, high[j] * unit], [row, row], color=colour, linewidth=3)
axes.axvspan(-model.noise_floor_, model.noise_floor_, color="tab:gray", alpha=0.2, label="noise floor")
axes.set_yticks(range(len(picked)), people.columns[picked])
axes.set_xlabel("visits, when the feature moves by its scale")
axes.legend()
plt.show()

# %%
# The index of chronic disease is almost always among the picks, and so is a term of the plan:
# those who pay more go less often. Several terms of a plan say nearly the same, so which of them
# is picked changes from fit to fit.
#
# What was promised
# -----------------
# The record lists every release: what it was, how far one record could move it, and its price.

print(model.privacy_)

# %%
# What may be published, and what not
# -----------------------------------
# Everything above may: the summary, the picture, the record, predictions for other people.
#
# What may not, since it reads the same records without being charged:
#
# - ``model.score(people, visits)``, residuals, a plot of the visits;
# - the mean or the maximum of a column, also as a "bound" of the next fit;
# - a second fit, unless both are accounted together: see :doc:`/how-to/team-budget`.
