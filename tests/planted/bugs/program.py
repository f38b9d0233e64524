"""Bugs to plant between the shell and the estimators: what reaches them, and what leaves beside their releases."""

from planting import Bug

WHOLE = "whole program"
_READ = "return read_features(self.table, self.provenance.features, self.provenance.target)"
_X_AND_Y = "X, y = read_features(self.table, self.provenance.features, self.provenance.target)\n    "
_VALIDATED = "raise ValueError(OTHER_SHAPE)\n"
_NUMPY = '__import__("numpy")'
_MEDIAN = f"{_NUMPY}.nanmedian(y)"


def _told(name, telling):
    """A bug that tells the median of y, or does something by it, once the responses are validated."""
    return Bug(
        name, WHOLE, {"estimators._private:PrivateEstimator._validated": [(_VALIDATED, f"{_VALIDATED}    {telling}\n")]}
    )


PROGRAM = (
    Bug(
        "columns centred at their means when no bounds file is given",
        WHOLE,
        {
            "data.inputs:TableInput.read": [
                (_READ, f"{_X_AND_Y}return (X - {_NUMPY}.nanmean(X, axis=0) if self.notes else X), y")
            ]
        },
    ),
    Bug(
        "responses less their median before a fit",
        WHOLE,
        {"data.inputs:TableInput.read": [(_READ, f"{_X_AND_Y}return X, y - {_MEDIAN}")]},
    ),
    Bug(
        "--records-per-person dropped by fit",
        WHOLE,
        {"cli.fit_command:fit": [("sparsity=sparsity", "sparsity=sparsity, records_per_person=1")]},
    ),
    Bug(
        "--records-per-person dropped by evaluate",
        WHOLE,
        {"cli.evaluate_command:evaluate": [("records_per_person=records_per_person", "records_per_person=1")]},
    ),
    Bug(
        "--delta dropped by fit",
        WHOLE,
        {"cli.fit_command:fit": [("sparsity=sparsity", "sparsity=sparsity, delta=None")]},
    ),
    Bug("--delta dropped by evaluate", WHOLE, {"cli.evaluate_command:evaluate": [("delta=delta", "delta=None")]}),
    Bug(
        "a fit that is charged to nobody",
        WHOLE,
        {"cli.fit_command:fit": [("sparsity=sparsity", "sparsity=sparsity, ledger=None, dataset=None")]},
    ),
    Bug(
        "a store clipped at its block's own quantiles",
        WHOLE,
        {
            "io.convert:in_public_units": [
                (
                    "np.clip(units, -float(largest), float(largest), out=units)",
                    "np.clip(units, *np.nanquantile(units, [0.02, 0.98], axis=0), out=units)",
                )
            ]
        },
    ),
    Bug(
        "a store in units of its block's own spread",
        WHOLE,
        {"io.convert:in_public_units": [("units /= scale", "units /= scale * np.abs(units).max(axis=0)")]},
    ),
    Bug(
        "a store that others may read",
        WHOLE,
        {"io.store.store_writer:_make_folder": [("folder.chmod(0o700)", "folder.chmod(0o755)")]},
    ),
    Bug(
        "predictions less their mean",
        WHOLE,
        {
            "model.table_predictions:ModelTable._predicted": [
                ("model.coef[place] * filled", "model.coef[place] * (filled - filled.mean())")
            ]
        },
    ),
    Bug(
        "the largest response told by convert",
        WHOLE,
        {"cli.convert_command:convert": [("manifest, given.notes)", "manifest, [str(given.read()[1].max())])")]},
    ),
    _told("a log line with the median of y", f'__import__("logging").getLogger("dpsparse.fit").debug({_MEDIAN})'),
    _told("the median of y on standard error", f'print({_MEDIAN}, file=__import__("sys").stderr)'),
    _told("the median of y on standard output", f"print({_MEDIAN})"),
    _told("the median of y in a note", f'__import__("warnings").warn(str({_MEDIAN}), UserWarning)'),
    _told("an exit code by the size of y", f'{_NUMPY}.nanmax(y) > 1e5 and __import__("sys").exit(3)'),
    Bug(
        "the median of y in the last digits of a model",
        WHOLE,
        {
            "estimators._private:PrivateEstimator._validated": [
                (_VALIDATED, f"{_VALIDATED}    self._seen = {_MEDIAN}\n")
            ],
            "estimators._private:PrivateEstimator._publish": [
                ("replace(model, ", "replace(model, intercept=model.intercept + 1e-13 * self._seen, ")
            ],
        },
    ),
    Bug(
        "calls of progress by the size of y",
        WHOLE,
        {
            "estimators._pursuit:PursuitEstimator._fit": [
                ("self._check_parameters()", "self._check_parameters()\n    progress and progress(float(max(y)), 1)")
            ]
        },
    ),
)
