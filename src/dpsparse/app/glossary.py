"""The words of the page that need a hover: the same text as the site's glossary, which a test compares."""

TERMS = {
    "baseline": (
        "Of a column of text, the category that has no feature of its own. Effects of the other categories "
        "are differences from it, and from those that were not selected."
    ),
    "Bonferroni": (
        "Dividing the error rate by the number of features tested, so that the family-wise error stays small."
    ),
    "budget": ("What may be spent on the same people over all fits: an epsilon and a delta, granted once."),
    "centre and scale": ("Where a feature lies and how far it spreads: roughly its mean and its standard deviation."),
    "charge": (
        "To record the cost of a release as spent, before the release is made. A charge is final. See also reserve."
    ),
    "composition": ("Several releases on the same people add up. The account decides how tightly."),
    "confidence interval": ("A range computed so that, over many fits, 19 in 20 (for 95 %) contain the true effect."),
    "delta": ("The probability with which the guarantee may fail. It should be far below 1/n."),
    "differential privacy": (
        "A guarantee about a computation: changing one person's record hardly changes the probability of any "
        "result. So nobody can learn much about that person from the result, whatever else they know."
    ),
    "effect": (
        "How much the response changes when a feature rises by one unit and the others stay fixed; also "
        "called coefficient. It does not prove a cause."
    ),
    "epsilon": (
        'How much "hardly" allows: probabilities change by a factor of at most e^epsilon. Smaller is more private.'
    ),
    "estimand": (
        "What effects are of. mean: the mean response, as least squares gives them for the same features. typical: the "
        "response of most records, whatever outliers do, as Huber's robust regression gives them."
    ),
    "family-wise error rate": ("The probability of at least one false discovery among all features."),
    "gap": (
        "A missing cell, or one that cannot be read as its column's kind. It counts as a typical value, and in text as "
        "the baseline. Whether a cell is missing is a feature that may be selected; in a raw table, where a noisy "
        "count says that enough are."
    ),
    "grant": ("To give a dataset its budget, once, in a ledger."),
    "guarantee": (
        "The (epsilon, delta)-differential privacy of a fit: for each person with all their rows, where ids say whose "
        "they are, and otherwise for people with at most the stated number of records each."
    ),
    "heavy tails": ("Rare values lie so far out that they dominate means and variances: incomes, costs."),
    "kind": (
        "How the cells of a column are read: numbers (with or without separators), words for true and false, "
        "dates in one order, or text. Declared, or found by a noisy vote of the cells."
    ),
    "ledger": ("A durable record of what was spent on a dataset, over fits, processes and crashes."),
    "minimum detectable effect": (
        "The smallest effect that is selected and significant with a given power; plan reports it at 80 % power, "
        "beside the effect that is selected in 4 fits of 5."
    ),
    "rate ratio": (
        "By what a mean, such as that of visits, is multiplied: 1.2 is 20 % more, 0.5 is half. Of a column, it is per "
        "one-unit increase, with the other selected columns held fixed."
    ),
    "odds ratio": (
        "Of a yes/no response: by what the odds of yes, its probability over that of no, are multiplied when a feature "
        "rises by one unit and the others stay fixed. Above 1 yes is likelier, below 1 less likely."
    ),
    "outlier": ("A row far from what the others suggest. It may well be correct; it should not decide alone."),
    "p-value": (
        "How often an effect at least this far from 0 would be seen if the true one were 0. Here it is of one effect "
        "alone and not adjusted for the number of features; whether an effect is significant is."
    ),
    "plan": ("A forecast of accuracy from public numbers alone. It reads no data and costs nothing."),
    "public": ("Known without the data: how many rows there are, the names of the columns, all parameters."),
    "records_per_person": (
        "The most rows that one person has in a table without ids. The guarantee is for the person, not for the row."
    ),
    "refund": (
        "To return a reservation of a fit that failed validation, or was cancelled on the page before its "
        "first release. Nothing is refunded after a charge."
    ),
    "Release": ("Anything that depends on the data and leaves the fit. Each release is noisy and is charged first."),
    "reserve": (
        "To hold a part of the budget for a fit before it reads the data, so that concurrent fits cannot overspend."
    ),
    "response": ("The variable to be explained; the target."),
    "significant": (
        "Larger than chance explains. Here: at the 5 % family-wise level, Bonferroni over all features. The "
        "attribute clear_ marks significant effects, those clear of the noise. Some effects are never marked."
    ),
    "sparse": ("Only a few effects are not zero."),
    "standard deviation": ("The typical distance from the mean."),
    "units": (
        "Centre and scale of a feature. Public where you give them, and otherwise learned within the "
        "guarantee for the features that are selected: units_."
    ),
}


def anchor(word: str) -> str:
    """The anchor of a word on the page of all words.

    Examples
    --------
    >>> anchor("centre and scale")
    'centre-and-scale'
    """
    return word.lower().replace(" ", "-").replace("_", "-")
