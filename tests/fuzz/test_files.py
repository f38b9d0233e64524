"""A bounded run of the byte fuzzer, and proof that it would notice."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import click
import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent


def test_five_hundred_broken_files_end_in_a_result_or_in_one_line():
    """The first of the 100,000 that `python tests/fuzz/run.py` runs."""
    command = [sys.executable, str(FOLDER / "run.py"), "--cases", "500"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("500 cases, 0 faults, ")


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        import cases

        patch.setattr(cases.Meter, "charge", cases.Meter.charge)
        with contextlib.redirect_stdout(io.StringIO()):
            made = cases.Fuzzer(tmp_path_factory.mktemp("fuzz"), 0)
        yield made
    for name in ("cases", "mutations"):
        del sys.modules[name]


def stop(code, text=""):
    click.echo(text, err=True, nl=False)
    sys.exit(code)


def leave_a_file(fuzzer, name):
    (fuzzer.folder / name).touch()
    stop(1, "dpsparse: no\n")


def spend(fuzzer):
    fuzzer.charges += 1
    stop(1, "dpsparse: no\n")


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (lambda fuzzer: stop(1, "dpsparse: bad value 7391.5 in b\n"), "a value is quoted"),
        (lambda fuzzer: stop(1, "dpsparse: no category qzxnorth\n"), "a value is quoted"),
        (lambda fuzzer: click.echo("Note: 7391 is large"), "a value is quoted"),
        (lambda fuzzer: stop(1, "dpsparse: one\ntwo\n"), "not one clear line"),
        (lambda fuzzer: stop(1), "not one clear line"),
        (lambda fuzzer: stop(1, "Traceback (most recent call last):\n"), "a traceback"),
        (lambda fuzzer: click.echo("x.py:3: RuntimeWarning: overflow", err=True), "a traceback or a warning"),
        (lambda fuzzer: stop(3), "exit status 3"),
        (lambda fuzzer: leave_a_file(fuzzer, "out.json"), "a partial file"),
        (lambda fuzzer: leave_a_file(fuzzer, ".out.json.tmp"), "a partial file"),
        (spend, "budget spent without a release"),
        (lambda fuzzer: stop(1, "dpsparse: malloc of size 99 failed\n"), "memory ran out"),
    ],
)
def test_the_fuzzer_notices(fuzzer, monkeypatch, command, fault):
    import cases

    monkeypatch.setattr(cases, "main", lambda arguments: command(fuzzer))
    monkeypatch.setattr(cases, "FAMILIES", [cases.predict])
    assert fault in fuzzer.run(0)[1]


def test_the_fuzzer_notices_a_parser_that_lets_its_message_through(fuzzer, monkeypatch):
    """A reader that quotes a value; the cover over readers hides it."""
    import cases

    from dpsparse.io.tables.npy_reader import NpyReader
    from dpsparse.io.tables.table_reader import TableReader

    def quoting(table, numbers, categories):
        raise ValueError(f"could not convert {cases.SECRETS[0]}")

    monkeypatch.setattr(cases, "FAMILIES", [cases.fit])
    monkeypatch.setattr(NpyReader, "_read", quoting)
    assert not any(fuzzer.run(number)[1] for number in range(30))
    monkeypatch.setattr(TableReader, "_readable", lambda table: contextlib.nullcontext())
    assert any("a value is quoted" in (fuzzer.run(number)[1] or "") for number in range(30))
