"""Bugs to plant that show in one configuration, in one part of the rows, or in large blocks alone."""

from planting import Bug

CONFIGURED, DIVIDED, SIZED = "replay of configurations", "replay of parts", "replay of real sizes"
_CENTER = "(released.center if given.center is None else given.center) or 0.0"
_SCALE = "released.scale if given.scale is None else given.scale"
_Y = "data.candidates._rows.y"
_NUMPY = '__import__("numpy")'
_RESIDUALS = "return self.link.residuals(self.y, center, self._explaining, effects, bound)"

CONFIGURATIONS = (
    Bug(
        "the raw MAD as the scale where the response's centre alone is given",
        CONFIGURED,
        {
            "algorithms.pursuit.steps.response:ResponseStep.run": [
                (
                    _SCALE,
                    f"{_NUMPY}.nanmedian(abs({_Y} - center)) if given.center is not None and given.scale is None"
                    f" else {_SCALE}",
                )
            ]
        },
    ),
    Bug(
        "the raw median as the centre where the response's scale alone is given",
        CONFIGURED,
        {
            "algorithms.pursuit.steps.response:ResponseStep.run": [
                (
                    _CENTER,
                    f"{_NUMPY}.nanmedian({_Y}) if given.center is None and given.scale is not None else {_CENTER}",
                )
            ]
        },
    ),
    Bug(
        "a raw mean in the place of the intercept that is not fitted",
        CONFIGURED,
        {
            "algorithms.pursuit.steps.response:ResponseStep.run": [
                (
                    _CENTER,
                    f"{_NUMPY}.nanmean({_Y}) if given.center is None and not self.facts.fit_intercept else {_CENTER}",
                )
            ]
        },
    ),
    Bug(
        "one record a person where cells may be missing",
        CONFIGURED,
        {
            "estimators._private:PrivateEstimator._open_meter": [
                (
                    "int(self.records_per_person)",
                    '1 if getattr(self, "missing", "") == "center" else int(self.records_per_person)',
                )
            ]
        },
    ),
    Bug(
        "a choice on rows that candidates were fitted on",
        DIVIDED,
        {
            "estimators.tuning:_tune_array": [
                (
                    "held_out = rows.take(split.held_out)",
                    "split = Split(split.training, split.training[3 :: HELD_OUT_EVERY - 1])\n"
                    "    held_out = rows.take(split.held_out)",
                )
            ]
        },
    ),
    Bug(
        "the last record in every part",
        DIVIDED,
        {
            "engine.cpu.local_rows:LocalRows.part": [
                ("slice(index, None, of)", "np.unique([*range(index, self.n_records, of), self.n_records - 1])")
            ]
        },
    ),
    Bug(
        "the first record in every part",
        DIVIDED,
        {
            "engine.cpu.local_rows:LocalRows.part": [
                ("slice(index, None, of)", "np.unique([0, *range(index, self.n_records, of)])")
            ]
        },
    ),
)


def _in_large_blocks(name, function, *edits):
    return Bug(name, SIZED, {function: list(edits)})


SIZES = (
    _in_large_blocks(
        "residuals less their block's mean in blocks above 16,384 records",
        "engine.queries:Records.residuals",
        (
            _RESIDUALS,
            f"left = {_RESIDUALS.removeprefix('return ')}\n        "
            "return left - np.nanmean(left.clip(-9, 9)) if len(left) > 16_384 else left",
        ),
    ),
    _in_large_blocks(
        "responses of large blocks less their median",
        "engine.queries:Records.take",
        ("(self)(self.y[rows],", "(self)(self.y[rows] - np.nanmedian(self.y[rows]) * (len(self.y[rows]) > 16_384),"),
    ),
    _in_large_blocks(
        "columns of large blocks clipped at their own quantiles",
        "engine.queries:Column.of",
        (
            "vector_sums.sanitized(units)",
            "vector_sums.sanitized(units).clip(*np.nanquantile(units, [0.01, 0.99]))"
            " if len(units) > 16_384 else vector_sums.sanitized(units)",
        ),
    ),
    _in_large_blocks(
        "errors of a large table in units of their mean",
        "engine.errors:levels",
        (
            "/ bound, -1.0, 1.0)",
            "/ (bound * (1 if np.size(values) < 16_384 else np.nanmean(np.minimum(np.abs(values), 9)))), -1.0, 1.0)",
        ),
    ),
    _in_large_blocks(
        "errors of the choice in a large table less their mean",
        "engine.regrets:regret_sums",
        (
            "regrets(errors), bound",
            "errors - np.nanmean(errors.clip(0, 9)) if errors.size > 9_999 else regrets(errors), bound",
        ),
    ),
    _in_large_blocks(
        "numbers of a large file by their block's own mean",
        "io.cells.block_table:BlockTable.numbers",
        (
            "= cells.numbers(kind)",
            "= cells.numbers(kind) - 1e-3 * np.nanmean(cells.numbers(kind).clip(-9, 9)) * (self.n_records > 9_999)",
        ),
    ),
)
