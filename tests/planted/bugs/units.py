"""Bugs to plant where a pursuit learns units: in pairs, points of grids, splits, shifted vectors and skipped slots."""

from planting import Bug

PURSUITS = "replay of pursuits"
_OWN_LEVELS = "np.trunc(np.nan_to_num(np.stack({entries}).clip(-1e9, 1e9)) * 2.0**19).sum(axis=1).astype(np.int64)"
_OWN_PRODUCTS = "np.rint(({z} * 1e3) @ ({z} * 1e3).T).astype(np.int64)"

UNITS = (
    Bug(
        "a record in two pairs",
        PURSUITS,
        {
            "engine.cpu.local_rows:pair_slices": [
                ("slice(n_records - 1, n_records - 1 - half, -1)", "slice(1, half + 1)")
            ],
            "engine.cpu.local_rows:pair_differences": [
                ("backward(values[len(values) - half :])", "values[1 : half + 1]")
            ],
        },
    ),
    Bug(
        "a prior from the data",
        PURSUITS,
        {
            "algorithms.pursuit.releases:_point": [
                ("log_prior=grid.log_prior", "log_prior=grid.log_prior + utility / len(utility)")
            ]
        },
    ),
    Bug(
        "a grid from the data",
        PURSUITS,
        {
            "algorithms.pursuit.steps.newest_feature:_with_size": [
                (
                    "unit.size_grid()",
                    "unit.size_grid().times(1 + (np.abs(data.pairs._records.y).max() > 1e5))",
                )
            ]
        },
    ),
    Bug(
        "the count in a window moves by 1, taken twice",
        PURSUITS,
        {"privacy.sensitivity:located_utility": [("2 * count(adjacency) + ", "count(adjacency) + ")]},
    ),
    Bug("a tail's utility moves by 1", PURSUITS, {"privacy.sensitivity:balanced_utility": [("return of", "return 1")]}),
    Bug(
        "a split's utility moves by half a record",
        PURSUITS,
        {"privacy.sensitivity:split_utility": [("return count(adjacency)", "return count(adjacency) / 2")]},
    ),
    Bug(
        "all features' splits for the price of one",
        PURSUITS,
        {"privacy.mechanisms.selection:exponential_picks": [("math.sqrt(8 * rho / count)", "math.sqrt(8 * rho)")]},
    ),
    Bug(
        "several picks accounted for as one",
        "accounts",
        {
            "privacy.accounting.release:RepeatedPicks.mu_squared": [
                ("min(int(self.count), _MOST_STEPS)", "1"),
                ("self.count - steps", "0"),
            ]
        },
    ),
    Bug(
        "splits without noise",
        PURSUITS,
        {
            "algorithms.pursuit.releases:Releases.splits": [
                ("grid.points[chosen[: len(counts)]]", "grid.points[scores.argmax(axis=1)[: len(counts)]]")
            ]
        },
    ),
    Bug(
        "a centre that is the exact median",
        PURSUITS,
        {
            "algorithms.pursuit.steps.newest_feature:_with_center": [
                (
                    "unit.with_center(center)",
                    "unit.with_center(float(np.nanmedian(data.records._records.columns[state.newest].units)))",
                )
            ]
        },
    ),
    Bug(
        "a share of pairs that differ without noise",
        PURSUITS,
        {
            "algorithms.pursuit.steps.newest_feature:_with_share": [
                (
                    "*releases.fraction(slot, pairs - equal, releases.n_of_units[1])",
                    "*(releases.fraction(slot, pairs - equal, releases.n_of_units[1]),"
                    " ((pairs - equal) / max(pairs, 1), 0.01))[1]",
                )
            ]
        },
    ),
    Bug(
        "a range that is the largest response",
        PURSUITS,
        {
            "algorithms.pursuit.steps.closing:RangeStep.run": [
                (
                    "releases.quantile(releases.due(self.distance), count, grid, tail=tail)",
                    "(releases.quantile(releases.due(self.distance), count, grid, tail=tail),"
                    " float(np.nanmax(np.abs(data.records._records.y))))[1]",
                )
            ]
        },
    ),
    Bug(
        "whether a model explains anything, from exact errors",
        PURSUITS,
        {"algorithms.pursuit.steps.closing:GainStep.run": [("if not explains:", "if sums[0] < 0:")]},
    ),
    Bug(
        "a price that depends on a release",
        PURSUITS,
        {
            "algorithms.pursuit.releases:Releases.mean": [
                ("rho=slot.rho", "rho=slot.rho * (1 + (slot.name > 'unit') * (self._meter.record().rho > 1))")
            ]
        },
    ),
    Bug(
        "a slot skipped by what the data say",
        PURSUITS,
        {
            "algorithms.pursuit.steps.newest_feature:_with_tail": [
                ("if not unit.has_tail:", "if np.nanmax(np.abs(data.pairs._records.y)) > 1e5:")
            ]
        },
    ),
    Bug(
        "a skipped slot's release made all the same",
        PURSUITS,
        {
            "algorithms.pursuit.releases:Releases.fraction": [
                (
                    "noisy = release_vector(self._meter, steps, sensitivity=change, rho=slot.rho, name=slot.name)",
                    "self.skip(slot)\n    noisy = type('Noisy', (), {'values': steps, 'scale': np.full(1, 1.0)})",
                )
            ]
        },
    ),
    Bug(
        "a skipped slot's price spent on another",
        PURSUITS,
        {
            "algorithms.pursuit.releases:Releases.skip": [
                ("self._meter.skip(slot.name)", "self._meter.skip(slot.name)\n    self._meter.left = slot.rho")
            ],
            "algorithms.pursuit.releases:_point": [("rho=slot.rho", "rho=slot.rho + getattr(meter, 'left', 0.0)")],
        },
    ),
    Bug(
        "means unclipped",
        PURSUITS,
        {
            "engine.queries:mean_sums": [
                (".clip(-most, most)", ""),
                (
                    "bounded_sums(records, [units, units * units - 0.5], math.sqrt(1.25))",
                    _OWN_LEVELS.format(entries="[units, units * units - 0.5]"),
                ),
            ]
        },
    ),
    Bug(
        "gains unclipped",
        PURSUITS,
        {
            "engine.queries:gain_sums": [
                ("response.clip(-most, most)", "response"),
                (
                    "bounded_sums(records, entries, math.sqrt(1.5))",
                    _OWN_LEVELS.format(entries="entries"),
                ),
            ]
        },
    ),
    Bug(
        "residuals of a calibration unclipped",
        PURSUITS,
        {
            "engine.queries:calibration_sums": [
                ("residuals.clip(-width, width)", "residuals"),
                ("bounded_sums(records, entries, CALIBRATION_NORM)", _OWN_LEVELS.format(entries="entries")),
            ]
        },
    ),
    Bug(
        "predictions of a calibration unclipped",
        PURSUITS,
        {
            "engine.queries:calibration_sums": [
                (".clip(-reach, reach)", ""),
                ("bounded_sums(records, entries, CALIBRATION_NORM)", _OWN_LEVELS.format(entries="entries")),
            ]
        },
    ),
    Bug(
        "a calibration without noise",
        PURSUITS,
        {
            "algorithms.pursuit.steps.closing:CalibrationStep.run": [
                (
                    "releases.mean(slot, sums, bound)",
                    "((r := releases.mean(slot, sums, bound)), (sums * bound / 2**20 / releases.n_responses, r[1]))[1]",
                )
            ]
        },
    ),
    Bug(
        "a calibration at the spread of the exact predictions",
        PURSUITS,
        {
            "algorithms.pursuit.steps.closing:CalibrationStep.run": [
                (
                    "reach = c.PREDICTIONS_REACH * math.sqrt(state.moments_of_predictions()[0])",
                    "reach = c.PREDICTIONS_REACH * float(np.nanstd(data.records._records.y))",
                )
            ]
        },
    ),
    Bug(
        "a null record that adds a shift",
        PURSUITS,
        {
            "engine.queries:bounded_sums": [
                ("as_float64(~(xp.isnan(vectors).any(0) | xp.isnan(records.y)))", "xp.ones_like(vectors[0])")
            ]
        },
    ),
    Bug(
        "a Jacobian of rows of any length",
        PURSUITS,
        {
            "engine.queries:jacobian_sums": [
                (
                    "_moment_sums(records, columns, row_scale, inner * outer)",
                    _OWN_PRODUCTS.format(z="(columns * within).clip(-1e4, 1e4)"),
                )
            ]
        },
    ),
    Bug(
        "a variance of scores that are not clipped",
        PURSUITS,
        {
            "engine.queries:variance_sums": [
                (
                    "vector_sums.gram_sums(*terms, inner)",
                    _OWN_PRODUCTS.format(z="(columns * psi).clip(-1e4, 1e4)"),
                )
            ]
        },
    ),
)
