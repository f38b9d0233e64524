"""Planting a bug: a small edit of the package's own source that would break the guarantee."""

import contextlib
from dataclasses import dataclass

from dpsparse.audit.harness.patching import rewritten


@dataclass(frozen=True)
class Mutation:
    """A bug to plant.

    Parameters
    ----------
    name : str
        The fault, in words.
    check : str
        The check most likely to notice; it is tried first.
    edits : dict of function to list of (old, new)
        Pieces of source to replace.
    """

    name: str
    check: str
    edits: dict

    @contextlib.contextmanager
    def planted(self):
        """Run the block with the bug in place."""
        with contextlib.ExitStack() as stack:
            for function, pieces in self.edits.items():
                stack.enter_context(rewritten(function, *pieces))
            yield
