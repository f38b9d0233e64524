"""Cases: a broken file, a command that reads it, and what must hold whatever comes of it."""

import contextlib
import io
import json
import random
import re
import shutil
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from mutations import mutate

from dpsparse.cli import main
from dpsparse.io.formats import open_table
from dpsparse.io.store.store_reader import check_store
from dpsparse.model.json_file import load_model
from dpsparse.privacy.accounting.meter import Meter

# In every value of the data, and in nothing else: no message may show it.
SECRETS = ("7391", "qzx")
BOUNDS = """
drop = ["id"]
[default]
low = 7391.0
high = 7392.0
[columns.region]
categories = ["qzxnorth", "qzxsouth"]
"""
NUMBERED = "[default]\ncenter = 7391.5\nscale = 0.3\n"
ARGUMENTS = ["", "0", "-1", "1e400", "nan", "inf", "1e-320", "1e308", "auto", "y", "\x1b[31m", "x" * 300, "9" * 400]
ARGUMENTS += ["/", "/dev/null", "no/such", "1,2", ",", "1e9", "0.5", "3", "--json", "é", "[bold]"]


class Fuzzer:
    """Valid files in a folder, and cases made from them.

    Parameters
    ----------
    folder : Path
        Where files are read and written.
    seed : int
        Case k is the same for the same seed.
    """

    def __init__(self, folder, seed):
        self.folder, self.seed = Path(folder), seed
        self.charges = 0
        self._count_charges()
        self._make_files()

    def _count_charges(self):
        charge = Meter.charge

        def counted(meter, *releases):
            self.charges += 1
            charge(meter, *releases)

        Meter.charge = counted

    def _make_files(self):
        rng = np.random.default_rng(0)
        people = pd.DataFrame({"id": 73910000 + np.arange(60), "a": 7391 + rng.random(60), "b": 7391 + rng.random(60)})
        people["region"] = rng.choice(["qzxnorth", "qzxsouth"], 60)
        people["y"] = 7391 + people.a - 7391 + rng.standard_t(2, 60).clip(-0.9, 0.9) / 3
        numbers = people[["a", "b", "y"]]
        people.to_csv(self.folder / "good.csv", index=False)
        people.to_parquet(self.folder / "good.parquet", index=False)
        people.iloc[:30].to_parquet(
            self.folder / "other.parquet", index=False, compression="none", use_dictionary=False
        )
        np.save(self.folder / "good.npy", numbers.to_numpy())
        np.save(self.folder / "other.npy", np.asfortranarray(numbers.to_numpy(dtype=np.float32)))
        (self.folder / "good.toml").write_text(BOUNDS)
        (self.folder / "numbered.toml").write_text(NUMBERED)
        for data, bounds, target, name in (
            ("good.csv", "good.toml", "y", "good.json"),
            ("good.npy", "numbered.toml", "2", "numbered.json"),
        ):
            options = ["--target", target, "--epsilon", "9", "--sparsity", "2", "--bounds", self.folder / bounds]
            main(["fit", str(self.folder / data), *map(str, options), "--json", "--out", str(self.folder / name)])
        self._make_ledger()
        self.files = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        for name, options in (("store", self.store_options()), ("cells", ["--target", "y"])):
            main(["convert", str(self.folder / "good.csv"), str(self.folder / name), "--json", *options])

    def _make_ledger(self):
        path = self.folder / "good.db"
        main(["budget", "grant", str(path), "people", "--epsilon", "50", "--delta", "1e-3"])
        main([*self.fit_arguments("good.csv"), "--ledger", str(path), "--dataset", "people", "--json",
              "--out", str(self.folder / "first.json")])  # fmt: skip

    def store_options(self):
        """What `dpsparse convert` is told of a good or a broken table."""
        return ["--target", "y", "--bounds", str(self.folder / "good.toml")]

    def fit_arguments(self, table):
        """A fit of a good or a broken table with good bounds."""
        return ["fit", str(self.folder / table), "--target", "y", "--epsilon", "9", "--sparsity", "1", "--bounds",
                str(self.folder / "good.toml")]  # fmt: skip

    def run(self, number):
        """What came of a case: a word for the tally, and None or what is wrong."""
        rng = random.Random(f"{self.seed}:{number}")
        family = rng.choice(FAMILIES)
        broken, arguments, check = family(self, rng)
        before = {file.name for file in self.folder.iterdir()}
        self.charges = 0
        message, out, code = self._call(arguments)
        after = {file.name for file in self.folder.iterdir()} - before - {"broken.db-journal"}
        fault = self._fault(message, out, code, after, broken, check)
        for name in after:
            path = self.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return f"{family.__name__}: {'result' if code == 0 else 'error'}", fault and f"{fault}; {arguments}"

    def _call(self, arguments):
        message, out = io.StringIO(), io.StringIO()
        # In the folder, so that an --out made at random is noticed there and removed.
        here = contextlib.chdir(self.folder)
        with here, contextlib.redirect_stderr(message), contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("always")
            try:
                main(arguments)
                code = 0
            except SystemExit as stopped:
                code = stopped.code
        return message.getvalue(), out.getvalue(), code

    def _fault(self, message, out, code, after, broken, check):
        if code not in (0, 1, 2):
            return f"exit status {code}"
        if "Traceback" in message or "Warning" in message:
            return f"a traceback or a warning: {message}"
        # How unseen categories count is said in public names.
        message, out = (re.sub("^Note: [^:\n]+: any text but .*\n", "", text, flags=re.M) for text in (message, out))
        shown = message + "\n".join(re.findall("^Note: .*", out, re.M)) if code == 0 else message + out
        if any(secret in shown for secret in SECRETS) and not self._is_name(broken):
            return f"a value is quoted: {shown}"
        if code == 0:
            if message:
                return f"a result with an error: {message}"
            if any(name.endswith(".tmp") for name in after):
                return "a temporary file is left"
            return check(out)
        if code == 1 and (message.count("\n") != 1 or not message.startswith("dpsparse: ") or len(message) > 1000):
            return f"the error is not one clear line: {message}"
        if re.search("allocat|malloc", message):
            return f"memory ran out: {message}"
        if "\x1b" in message:
            return "an escape sequence in the error"
        if after:
            return f"a partial file: {after}"
        # The number of readable responses is a release by itself, and the message tells it.
        if self.charges and "by a noisy count that epsilon was spent on" not in message:
            return f"budget spent without a release: {message}"
        return None

    def _is_name(self, broken):
        """Whether the break has turned a value into a name, of a column or in the bounds, which is public."""
        if broken is None or broken.suffix == ".toml":
            return True
        with contextlib.suppress(ValueError):
            return any(secret in name for name in open_table(broken).names for secret in SECRETS)
        return False

    def broken(self, name, rng):
        """A valid file, broken, under a name of its own."""
        kind = name.rpartition(".")[2]
        others = [content for other, content in self.files.items() if other.endswith(kind)]
        path = self.folder / f"broken.{kind}"
        path.write_bytes(mutate(self.files[name], kind, rng, others))
        return path


