"""What commands that spend a budget do around the spending."""

import warnings
from contextlib import contextmanager

import click


@contextmanager
def collected(notes):
    """Put the estimators' warnings, which tell public facts, in a list of notes; leave out those of other projects."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]


@contextmanager
def explained(data, ledger):
    """Say what a cell that is no number looks like in a file, and where to look after an interruption."""
    from dpsparse.engine.refusals import NOT_FINITE, NOT_FINITE_IN_FILE

    try:
        yield
    except ValueError as error:
        if str(error) != NOT_FINITE:
            raise
        raise ValueError(NOT_FINITE_IN_FILE.format(path=data)) from None
    except KeyboardInterrupt:
        if ledger is not None:
            # A PrivacyLedger, which shows no password.
            click.echo(f"dpsparse: what was charged stays spent; see: dpsparse budget history {ledger}", err=True)
        raise
