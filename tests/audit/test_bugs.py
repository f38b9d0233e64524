"""Planted bugs fit the source; `test_run` shows that each is caught."""

import pytest

from dpsparse.audit.bugs.all import MUTATIONS


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_an_edit_finds_its_piece_of_source(mutation):
    with mutation.planted():
        pass
