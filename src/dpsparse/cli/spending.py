"""What commands that spend a budget say when they are interrupted."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def interruptible(ledger: object) -> Iterator[None]:
    """Say where to look after an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        if ledger is not None:
            # A PrivacyLedger, which shows no password.
            click.echo(f"dpsparse: what was charged stays spent; see: dpsparse budget history {ledger}", err=True)
        raise
