"""Bugs to plant in fits on files, in stores of cells and in the page."""

from planting import Bug

WHOLE, STORE, PAGE = "whole program", "replay of stores", "local page"
_READ = "X, y = given.read()"

FITTING = (
    Bug(
        "records per person dropped by a fit on a file",
        WHOLE,
        {"fitting:FileFit._estimator": [('"records_per_person": self.records_per_person', '"records_per_person": 1')]},
    ),
    Bug(
        "a fit with records held out that is charged to nobody",
        WHOLE,
        {
            "fitting:FileFit._estimator": [
                ('"ledger": self.ledger', '"ledger": None if self.holdout else self.ledger'),
                ('"dataset": self.dataset', '"dataset": None if self.holdout else self.dataset'),
            ]
        },
    ),
    Bug(
        "a note with the largest response",
        WHOLE,
        {"fitting:FileFit.fit": [(_READ, f"{_READ}\n    y is None or notes.append(str(max(y)))")]},
    ),
    Bug(
        "notes of another project's warnings",
        WHOLE,
        {
            "fitting:FileFit.fit": [(_READ, f"{_READ}\n    seen = 0.0 if y is None else max(abs(y))")],
            "fitting:collected": [
                (
                    "= take\n        yield",
                    "= take\n        yield\n"
                    "        warnings.warn(str(__import__('sys')._getframe(2).f_locals.get('seen')))",
                )
            ],
        },
    ),
)

STORES = (
    Bug(
        "a blank line kept as a record of empty cells",
        STORE,
        {"io.store.texts:packed": [("np.where(ends < 0, ~stops, stops)", "stops")]},
    ),
    Bug(
        "a block whose first cells begin in the record before",
        STORE,
        {"io.store.texts:unpacked": [("before = ends[rows.start - 1] if", "before = ends[rows.start - 2] if")]},
    ),
    Bug(
        "blank lines left out of a store",
        STORE,
        {
            "io.store.store_table:StoreTable.blocks": [
                (
                    "slices(chunk.rows, step)",
                    "slices(chunk.rows - int((self._chunks[number][1][:, 0] < 0).sum()), step)",
                )
            ]
        },
    ),
    Bug(
        "a cell that takes the text of the cell before where it is empty",
        STORE,
        {
            "io.store.texts:unpacked": [
                ("starts, stops = places[:-1], ", "starts, stops = np.vstack([places[:1], places[:-2]]), "),
            ]
        },
    ),
)

APP = (
    Bug(
        "a fit of the page that is never charged",
        PAGE,
        {"app.watched_ledger:_Watched.charge": [("super().charge()", "super().charge")]},
    ),
    Bug(
        "a cancelled fit that is refunded and goes on",
        PAGE,
        {"app.watched_ledger:_Watched.charge": [("raise Cancelled", "return")]},
    ),
    Bug("a cancellation after the charge", PAGE, {"app.gate:Gate.close": [("not self.passed", "True")]}),
    Bug(
        "records per person dropped by the page",
        PAGE,
        {"app.jobs:Job.asked": [("records_per_person=chosen.most_records", "records_per_person=1")]},
    ),
    Bug("delta dropped by the page", PAGE, {"app.jobs:Job.asked": [("delta=chosen.delta", "delta=None")]}),
    Bug("a fit of the page without its ledger", PAGE, {"app.jobs:Job.asked": [("ledger=ledger", "ledger=None")]}),
    Bug(
        "a confirmation that is spent twice",
        PAGE,
        {
            "app.workspace:Workspace.spend": [
                ("if known is not None:", "if False:"),
                ("self.ticket = secrets.token_hex(16)", "pass"),
                ("self.jobs.start(ticket", "self.jobs.start(secrets.token_hex(16)"),
            ]
        },
    ),
)
