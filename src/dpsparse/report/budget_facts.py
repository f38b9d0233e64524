"""The budgets in a ledger for people: what was granted, spent and is left, and what happened, event by event."""

import os
import textwrap
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from dpsparse.html import Html, tag
from dpsparse.model.context import spending
from dpsparse.privacy.accounting.filter import round_down
from dpsparse.report.charts import steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpsparse.privacy.ledger.events import Event, LedgerState
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

MEANING = (
    "Granted, spent and left are epsilons, each at the grant's delta. Spent: of all fits together. Left: the largest "
    "epsilon of one more fit.",
    "'Spent' and 'left' do not add up to the grant: composed fits cost less than the sum of their epsilons. Rely on "
    "the share left for what is spent of the whole.",
)
EVENTS_MEANING = (
    "A fit counts from its 'reserve' on. 'charge' makes it final and costs nothing more; 'refund' gives back a fit "
    "that released nothing."
)
# What is shown before and after a grant without any fit.
_AROUND = timedelta(hours=12)
EVENT_HEADINGS = ("number", "when", "dataset", "event", "epsilon", "delta", "fit", "estimator")


def balance_facts(state: "LedgerState", dataset: str) -> dict[str, Any]:
    """A dataset's grant and what is left of it.

    Returns plain numbers and strings.

    Examples
    --------
    >>> from dpsparse.privacy.ledger.events import LedgerState
    >>> state = LedgerState([])
    >>> granted = state.write("trial-7", None, "grant", {"epsilon": 1.0, "delta": 1e-6, "adjacency": "replace-one",
    ...     "records_per_person": 1})
    >>> balance_facts(state, "trial-7")["epsilon_left"]
    1.0
    """
    balance = state.filters[dataset]
    return {
        "dataset": dataset,
        "epsilon": balance.grant.epsilon,
        "delta": balance.grant.delta,
        "adjacency": balance.grant.adjacency,
        "records_per_person": state.records_per_person[dataset],
        "account": balance.account,
        "fits": len(balance.costs),
        "share_spent": balance.share,
        "epsilon_spent": balance.epsilon_spent,
        "epsilon_left": round_down(balance.epsilon_left),
    }


def spending_figure(history: Sequence[tuple[str, float]], epsilon: float, delta: float) -> Html | None:
    """What fits have spent together over days, below what was granted; None where all of it was on one day."""
    if len(history) < len(("the first day", "another")):
        return None
    words = (
        f"Epsilon spent by all fits together, at delta {delta:g}, by day: {history[-1][1]:.4g} of {epsilon:g} granted "
        f"on {history[-1][0]}."
    )
    changes = [(date.fromisoformat(day), spent) for day, spent in history]
    picture = steps(changes, (epsilon, f"granted: {epsilon:g}"), words)
    return tag("figure", [picture, tag("figcaption", words)])


def plot_budget(ledger: "PrivacyLedger | str | os.PathLike[str]", dataset: str, axes: "Axes | None" = None) -> "Axes":
    """Draw the epsilon that fits on a dataset have spent together, over time, below what was granted.

    Parameters
    ----------
    ledger : PrivacyLedger, str or path
        Where the budget is kept.
    dataset : str
        The name under which it was granted.
    axes : matplotlib Axes or None, default=None
        Where; None makes a figure.

    Returns
    -------
    matplotlib Axes
        Epsilons are at the grant's delta.

    Examples
    --------
    >>> import tempfile
    >>> from dpsparse import PrivacyLedger, plot_budget
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(f"{folder}/budget.db")
    ...     _ = ledger.grant("trial-7", epsilon=3.0, delta=1e-6)
    ...     axes = plot_budget(ledger, "trial-7")
    >>> axes.get_title()
    'trial-7'
    """
    import matplotlib.pyplot as plt
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    from dpsparse.privacy.ledger.ledger import PrivacyLedger

    ledger = PrivacyLedger(ledger)
    ledger.balance(dataset)
    state = ledger.state()
    name = state.name_of(dataset)
    grant = state.filters[name].grant
    axes = plt.subplots(figsize=(6, 3.5), layout="constrained")[1] if axes is None else axes
    changes = spending(state, name)
    times: Any = [datetime.fromisoformat(at) for at, _ in changes]
    axes.step(times, [spent for _, spent in changes], "-o", where="post", color="tab:blue", label="spent")
    axes.axhline(grant.epsilon, color="black", linestyle="--", label=f"granted, {grant.epsilon:g}")
    axes.set_ylim(0, 1.1 * grant.epsilon)
    if len({*times}) == 1:
        # One moment has no width of its own.
        axes.set_xlim(times[0] - _AROUND, times[0] + _AROUND)
    axes.set_ylabel(f"epsilon, at delta {grant.delta:g}")
    axes.set_title(textwrap.fill(name, 60), fontsize="medium", parse_math=False)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]  # matplotlib has no types here
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]  # nor here
    # Below the line of the grant, where the first fits have spent little.
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0.88))
    return axes


def event_cells(event: "Event") -> list[str]:
    """An event as the cells of a table, below `EVENT_HEADINGS`."""
    details = event.details
    guarantee = [f"{details[name]:.4g}" if name in details else "" for name in ("epsilon", "delta")]
    row = [str(event.number), details["at"], event.dataset, event.kind, *guarantee]
    return [*row, (event.fit or "")[:8], details.get("estimator", "")]
