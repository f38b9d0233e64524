"""Replay of raw tables on random lines; its own pairs reach the bounds (`check_raw_tables` asks for that)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.audit.checks.check_raw_tables import replay_raw_pair
from dpsparse.audit.harness.raw_pairs import RawPair, raw_pairs
from dpsparse.privacy.protection import ADJACENCIES

HOSTILE = [
    b"",
    b"7",
    b"1,234",
    b'"1,234"',
    b"yes",
    b"2021-01-31",
    b"31/01/2021",
    b"north",
    b'"',
    b'""',
    b"\xff",
    b"A\r",
]
cell = st.one_of(st.sampled_from(HOSTILE), st.binary(max_size=6).map(lambda made: made.replace(b"\n", b"")))
line = st.one_of(st.lists(cell, min_size=8, max_size=8).map(b",".join), cell)


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_random_lines(adjacency, tmp_path):
    @settings(max_examples=60, deadline=None)
    @given(line, line)
    def check(first, second):
        pair = RawPair("random", first, second, raw_pairs()[0].companions)
        violation, _ = replay_raw_pair(pair, adjacency, tmp_path / "table.csv")
        assert violation is None

    check()
