"""The privacy record of a fit as HTML, for notebooks."""

from dpsparse.html import Html, table, tag
from dpsparse.privacy.accounting.record import PrivacyRecord


def record_html(record: PrivacyRecord) -> Html:
    """The guarantee and the price of each kind of release."""
    rows = [[name, len(made), *record.price(made)] for name, made in record.grouped().items()]
    headings = ["release", "times", "share", "rho"]
    releases = table("What was released, and its price", headings, rows, numbers=(1, 2, 3))
    one = record.guarantee.protects.one
    summary = tag("summary", f"{len(record.releases)} releases, rho {record.rho:.4g} for a {one}")
    guarantee = [tag("p", tag("strong", record.statement())), tag("p", record.plain_words())]
    return tag("div", [*guarantee, tag("details", [summary, releases])])
