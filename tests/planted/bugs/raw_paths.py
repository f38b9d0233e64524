"""Bugs to plant on the paths of a raw table: rows of the other part, and whatever leaves beside the releases."""

from planting import Bug

PARTS, OUTPUTS = "rows out of reach", "outputs of raw tables"
_READ = "X, y = given.read()"
_ENCODED = "return encode(table, self.features, self._buckets_of)"
_KEPT = "X = encode(table, self.features, self._buckets_of)"
_WARNINGS = '__import__("warnings")'
_TRAINING = "training, held_out = data.part(modulus, np.flatnonzero(~pattern)), "

_ROWS = (
    Bug(
        "raw candidates fitted on all rows",
        PARTS,
        {
            "estimators.tuning:_tune_raw": [
                ("training = data.part(HELD_OUT_EVERY, range(HELD_OUT_EVERY - 1))", "training = data"),
            ]
        },
    ),
    Bug(
        "a raw fit on the rows held out too",
        PARTS,
        {"held_out:_fit_and_evaluate_raw": [(_TRAINING, "training, held_out = data, ")]},
    ),
    Bug(
        "the choice among raw candidates made on all rows",
        PARTS,
        {
            "estimators.tuning:_tune_raw": [
                ("held_out = data.part(HELD_OUT_EVERY, [HELD_OUT_EVERY - 1]).standing", "held_out = data.standing")
            ]
        },
    ),
    Bug(
        "a raw evaluation on all rows",
        PARTS,
        {
            "held_out:_fit_and_evaluate_raw": [
                ("ModelTable(model.released_, held_out.standing)", "ModelTable(model.released_, data.standing)")
            ]
        },
    ),
    Bug(
        "raw parts that are interchanged",
        PARTS,
        {
            "held_out:_fit_and_evaluate_raw": [
                (
                    "table = ModelTable(model.released_, held_out.standing)",
                    "table = ModelTable(model.released_, training.standing)",
                )
            ]
        },
    ),
    Bug(
        "kinds of columns by a vote of all rows",
        PARTS,
        {
            "estimators.tuning:_tune_raw": [
                (
                    "table = PreparedTable(training, once, plan.table)",
                    "table = PreparedTable(data, once, plan.table)\n    table._data = training\n"
                    "    table._buckets_of = training.table.buckets",
                )
            ]
        },
    ),
    Bug(
        "names of texts counted on all rows",
        PARTS,
        {
            "estimators.tuning:_tune_raw": [
                ("names = table.named(", "table._data = data\n    names = table.named("),
            ]
        },
    ),
    Bug(
        "a gap filled with the median of the rows held out",
        "replay of raw tables",
        {
            "model.table_predictions:ModelTable._numbers": [
                (
                    "return np.asarray(encode(self.raw, used))",
                    "X = np.asarray(encode(self.raw, used))\n"
                    "    return np.where(np.isnan(X), np.nan_to_num(np.nanmedian(X, axis=0)), X)",
                )
            ]
        },
    ),
    Bug(
        "a column left out by the bounds that is voted on",
        PARTS,
        {
            "learning.preparation:Preparation.run": [
                ("columns = [*self._columns, *self._others, self._target]", "columns = [*self._raw.names]"),
            ]
        },
    ),
)