def _table(rng):
    return rng.choice(("good.csv", "good.csv", "good.parquet", "other.parquet", "good.npy", "other.npy"))


def fit(fuzzer, rng):
    """Fit on a broken table."""
    name = _table(rng)
    path, out = fuzzer.broken(name, rng), fuzzer.folder / "out.json"
    numbered = name.endswith("npy")
    arguments = ["fit", str(path), "--target", "2" if numbered else "y", "--epsilon", "9", "--sparsity", "2"]
    if rng.random() < 0.9:
        arguments += ["--bounds", str(fuzzer.folder / ("numbered.toml" if numbered else "good.toml"))]
    arguments += ["--out", str(out)] + ["--json"] * (rng.random() < 0.2)
    return path, arguments, lambda message: None if load_model(out).privacy.private else "not private"


def bounds(fuzzer, rng):
    """Fit with broken bounds."""
    path, out = fuzzer.broken("good.toml", rng), fuzzer.folder / "out.json"
    # The last --bounds counts.
    arguments = [*fuzzer.fit_arguments("good.csv"), "--bounds", str(path), "--out", str(out)]
    return path, arguments, lambda message: load_model(out) and None


def model(fuzzer, rng):
    """Predict with, inspect, report or tabulate a broken model."""
    numbered = rng.random() < 0.3
    path, out = fuzzer.broken("numbered.json" if numbered else "good.json", rng), fuzzer.folder / "out.csv"
    if rng.random() < 0.3:
        page = fuzzer.folder / "out.html"
        return path, ["report", str(path), "--out", str(page)], lambda message: _page(page)
    if rng.random() < 0.5:
        return (
            path,
            [rng.choice(["inspect", "table"]), str(path)] + ["--json"] * (rng.random() < 0.3),
            lambda message: None if message else "silence",
        )
    data = fuzzer.folder / ("good.npy" if numbered else "good.csv")
    return path, ["predict", str(path), str(data), "--out", str(out)], lambda message: _predictions(out)


