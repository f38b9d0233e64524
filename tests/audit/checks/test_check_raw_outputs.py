"""The replays of raw tables meet what they are to meet: every command, releases with and without names, both parts."""

from fractions import Fraction
from pathlib import Path

import pytest

from dpsparse.audit.checks import check_raw_outputs
from dpsparse.audit.checks.check_raw_outputs import BASES, COMMANDS, FITS, OPEN, REFUSED, cases, check_case
from dpsparse.audit.checks.check_raw_parts import PARTED, part_of
from dpsparse.audit.harness.raw_fits import run_raw
from dpsparse.audit.harness.raw_shapes import raw_shapes
from dpsparse.cli import cli
from dpsparse.held_out import held_out_rows

# They read no table: public numbers, a model file, a ledger, made-up records.
NO_RECORDS = {"plan", "inspect", "report", "table", "compare", "budget", "demo", "reproduce", "audit"}
# The page is replayed by its own means.
PAGE = {"app"}


def test_every_command_that_reads_a_table_is_replayed():
    every = (COMMANDS | REFUSED | OPEN).values()
    replayed = {command[0] for commands in every for command in commands}
    assert replayed | PAGE | NO_RECORDS == set(cli.commands)
    assert not replayed & NO_RECORDS


PATHS = [name for name, *_ in cases(Path())]
# Of the tables that have nothing in common, each path meets one in so many in CI, and the next path others.
SHARE = 5


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("name", PATHS)
def test_nothing_but_releases_leaves(name, tmp_path, monkeypatch):
    """The check "outputs of raw tables", a path at a time: it takes longest."""
    turn, sources = PATHS.index(name), {source for source, *_ in BASES}
    met = {table: cells for at, (table, cells) in enumerate(raw_shapes().items()) if (at + turn) % SHARE == 0}
    met |= {table: raw_shapes()[table] for table in sources}
    monkeypatch.setattr(check_raw_outputs, "raw_shapes", lambda: met)
    (case,) = (each for each in cases(tmp_path / "work") if each[0] == name)
    finding = check_case(*case)
    assert finding.good, finding.found


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_some_releases_have_names(name, tmp_path):
    table, guarantee, _ = BASES[0]
    run = run_raw(FITS[name], "CSV", tmp_path / "work", raw_shapes()[table], guarantee)
    assert run.error is None
    assert any(names for draw in run.tape.draws if draw.kind == "names" for names in draw.output)


def test_parts_are_those_of_the_package():
    for _, share, *_ in PARTED.values():
        held_out = held_out_rows(100, float(share))
        assert [part_of(place, share) for place in range(100)] == held_out.astype(int).tolist()
    assert [part_of(place, Fraction(1, 5)) for place in range(10)] == [0, 0, 0, 0, 1] * 2
