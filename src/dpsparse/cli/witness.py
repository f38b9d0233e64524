"""`--witness FILE`: a second place that keeps the newest head of a ledger, so that a restored old copy shows."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpsparse.io.atomic import write_file

if TYPE_CHECKING:
    from dpsparse.privacy.ledger.ledger import PrivacyLedger


@contextmanager
def witnessed(witness: str | os.PathLike[str] | None, ledger: "PrivacyLedger | None") -> Iterator[None]:
    """Check a ledger against its witness before it is used, and renew the witness after.

    It is renewed in any case: what was charged before an error stays spent.

    Without a witness nothing is done.
    """
    if witness is None:
        yield
        return
    if ledger is None:
        raise click.UsageError("--witness keeps the head of a ledger; give --ledger too")
    from dpsparse.privacy.ledger.events import LedgerError

    _check(witness, ledger)
    try:
        yield
    except BaseException:
        with suppress(LedgerError, OSError):
            renew(witness, ledger)
        raise
    renew(witness, ledger)


def renew(witness: str | os.PathLike[str], ledger: "PrivacyLedger") -> None:
    """Write the newest head to the witness, where the ledger contains the head that it holds."""
    _check(witness, ledger)
    write_file(witness, f"{ledger.verify()}\n", private=True)


def _check(witness: str | os.PathLike[str], ledger: "PrivacyLedger") -> None:
    """Raise LedgerError unless the ledger contains the head in the witness; a new witness holds none."""
    from dpsparse.privacy.ledger.events import LedgerError

    path = Path(witness)
    if not path.exists():
        return
    kept = path.read_text(errors="replace").strip()
    if not re.fullmatch("[0-9a-f]{64}", kept):
        raise LedgerError(f"the witness {witness} holds no head; name the file that was used before, or a new one")
    if kept not in {event.digest for event in ledger.history()}:
        raise LedgerError(
            f"the ledger {ledger} does not contain the head in {witness}: events were removed or rewritten, or an "
            "old copy was restored; go on with the newest copy"
        )