def predict(fuzzer, rng):
    """Predict for a broken table."""
    name = _table(rng)
    path, out = fuzzer.broken(name, rng), fuzzer.folder / "out.csv"
    chosen = fuzzer.folder / ("numbered.json" if name.endswith("npy") else "good.json")
    return path, ["predict", str(chosen), str(path), "--out", str(out)], lambda message: _predictions(out)


def _predictions(out):
    heading, *lines = out.read_text().splitlines()
    good = heading == "prediction" and lines and np.isfinite([float(line) for line in lines]).all()
    return None if good else "broken predictions"


def _page(out):
    page = out.read_text()
    return None if page.endswith("</html>\n") and not re.search(r'="-?(?:nan|inf)', page) else "a broken page"


def template(fuzzer, rng):
    """A bounds template for a broken table."""
    path, out = fuzzer.broken(_table(rng), rng), fuzzer.folder / "out.toml"

    def check(message):
        bounds_file = tomllib.loads(re.sub("^#(?! |$)", "", out.read_text(), flags=re.MULTILINE))
        return None if list(bounds_file.get("columns", {})) == open_table(path).names else "the template lacks columns"

    return path, ["bounds", "init", str(path), "--out", str(out)], check


def arguments(fuzzer, rng):
    """Good files, bad options."""
    if rng.random() < 0.5:
        names = ("--n", "--d", "--sparsity", "--epsilon", "--delta")
        good = {"--n": "1000", "--d": "10", "--sparsity": "2", "--epsilon": "0.5,1"}
        options, start = good | {rng.choice(names): rng.choice(ARGUMENTS)}, ["plan"]
        check = _is_json
    else:
        good = {"--target": "y", "--epsilon": "1", "--sparsity": "2", "--bounds": str(fuzzer.folder / "good.toml")}
        good["--out"] = str(fuzzer.folder / "out.json")
        options = good | {rng.choice((*good, "--delta")): rng.choice(ARGUMENTS)}
        start, check = ["fit", str(fuzzer.folder / "good.csv")], _is_json
    return None, [*start, "--json", *(part for pair in options.items() for part in pair)], check


def _is_json(message):
    return None if json.loads(message) else "empty"


def ledger(fuzzer, rng):
    """Read, or spend from, a broken ledger."""
    path, out = fuzzer.broken("good.db", rng), fuzzer.folder / "out.json"
    (fuzzer.folder / "broken.db-journal").unlink(missing_ok=True)
    if rng.random() < 0.5:
        command = ["budget", rng.choice(("show", "history", "verify")), str(path), "--json"]
        return path, command, lambda message: None if message else "silence"
    spend = [*fuzzer.fit_arguments("good.csv"), "--ledger", str(path), "--dataset", "people", "--out", str(out)]
    return path, spend, lambda message: load_model(out) and None


def check(fuzzer, rng):
    """Show the faults of a broken table."""
    path = fuzzer.broken(_table(rng), rng)
    bounds = ["--bounds", str(fuzzer.folder / "good.toml")] * (rng.random() < 0.3)
    return path, ["check", str(path), *bounds, "--json"], _is_json


def convert(fuzzer, rng):
    """Convert a broken table."""
    path, out = fuzzer.broken(rng.choice(("good.csv", "good.csv", "good.parquet", "other.parquet")), rng), "new-store"
    options = fuzzer.store_options() if rng.random() < 0.5 else ["--target", "y"]
    arguments = ["convert", str(path), str(fuzzer.folder / out), *options]
    return path, arguments, lambda message: None if check_store(fuzzer.folder / out).complete else "not complete"


def store(fuzzer, rng):
    """Fit on a store with a broken file, or check it."""
    folder = fuzzer.folder / "broken-store"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(fuzzer.folder / rng.choice(("store", "cells")), folder)
    path = rng.choice(sorted(folder.iterdir()))
    path.write_bytes(mutate(path.read_bytes(), path.suffix[1:], rng, [path.read_bytes()]))
    if rng.random() < 0.2:
        return None, ["check", str(folder), "--json"], _is_json
    out = fuzzer.folder / "out.json"
    arguments = ["fit", str(folder), "--epsilon", "9", "--sparsity", "2", "--out", str(out)]
    return None, arguments, lambda message: load_model(out) and None


FAMILIES = (fit, fit, predict, model, model, bounds, template, arguments, ledger, check, convert, store)