_TOLD = (
    Bug(
        "a warning that depends on a column's cells",
        OUTPUTS,
        {
            "learning.kinds:release_kinds": [
                (
                    "    kinds: dict[str, Kind] = {}\n",
                    "    if counts[0, CellClass.EMPTY] > meter.n_records / 2:\n"
                    f"        {_WARNINGS}.warn('most of a column is missing', UserWarning)\n"
                    "    kinds: dict[str, Kind] = {}\n",
                )
            ]
        },
    ),
    Bug(
        "an exact text where a column releases no name",
        OUTPUTS,
        {
            "learning.categories:release_labels": [
                (
                    "        for text in names:",
                    "        for text in names or sorted(counts[0], key=counts[0].get)[-1:]:",
                )
            ]
        },
    ),
    Bug(
        "an error that quotes a response",
        OUTPUTS,
        {
            "learning.preparation:Encoding.responses": [
                (
                    "return np.asarray(raw.numbers([self.target], [self.target_kind])[:, 0])",
                    "y = raw.numbers([self.target], [self.target_kind])[:, 0]\n"
                    "    if all(y != y):\n"
                    "        raise ValueError(f'the response cannot be read: {raw.texts(self.target)[0]}')\n"
                    "    return y",
                )
            ]
        },
    ),
    Bug(
        "a log line with the number of unreadable cells",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable._encoded": [
                (
                    _ENCODED,
                    f"{_KEPT}\n"
                    "    __import__('logging').getLogger('dpsparse.raw').info('%d gaps', np.isnan(X).sum())\n"
                    "    return X",
                )
            ]
        },
    ),
    Bug(
        "a fitted estimator that keeps its table",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable.publish": [
                ("    encoding = self.encoding", "    estimator._prepared = self\n    encoding = self.encoding")
            ]
        },
    ),
    Bug(
        "a released model that keeps exact counts beside its fields",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable.publish": [
                (
                    "text_unused=encoding.text_unused)",
                    "text_unused=encoding.text_unused)\n"
                    "    estimator.released_.__dict__['_votes'] = self._data.table.class_counts(self._data.columns)",
                )
            ]
        },
    ),
    Bug(
        "a closure on the estimator that holds the records",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable.publish": [
                (
                    "    encoding = self.encoding",
                    "    rows = self.rows\n    estimator.again_ = lambda: rows\n    encoding = self.encoding",
                )
            ]
        },
    ),
    Bug(
        "categories in the order of their exact counts",
        OUTPUTS,
        {
            "learning.preparation:Preparation._encoding": [
                (
                    "        features.extend(made.get(column, []))",
                    "        own = self.buckets_of(column).tolist() if column in made else []\n"
                    "        features.extend(sorted(made.get(column, []), key=lambda f: -own.count(f.buckets[0])))",
                )
            ]
        },
    ),
    Bug(
        "gaps by exact counts",
        OUTPUTS,
        {"learning.kinds:release_kinds": [("if has_gaps(noisy,", "if has_gaps(counts[columns.index(column)],")]},
    ),
    Bug(
        "rare text by exact counts",
        OUTPUTS,
        {
            "learning.preparation:Preparation._encoding": [
                (
                    "is_rare(noisy,",
                    "is_rare(__import__('numpy').bincount(1 + self.buckets_of(column), minlength=1025)[1:],",
                )
            ]
        },
    ),
    Bug(
        "a baseline by exact counts",
        OUTPUTS,
        {
            "learning.categories:release_labels": [
                (
                    "    baselines = {column:",
                    "    released = [{text: 1} if (text := max(each, key=each.get, default=None)) else {}"
                    " for each in counts]\n"
                    "    for column, most in zip(wanted, released, strict=True):\n"
                    "        for text in most:\n"
                    "            if (column, bucket(text)) in labels:\n"
                    "                labels[column, baseline_bucket(features, column)] = labels[column, bucket(text)]\n"
                    "    baselines = {column:",
                )
            ]
        },
    ),
    Bug(
        "names cut at the longest text of the table",
        OUTPUTS,
        {
            "learning.categories:release_labels": [
                (
                    '" or ".join(map(_printable, each))',
                    '" or ".join(map(_printable, each))[: max((len(t) for held in counts for t in held), default=9)]',
                )
            ]
        },
    ),
    Bug(
        "a note on columns by exact counts of their texts",
        OUTPUTS,
        {
            "fitting:FileFit.fit": [
                (
                    _READ,
                    f"{_READ}\n    if y is None and max(X.table.distinct_counts(X.columns)) > 30:\n"
                    "        notes.append('a column hardly repeats')",
                )
            ]
        },
    ),
    Bug(
        "a note by the share of unreadable responses",
        OUTPUTS,
        {
            "fitting:FileFit.fit": [
                (
                    _READ,
                    f"{_READ}\n"
                    "    if y is None and sum(x == x for x in X.table.numbers([X.target], ['number'])[:, 0]) < 20:\n"
                    "        notes.append('most responses are no numbers')",
                )
            ]
        },
    ),
    Bug(
        "calls of progress by the number of readable responses",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable.pursue": [
                (
                    "    result = pursuit.run()",
                    "    progress and np.isfinite(self.rows.y).all() and progress(0, 9)\n    result = pursuit.run()",
                )
            ]
        },
    ),
    Bug(
        "a copy of the features in the folder of temporary files",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable._encoded": [
                (
                    _ENCODED,
                    f"{_KEPT}\n    np.save(__import__('tempfile').mkstemp(suffix='.npy')[1], X)\n    return X",
                )
            ]
        },
    ),
    Bug(
        "a report with the exact number of gaps, by way of a global",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable._encoded": [
                (
                    _ENCODED,
                    f"{_KEPT}\n    import builtins\n\n    builtins._gaps = int(np.isnan(X).sum())\n    return X",
                )
            ],
            "report.fit_page:fit_page": [
                (
                    "    return ",
                    "    import builtins\n\n    return f'<!-- {getattr(builtins, \"_gaps\", 0)} -->' + ",
                )
            ],
        },
    ),
    Bug(
        "the width of a table by the longest text",
        OUTPUTS,
        {
            "cli.spending_commands:fit_and_save": [
                (
                    "output.print_effects(model)",
                    "raw = asked.open().read()[0]\n"
                    "                    if hasattr(raw, 'table'):\n"
                    "                        click.echo('-' * max(map(len, raw.table.texts(raw.columns[-1]))))\n"
                    "                    output.print_effects(model)",
                )
            ]
        },
    ),
    Bug(
        "a number of records that leaves blank ones out",
        OUTPUTS,
        {
            "cli.evaluate_command:evaluate": [
                (
                    'output.say("Data", f"{data}: {evaluation.privacy.size}")',
                    'output.say("Data", f"{data}: {sum(y == y for y in table.responses()):,} records")',
                )
            ]
        },
    ),
    Bug(
        "predictions that are logged",
        OUTPUTS,
        {
            "cli.predict_command:predict": [
                (
                    "ids = None if id_column is None",
                    "__import__('logging').getLogger('dpsparse').info(sum(predictions))\n"
                    "        ids = None if id_column is None",
                )
            ]
        },
    ),
    Bug(
        "a conversion that counts blank lines",
        OUTPUTS,
        {
            "cli.convert_command:convert": [
                (
                    "manifest, given.notes)",
                    "manifest, [*given.notes, str(given._data.table.texts(given._data.target).count(''))])",
                )
            ]
        },
    ),
    Bug(
        "a message on the page by the table's texts",
        OUTPUTS,
        {
            "app.jobs:Jobs._fitted": [
                (
                    'return DONE, ""',
                    "raw = given.read()[0]\n"
                    '    return DONE, f"{max(map(len, raw.table.texts(raw.target)))} characters"',
                )
            ]
        },
    ),
    Bug(
        "public units that follow the first response",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable.units": [
                (
                    "else (each.center, each.scale) for each in self.features]",
                    "else (each.center, each.scale) for each in self.features]\n"
                    "    with np.errstate(all='ignore'):\n"
                    "        first = np.nan_to_num(np.nanmin(self.rows.differences().y[:1]))\n"
                    "    known = [(c, s) if s is None else (c, s * (1 + 1e-9 * first)) for c, s in known]",
                )
            ]
        },
    ),
    Bug(
        "a fit that fails where every response is equal",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable.rows_with": [
                (
                    "    rows = DiskRows(",
                    "    if len(set(responses[responses == responses].tolist())) == 1:\n"
                    "        raise ValueError('the response is constant')\n"
                    "    rows = DiskRows(",
                )
            ]
        },
    ),
    Bug(
        "a charge that says how many texts a column has",
        OUTPUTS,
        {
            "learning.categories:release_categorical": [
                (
                    "    distinct = release_counts(",
                    "    meter.distinct = raw.distinct_counts(columns).tolist()\n    distinct = release_counts(",
                )
            ],
            "estimators._raw_fit:PreparedTable.publish": [
                (
                    '"baselines": baselines}',
                    '"baselines": baselines | dict.fromkeys(["n"], str(meter.__dict__.get("distinct")))}',
                )
            ],
        },
    ),
    Bug(
        "a store whose folder tells of its first cell",
        OUTPUTS,
        {
            "io.convert:convert_cells": [
                (
                    "        _finish(writer, table)",
                    "        _finish(writer, table)\n"
                    "        (writer.folder.parent / f'.{len(table.texts(table.names[0])[0])}').touch()",
                )
            ]
        },
    ),
    Bug(
        "a list of responses of the type that its cells have",
        OUTPUTS,
        {
            "data.raw_data:join_response": [
                ("values = as_objects(y) if isinstance(y, list | tuple) else y", "values = given")
            ]
        },
    ),
    Bug(
        "a warning that no response is above 0",
        OUTPUTS,
        {
            "estimators._two_part_fit:fit_raw_parts": [
                (
                    "y = np.where(np.isfinite(y), y, np.nan)",
                    "y = np.where(np.isfinite(y), y, np.nan)\n    if not (y > 0).any():\n"
                    f"        {_WARNINGS}.warn('no response is above 0', stacklevel=2)",
                )
            ]
        },
    ),
    Bug(
        "a warning that exposures are missing",
        OUTPUTS,
        {
            "estimators._raw_fit:PreparedTable.rows_with": [
                (
                    "[self._data.kind_of_exposure])[:, 0]",
                    "[self._data.kind_of_exposure])[:, 0]\n        if np.isnan(rows.exposure).any():\n"
                    f"            {_WARNINGS}.warn('exposures are missing', stacklevel=2)",
                )
            ]
        },
    ),
)

RAW_PATHS = (*_ROWS, *_TOLD)
