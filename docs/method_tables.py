"""The tables of docs/method.md that are made from the code: ``python docs/method_tables.py`` writes them anew.

They stand between the comments ``<!-- NAME -->`` and ``<!-- end of NAME -->``; a test compares them with the code.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from dpsparse.algorithms.pursuit import budget, counts_budget, newton_budget, reference_budget
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.learning.table_prices import TABLE_SHARES

PAGE = Path(__file__).parent / "method.md"


def prices() -> str:
    """Every release of a pursuit and of a raw table, its share of rho, and why."""
    rows = _price_rows("share of $\\rho$", budget.PRICES)
    for share in TABLE_SHARES:
        rows.append(f"| {share.release} | raw tables | {share} | {share.reason} | `raw_files.py` |")
    return "\n".join(rows)


def reference_prices() -> str:
    """Every release of the step to the estimand's estimator, its share of what the pursuit leaves, and why."""
    return "\n".join(_price_rows("share of what the pursuit leaves", reference_budget.PRICES))


def newton_prices() -> str:
    """Every release of a pursuit whose residuals are bounded by their link, its share of rho, and why."""
    return "\n".join(_price_rows("share of the pursuit's $\\rho$", newton_budget.PRICES))


def final_prices() -> str:
    """Every release of the last steps there, its share of what the pursuit leaves, and why."""
    return "\n".join(_price_rows("share of what the pursuit leaves", newton_budget.FINAL_PRICES))


def count_prices() -> str:
    """Every release about counts and costs, its share of rho, and why."""
    return "\n".join(_price_rows("share of the pursuit's $\\rho$", counts_budget.PRICES))


def _price_rows(share_of: str, prices: Iterable[budget.Price]) -> list[str]:
    rows = [f"| release | where | {share_of} | why | benchmark |", "|---|---|---|---|---|"]
    for price in prices:
        for k, case in enumerate(price.cases):
            name, why, script = (f"{price.release} ({price.counts})", price.reason, f"`{price.benchmark}`")
            first, *last = (name, why, script) if k == 0 else ("", "", "")
            rows.append(f"| {first} | {case.words} | {case.formula} | {last[0]} | {last[1]} |")
    return rows


def steps() -> str:
    """The releases of one fit in order, step by step."""
    facts = PublicFacts(2_000, 50, 2, 0.02, units_known="none")
    schedule, rows = Schedule(facts), ["| step | releases |", "|---|---|"]
    made = {slot.name for slot in schedule.slots()}
    for step in schedule.steps:
        names = [planned.name for planned in step.planned() if planned.name in made]
        rows.append(f"| `{type(step).__name__}` | {', '.join(names) or 'none'} |")
    return "\n".join(rows)


TABLES = {
    "prices": prices,
    "prices of the step": reference_prices,
    "prices of Newton steps": newton_prices,
    "prices of the last steps": final_prices,
    "prices of counts": count_prices,
    "steps of a fit": steps,
}


def with_tables(page: str) -> str:
    """The page with its tables as the code has them."""
    for name, made in TABLES.items():
        block = re.compile(f"<!-- {name} -->\n.*?<!-- end of {name} -->", re.DOTALL)
        if len(block.findall(page)) != 1:
            raise SystemExit(f"docs/method.md has no place for the table '{name}'")
        text = f"<!-- {name} -->\n{made()}\n<!-- end of {name} -->"
        page = block.sub(lambda _, text=text: text, page)
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
