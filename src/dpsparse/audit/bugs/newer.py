"""Bugs to plant in fits on files, in stores of cells and in the page."""

from pkgutil import resolve_name

from dpsparse import fitting
from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.io.store import table as store_table
from dpsparse.io.store import texts

WHOLE, STORE, PAGE = "whole program", "replay of stores", "local page"
# By name, for the audit lies below the page.
_JOB, _WATCHED, _GATE, _WORKSPACE = map(
    resolve_name,
    (
        "dpsparse.app.jobs:Job",
        "dpsparse.app.watched_ledger:_Watched",
        "dpsparse.app.gate:Gate",
        "dpsparse.app.workspace:Workspace",
    ),
)
_READ = "X, y = given.read()"

FITTING = (
    Mutation(
        "records per person dropped by a fit on a file",
        WHOLE,
        {fitting.FileFit._estimator: [("records_per_person=self.records_per_person", "records_per_person=1")]},
    ),
    Mutation(
        "a fit with records held out that is charged to nobody",
        WHOLE,
        {
            fitting.FileFit._estimator: [
                ("ledger=self.ledger", "ledger=None if self.holdout else self.ledger"),
                ("dataset=self.dataset", "dataset=None if self.holdout else self.dataset"),
            ]
        },
    ),
    Mutation(
        "a note with the largest response",
        WHOLE,
        {fitting.FileFit.fit: [(_READ, f"{_READ}\n    y is None or notes.append(str(max(y)))")]},
    ),
    Mutation(
        "notes of another project's warnings",
        WHOLE,
        {
            fitting.FileFit.fit: [(_READ, f"{_READ}\n    seen = 0.0 if y is None else max(abs(y))")],
            fitting.collected: [
                ("yield\n", "yield\n        warnings.warn(str(__import__('sys')._getframe(2).f_locals.get('seen')))\n")
            ],
        },
    ),
)

STORES = (
    Mutation(
        "a blank line kept as a record of empty cells",
        STORE,
        {texts.packed: [("np.where(ends < 0, ~stops, stops)", "stops")]},
    ),
    Mutation(
        "a block whose first cells begin in the record before",
        STORE,
        {texts.unpacked: [("before = ends[rows.start - 1] if", "before = ends[rows.start - 2] if")]},
    ),
    Mutation(
        "blank lines left out of a store",
        STORE,
        {
            store_table.StoreTable.blocks: [
                (
                    "slices(chunk.rows, step)",
                    "slices(chunk.rows - int((self._chunks[number][1][:, 0] < 0).sum()), step)",
                )
            ]
        },
    ),
    Mutation(
        "a cell that takes the text of the cell before where it is empty",
        STORE,
        {
            texts.unpacked: [
                ("starts, stops = places[:-1], ", "starts, stops = np.vstack([places[:1], places[:-2]]), "),
            ]
        },
    ),
)

APP = (
    Mutation(
        "a fit of the page that is never charged", PAGE, {_WATCHED.charge: [("super().charge()", "super().charge")]}
    ),
    Mutation("a cancelled fit that is refunded and goes on", PAGE, {_WATCHED.charge: [("raise Cancelled", "return")]}),
    Mutation("a cancellation after the charge", PAGE, {_GATE.close: [("not self.passed", "True")]}),
    Mutation(
        "records per person dropped by the page",
        PAGE,
        {_JOB.asked: [("records_per_person=chosen.records_per_person", "records_per_person=1")]},
    ),
    Mutation("delta dropped by the page", PAGE, {_JOB.asked: [("delta=chosen.delta", "delta=None")]}),
    Mutation("a fit of the page without its ledger", PAGE, {_JOB.asked: [("ledger=ledger", "ledger=None")]}),
    Mutation(
        "a confirmation that is spent twice",
        PAGE,
        {
            _WORKSPACE.spend: [
                ("if known is not None:", "if False:"),
                ("self.ticket = secrets.token_hex(16)", "pass"),
                ("self.jobs.start(ticket", "self.jobs.start(secrets.token_hex(16)"),
            ]
        },
    ),
)
