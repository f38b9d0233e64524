"""Whether the ledger has room for a fit: said in step 3, and until the fit is confirmed."""


def too_little(epsilon: float, left: float | None, dataset: str | None) -> str | None:
    """Why the ledger would refuse a fit, and what to do; None where enough is left, or no budget was granted.

    `left` is what the ledger has left for one more fit, as `balance_facts` tells it.

    Examples
    --------
    >>> print(too_little(2.0, 1.5, "clinic"))
    epsilon 2 is more than the 1.5 that the ledger has left for one more fit on clinic: choose at most 1.5
    >>> too_little(1.5, 1.5, "clinic")
    """
    if left is None or epsilon <= left:
        return None
    if left <= 0:
        return f"the ledger has nothing left for one more fit on {dataset}: look at the earlier fits in step 6"
    return (
        f"epsilon {epsilon:g} is more than the {left:g} that the ledger has left for one more fit on {dataset}: "
        f"choose at most {left:g}"
    )
